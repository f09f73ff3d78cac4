"""Set-up's steps: done once, done again when what they depend on changed, and refused with a sentence."""

import ast
import importlib.util
import json
import platform
import runpy
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from ci import environment, tools
from ci.environment import Environment, Step, carry_out, describe
from ci.pip import SetUpError
from conformance.tlc.tools import Jar, Java, ToolError

ROOT = Path(__file__).resolve().parents[2]


class Recorder:
    """Two steps, each depending on its version, that only write down that they were done."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.versions = {"first": "1", "second": "1"}

    def steps(self) -> list[Step]:
        """Return the steps."""
        return [self._step(name) for name in self.versions]

    def _step(self, name: str) -> Step:
        """Return the step of this name."""
        return Step(name, lambda: {"version": self.versions[name]}, lambda: self.done.append(name))


def fail() -> None:
    """Do what a step does that cannot be done."""
    raise SetUpError("It cannot be done.")


def test_second_set_up_does_nothing(tmp_path: Path) -> None:
    """Every step is done the first time, in order, and none the second."""
    recorder = Recorder()
    for _ in range(2):
        carry_out(recorder.steps(), tmp_path / "setup.json")
    assert recorder.done == ["first", "second"]


def test_changed_dependency_repeats_that_step(tmp_path: Path) -> None:
    """Only the step whose dependency changed is done again."""
    recorder = Recorder()
    carry_out(recorder.steps(), tmp_path / "setup.json")
    recorder.versions["second"] = "2"
    carry_out(recorder.steps(), tmp_path / "setup.json")
    assert recorder.done == ["first", "second", "second"]


def test_set_up_goes_on_where_it_failed(tmp_path: Path) -> None:
    """The steps before a failure are not repeated; the one that failed is."""
    recorder = Recorder()
    first, second = recorder.steps()
    with pytest.raises(SetUpError):
        carry_out([first, Step("second", second.depends_on, fail)], tmp_path / "setup.json")
    carry_out(recorder.steps(), tmp_path / "setup.json")
    assert recorder.done == ["first", "second"]


def test_emptied_environment_repeats_every_step(tmp_path: Path) -> None:
    """A new environment has no stamp, so what was installed into the old one is installed again."""
    recorder, stamp = Recorder(), tmp_path / "setup.json"
    carry_out(recorder.steps(), stamp)
    second = recorder.steps()[1]
    carry_out([Step("first", lambda: {"version": "2"}, stamp.unlink), second], stamp)
    assert recorder.done == ["first", "second", "second"]


def test_moved_checkout_needs_a_new_environment(tmp_path: Path) -> None:
    """The installed project points at the checkout, so a copy elsewhere must not use it."""
    assert Environment(tmp_path).base() != Environment(ROOT).base()


def test_tools_are_looked_for_again_when_they_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another JAVA_HOME, another named jar, another fetched jar: each repeats the step that finds them."""
    here = Environment(tmp_path)
    seen = [here.surroundings()]
    for variable in ("JAVA_HOME", "TLA2TOOLS_JAR"):
        monkeypatch.setenv(variable, str(tmp_path))
        seen.append(here.surroundings())
    (tmp_path / ".tools").mkdir()
    for content in (b"one jar", b"another"):
        (tmp_path / ".tools" / "tla2tools.jar").write_bytes(content)
        seen.append(here.surroundings())
    assert all(before != after for before, after in pairwise(seen))


def test_java_that_went_away_is_noticed(tmp_path: Path) -> None:
    """The Java found last time counts only while it is there."""
    here, java = Environment(tmp_path), tmp_path / "java"
    here.folder.mkdir()
    here.tools.write_text(json.dumps({"java": str(java)}))
    java.touch()
    there = here.surroundings()
    java.unlink()
    assert here.surroundings() != there


def test_missing_ensurepip_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Python without ensurepip, as Debian ships it, is told what to install."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "ensurepip" else object())
    with pytest.raises(SetUpError, match=r"has no module ensurepip, .* the package python3-venv"):
        Environment(tmp_path).create()
    assert not (tmp_path / ".venv").exists()


def test_failed_set_up_exits_with_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A failure is a sentence on standard error, not a traceback."""
    monkeypatch.setattr(environment, "ROOT", tmp_path)
    monkeypatch.setattr(Environment, "steps", lambda _: [Step("only", dict, fail)])
    assert environment.main() == 2
    assert capsys.readouterr().err == "make setup: It cannot be done.\n"


def test_description_names_the_three(tmp_path: Path) -> None:
    """The closing line says on which Python, Java and TLC everything runs."""
    record = tmp_path / "tools.json"
    record.write_text(
        json.dumps({"python_version": "3.13.0", "java_version": "17.0.15", "jar_name": "TLC 2.19"})
    )
    assert describe(record) == "Python 3.13.0, Java 17.0.15, TLC 2.19."


def test_old_python_is_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A Python that is too old is named, with what to do, before anything else is imported."""
    monkeypatch.setattr(sys, "version_info", (3, 8, 20, "final", 0))
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("ci.bootstrap")
    assert ended.value.code == 2
    assert capsys.readouterr().err == (
        f"make setup: Python 3.11 or newer is needed, and {sys.executable} is Python 3.8.20. "
        "Name a newer one: `PYTHON=python3.13 make setup`.\n"
    )


def test_old_python_can_read_the_door() -> None:
    """The file that says so, and the package it is in, use nothing that an old Python cannot parse."""
    for name in ("__init__.py", "bootstrap.py"):
        tree = ast.parse((ROOT / "ci" / name).read_text(), feature_version=(3, 4))
        modern = (ast.FunctionDef, ast.AnnAssign, ast.JoinedStr, ast.NamedExpr, ast.Match)
        assert not [node for node in ast.walk(tree) if isinstance(node, modern)]


def test_set_up_needs_the_standard_library_only() -> None:
    """What runs before anything is installed imports nothing that is installed."""
    program = "import ci.environment, ci.tools, ci.fetch_tlc, conformance.tlc.tools"
    # -S leaves out the folders where packages are installed.
    bare = subprocess.run([sys.executable, "-S", "-c", program], cwd=ROOT, capture_output=True, check=False)
    assert (bare.returncode, bare.stderr) == (0, b"")


def test_java_is_brought_only_where_none_is_found() -> None:
    """A Java that is there is used; otherwise one is brought, and then found."""
    here, brought = Java(Path("/there/java"), "21"), list[str]()

    def find() -> Java:
        """Find one once it was brought."""
        if not brought:
            raise ToolError("No Java was found. Run `make setup`.")
        return here

    assert tools.java_or_bring_one(find, lambda: brought.append("once")) == here
    assert tools.java_or_bring_one(find, lambda: brought.append("twice")) == here
    assert brought == ["once"]


def test_tools_that_cannot_be_had_are_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where Java can be neither found nor brought, the step fails and writes nothing down."""

    def nowhere() -> Java:
        """Find none."""
        raise ToolError("No Java was found.")

    monkeypatch.setattr(tools, "find_java", nowhere)
    monkeypatch.setattr(tools, "bring_java", fail)
    assert tools.main(str(tmp_path / "tools.json")) == 2
    assert capsys.readouterr().err == "make setup: It cannot be done.\n"
    assert not (tmp_path / "tools.json").exists()


def test_tools_that_were_found_are_written_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The step records the Java and the jar for the closing line and for the next set-up."""
    record = tmp_path / "tools.json"
    monkeypatch.setattr(tools, "find_java", lambda: Java(Path("/there/java"), "21.0.1"))
    monkeypatch.setattr(tools, "fetch_for", lambda *_: None)
    monkeypatch.setattr(tools, "find_jar", lambda _: Jar(Path("/there/tlc.jar"), "00", "TLC 2.19"))
    assert tools.main(str(record)) == 0
    assert json.loads(record.read_text()) == {
        "python_version": platform.python_version(),
        "java": "/there/java",
        "java_version": "21.0.1",
        "jar": "/there/tlc.jar",
        "jar_name": "TLC 2.19",
    }
