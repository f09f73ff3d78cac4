"""A process that serves threads, and can die in the middle of whatever it does."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any, Self, TypeVar

from threadclaim.events import Envelope
from threadclaim.run import TurnContext
from threadclaim.runner import Runner
from threadclaim.storage import Scope, Step, Storage, Stranded
from threadclaim.storage.protocol import Released
from threadclaim.turn import Turn

T = TypeVar("T")

Heard = Callable[[Step[Any], Any], Awaitable[None]]
"""Told of a step that took effect, and of its result."""


async def _hear_nothing(_step: Step[Any], _result: object) -> None:
    """Nobody is told."""


class MortalStorage:
    """A storage as one process reaches it: once that is dead, no call of it takes effect or is answered.

    A call that was under way as the process died may have taken effect; its answer is never heard. `heard` is
    told of each step of this process that took effect; `inner` is the storage that it passes all on to.
    """

    def __init__(self, inner: Storage, heard: Heard = _hear_nothing) -> None:
        """Reach `inner`, alive."""
        self.inner, self._heard = inner, heard
        self._is_dead = False
        self._callers: set[asyncio.Task[Any]] = set()

    def die(self) -> None:
        """Let nothing take effect any more, and answer nothing."""
        self._is_dead = True

    async def end_callers(self) -> None:
        """End every task that has called, however often it must be cancelled for that."""
        while alive := [task for task in self._callers if not task.done()]:
            for task in alive:
                task.cancel()
            await asyncio.sleep(0)

    async def living(self) -> None:
        """Go on, unless the process is dead: then wait for ever, or until the calling task is ended."""
        if (task := asyncio.current_task()) is not None:
            self._callers.add(task)
        if self._is_dead:
            await asyncio.get_running_loop().create_future()

    async def transact(self, scope: Scope, step: Step[T]) -> T:
        """Run a step, as `Storage.transact` says."""
        await self.living()
        result = await self.inner.transact(scope, step)
        await self.living()
        await self._heard(step, result)
        return result

    def subscribe(self, scope: Scope, after_seq: int) -> AsyncIterator[Envelope]:
        """Follow the log, as `Storage.subscribe` says."""
        return _Following(self.inner.subscribe(scope, after_seq), self.living)

    async def stranded(self, scope: Scope) -> Stranded:
        """List the threads that a sweep is for."""
        await self.living()
        return await self.inner.stranded(scope)

    def on_release(self, told: Released) -> Callable[[], None]:
        """Tell of releases; who is dead hears of none."""
        return self.inner.on_release(lambda scope, name: None if self._is_dead else told(scope, name))

    async def aclose(self) -> None:
        """The storage below is not this process's to close."""


class _Following:
    """Follows a log for as long as its process lives."""

    def __init__(self, entries: AsyncIterator[Envelope], living: Callable[[], Awaitable[None]]) -> None:
        """Follow `entries`."""
        self._entries, self._living = entries, living

    def __aiter__(self) -> Self:
        """Follow from where it is."""
        return self

    async def __anext__(self) -> Envelope:
        """The next entry."""
        await self._living()
        entry = await anext(self._entries)
        await self._living()
        return entry


class Process:
    """A process with one runner. Let it do its work with `do`, so that it dies with it.

    Like the process of an application, but that it is a part of this one: it has the storage and the loop in
    common with the others, and nothing else.
    """

    def __init__(
        self,
        agent: Turn,
        storage: Storage,
        *,
        claim_ttl: float,
        turn_context: TurnContext | None = None,
        heard: Heard = _hear_nothing,
    ) -> None:
        """A process that has just started; `heard` is as of `MortalStorage`, the rest as of `Runner`."""
        self.storage = MortalStorage(storage, heard)
        self.runner = Runner(
            agent, self.storage, claim_ttl=claim_ttl, turn_context=turn_context, close_within=0
        )

    async def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Do some work, a command of the runner say, in a task of the process's own."""
        return await asyncio.get_running_loop().create_task(work)

    async def die(self) -> None:
        """Die as by `kill -9`: nothing that it does takes effect any more, and all its tasks end.

        What they would have storage do as they end is not done: no run's end is recorded, and no claim
        released. When this returns none of them is left, and what was under way in storage has ended.
        """
        self.storage.die()
        log = logging.getLogger("threadclaim")
        log.addFilter(_nothing)  # a process that is killed logs nothing of its end
        try:
            await self.runner.aclose()
            await self.storage.end_callers()
        finally:
            log.removeFilter(_nothing)


def _nothing(_record: logging.LogRecord) -> bool:
    """Let no record through."""
    return False
