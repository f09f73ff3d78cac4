"""Virtual time for storages that are outside: while a call of one is under way, time stands still.

`VirtualTimeLoop` jumps to the next timer whenever nothing is ready. A file and a server answer later, so
before it jumps this loop waits, really, for the calls that are under way. A test over such a storage then
takes the virtual time that it takes over memory. Leases are the database's own to judge: they lapse where a
test has them lapse.
"""

import asyncio
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from selectors import SelectSelector
from typing import TypeVar

from threadclaim.events import Envelope
from threadclaim.storage import Scope, Step, Stranded
from threadclaim.storage.sql.base import SqlStorage
from threadclaim.testing import DeadlockError, VirtualTimeLoop

T = TypeVar("T")

HANGS_AFTER = 60.0
"""After how many real seconds without an answer, or anything else, a storage counts as hanging."""


class OutsideLoop(VirtualTimeLoop):
    """A virtual-time loop that waits for what is outside."""

    _selector: SelectSelector  # asyncio's own

    def __init__(self) -> None:
        """Nothing is under way."""
        super().__init__()
        self.under_way = 0

    def jump(self) -> None:
        """Wait for what is under way; if nothing is, go on to the next timer."""
        if not self.under_way:
            super().jump()
            return
        began = time.monotonic()
        SelectSelector.select(
            self._selector, HANGS_AFTER
        )  # what is ready is found once more, and told, after
        if time.monotonic() - began >= HANGS_AFTER:
            raise DeadlockError("A storage did not answer.")


@contextmanager
def waits_outside() -> Generator[None]:
    """Have virtual time stand still meanwhile; on any other loop this does nothing."""
    loop = asyncio.get_running_loop()
    if not isinstance(loop, OutsideLoop):
        yield
        return
    loop.under_way += 1
    try:
        yield
    finally:
        loop.under_way -= 1


class Outside(SqlStorage):
    """Comes before a storage's class, and has virtual time wait for each of its calls."""

    async def transact(self, scope: Scope, step: Step[T]) -> T:
        """Run a step."""
        with waits_outside():
            return await super().transact(scope, step)

    async def stranded(self, scope: Scope) -> Stranded:
        """List what is stranded."""
        with waits_outside():
            return await super().stranded(scope)

    async def _read_on(self, scope: Scope, after_seq: int, limit: int) -> Sequence[Envelope]:
        """Read what a follower has not read."""
        with waits_outside():
            return await super()._read_on(scope, after_seq, limit)

    async def aclose(self) -> None:
        """Close it."""
        with waits_outside():
            await super().aclose()  # type: ignore[safe-super]  # it comes before a class that has one
