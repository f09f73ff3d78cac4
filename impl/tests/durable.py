"""The durable storages as the suites run over them: each test has one of its own, empty, and fast."""

import sqlite3
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from pathlib import Path

from conformance.servers import database, of_database, server
from tests.opened import Opened
from tests.outside import Outside, waits_outside
from threadclaim.storage import PostgresStorage, Scope, SqliteStorage
from threadclaim.storage.sql.keys import key_of, scope_keys

__all__ = ["of_database", "postgres", "server", "sqlite"]

POLL = 60.0
"""How often, in seconds, followers look for what other processes committed: here are none."""

sys.setswitchinterval(0.0002)  # a loop that a test spins keeps the threads of SQLite waiting for less

LAPSE = """
UPDATE threadclaim_leases SET until = 0 WHERE name_key = $1 AND scope_id =
    (SELECT id FROM threadclaim_scopes WHERE tenant_key = $2 AND workspace_key = $3)
"""
"""Lets one lease lapse, and no other: no clock does that."""


class TestedSqlite(Outside, SqliteStorage):
    """A SqliteStorage in virtual time. No test cuts the power, so none waits for the disk."""

    __test__ = False  # pytest takes it for a class of tests

    def _open(self) -> sqlite3.Connection:
        """Open a connection whose commits reach the disk some time later."""
        connection = super()._open()
        connection.execute("PRAGMA synchronous = OFF")
        return connection


@asynccontextmanager
async def sqlite(folder: Path) -> AsyncGenerator[Opened]:
    """A SqliteStorage in a file of its own."""
    path = folder / "threadclaim.db"
    storage = TestedSqlite(path, poll_interval=POLL)

    async def lapse(scope: Scope, name: str) -> None:
        with closing(sqlite3.connect(path, timeout=30.0)) as connection, connection:
            connection.execute(LAPSE.replace("$", "?"), (key_of(name), *scope_keys(scope)))

    yield Opened(storage, lapse)
    await storage.aclose()


TABLES = ("log", "threads", "history", "cursors", "leases", "scopes")
EMPTY = ";".join(f"DELETE FROM threadclaim_{table}" for table in TABLES)  # noqa: S608  # constants


class TestedPostgres(Outside, PostgresStorage):
    """A PostgresStorage in virtual time."""

    __test__ = False  # pytest takes it for a class of tests

    async def run(self, sql: str, *args: object) -> None:
        """Run a text beside all transactions."""
        with waits_outside():
            async with self._connection() as connection:
                await connection.execute(sql, *args)


@asynccontextmanager
async def postgres(_folder: Path) -> AsyncGenerator[Opened]:
    """A PostgresStorage in a database that is empty."""
    storage = TestedPostgres(database(), connections=4, poll_interval=POLL)
    await storage.run(EMPTY)

    async def lapse(scope: Scope, name: str) -> None:
        await storage.run(LAPSE, key_of(name), *scope_keys(scope))

    yield Opened(storage, lapse)
    await storage.aclose()
