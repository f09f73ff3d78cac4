"""The durable storages as the suites run over them: each test has one of its own, empty, and fast."""

import sqlite3
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from pathlib import Path

from tests.opened import Opened
from tests.outside import Outside
from threadclaim.storage import Scope, SqliteStorage
from threadclaim.storage.sql.keys import key_of, scope_keys

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
    storage = TestedSqlite(path)

    async def lapse(scope: Scope, name: str) -> None:
        with closing(sqlite3.connect(path, timeout=30.0)) as connection, connection:
            connection.execute(LAPSE.replace("$", "?"), (key_of(name), *scope_keys(scope)))

    yield Opened(storage, lapse)
    await storage.aclose()
