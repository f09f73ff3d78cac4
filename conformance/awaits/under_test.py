"""The storages under test: each opened over an empty database, and how a lease of it is let lapse at once."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, replace
from typing import Any

from conformance.databases import database
from threadclaim.storage import InMemoryStorage, Scope, SqliteStorage, Storage
from threadclaim.storage.sql.keys import key_of, scope_keys

KINDS = ("memory", "sqlite", "postgres")

_LAPSE = """
UPDATE threadclaim_leases SET until = 0 WHERE name_key = $1 AND scope_id =
    (SELECT id FROM threadclaim_scopes WHERE tenant_key = $2 AND workspace_key = $3)
"""

_FOLLOWS_EVERY = 60.0
"""How often, in seconds, followers look for what others commit: what this process commits wakes them."""

Lapse = Callable[[Scope, str], bool]
"""Lets a lease lapse, without a turn of the loop; False if a transaction under way keeps it from that."""


@dataclass(frozen=True, slots=True)
class UnderTest:
    """A storage, and what lets its leases lapse."""

    storage: Storage
    lapse: Lapse


@asynccontextmanager
async def under_test(kind: str, dsn: str | None = None) -> AsyncGenerator[UnderTest]:
    """A storage of a kind; it is closed, and what it is over is gone, in the end."""
    if kind == "memory":
        yield _memory()
        return
    async with database(kind, dsn, waits_for_disk=False) as target:
        tested = _sqlite(target) if kind == "sqlite" else await _postgres(target)
        yield tested
        await tested.storage.aclose()


def _memory() -> UnderTest:
    """In memory a lease lapses as its time is set back."""
    storage = InMemoryStorage()

    def lapse(scope: Scope, name: str) -> bool:
        leases = storage._scopes[scope].leases  # noqa: SLF001  # no clock lets one lease lapse and no other
        if name in leases:
            leases[name] = replace(leases[name], until=float("-inf"))
        return True

    return UnderTest(storage, lapse)


def _sqlite(target: str) -> UnderTest:
    """A file, written to beside the storage."""

    def lapse(scope: Scope, name: str) -> bool:
        sql = _LAPSE.replace("$", "?")
        with closing(sqlite3.connect(target, timeout=30.0)) as connection, connection:
            connection.execute(sql, (key_of(name), *scope_keys(scope)))
        return True

    return UnderTest(SqliteStorage(target, poll_interval=_FOLLOWS_EVERY), lapse)


async def _postgres(target: str) -> UnderTest:
    """A server, written to on a thread with a loop of its own: the loop under test stands still meanwhile."""
    import asyncpg  # noqa: PLC0415  # an extra

    from threadclaim.storage import PostgresStorage  # noqa: PLC0415  # likewise

    beside = asyncio.new_event_loop()
    threading.Thread(target=beside.run_forever, daemon=True).start()

    def do(work: Coroutine[Any, Any, Any]) -> Any:  # noqa: ANN401  # whatever it comes to
        return asyncio.run_coroutine_threadsafe(work, beside).result()

    connection = await asyncio.to_thread(do, asyncpg.connect(target))
    # Who holds the row's lock stands still: waiting for it would be for good.
    await asyncio.to_thread(do, connection.execute("SET lock_timeout = '10ms'"))

    def lapse(scope: Scope, name: str) -> bool:
        try:
            do(connection.execute(_LAPSE, key_of(name), *scope_keys(scope)))
        except asyncpg.LockNotAvailableError:
            return False
        return True

    return UnderTest(PostgresStorage(target, poll_interval=_FOLLOWS_EVERY), lapse)
