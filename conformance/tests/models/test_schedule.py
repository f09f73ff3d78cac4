"""Sharing work out over cores."""

import asyncio
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.models.schedule import Work, share_out


@dataclass
class Hall:
    """Where works run: which began, in order, and how many ran and how many cores were busy at most."""

    begun: list[str] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    busy: int = 0
    most: int = 0
    running: int = 0
    most_running: int = 0

    def work(self, name: str, cores: int, seconds: float, turns: int = 1) -> Work[str]:
        """A work that gives its name after some turns of the loop."""
        return Work(cores, seconds, lambda: self._work(name, cores, turns))

    async def _work(self, name: str, cores: int, turns: int) -> str:
        """Begin, wait for some turns of the loop, end."""
        self.begun.append(name)
        self.busy += cores
        self.running += 1
        self.most, self.most_running = max(self.most, self.busy), max(self.most_running, self.running)
        try:
            for _ in range(turns):
                await asyncio.sleep(0)
        except asyncio.CancelledError:
            self.cancelled.append(name)
            raise
        self.busy -= cores
        self.running -= 1
        return name


def test_the_longest_begins_first() -> None:
    """Works begin in the order of their seconds, the longest first."""
    hall = Hall()
    works = [hall.work("short", 1, 1), hall.work("long", 1, 9), hall.work("middle", 1, 5)]
    assert asyncio.run(share_out(works, cores=1, at_once=9)) == ["long", "middle", "short"]
    assert hall.begun == ["long", "middle", "short"]


def test_a_shorter_work_fills_a_free_core() -> None:
    """While a work of two cores waits for one of them, a work of one core takes the other."""
    hall = Hall()
    works = [hall.work("first", 1, 9, turns=5), hall.work("wide", 2, 8), hall.work("small", 1, 1)]
    assert asyncio.run(share_out(works, cores=2, at_once=9)) == ["small", "first", "wide"]


def test_a_work_that_wants_too_much_runs_alone() -> None:
    """A work of more cores than there are runs all the same, beside nothing."""
    hall = Hall()
    works = [hall.work("wide", 4, 9, turns=3), hall.work("small", 1, 1)]
    assert asyncio.run(share_out(works, cores=2, at_once=9)) == ["wide", "small"]
    assert hall.most_running == 1


def test_an_error_stops_the_others() -> None:
    """What one work raises is raised, once the other has been cancelled; no further work begins."""
    hall = Hall()

    async def fail() -> str:
        """Fail at once."""
        raise ValueError("no such thing")

    works = [Work(1, 9, fail), hall.work("other", 1, 5, turns=1000), hall.work("never", 1, 1)]
    with pytest.raises(ValueError, match="no such thing"):
        asyncio.run(share_out(works, cores=2, at_once=9))
    assert hall.cancelled == ["other"]
    assert hall.begun == ["other"]


def test_a_cancelled_caller_stops_all() -> None:
    """When the caller is cancelled, every running work is."""
    hall = Hall()

    async def cancel() -> None:
        """Cancel the sharing once its works run."""
        task = asyncio.create_task(share_out([hall.work("a", 1, 1, 1000)], cores=2, at_once=9))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert hall.begun == ["a"]
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())
    assert hall.cancelled == ["a"]


SIZES = st.lists(st.tuples(st.integers(1, 4), st.integers(1, 9), st.integers(0, 3)), max_size=12)


@given(sizes=SIZES, cores=st.integers(1, 4), at_once=st.integers(1, 4))
def test_all_is_done_within_the_limits(sizes: list[tuple[int, int, int]], cores: int, at_once: int) -> None:
    """Whatever the works want, each is done once, and neither cores nor runs exceed what there is."""
    hall = Hall()
    works = [
        hall.work(str(number), min(wanted, cores), seconds, turns)
        for number, (wanted, seconds, turns) in enumerate(sizes)
    ]
    ended = asyncio.run(share_out(works, cores=cores, at_once=at_once))
    assert sorted(ended) == sorted(str(number) for number in range(len(sizes)))
    assert hall.most <= cores
    assert hall.most_running <= at_once
