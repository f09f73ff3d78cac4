"""Following a log in a database: woken by what this process commits, and looking for the rest."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Self

from threadclaim.events import Envelope
from threadclaim.storage.protocol import Scope

BATCH = 100
"""How many entries are read at once: a follower that is far behind holds no more."""

ReadOn = Callable[[Scope, int, int], Awaitable[Sequence[Envelope]]]
"""Reads the entries of a scope past a position, at most so many."""


class Wakes:
    """Who waits for a scope's log to grow."""

    def __init__(self) -> None:
        """Nobody waits."""
        self._waiters: dict[Scope, set[asyncio.Future[None]]] = {}

    def wake(self, scope: Scope) -> None:
        """Wake who waits for this scope."""
        for waiter in self._waiters.pop(scope, set()):
            if not waiter.done() and not waiter.get_loop().is_closed():
                waiter.set_result(None)

    def wake_all(self) -> None:
        """Wake whoever waits."""
        for scope in list(self._waiters):
            self.wake(scope)

    def waiter(self, scope: Scope) -> asyncio.Future[None]:
        """A future that is done once the log may have grown, from now on."""
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.setdefault(scope, set()).add(waiter)
        return waiter

    def forget(self, scope: Scope, waiter: asyncio.Future[None]) -> None:
        """Wake it no more."""
        waiters = self._waiters.get(scope, set())
        waiters.discard(waiter)
        if not waiters:
            self._waiters.pop(scope, None)


class Following:
    """Follows a scope's log. While nobody waits for its next entry, it holds nothing.

    It begins to listen before it reads, so what is committed as it reads wakes it. What is committed by
    another process it finds within `interval` seconds.
    """

    def __init__(self, scope: Scope, position: int, wakes: Wakes, read: ReadOn, interval: float) -> None:
        """Begin after `position`."""
        self._scope, self._position = scope, max(position, 0)
        self._wakes, self._read, self._interval = wakes, read, interval
        self._found: deque[Envelope] = deque()

    def __aiter__(self) -> Self:
        """Follow from where it is."""
        return self

    async def __anext__(self) -> Envelope:
        """The next entry, once there is one."""
        while not self._found:
            await self._read_on()
        entry = self._found.popleft()
        self._position = entry.seq
        return entry

    async def _read_on(self) -> None:
        """Read what is there; if that is nothing, wait."""
        waiter = self._wakes.waiter(self._scope)
        try:
            self._found.extend(await self._read(self._scope, self._position, BATCH))
            if not self._found:
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._interval):
                        await waiter
        finally:
            self._wakes.forget(self._scope, waiter)
