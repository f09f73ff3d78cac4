"""Replay: TLC's counterexamples on the runner, with the rule taken out and with it."""

import json
import shutil
from pathlib import Path

import pytest
from rich.console import Console

from conformance.__main__ import ROOT
from conformance.explore.again import again
from conformance.explore.record import save_walk
from conformance.explore.walk import constants_of
from conformance.model.model import Model
from conformance.model.mutants import mutant
from conformance.mutants import TWINS
from conformance.mutants.twin import Twin
from conformance.replay.command import Replay, replay
from conformance.replay.recorded import recorded
from conformance.replay.run import on_library, on_twin

SPEC = ROOT / "spec"
TRACES = sorted((ROOT / "traces").glob("*.itf.json"))


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name.partition(".")[0])
def test_a_counterexample_is_reproduced_without_its_rule_and_left_with_it(path: Path) -> None:
    """On the twin it comes to its end, in its states, and its property breaks; the library leaves it."""
    found = replay(path, SPEC)
    assert found.twin.why == ""
    assert found.library.why == ""
    assert found.library.instead
    assert 1 <= found.library.step <= found.twin.steps


def test_the_records_options_c_and_d() -> None:
    """Option C, to look again only; Option D, to sweep only: each strands what the other takes."""
    for name, step in (("NoSweep", "Restart(p1)"), ("NoLookAgain", "Refused(p1)")):
        found = replay(ROOT / "traces" / f"{name}.itf.json", SPEC)
        assert found.broken == "AskedIsTaken"
        assert found.library.action == step


def trace(name: str) -> Path:
    """A trace of traces/."""
    return ROOT / "traces" / f"{name}.itf.json"


def test_a_twin_that_is_none_does_not_reproduce() -> None:
    """The library itself, put in a twin's place, leaves the trace."""
    read = recorded(trace("NoHandOver"), SPEC)
    made = mutant(read.mutant, read.config)
    none = Twin("NoHandOver", "Nothing else.", lambda _: None)
    assert on_twin(read, none, made).why


def test_another_mutants_twin_does_not_reproduce() -> None:
    """Nor does a twin with another rule taken out."""
    read = recorded(trace("NoFenceOnStart"), SPEC)
    assert on_twin(read, TWINS["NoHandOver"], mutant(read.mutant, read.config)).why


def test_a_library_that_goes_all_the_way_is_found() -> None:
    """With a trace of the model as it is there is nothing to leave, and replay says so."""
    read = recorded(trace("NoFenceOnStart"), SPEC)
    with TWINS["NoFenceOnStart"].applied():
        assert on_library(read).why


def run(tmp_path: Path, *paths: Path) -> tuple[int, str, dict[str, object]]:
    """Run the command; its code, what it prints, and its JSON, if it wrote any."""
    console = Console(width=200, record=True, file=(tmp_path / "out").open("w"))
    code = Replay(ROOT, console).run(paths, tmp_path / "replay.json")
    console.file.close()
    file = tmp_path / "replay.json"
    return code, console.export_text(), json.loads(file.read_text()) if file.is_file() else {}


def test_the_command_tells_of_each_trace(tmp_path: Path) -> None:
    """Where the library leaves it, and what it does instead."""
    code, text, found = run(tmp_path, trace("NoFenceOnStart"), trace("RenewTakes"))
    assert code == 0
    assert "2 counterexamples" in text
    rows = found["rows"]
    assert isinstance(rows, list)
    assert rows[0]["refused_at"] == "6. StartRun(p1)"
    assert rows[0]["taken_instead"] == "Fenced"
    assert rows[1]["taken_instead"] == "LoseClaim"


def test_the_command_walks_a_recorded_walk_again(tmp_path: Path) -> None:
    """Where it went wrong only of the twin, it goes well on the library; on the twin it still goes wrong."""
    steps = [("Send", "p1", ""), ("Claim", "p1", ""), ("StartRun", "p1", ""), ("Send", "p2", "")]
    steps += [("Refused", "p2", ""), ("EndRun", "p1", "completed"), ("Release", "p1", "")]
    with TWINS["NoHandOver"].applied():
        walked = again(constants_of((2, 1)), steps)
        assert walked.error is not None
        path = tmp_path / "walk.itf.json"
        save_walk(path, walked.beside, str(walked.error), walked.last)
        code, text, _ = run(tmp_path, path)
        assert code == 1
        assert "Release" in text
    code, text, _ = run(tmp_path, path)
    assert code == 0
    assert "goes well now" in text


def test_a_file_that_is_no_trace_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With what to do, and code 2."""
    path = tmp_path / "none.itf.json"
    path.write_text("{}")
    assert run(tmp_path, path)[0] == 2
    assert "not a trace that we wrote" in capsys.readouterr().err
    assert run(tmp_path, tmp_path / "missing.itf.json")[0] == 2


def test_a_trace_of_a_mutant_that_has_no_twin_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It could not be carried out."""
    path = tmp_path / "Other.itf.json"
    shutil.copy(trace("NoSweep"), path)
    path.write_text(path.read_text().replace("mutants/NoSweep.cfg", "ThreadClaim.cfg"))
    assert run(tmp_path, path)[0] == 2
    assert "no twin" in capsys.readouterr().err


def test_the_model_as_it_is_is_no_mutant() -> None:
    """A trace of a mutant is no behaviour of it."""
    read = recorded(trace("NoFenceOnStart"), SPEC)
    model, state = Model(read.constants), read.init
    for step in read.steps:
        after = model.step(state, step.action, step.actor or None)
        if step.after not in after:
            return
        state = step.after
    pytest.fail("The model goes all the way with a mutant's trace.")
