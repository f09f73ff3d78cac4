"""The tools' settings: that they are as strict as they read, and that each exception says why."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = ROOT / "pyproject.toml"


def run_tool(*arguments: str, given: str = "", cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run a tool of this environment with something on its standard input."""
    command = [sys.executable, "-m", *arguments]
    return subprocess.run(command, input=given, cwd=cwd, capture_output=True, text=True, check=False)


LAX_TESTS = {
    "a warning": ("import warnings\ndef test_it(): warnings.warn('careful')", "UserWarning: careful"),
    "an unknown marker": ("import pytest\n@pytest.mark.typo\ndef test_it(): pass", "'typo' not found"),
    "an unexpected pass": ("import pytest\n@pytest.mark.xfail\ndef test_it(): pass", "XPASS(strict)"),
}


@pytest.mark.parametrize(("source", "complaint"), LAX_TESTS.values(), ids=LAX_TESTS)
def test_pytest_is_strict(tmp_path: Path, source: str, complaint: str) -> None:
    """What pytest would let pass by default is an error here."""
    (tmp_path / "test_lax.py").write_text(source)
    flags = ("-c", str(SETTINGS), "--rootdir", str(tmp_path), "-p", "no:cacheprovider")
    answer = run_tool("pytest", *flags, "test_lax.py", cwd=tmp_path)
    assert answer.returncode != 0
    assert complaint in answer.stdout + answer.stderr


LAX_CODE = {
    "no docstring": ('"""Module."""\n\n\ndef f() -> None:\n    return None\n', "D103"),
    "no annotation": ('"""Module."""\n\n\ndef f(a):\n    """Do."""\n    return a\n', "ANN001"),
    "a blanket suppression": ('"""Module."""\n\nX = 1  # noqa\n', "PGH004"),
    "something left for later": ('"""Module."""\n\n# TODO: finish\n', "FIX002"),
}


@pytest.mark.parametrize(("source", "rule"), LAX_CODE.values(), ids=LAX_CODE)
def test_ruff_is_strict(source: str, rule: str) -> None:
    """Undocumented, untyped, silenced and unfinished code is refused."""
    flags = ("--output-format", "concise", "--no-cache", "--stdin-filename", "impl/threadclaim/lax.py")
    answer = run_tool("ruff", "check", *flags, "-", given=source)
    assert answer.returncode == 1
    assert rule in answer.stdout


def test_mypy_is_strict(tmp_path: Path) -> None:
    """A generic without its parameter, a call to untyped code and code that cannot run are refused."""
    (tmp_path / "lax.py").write_text(
        "def loose(x): return x\ndef strict(x: list) -> int:\n    loose(x)\n    return 1\n    print(x)\n"
    )
    answer = run_tool(
        "mypy", "--config-file", str(SETTINGS), "--cache-dir", str(tmp_path), str(tmp_path / "lax.py")
    )
    assert {"no-untyped-def", "type-arg", "no-untyped-call", "unreachable"} <= set(
        re.findall(r"\[([a-z-]+)\]$", answer.stdout, re.MULTILINE)
    )


def test_every_ignored_rule_says_why() -> None:
    """Each exception from ruff's rules stands on a line of its own, with its reason."""
    section = SETTINGS.read_text().partition("\nignore = [\n")[2].partition("[tool.ruff.lint.mccabe]")[0]
    rules = re.findall(r'^\s+"[A-Z]+\d+",(.*)$', section, re.MULTILINE)
    assert len(rules) > 5
    assert all(re.match(r"\s+# \S+ \S+", reason) for reason in rules)
