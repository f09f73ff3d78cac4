"""`ci/coverage`: what it runs, when it fails, and that nothing of the runner goes unmeasured."""

import ast
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from conformance.names import ROOT

SCRIPT = ROOT / "ci" / "coverage"
LIBRARY = ROOT / "impl" / "threadclaim"

BESIDE = {
    "threadclaim": "the version",
    "threadclaim.answers": "whether an answer fits; at the door",
    "threadclaim.door": "what is refused at the door",
    "threadclaim.errors": "what is raised",
    "threadclaim.events": "what the log holds",
    "threadclaim.limits": "what is refused at the door",
    "threadclaim.storage": "storages have suites of their own",
    "threadclaim.storage.common": "storages have suites of their own",
    "threadclaim.storage.memory": "storages have suites of their own",
    "threadclaim.storage.memory_scope": "storages have suites of their own",
    "threadclaim.storage.protocol": "what a storage must do",
    "threadclaim.telemetry": "spans and log records",
    "threadclaim.turn": "what the runner needs of an agent",
    "threadclaim.workspace": "what applications hold",
    "threadclaim.workspace_steps": "a workspace's own transactions",
}
"""Modules that the runner imports, and that are no part of it, each with why."""


def patterns() -> list[str]:
    """The files that are measured, as the script names them."""
    return re.findall(r"\$library/([\w./*]+)", SCRIPT.read_text(encoding="utf-8"))


def measured() -> set[Path]:
    """Those files."""
    return {path for pattern in patterns() for path in LIBRARY.glob(pattern)}


def file_of(module: str) -> Path:
    """A module's file."""
    path = ROOT.joinpath("impl", *module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def imports_of(module: str) -> set[str]:
    """The modules of the library that a module imports."""
    found = {
        node.module
        for node in ast.walk(ast.parse(file_of(module).read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module is not None
    }
    return {name for name in found if name.partition(".")[0] == "threadclaim"}


def imported_by(module: str) -> set[str]:
    """The modules of the library that a module is made of: what it imports, what that imports, and so on."""
    found, left = {module}, [module]
    while left:
        new = imports_of(left.pop()) - found
        found |= new
        left += new
    return found


def test_every_pattern_is_of_a_file_that_there_is() -> None:
    """A module that was renamed, or split, is measured under its new name."""
    assert patterns()
    for pattern in patterns():
        assert list(LIBRARY.glob(pattern)), f"ci/coverage measures {pattern}, which there is not."


def test_all_that_the_runner_is_made_of_is_measured() -> None:
    """What it imports is a part of it, or beside it for a reason."""
    unmeasured = {module for module in imported_by("threadclaim.runner") if file_of(module) not in measured()}
    assert "threadclaim.storage.protocol" in unmeasured
    assert sorted(unmeasured - BESIDE.keys()) == [], "Add them to ci/coverage, or to BESIDE with a reason."


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with the script in it, and a Python that notes what it is asked, and fails as it is told."""
    (tmp_path / "ci").mkdir()
    shutil.copy(SCRIPT, tmp_path / "ci")
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\necho "$@" >> asked\ncase "$*" in *"$FAILING"*) exit 2 ;; esac\n')
    python.chmod(0o755)
    return tmp_path


def run(checkout: Path, *arguments: str, failing: str = "nothing at all") -> tuple[int, list[str]]:
    """Run the script; gives its exit code, and what Python was asked to run."""
    script = ["bash", str(checkout / "ci" / "coverage"), *arguments]
    answer = subprocess.run(
        script, cwd=checkout.parent, env=os.environ | {"FAILING": failing}, check=False, capture_output=True
    )
    return answer.returncode, (checkout / "asked").read_text().splitlines()


def test_it_runs_all_tests_and_reports_both(checkout: Path) -> None:
    """The library's tests are measured, and their branches; the decision in full, the runner nearly."""
    code, asked = run(checkout)
    assert code == 0
    *tests, decision, runner = asked
    spread, library = "-n auto --maxprocesses 4 --dist worksteal", "impl/tests --ignore=impl/tests/docs"
    assert sorted(tests) == [
        f"-m coverage run --branch -m pytest {library} -k not (sqlite or postgres)",
        f"-m pytest {spread} conformance/tests ci/tests impl/tests/docs",
        f"-m pytest {spread} {library} -k sqlite or postgres",
    ]
    assert "impl/threadclaim/plan.py" in decision
    assert decision.endswith("--fail-under=100")
    assert "impl/threadclaim/runner.py" in runner
    assert runner.endswith("--fail-under=95")


@pytest.mark.parametrize("failing", ["fail-under=100", "fail-under=95"])
def test_too_little_of_either_fails(checkout: Path, failing: str) -> None:
    """And both are reported."""
    code, asked = run(checkout, failing=failing)
    assert code == 1
    assert len(asked) == 5


@pytest.mark.parametrize("failing", ["-k not", "-k sqlite", "conformance/tests"])
def test_a_test_that_fails_fails_it(checkout: Path, failing: str) -> None:
    """All tests run, wherever one fails, and no coverage is reported then."""
    code, asked = run(checkout, failing=failing)
    assert code != 0
    assert len(asked) == 3


def test_with_arguments_only_those_tests_run(checkout: Path) -> None:
    """Half of the tests say nothing of coverage."""
    assert run(checkout, "impl/tests/runner", "-k", "look") == (0, ["-m pytest impl/tests/runner -k look"])
