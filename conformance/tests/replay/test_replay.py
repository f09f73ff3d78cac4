"""Replay: TLC's counterexamples on the runner, with the rule taken out and with it."""

import json
import shutil
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest
from rich.console import Console

from conformance.__main__ import ROOT
from conformance.actions import ACTIONS, Done, ImpossibleError, Ways
from conformance.explore.again import again
from conformance.explore.check import BrokenError
from conformance.explore.finish import LeftOverError
from conformance.explore.keep import save
from conformance.explore.setting import Setting
from conformance.explore.walk import constants_of
from conformance.model.model import Model
from conformance.model.mutants import mutant
from conformance.mutants import TWINS
from conformance.mutants.twin import Twin
from conformance.replay.command import Replay, replay
from conformance.replay.recorded import recorded
from conformance.replay.run import on_library, on_twin, steps_of
from conformance.world.loop import WorldError
from conformance.world.world import World

SPEC = ROOT / "spec"
TRACES = sorted((ROOT / "traces").glob("*.itf.json"))


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name.partition(".")[0])
def test_a_counterexample_is_reproduced_without_its_rule_and_left_with_it(path: Path) -> None:
    """On the twin it comes to its end, in its states, and its property breaks; the library leaves it."""
    found = replay(path, SPEC)
    assert found.twin.why == ""
    assert found.library.why == ""
    assert found.library.instead
    assert 2 <= found.library.step <= found.twin.states


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
    assert rows[0]["refused_at"] == "7. StartRun(p1)"
    assert rows[0]["taken_instead"] == "Fenced"
    assert rows[1]["taken_instead"] == "LoseClaim"


def test_the_command_walks_a_recorded_walk_again(tmp_path: Path) -> None:
    """Where it went wrong only of the twin, it goes well on the library; on the twin it still goes wrong."""
    steps = [("Send", "p1", ""), ("Claim", "p1", ""), ("StartRun", "p1", ""), ("Send", "p2", "")]
    steps += [("Refused", "p2", ""), ("EndRun", "p1", "completed"), ("Release", "p1", "")]
    with TWINS["NoHandOver"].applied():
        walked = again(Setting(constants_of((2, 1))), steps)
        assert walked.error is not None
        path = tmp_path / "walk.itf.json"
        save(path, walked)
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
    assert "no ITF trace" in capsys.readouterr().err
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


# ---- A loop is gone round.

LASSOS = ("FailureHandsOverAll", "FailedReleaseLooksForAll", "LookReadsNothing")


def test_every_trace_with_a_way_back_is_a_lasso_here() -> None:
    """Those that stay in their last state have none."""
    assert {path.name.partition(".")[0] for path in TRACES if recorded(path, SPEC).back} == set(LASSOS)


@pytest.mark.parametrize("name", LASSOS)
def test_a_loop_is_gone_round_twice(name: str) -> None:
    """Each step of it comes again after the way back, which has the number after the last state's."""
    read = recorded(trace(name), SPEC)
    assert read.loop is not None
    numbers = [number for number, _, _ in steps_of(read)]
    once, last = list(range(2, len(read.states) + 1)), len(read.states) + 1
    assert numbers == [*once, last, *range(read.loop + 2, last), last]
    told = [told for _, told, _ in steps_of(read)]
    assert f"the way back to step {read.loop + 1}, " in told[len(once)]
    assert told[-1].endswith("in the second round")


@pytest.mark.parametrize("name", LASSOS)
def test_a_way_back_to_another_state_is_found(name: str) -> None:
    """The twin must come to the state that the loop begins with."""
    read = recorded(trace(name), SPEC)
    assert read.back is not None
    other = replace(read, back=replace(read.back, after=read.init))
    found = on_twin(other, TWINS[name], read.model)
    assert found.why.startswith("After the way back to step ")
    assert found.states == len(read.states)


def test_a_twin_that_goes_round_only_once_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the world does not show of the runner may be otherwise in the second round."""
    read = recorded(trace("FailureHandsOverAll"), SPEC)
    action = read.steps[-1].action
    do, times = ACTIONS[action].do, count(1)
    in_the_trace = [step.action for step in read.steps].count(action)

    def tires(world: World, actor: str, variant: str) -> Ways:
        if next(times) > in_the_trace:
            raise ImpossibleError(action, actor, "it was done often enough")
        return do(world, actor, variant)

    monkeypatch.setitem(ACTIONS, action, replace(ACTIONS[action], do=tires))
    why = on_twin(read, TWINS["FailureHandsOverAll"], read.model).why
    assert f"in the second round: {action}" in why


# ---- What goes wrong is told in sentences, and once.


def failing(tmp_path: Path) -> tuple[int, str]:
    """Run the command with a copy of a trace; its code, and what it prints."""
    path = tmp_path / "a copy.itf.json"
    shutil.copy(trace("NoSweep"), path)
    code, text, _ = run(tmp_path, path)
    return code, text


def test_a_failure_names_the_file_that_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it is typed in a clone; and says once where it is."""
    monkeypatch.setitem(TWINS, "NoSweep", Twin("NoSweep", "Nothing else.", lambda _: None))
    code, text = failing(tmp_path)
    assert code == 1
    assert f"Again: .venv/bin/python -m conformance replay '{tmp_path}/a copy.itf.json'" in text
    assert "On its twin: At step 4, Restart(p1): " in text


@pytest.mark.parametrize(
    "error", [WorldError("It is odd."), BrokenError(("TypeOK",), "It is odd."), LeftOverError("It is odd.")]
)
@pytest.mark.parametrize("where", ["a step", "the end"])
def test_whatever_goes_wrong_is_told(
    where: str, error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a step, or as a world ends, on the twin and on the library: in sentences, with code 1."""

    def wrong(*_: object) -> Done:
        raise error

    if where == "a step":
        monkeypatch.setitem(ACTIONS, "Crash", replace(ACTIONS["Crash"], do=wrong))
    else:
        monkeypatch.setattr(World, "close", wrong)
    code, text = failing(tmp_path)
    assert code == 1
    at = "At step 3, Crash(p1): " if where == "a step" else "After all of its steps: "
    left = "At step 3, Crash(p1): " if where == "a step" else "Having left the trace at step 4, Restart(p1): "
    assert f"On its twin: {at}{error}" in text
    assert f"On the library: {left}{error}" in text
    assert text.count("On the library: ") == 1


def test_a_property_that_the_library_breaks_is_told_with_its_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In words that are not doubled."""
    monkeypatch.setattr("conformance.replay.run.breaks", lambda _: ("TypeOK",))
    _, text = failing(tmp_path)
    assert "On the library: TypeOK breaks at step 2, Send(p1)." in text


def test_one_is_one(tmp_path: Path) -> None:
    """A sentence of one counterexample, and its states counted as TLC counts them."""
    code, text, found = run(tmp_path, trace("NoSweep"))
    assert code == 0
    assert "As expected: 1 counterexample reproduced on the mutant's twin" in text
    rows = found["rows"]
    assert isinstance(rows, list)
    assert (rows[0]["states"], rows[0]["refused_at"]) == (4, "4. Restart(p1)")
