"""The command `view`: its exit codes, its files, and what it says of a file that is no trace."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from conformance.__main__ import main
from conformance.tests.tlc.strategies import traces
from conformance.tests.view.samples import ROOT, saved, story, turn
from conformance.tlc.result import Trace
from conformance.view.snapshot import SnapshotError
from conformance.view.walk import walk_of

TRACE = ROOT / "traces" / "TakenApart.itf.json"
Document = dict[str, Any]


def view(*arguments: Path | str) -> int:
    """Run the command, and return its exit code."""
    return main(["view", *map(str, arguments)])


def test_it_shows_a_counterexample(capsys: pytest.CaptureFixture[str]) -> None:
    """A trace that is what it says is shown, and is no failure."""
    assert view(TRACE) == 0
    shown = capsys.readouterr()
    assert "I2_ConsumedWithItsWrite is broken here." in shown.out
    assert not shown.err


def test_it_writes_a_page_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Both are made with their folders; the JSON has a row for each step."""
    page, file = tmp_path / "new" / "page.html", tmp_path / "other" / "steps.json"
    assert view(TRACE, "--html", page, "--json", file) == 0
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    said = capsys.readouterr().out
    assert f"A page to walk through is written: {page}\n" in said
    assert f"JSON of its steps is written: {file}\n" in said
    found = json.loads(file.read_text(encoding="utf-8"))
    assert (found["ok"], found["command"], found["figures"]) == (True, "view", {"steps": 4, "broken": 1})
    assert found["rows"][3] == {
        "step": 4,
        "action": "StartRun",
        "by": "p1",
        "code": found["rows"][3]["code"],
        "changes": (
            'given: {} -> {1}; once: {} -> {1}; run.by: "none" -> p1; run.st: "idle" -> "active";'
            ' task[p1].at: "prompt" -> "running"; task[p1].fed: {1} -> {}'
        ),
        "broken": "I2_ConsumedWithItsWrite",
    }


def test_a_loop_is_in_the_json(tmp_path: Path) -> None:
    """By the number of the step that it goes back to."""
    assert view(ROOT / "traces" / "FailureHandsOverAll.itf.json", "--json", tmp_path / "steps.json") == 0
    assert json.loads((tmp_path / "steps.json").read_text())["figures"]["loop"] == 8


def test_a_property_that_is_named_and_holds_is_a_failure(tmp_path: Path) -> None:
    """The file and its states disagree: it is shown, and the exit code says so, and so does the JSON."""
    path = saved(tmp_path, turn(), property="I3_NoStrandedAsk")
    assert view(path, "--json", tmp_path / "steps.json") == 1
    assert json.loads((tmp_path / "steps.json").read_text())["ok"] is False


def changed(change: Callable[[Document], object]) -> str:
    """A counterexample's JSON, changed."""
    document: Document = json.loads(TRACE.read_text())
    change(document)
    return json.dumps(document)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is empty"),
        (" \n", "is empty"),
        ("no JSON", "is no JSON at line 1, column 1"),
        (TRACE.read_text()[:3000], "breaks off at line"),
        (TRACE.read_text()[:-3], "breaks off at line"),
        ("[]", "no ITF trace"),
        ("{}", "no ITF trace"),
        ("[" * 100_000, "no ITF trace"),
        ('{"#meta": {"model_values": []}, "vars": [], "states": [7]}', "no ITF trace"),
        (changed(lambda trace: trace["#meta"].pop("model_values")), "no ITF trace"),
        (changed(lambda trace: trace["states"][1]["#meta"].pop("action")), "no ITF trace"),
        (changed(lambda trace: trace["states"][1]["#meta"].update(action=7)), "names no action in state 2"),
        (changed(lambda trace: trace.update(states=[])), "a trace without a state"),
        (changed(lambda trace: trace["states"][2].pop("log")), "other variables in state 3"),
        (changed(lambda trace: trace.update(loop=4)), "goes back to a state that it has not"),
        (changed(lambda trace: trace.update(loop="x")), "goes back to a state that it has not"),
        (
            changed(lambda trace: [state.pop("lease") for state in trace["states"]]),
            "lacks the variables lease",
        ),
        (changed(lambda trace: trace["states"][0].update(asked=True)), "its asked has a value"),
        (changed(lambda trace: trace["states"][0].update(task={"#map": []})), "its task has a value"),
        (changed(lambda trace: trace["states"][3].update(task={"#map": []})), "its task has a value"),
        (changed(lambda trace: trace["states"][3].update(look={"#map": []})), "its look has a value"),
        (
            changed(lambda trace: trace["states"][3]["task"]["#map"].pop()),
            "other tasks or processes in state 4",
        ),
        (changed(lambda trace: trace["states"][0].update(run={"st": "idle"})), "its run.by has a value"),
    ],
)
def test_a_file_that_is_no_trace(
    text: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One sentence says which file and what is wrong, nothing is shown or written, and the exit code is 2."""
    path = tmp_path / "bad.itf.json"
    path.write_text(text)
    assert view(path, "--html", tmp_path / "page.html") == 2
    said = capsys.readouterr()
    assert said.err.startswith(f"Could not run: {path}")
    assert why in said.err
    assert len(said.err.splitlines()) == 1
    assert not said.out
    assert not (tmp_path / "page.html").exists()


def test_a_file_that_cannot_be_read_or_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No file, a folder, bytes that are no text, and a page where a folder is."""
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path / "none", tmp_path, tmp_path / "bytes"):
        assert view(path) == 2
        assert str(path) in capsys.readouterr().err
    assert view(TRACE, "--html", tmp_path) == 2
    assert str(tmp_path) in capsys.readouterr().err


def test_what_another_program_says_of_its_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is no text in a trace's meta is shown as JSON, and a variable of another name is a note."""
    path = tmp_path / "other.itf.json"
    path.write_text(changed(lambda trace: trace["#meta"].update(seeds=[1, 2])))
    assert view(path) == 0
    assert "seeds: [1, 2]" in capsys.readouterr().out
    assert view(saved(tmp_path, story(("Post", {"extra": 2}), first={"extra": 1}))) == 0
    assert "extra 1→2" in capsys.readouterr().out


@given(traces())
def test_any_other_trace_is_refused_in_words(trace: Trace) -> None:
    """A trace of another model is none of ThreadClaim, and nothing else is raised."""
    with pytest.raises(SnapshotError):
        walk_of("other", trace, {})
