"""A storage in memory for the world: the library's, with what the world must be able to do to a lease."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from typing import Protocol, TypeVar

from typing_extensions import override

from threadclaim.storage import InMemoryStorage, Scope, Step, Storage

T = TypeVar("T")


class StorageOfAWorld(Storage, Protocol):
    """A storage that a world can be on: it does what it is asked for before it waits, if it waits at all.

    `calls` is how many transactions there were: while it stands, nothing has changed.
    """

    calls: int

    def lapse(self, scope: Scope, name: str) -> None:
        """Let a lease lapse."""

    def until(self, scope: Scope, name: str) -> float | None:
        """When a lease lapses by the world's time; None if it is by another clock, or nobody has it."""


class WorldStorage(InMemoryStorage):
    """The library's storage in memory, at the world's time; a lease lapses when the world says.

    `calls` is how many transactions there were: while it stands, nothing has changed.
    """

    def __init__(self) -> None:
        """Hold nothing; ids are numbers."""
        self.calls = 0
        numbers = count(1)
        super().__init__(
            clock=lambda: asyncio.get_running_loop().time(),
            now=lambda: datetime(2026, 1, 1, tzinfo=UTC),
            new_id=lambda: f"e{next(numbers)}",
        )

    @override
    async def transact(self, scope: Scope, step: Step[T]) -> T:
        """Run a step where it is called: nobody cancels what the world does."""
        return await self._transact(scope, step)

    @override
    async def _transact(self, scope: Scope, step: Step[T]) -> T:
        """Count the transaction, whoever makes it."""
        self.calls += 1
        return await super()._transact(scope, step)

    def lapse(self, scope: Scope, name: str) -> None:
        """Let a lease lapse."""
        self.calls += 1
        lease = self._scopes[scope].leases.get(name)
        if lease is not None:
            self._scopes[scope].leases[name] = replace(lease, until=float("-inf"))

    def until(self, scope: Scope, name: str) -> float | None:
        """When a lease lapses by the world's time; None if nobody has it."""
        lease = self._scopes[scope].leases.get(name)
        return None if lease is None else lease.until


MakeStorage = Callable[[], StorageOfAWorld]
"""Makes the storage of a world."""
