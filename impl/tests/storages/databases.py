"""Databases of each kind, and what tests do to them beside the storages that use them."""

import asyncio
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import asyncpg
from typing_extensions import override

from tests.durable import of_database, server
from threadclaim.events import Custom, PersonActor
from threadclaim.storage import PostgresStorage, Scope, SqliteStorage, Transaction
from threadclaim.storage.sql.base import SqlStorage
from threadclaim.storage.sqlite.storage import numbered

ANN = PersonActor("ann")

TERMINATE = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
"""Ends a server's connections, but for the one that asks for it."""

EARLIER_SAVE_THREAD = """
INSERT INTO threadclaim_threads (scope_id, thread_key, thread_id, body, created)
VALUES ($1, $2, $3, $4,
        CASE WHEN CAST($6 AS TEXT) IS NULL THEN CAST($5 AS BIGINT) ELSE CAST($5 AS BIGINT) END)
ON CONFLICT (scope_id, thread_key) DO UPDATE SET body = excluded.body
"""
"""How a release before migration 0005 saves a thread: it knows nothing of where the thread stands."""


Open = Callable[..., SqlStorage]
"""Opens a storage over a test's database, as of one more process."""

OpenServer = Callable[..., PostgresStorage]
"""The same, over a server's."""


async def head(tx: Transaction) -> int:
    """The log's head."""
    return await tx.head()


async def append(tx: Transaction) -> int:
    """Commit an entry; gives its seq."""
    return (await tx.append(Custom("x"), actor=ANN)).seq


async def expect_followed(writing: SqlStorage, following: SqlStorage, scope: Scope) -> None:
    """Expect each of five entries of an empty log, one after another, to come to another's follower."""
    entries = following.subscribe(scope, 0)
    async with asyncio.timeout(60):
        for seq in range(1, 6):
            coming = asyncio.ensure_future(anext(entries))
            await asyncio.sleep(0)
            await writing.transact(scope, append)
            assert (await coming).seq == seq


async def until(holds: Callable[[], Any]) -> None:
    """Wait until something holds, of which nobody tells; 60 s are a failure."""
    async with asyncio.timeout(60):
        while not await holds():  # noqa: ASYNC110  # the server tells nobody
            await asyncio.sleep(0.001)


class Database(ABC):
    """A database of one kind, without a schema at first; `explain` is how it is asked for a query's plan."""

    explain: ClassVar[str]
    target: str

    @abstractmethod
    def open(self, **settings: Any) -> SqlStorage:  # noqa: ANN401  # each setting has a type of its own
        """A storage over it, as of another process."""

    @abstractmethod
    def open_earlier(self) -> SqlStorage:
        """A storage as a release before migration 0005 had it."""

    @abstractmethod
    async def run(self, sql: str, *args: object) -> Sequence[tuple[object, ...]]:
        """Run a text beside all storages, and commit."""


class SqliteDatabase(Database):
    """A file."""

    explain = "EXPLAIN QUERY PLAN"

    def __init__(self, folder: Path) -> None:
        """In a folder of its own."""
        self.target = str(folder / "threadclaim.db")

    @override
    def open(self, **settings: Any) -> SqlStorage:
        return SqliteStorage(self.target, **settings)

    @override
    def open_earlier(self) -> SqlStorage:
        return EarlierSqlite(self.target)

    @override
    async def run(self, sql: str, *args: object) -> Sequence[tuple[object, ...]]:
        with closing(sqlite3.connect(self.target, timeout=30.0)) as connection, connection:
            return connection.execute(numbered(sql), args).fetchall()


class PostgresDatabase(Database):
    """A database of the tests' server."""

    explain = "EXPLAIN ANALYZE"

    def __init__(self, name: str) -> None:
        """Of this name."""
        self.target = of_database(server(), name)

    @override
    def open(self, **settings: Any) -> SqlStorage:
        return PostgresStorage(self.target, **settings)

    @override
    def open_earlier(self) -> SqlStorage:
        return EarlierPostgres(self.target)

    @override
    async def run(self, sql: str, *args: object) -> Sequence[tuple[object, ...]]:
        connection = await asyncpg.connect(self.target)
        try:
            return [tuple(row) for row in await connection.fetch(sql, *args)]
        finally:
            await connection.close()


class EarlierSqlite(SqliteStorage):
    """An earlier release, which writes what it knows of, and looks at no schema."""

    def __init__(self, path: str) -> None:
        """Over a file."""
        super().__init__(path)
        self._source = replace(
            self._source, texts=replace(self._source.texts, save_thread=EARLIER_SAVE_THREAD)
        )

    @override
    def _prepare(self, connection: sqlite3.Connection) -> None:
        pass


class EarlierPostgres(PostgresStorage):
    """An earlier release, which writes what it knows of, and looks at no schema."""

    def __init__(self, dsn: str) -> None:
        """Over a database."""
        super().__init__(dsn)
        self._source = replace(
            self._source, texts=replace(self._source.texts, save_thread=EARLIER_SAVE_THREAD)
        )

    @override
    async def _prepare(self) -> None:
        pass
