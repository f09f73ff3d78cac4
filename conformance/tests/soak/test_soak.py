"""A short soak over each durable storage: whatever comes, nothing is lost, taken twice, or stuck."""

import json
from pathlib import Path

import pytest
from rich.console import Console

from conformance.soak.checker import Verdict
from conformance.soak.command import AS_EXPECTED, NOT_AS_EXPECTED, Soaked, Soaking, failures_of
from conformance.soak.soak import Plan
from conformance.soak.story import Story
from conformance.soak.turn import Notes, read_notes
from tests.durable import server
from threadclaim.events import PersonActor
from threadclaim.turn import TurnInput

SHORT = Plan(seconds=1.0, workers=2, senders=3, workspaces=2, threads=3, kill_every=0.5)


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_short_soak(kind: str, tmp_path: Path) -> None:
    """A worker is killed as its run holds on; the log is well, and what was given again is excused.

    Nothing here is left to luck: how many more are killed, and how long anybody waits, is not looked at.
    """
    path = tmp_path / "soak.json"
    dsn = server() if kind == "postgres" else None
    code = Soaking(Console(quiet=True)).run(SHORT, kind, dsn, path)
    found = json.loads(path.read_text())
    figures = found["figures"]
    assert [figures[name] for name in ("lost", "twice", "stuck", "wrong")] == [0, 0, 0, 0]
    assert figures["kills"] >= 1
    assert figures["excused"] >= 1
    assert figures["consumed"] == figures["messages"] >= figures["acknowledged"] >= 2
    assert {row["worker"] for row in found["rows"]} == {"0", "1"}
    assert code in {AS_EXPECTED, NOT_AS_EXPECTED}, "A busy machine may wait for longer."


def test_notes_are_read_in_the_order_of_giving(tmp_path: Path) -> None:
    """Whichever process noted them, and lived longer."""
    turn = TurnInput("t", "r", PersonActor("ann"), started_by=PersonActor("ann"))
    first, second = Notes(tmp_path / "b.jsonl", "b"), Notes(tmp_path / "a.jsonl", "a")
    first.give(turn, "steering", [1])
    second.give(turn, "prompt", [1, 2])
    first.give(turn, "reply", [3])
    assert [(given.life, given.seq) for given in read_notes(tmp_path)] == [
        ("b", 1),
        ("a", 1),
        ("a", 2),
        ("b", 3),
    ]


def test_a_wait_that_is_too_long_is_a_failure() -> None:
    """The record promises two TTLs; how long storage takes to answer comes beside."""
    story = Story({}, slowest_call=0.1)
    soon = Soaked("sqlite", SHORT, story, Verdict(), longest_wait=2.6, waits=1, seconds=1.0)
    late = Soaked("sqlite", SHORT, story, Verdict(), longest_wait=2.7, waits=1, seconds=1.0)
    assert soon.is_well
    assert not late.is_well
    (failure,) = failures_of(late)
    assert "2.70 s" in failure.why[0]
    assert "--seed 0" in failure.command
