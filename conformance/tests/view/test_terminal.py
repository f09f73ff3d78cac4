"""A trace in the terminal: what each row says, and how it fits."""

import io
from collections import Counter
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

from conformance.tests.view.samples import (
    EVERY_TRACE,
    ROOT,
    counterexample,
    fixture,
    name_of,
    recorded,
    story,
    turn,
)
from conformance.view.cells import cells_of
from conformance.view.glossary import WORDS
from conformance.view.reading import read_walk
from conformance.view.sentences import read_sentences
from conformance.view.terminal import SwimLanes
from conformance.view.walk import Walk

SENTENCES = read_sentences(ROOT / "spec")


def printed(walk: Walk, width: int, encoding: str = "utf-8") -> list[str]:
    """What the terminal shows of a walk, line by line, without blanks at their ends."""
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding)
    SwimLanes(Console(file=file, width=width, highlight=False), walk, SENTENCES).print()
    file.flush()
    return [line.rstrip() for line in raw.getvalue().decode(encoding).splitlines()]


_WORDS = ("log", "asked", "taken", "run", "claim", "at", "pos", "fed", "once", "given", "want")


def test_a_wide_terminal() -> None:
    """A column for each process, and for log, cursors, run and claim; the broken property below its step."""
    lines = printed(counterexample("TakenApart"), 100)
    assert lines[lines.index("Broken: I2_ConsumedWithItsWrite at step 4.") + 2 :] == [
        "  action   by    p1                      p2                      log      cursors     run      claim",  # noqa: E501
        "1 Init     world · idle                  · idle                  empty    asked 0     idle     free",
        "                                                                          taken 0",
        "2 Send     p1    │ claim                 ·                       1 msg    asked 0→1",
        "  want 0→1",
        "3 Claim    p1    ┃ prompt                ·                                                     p1",
        "                 ┃ fed +{1}",
        "                 ┃ pos 0→1",
        "4 StartRun p1    ┃ running               ·                                            active",
        "                 ┃ fed −{1}                                                           by p1",  # noqa: RUF001
        "  given +{1}, once +{1}",
        "  × I2_ConsumedWithItsWrite is broken here.",  # noqa: RUF001
        "    I2 (ADR-0055). taken is past a message exactly if a log write consumed it: one transaction did",
        "    both.",
        "    A write has consumed message 1, and taken is not past it.",
        "    taken = 0; once: {} -> {1}",
        "In a lane: ┃ holds the claim, │ has something to do, · has nothing to do, × its process is dead.",  # noqa: RUF001
        "Below a step: the model's notes for its properties.",
        *(f"{word}: {WORDS[word]}." for word in _WORDS),
    ]


def test_a_terminal_of_eighty_columns() -> None:
    """What is the thread's is in one column together."""
    lines = printed(counterexample("TakenApart"), 80)
    assert "  action   by    p1                       p2                       thread" in lines
    assert "2 Send     p1    │ claim                  ·                        log 1 msg" in lines
    assert "3 Claim    p1    ┃ prompt                 ·                        claim p1" in lines


def test_a_terminal_with_no_room_for_lanes() -> None:
    """Each step has lines of its own, and names whom it changed."""
    lines = printed(counterexample("TakenApart"), 40)
    at = lines.index("4 StartRun p1")
    assert lines[at + 1 : at + 3] == ["  p1: running, fed −{1}", "  run active by p1"]  # noqa: RUF001


def test_tasks_are_below_their_process() -> None:
    """A process of two tasks is a heading over both."""
    lines = printed(fixture("TwoTasks"), 100)
    at = next(index for index, line in enumerate(lines) if line.lstrip().startswith("action"))
    processes, tasks = lines[at - 1], lines[at]
    assert processes.split() == ["p", processes.split()[1], "q", processes.split()[3]]
    assert processes.index("p ─") == tasks.index("p1")
    assert tasks.index("p2") < processes.index("q ─") == tasks.index("q1")


@pytest.mark.parametrize("path", EVERY_TRACE, ids=name_of)
@pytest.mark.parametrize("width", [160, 100, 80, 50, 30])
def test_everything_fits(path: Path, width: int) -> None:
    """No line is longer than the terminal is wide; every step is there, led by its action and its doer."""
    walk = read_walk(path)
    lines = printed(walk, width)
    assert max(map(cell_len, lines)) <= width
    for step in walk.steps:
        assert any(line.split()[:3] == [str(step.number), step.action, step.doer] for line in lines)


@pytest.mark.parametrize("path", EVERY_TRACE, ids=name_of)
def test_every_change_is_told_once(path: Path) -> None:
    """Each place that a step changes is one line of one cell; the run's two places are told together."""
    walk = read_walk(path)
    for step in walk.steps[1:]:
        cells = cells_of(step, walk.processes)
        shown = Counter(task=sum(map(len, cells.lanes.values())), notes=len(cells.notes))
        shown += Counter(cursors=len(cells.cursors), claim=len(cells.claim), log=bool(cells.log))
        places = [change.place for change in step.changes if not change.place.startswith("run.")]
        assert shown.total() == len(places)
        assert bool(cells.run) == (len(places) < len(step.changes))


def test_a_loop_is_told_where_it_begins_and_where_it_goes_back() -> None:
    """A lasso's first step has a line above it, and the last one below."""
    lines = printed(counterexample("FailureHandsOverAll"), 100)
    begins = lines.index("↺ The loop begins: steps 8 to 10.")
    assert lines[begins + 1].split()[:2] == ["8", "Release"]
    assert lines.index("↺ Then it goes back by Release to step 8, and so on for ever.") > begins
    assert "   × I4_NeverSpins is broken: from step 8 on, for ever." in lines  # noqa: RUF001


def test_stuttering_is_told() -> None:
    """No loop begins, and the last line of the steps says that nothing happens any more."""
    lines = printed(counterexample("NoSweep"), 100)
    assert "↺ Then nothing happens any more: it stutters in this state for ever." in lines
    assert not any("The loop begins" in line for line in lines)


def test_what_the_file_names_comes_first() -> None:
    """What else its states break is told after it."""
    lines = printed(counterexample("LapsedEndTakes"), 160)
    assert "Broken: I1_ConsumedAtMostOnce at step 12." in lines
    assert "Also broken: I4_FailedTurnConsumesNothing at step 11, I5_OnlyAskedStarts at step 12." in lines


def test_a_recorded_run(tmp_path: Path) -> None:
    """It says that it is one, and that nothing is broken; a step may change nothing."""
    lines = printed(recorded(tmp_path, turn(), seed="7"), 100)
    assert lines[:3] == ["run. A recorded run, of 6 states.", "seed: 7", "No property is broken."]
    assert "  (nothing changes)" in printed(recorded(tmp_path, story(("Renew(p1)", {}))), 100)


def test_doubts_about_what_the_file_names(tmp_path: Path) -> None:
    """A property that holds, one that is not ours, and one that no trace without a loop shows."""
    named = "TypeOK, NeverClaim, AskedIsTaken"
    lines = printed(recorded(tmp_path, turn(), property=named), 200)
    assert "The file names TypeOK as broken. Its states show that it holds." in lines
    assert any(line.startswith("The file names NeverClaim as broken, which is none of") for line in lines)
    assert any(line.startswith("The file names AskedIsTaken as broken, which is about how") for line in lines)


def test_a_terminal_without_unicode(tmp_path: Path) -> None:
    """Marks and arrows are ASCII there, and what else it cannot show is a question mark."""
    lines = printed(counterexample("NoSweep"), 100, "ascii")
    assert "2 Send    p1    | claim                 .                       1 msg    asked 0>1" in lines
    assert "p ---" in "".join(printed(fixture("TwoTasks"), 100, "ascii"))
    assert "seed: caf?" in printed(recorded(tmp_path, turn(), seed="caf\u00e9"), 100, "ascii")
