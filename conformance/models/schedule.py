"""Work shared out over cores: the longest first, and never more at once than the cores can bear."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Work(Generic[T]):
    """One piece of work: `cores` that it keeps busy, `seconds` that it may take, and what starts it."""

    cores: int
    seconds: float
    start: Callable[[], Coroutine[Any, Any, T]]


async def share_out(works: Iterable[Work[T]], *, cores: int, at_once: int) -> list[T]:
    """Do all the work, and return what each piece gave, in the order in which they ended.

    At any time the pieces that run keep at most `cores` cores busy, and there are at most `at_once` of them;
    a piece that wants more cores than there are runs alone. If one raises, or the caller is cancelled, the
    others are cancelled, and that is raised once they have ended.
    """
    waiting = sorted(works, key=lambda work: work.seconds, reverse=True)
    running: dict[asyncio.Task[T], int] = {}
    ended: list[T] = []
    try:
        while waiting or running:
            while len(running) < at_once and (work := _next(waiting, cores - sum(running.values()), cores)):
                waiting.remove(work)
                running[asyncio.create_task(work.start())] = min(work.cores, cores)
            done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                ended.append(task.result())
                del running[task]
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
    return ended


def _next(waiting: Iterable[Work[T]], free: int, cores: int) -> Work[T] | None:
    """The longest work for which enough cores are free."""
    return next((work for work in waiting if min(work.cores, cores) <= free), None)
