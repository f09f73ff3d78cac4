"""Shards: the same walks however many processes do them; what goes wrong in one is told; Ctrl-C ends all."""

import multiprocessing
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import pytest
from rich.console import Console

from conformance.explore import shard
from conformance.explore.check import BrokenError
from conformance.explore.command import Explore
from conformance.explore.profiles import PROFILES, Profile
from conformance.explore.shard import Explored, Shard, all_explored, explored
from conformance.explore.walk import Walker
from conformance.mutants import TWINS

SMALL = Profile(walks=6, real=2, direct=2, examples=3, steps=20)
SHARDS = [Shard(SMALL, 0), Shard(SMALL, 1)]


def test_walks_are_the_same_in_processes_of_their_own() -> None:
    """Side by side, or one after the other."""
    apart, here = all_explored(SHARDS, 2), all_explored(SHARDS, 1)
    assert [each.tally for each in apart] == [each.tally for each in here]
    assert [{part: speed.walks for part, speed in each.speeds.items()} for each in apart] == 2 * [
        {"stepped": 6, "real": 2, "direct": 2, "hypothesis": 3}
    ]


@pytest.mark.parametrize("walks", [0, 1, 2, 7, 1000])
def test_a_profile_is_divided(walks: int) -> None:
    """Into parts of about the same size; none is empty, unless there is nothing to walk."""
    parts = [Profile(walks, walks, walks, 9).part(2, place).walks for place in range(2)]
    assert sum(parts) == (walks if walks != 1 else 2)
    assert max(parts) - min(parts) <= 1


def test_what_went_wrong_comes_from_another_process() -> None:
    """With its kind, its sentences and its steps."""
    with TWINS["NoHandOver"].applied():
        (found,) = all_explored([Shard(Profile(walks=50, real=0, examples=0, steps=60), 0), SHARDS[1]], None)
    wrong = found.wrong
    assert wrong is not None
    told = pickle.loads(pickle.dumps(wrong))  # noqa: S301  # as a process of our own sends it
    assert (told.kind, told.why, told.steps) == (wrong.kind, wrong.why, wrong.steps)
    broken = BrokenError(("I1_ConsumedAtMostOnce",), "Twice.")
    assert str(pickle.loads(pickle.dumps(broken))) == str(broken)  # noqa: S301


def test_a_shard_that_is_told_to_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends, with what it has reached."""
    halt = multiprocessing.Event()
    walk = Walker.walk

    def walk_once(walker: Walker, seed: int, length: int) -> object:
        halt.set()
        return walk(walker, seed, length)

    monkeypatch.setattr(Walker, "walk", walk_once)
    monkeypatch.setattr(shard, "_halt", [halt])
    assert explored(SHARDS[0]).tally.walks == 1


class Interrupted:
    """Processes: as their results are waited for, somebody presses Ctrl-C once."""

    def __init__(self, _jobs: int, _context: object, _begin: object, halt: tuple[Any], **_: int) -> None:
        (self.halt,) = halt
        self.waits = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def submit(self, explored: Callable[[Shard], Explored], one: Shard) -> "Interrupted":
        """Take a shard."""
        self.shard, self.explored = one, explored
        return self

    def result(self) -> Explored:
        """What it came to, once it is told to stop."""
        self.waits += 1
        if self.waits == 1:
            raise KeyboardInterrupt
        assert self.halt.is_set()
        return self.explored(Shard(Profile(walks=1, real=1, examples=0, steps=5), 0))


def stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int | None) -> str:
    """What is printed of an exploration without end that is interrupted."""
    monkeypatch.setitem(PROFILES, "small", Profile(walks=9, real=1, examples=1, steps=5, rounds=None))
    console = Console(width=160, record=True, quiet=False, file=(tmp_path / "out").open("w"))
    Explore(tmp_path, console, jobs=jobs).run("small", 0, None)
    console.file.close()
    return console.export_text()


def test_ctrl_c_while_others_explore(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are told to stop, and what they reached is told."""
    monkeypatch.setattr(shard, "ProcessPoolExecutor", Interrupted)
    text = stopped(tmp_path, monkeypatch, jobs=2)
    assert "Stopped; this is what was reached." in text
    assert "2 walks with the stepped agent" in text


def test_ctrl_c_in_the_process_that_explores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it reached is told too."""
    walk = Walker.walk

    def walk_twice(walker: Walker, seed: int, length: int) -> object:
        if seed == 2:
            raise KeyboardInterrupt
        return walk(walker, seed, length)

    monkeypatch.setattr(Walker, "walk", walk_twice)
    text = stopped(tmp_path, monkeypatch, jobs=None)
    assert "Stopped; this is what was reached." in text
    assert "Send " in text
