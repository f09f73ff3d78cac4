"""Durable storages in the world: they work on a loop of their own, and the world waits for each call.

So a call of theirs takes effect where the world lets it, as in memory: the world does nothing meanwhile.
"""

import asyncio
import atexit
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from datetime import UTC, datetime
from functools import cache
from itertools import count, cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from conformance.world.memory import MakeStorage, WorldStorage
from threadclaim.events import Envelope
from threadclaim.storage import Reading, Scope, SqliteStorage, Step, Stranded, Transaction
from threadclaim.storage.protocol import Released
from threadclaim.storage.sql.base import SqlStorage
from threadclaim.storage.sql.keys import key_of, scope_keys

T = TypeVar("T")

POLL = 3600.0
"""How often, in seconds, what others committed is looked for: nobody follows these storages but the world."""

LAPSE = """
UPDATE threadclaim_leases SET until = 0 WHERE name_key = $1 AND scope_id =
    (SELECT id FROM threadclaim_scopes WHERE tenant_key = $2 AND workspace_key = $3)
"""
"""Lets one lease lapse."""


class Outside:
    """A loop on a thread of its own, to wait for."""

    def __init__(self) -> None:
        """Begin."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="outside the world", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do some work there, and wait for its end; raises what it raises."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def close(self) -> None:
        """End, with nothing left to do."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class DurableWorldStorage:
    """One world's part of a durable storage: a scope of its own, whatever the world calls it.

    `calls` is how many transactions there were: while it stands, nothing has changed.
    """

    def __init__(self, outside: Outside, inner: SqlStorage, number: int) -> None:
        """The part of this number."""
        self.calls = 0
        self._outside, self._inner, self._number = outside, inner, number
        self._head = 0
        self._waiters: list[asyncio.Future[None]] = []

    def _own(self, scope: Scope) -> Scope:
        """The scope in the storage of what is a scope in the world."""
        return Scope(f"{scope.tenant} {self._number}", scope.workspace)

    async def transact(self, scope: Scope, step: Step[T]) -> T:
        """Run a step, and wait for it; then wake who follows the log."""
        self.calls += 1
        if isinstance(step, Reading):  # the storage takes it otherwise than one that may write
            return self._outside.run(self._inner.transact(self._own(scope), step))

        async def and_head(tx: Transaction) -> tuple[T, int]:
            return await step(tx), await tx.head()

        result, head = self._outside.run(self._inner.transact(self._own(scope), and_head))
        if head > self._head:
            self._head = head
            waiters, self._waiters = self._waiters, []
            for waiter in waiters:
                if not waiter.done():
                    waiter.set_result(None)
        return result

    async def stranded(self, scope: Scope) -> Stranded:
        """List what is stranded."""
        return self._outside.run(self._inner.stranded(self._own(scope)))

    async def subscribe(self, scope: Scope, after_seq: int) -> AsyncIterator[Envelope]:
        """Follow the log: read it, as far as it is, whenever it has grown."""
        position = max(after_seq, 0)
        while True:
            if position >= self._head:
                waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                self._waiters.append(waiter)
                await waiter
            found = self._outside.run(self._inner._read_on(self._own(scope), position, 1000))
            for entry in found:
                position = entry.seq
                yield entry

    def on_release(self, told: Released) -> Callable[[], None]:
        """Tell nobody: it is a hint."""
        del told
        return lambda: None

    async def aclose(self) -> None:
        """Leave the storage to whoever opened it."""

    def lapse(self, scope: Scope, name: str) -> None:
        """Let a lease lapse: its expiry moves to long ago."""
        self.calls += 1
        self._outside.run(self._inner._fetch(LAPSE, key_of(name), *scope_keys(self._own(scope))))

    def until(self, _scope: Scope, _name: str) -> None:
        """A lease lapses by the database's clock, which is not the world's."""


class FastSqliteStorage(SqliteStorage):
    """A SqliteStorage whose commits need not outlast a power cut."""

    def _open(self) -> Any:  # noqa: ANN401  # a connection of sqlite3's
        connection = super()._open()
        connection.execute("PRAGMA synchronous = OFF")
        return connection


def _now() -> datetime:
    """A time that stands still."""
    return datetime(2026, 1, 1, tzinfo=UTC)


def _sqlite(folder: Path, new_id: Callable[[], str]) -> list[SqlStorage]:
    """A storage in a file."""
    return [FastSqliteStorage(folder / "threadclaim.db", poll_interval=POLL, now=_now, new_id=new_id)]


def _postgres(_: Path, new_id: Callable[[], str]) -> list[SqlStorage]:
    """Storages in a database of the server that is named, or of one that ends with this process.

    They prepare each statement anew, as they must where a proxy pools by transactions, and once.
    """
    from conformance.servers import database  # noqa: PLC0415  # as is the server
    from threadclaim.storage import PostgresStorage  # noqa: PLC0415  # its driver is an extra

    dsn = database()
    return [
        PostgresStorage(dsn, connections=2, prepared=prepared, poll_interval=POLL, now=_now, new_id=new_id)
        for prepared in (False, True)
    ]


MEMORY = "memory"

OpenDurable = Callable[[Path, Callable[[], str]], list[SqlStorage]]

DURABLE: dict[str, OpenDurable] = {
    "sqlite": _sqlite,
    "postgres": _postgres,
}
"""How a durable storage is opened, in each of its ways, given a folder and a source of ids, by its name."""

STORAGES = (MEMORY, *DURABLE)
"""The kinds of storage that a world may be on."""


@cache
def storage_of(name: str) -> MakeStorage:
    """What makes the storages of worlds, by the name of a kind of storage.

    A durable one is opened once in each of its ways, which worlds have in turn, and has a part for each
    world; it is closed as this process ends.
    """
    if name == MEMORY:
        return WorldStorage
    folder = TemporaryDirectory(prefix="threadclaim-")
    outside, numbers, ids = Outside(), count(1), count(1)
    opened = DURABLE[name](Path(folder.name), lambda: f"e{next(ids)}")
    in_turn = cycle(opened)

    def close() -> None:
        for inner in opened:
            outside.run(inner.aclose())
        outside.close()
        folder.cleanup()

    atexit.register(close)
    return lambda: DurableWorldStorage(outside, next(in_turn), next(numbers))
