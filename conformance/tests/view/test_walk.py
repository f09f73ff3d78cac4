"""A trace as steps: who does each, whose each task is, what it changed, and which code it is."""

import re
from dataclasses import replace
from pathlib import Path
from pkgutil import resolve_name

import pytest
from frozendict import frozendict

from conformance.explore.record import save_walk
from conformance.explore.setting import Setting
from conformance.explore.tally import Tally
from conformance.explore.walk import Walker
from conformance.names import MODEL, NAMES, actions_of
from conformance.tests.view.samples import (
    EVERY_TRACE,
    P2,
    ROOT,
    counterexample,
    fixture,
    idle,
    look,
    name_of,
    recorded,
    story,
    tasks,
    turn,
)
from conformance.tlc.itf import load_trace
from conformance.tlc.story import tell
from conformance.tlc.values import ModelValue
from conformance.view.code_names import DIRECT, NO_CODE, code_of
from conformance.view.doers import split_action
from conformance.view.reading import read_walk
from conformance.view.sentences import read_sentences
from conformance.view.walk import Process, ending, walk_of

_TOLD = re.compile(r"^(?P<number>\d+)\. (?P<action>\w+) \((?P<doer>\w+)\)$", re.MULTILINE)
_DEFINED = re.compile(r"^(\w+)(?:\([^)]*\))?\s*==", re.MULTILINE)


@pytest.mark.parametrize("path", EVERY_TRACE, ids=name_of)
def test_who_does_a_step(path: Path) -> None:
    """It is who the story says; where that says nobody, the holder, a process or the world."""
    trace, _ = load_trace(path)
    walk = read_walk(path)
    told = {int(match["number"]): match["doer"] for match in _TOLD.finditer(tell(trace))}
    names = {*walk.tasks, *(process.name for process in walk.processes)}
    for step in walk.steps:
        if step.number in told:
            is_process = step.action in {"Crash", "Restart"}
            owner = next(p.name for p in walk.processes if told[step.number] in {p.name, *p.tasks})
            assert step.doer == (owner if is_process else told[step.number])
        elif step.action in {"Init", "Post", "Note", "Expire"}:
            assert step.doer == "world"
        else:
            assert step.doer in names


def test_who_does_a_step_that_changes_no_task(tmp_path: Path) -> None:
    """A lapse and a renewal are the holder's; an end that fails again is the ending task's."""
    ending_task = idle(at="ending", pos=1)
    trace = story(
        ("Renew", {}),
        ("EndFails", {"faults": story().states[0].variables["faults"]}),
        ("Lapse", {"lease": "free"}),
        ("Mystery", {}),
        first={"lease": P2, "task": tasks(idle(), ending_task)},
    )
    assert [step.doer for step in recorded(tmp_path, trace).steps[1:]] == ["p2", "p2", "p2", "world"]


def test_an_argument_says_who(tmp_path: Path) -> None:
    """An action that is written with its argument is that one's, and is named without."""
    walk = recorded(tmp_path, story(("Renew(p2)", {})))
    assert (walk.steps[1].action, walk.steps[1].doer) == ("Renew", "p2")
    assert split_action("Renew") == ("Renew", "")


def test_a_recorded_run_says_who(tmp_path: Path) -> None:
    """Its location has the actor and a variant, and none for the world; TLC's is a place in the module."""
    made = story(("Renew", {}), ("Post", {}), ("EndFails", {}))
    locations = ("", "p2/", "/", "p1/ending unheard")
    states = [replace(state, location=each) for state, each in zip(made.states, locations, strict=True)]
    walk = recorded(tmp_path, replace(made, states=tuple(states)))
    assert [step.doer for step in walk.steps] == ["world", "p2", "world", "p1"]
    of_tlc = replace(turn().states[1], location="line 10, col 3 to line 12, col 40 of module ThreadClaim")
    assert walk_of("tlc", replace(turn(), states=(turn().states[0], of_tlc)), {}).steps[1].doer == "p1"


def test_a_process_of_two_tasks() -> None:
    """Its tasks are beside each other under it, and what is the process's is told of it."""
    walk = fixture("CrashBesideALook")
    assert walk.processes == (Process("p", ("p1", "p2")), Process("q", ("q1",)))
    assert [step.doer for step in walk.steps[1:]] == ["p1", "p1", "p1", "p2", "p2", "p2", "q"]


def test_what_a_file_says_of_owners_counts(tmp_path: Path) -> None:
    """Else names tell; a task of which nothing tells is of an unknown process."""
    walk = recorded(tmp_path, turn(), owner="p1: p2, p2: p2")
    assert walk.processes == (Process("p2", ("p1", "p2")),)
    assert not walk.processes[0].is_its_task
    other = story(first={"look": frozendict({P2: look()})})
    assert [process.name for process in recorded(tmp_path, other).processes] == ["?", "p2"]


def test_the_longest_name_of_a_process_tells() -> None:
    """Where a task's name begins with two processes' names, it is the longer one's."""
    named = story(
        first={
            "task": frozendict({ModelValue("p11"): idle(), ModelValue("p2"): idle()}),
            "look": frozendict({ModelValue("p"): look(), ModelValue("p1"): look()}),
        }
    )
    assert walk_of("named", named, {}).processes == (Process("p", ("p2",)), Process("p1", ("p11",)))


@pytest.mark.parametrize("path", EVERY_TRACE, ids=name_of)
def test_a_step_has_every_change_and_no_other(path: Path) -> None:
    """Put one after the other onto the first state, the changes make the last."""
    walk = read_walk(path)
    now = dict(walk.steps[0].places)
    for step in walk.steps[1:]:
        for change in step.changes:
            assert now[change.place] == change.old != change.new
            assert change.new is not None
            now[change.place] = change.new
        assert now == step.places


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("NoHandOver", ""),
        ("NoSweep", "Then nothing happens any more: it stutters in this state for ever."),
        ("FailureHandsOverAll", "Then it goes back by Release to step 8, and so on for ever."),
    ],
)
def test_how_a_trace_goes_on(name: str, sentence: str) -> None:
    """It just ends, or stutters, or goes back."""
    assert ending(counterexample(name)) == sentence


def test_every_action_of_the_model_has_its_code() -> None:
    """All 34, and those of direct runs: each is a class or a function that there is, as NAMES.md names it."""
    model, page = ((ROOT / name).read_text() for name in (MODEL, NAMES))
    actions = actions_of(model)
    assert len(actions) == 34
    rows = dict(re.findall(r"^\| `(\w+)` \|[^|]*\| ([^|]*) \|", page, re.MULTILINE))
    assert {action: code_of(action) for action in actions} == {
        action: rows[action].replace("`", "") for action in actions
    }
    for code in map(code_of, [*actions, *DIRECT]):
        assert callable(resolve_name(code.removeprefix("the world; met by ")))


def test_what_no_code_does() -> None:
    """A mutant's own step has no code; what there is at first, and what the world does, is said in words."""
    assert code_of("ThenFree") == NO_CODE
    assert code_of("Init") == "none: the thread is empty"
    assert code_of("Crash").startswith("the world; met by threadclaim.")
    defined = set(_DEFINED.findall((ROOT / "spec" / "DirectRuns.tla").read_text()))
    assert DIRECT.keys() <= defined


def test_a_sentence_is_the_comment_above_its_property() -> None:
    """Over several lines, and over a definition between; an empty line ends it."""
    sentences = read_sentences(ROOT / "spec")
    assert sentences["TypeOK"] == "Every variable keeps to its values."
    assert (
        sentences["SentIsTaken"]
        == "I1 (ADR-0055). A message asked for is consumed: not only counted as taken."
    )
    assert sentences["I3_ClaimHasATask"].endswith("has a task that will release it.")
    assert sentences["HeldRunLeftAlone"].startswith("DESIGN.md, repair (j).")
    assert "Pos" not in sentences


@pytest.mark.parametrize("seed", range(4))
def test_a_walk_of_the_runner(seed: int, tmp_path: Path) -> None:
    """What exploration saves is read: nothing is broken, and each step is its actor's."""
    beside = Walker(Tally()).walk(seed, 40)
    setting = Setting(beside.model.constants)
    save_walk(tmp_path / "walk.itf.json", setting, beside.steps, description="a walk that broke nothing")
    walk = read_walk(tmp_path / "walk.itf.json")
    assert walk.recorded
    assert not walk.breaks
    assert {task: p.name for p in walk.processes for task in p.tasks} == beside.model.constants.owner
    assert [step.doer for step in walk.steps[1:]] == [taken.actor or "world" for taken in beside.steps]


def test_an_empty_line_ends_a_comment(tmp_path: Path) -> None:
    r"""What is defined below it has no sentence; a `\*` behind a definition is no comment above the next."""
    text = "\\* One.\n\\* Of two lines.\nA == 1\nB(x) == 2  \\* beside\n\nC == 3\n\\* Four.\nD == 4\n"
    (tmp_path / "Properties.tla").write_text(text)
    (tmp_path / "DirectRuns.tla").write_text("E == 5\n")
    assert read_sentences(tmp_path) == {"A": "One. Of two lines.", "D": "Four."}
