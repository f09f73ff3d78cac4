"""`SqliteStorage`: workspaces in a file, without a server, for any number of processes of one host."""

import asyncio
import os
import re
import sqlite3
import threading
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from threadclaim.errors import RequestError, StorageError, StorageUnsuitable, WrongType, kind_of
from threadclaim.limits import check_connections, check_seconds
from threadclaim.storage.common import new_id, utc_now
from threadclaim.storage.protocol import Scope, Step
from threadclaim.storage.sql.base import Kept, SqlStorage
from threadclaim.storage.sql.keys import scope_keys
from threadclaim.storage.sql.session import Row, Write
from threadclaim.storage.sql.texts import ADD_SCOPE, SCOPE, with_clock
from threadclaim.storage.sqlite import schema
from threadclaim.storage.sqlite.failures import OLDEST, patiently, told
from threadclaim.storage.sqlite.worker import Job, Worker

T = TypeVar("T")

# `unixepoch('subsec')` is NULL before 3.42, and an expiry that is NULL has always come.
_TEXTS = with_clock("(julianday('now') - 2440587.5) * 86400.0")

_OWN_WAIT = 0.02
"""How long, in seconds, SQLite itself waits for a lock, before `patiently` does."""


@lru_cache(maxsize=256)
def numbered(sql: str) -> str:
    """A text with its parameters as SQLite numbers them."""
    return re.sub(r"\$(\d+)", r"?\1", sql)


def connect(file: str, patience: float) -> sqlite3.Connection:
    """Open a file, in WAL and with every commit on the disk before it counts. Raises sqlite3.Error."""
    connection = sqlite3.connect(
        file, timeout=_OWN_WAIT, isolation_level=None, check_same_thread=False, uri=file.startswith("file:")
    )
    try:
        patiently(lambda: _set_up(connection), patience)
    except BaseException:
        connection.close()
        raise
    return connection


def _set_up(connection: sqlite3.Connection) -> None:
    """Have readers and a writer not wait for each other, and commits outlast a power cut."""
    (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
    if mode != "wal":
        connection.execute("PRAGMA journal_mode = WAL").fetchone()
    connection.execute("PRAGMA synchronous = FULL")


async def do(worker: Worker, job: Job[T], file: str) -> T:
    """Do a job. What SQLite raises is told as a StorageError, and not taken for what a step raises."""
    try:
        return await worker.do(job)
    except sqlite3.Error as error:
        raise told(error, file) from error


@dataclass(frozen=True, slots=True)
class _Writing:
    """How transactions come to write: one of this storage's at a time, with patience for others'."""

    file: str
    patience: float
    lock: threading.Lock = field(default_factory=threading.Lock)


class _Session:
    """A transaction (`threadclaim.storage.sql.session.Session`).

    What it reads is one snapshot of the file. What it writes is written in one job, under the file's lock, if
    the scope is as it was in the snapshot; else nothing is, and the step is run anew. So a step that waits
    keeps no other scope waiting. One that `is_exclusive` has the lock from its begin on, and is always kept.
    """

    def __init__(self, worker: Worker, scope: Scope, writing: _Writing, *, is_exclusive: bool) -> None:
        """Of a worker that is this transaction's alone."""
        self._worker, self._scope = worker, scope
        self._file, self._lock, self._patience = writing.file, writing.lock, writing.patience
        self._is_exclusive = is_exclusive
        self.head, self._id, self._version = 0, 0, 0

    def _is_over(self) -> bool:
        """Whether the storage is closed, and has waited long enough."""
        return self._worker.is_broken_off

    async def begin(self) -> None:
        """Begin: from here on what is read does not change."""
        begun: tuple[int, int, int] | None = await do(self._worker, self._begin, self._file)
        if begun is not None:
            self._id, self.head, self._version = begun

    def _begin(self, connection: sqlite3.Connection) -> tuple[int, int, int] | None:
        """Begin, and read the scope's row; None if there is none yet."""
        return patiently(lambda: self._read(connection), self._patience, self._is_over)

    def _read(self, connection: sqlite3.Connection) -> tuple[int, int, int] | None:
        """Take the snapshot; it begins with what is read first."""
        connection.execute("BEGIN IMMEDIATE" if self._is_exclusive else "BEGIN")
        try:
            return self._row(connection)
        except BaseException:
            connection.rollback()
            raise

    def _row(self, connection: sqlite3.Connection) -> tuple[int, int, int] | None:
        """The scope's row as it is now."""
        row = connection.execute(numbered(SCOPE), scope_keys(self._scope)).fetchone()
        return None if row is None else (row[0], row[1], row[2])

    async def fetch(self, sql: str, *args: object) -> Sequence[Row]:
        """Read from the snapshot."""
        text, all_args = numbered(sql), (self._id, *args)
        return await do(
            self._worker, lambda connection: connection.execute(text, all_args).fetchall(), self._file
        )

    async def commit(self, writes: Sequence[Write]) -> bool:
        """Write all, or nothing if the scope was written to meanwhile."""
        return await do(self._worker, lambda connection: self._commit(connection, writes), self._file)

    def _commit(self, connection: sqlite3.Connection, writes: Sequence[Write]) -> bool:
        """Write all in one go; nothing waits between its begin and its commit but the disk."""
        if self._is_exclusive:
            return self._keep(connection, writes)
        connection.rollback()  # the snapshot is over
        with self._lock:
            patiently(lambda: connection.execute("BEGIN IMMEDIATE"), self._patience, self._is_over)
            return self._keep(connection, writes)

    def _keep(self, connection: sqlite3.Connection, writes: Sequence[Write]) -> bool:
        """Write and commit, under the file's lock; or roll back."""
        try:
            if self._row(connection) != ((self._id, self.head, self._version) if self._id else None):
                connection.rollback()
                return False
            self._write(connection, self._id or self._add(connection), writes)
            patiently(connection.commit, self._patience, self._is_over)
        except BaseException:
            connection.rollback()
            raise
        return True

    def _add(self, connection: sqlite3.Connection) -> int:
        """Add the scope's row; gives its number."""
        args = (*scope_keys(self._scope), self._scope.tenant, self._scope.workspace)
        ((number, _, _),) = connection.execute(numbered(ADD_SCOPE), args).fetchall()
        return int(number)

    def _write(self, connection: sqlite3.Connection, number: int, writes: Sequence[Write]) -> None:
        """Write."""
        for write in writes:
            connection.executemany(numbered(write.sql), [(number, *row) for row in write.rows])

    def end(self) -> None:
        """End, whatever it came to. Nobody waits for it: the worker's next job comes after."""
        self._worker.later(sqlite3.Connection.rollback)


class SqliteStorage(SqlStorage):
    """A storage in a SQLite file (`threadclaim.storage.Storage`), for any number of processes of one host.

    A file that is not there, or has nothing in it, is given the schema. One that another release made must be
    migrated first: SchemaMismatch is raised by the first call otherwise.

    Leases lapse by the host's clock, which is a SQLite file's: do not set it back while runners are at work,
    and do not share the file over a network.
    """

    def __init__(  # noqa: PLR0913  # each has a default, and most need none
        self,
        path: str | os.PathLike[str],
        *,
        busy_timeout: float = 30.0,
        poll_interval: float = 0.5,
        close_within: float = 5.0,
        connections: int = 8,
        now: Callable[[], datetime] = utc_now,
        new_id: Callable[[], str] = new_id,
    ) -> None:
        """Open nothing yet.

        Args:
            path: The file's path, or a URI of SQLite's (`file:…`).
            busy_timeout: How long a transaction waits for the file's lock, in seconds.
            poll_interval: How soon what another process committed is seen at the latest, in seconds.
            close_within: How long `aclose` takes at most, in seconds.
            connections: How many transactions read at once.
            now: Gives the times of entries, with their time zone.
            new_id: Gives the ids of entries.

        Raises:
            WrongType: if `path` is none.
            RequestError: if it is no file's, or there is to be no connection.
            LimitError: if a time is against the table of limits.
            StorageUnsuitable: if Python's SQLite is too old.
        """
        expect_sqlite()
        super().__init__(texts=_TEXTS, poll_interval=poll_interval, now=now, new_id=new_id)
        check_seconds("busy_timeout", busy_timeout)
        check_seconds("close_within", close_within)
        check_connections(connections)
        self._file = file_of(path)
        self._patience, self._close_within = busy_timeout, close_within
        self._writing = _Writing(self._file, busy_timeout)
        self._places = asyncio.Semaphore(connections)
        self._idle: list[Worker] = []
        self._workers: list[Worker] = []
        self._is_closed = False

    async def _attempt(self, scope: Scope, step: Step[T]) -> Kept[T]:
        """Run a step on a snapshot; if its scope was written to meanwhile, by another process, once more.

        The second time has the file's lock from its begin on, so there is no third.
        """
        async with self._session(scope, is_exclusive=False) as session:
            kept = await self._carry_out(session, step)
        if kept is None:
            async with self._session(scope, is_exclusive=True) as session:
                kept = await self._carry_out(session, step)
        if kept is None:
            raise AssertionError("A transaction with the file's lock was not kept: the lock does not hold.")
        return kept

    @asynccontextmanager
    async def _session(self, scope: Scope, *, is_exclusive: bool) -> AsyncGenerator[_Session]:
        """A transaction, on a worker of its own."""
        async with self._worker() as worker:
            session = _Session(worker, scope, self._writing, is_exclusive=is_exclusive)
            try:
                await session.begin()
                yield session
            finally:
                session.end()

    async def _fetch(self, sql: str, *args: object) -> Sequence[Row]:
        """Read rows beside all transactions."""
        text = numbered(sql)

        def read(connection: sqlite3.Connection) -> Sequence[Row]:
            return patiently(lambda: connection.execute(text, args).fetchall(), self._patience)

        async with self._worker() as worker:
            return await do(worker, read, self._file)

    @asynccontextmanager
    async def _worker(self) -> AsyncGenerator[Worker]:
        """A worker that nobody else has meanwhile."""
        async with self._places:
            if self._is_closed:
                raise StorageError(f"This storage of {self._file} is closed. Use one that is open.")
            worker = self._idle.pop() if self._idle else self._hire()
            try:
                yield worker
            finally:
                self._idle.append(worker)

    def _hire(self) -> Worker:
        """One more worker, which looks at the schema as it begins."""
        worker = Worker(self._open)
        self._workers.append(worker)
        return worker

    def _open(self) -> sqlite3.Connection:
        """Open a connection to the file, whose schema fits."""
        connection = connect(self._file, self._patience)
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Look at the schema, and make it if there is nothing in the file."""
        schema.prepare(connection, self._file, self._patience)

    async def aclose(self) -> None:
        """Close every connection; what takes longer than `close_within` is broken off. Again, nothing."""
        self._is_closed = True
        workers, self._workers = self._workers, []
        if not workers:
            return
        _, hanging = await asyncio.wait([worker.close() for worker in workers], timeout=self._close_within)
        if hanging:
            for worker in workers:
                worker.interrupt()


def file_of(path: str | os.PathLike[str]) -> str:
    """What to open for a path; a URI of SQLite's (`file:…`) stays one.

    Raises WrongType for what is no path, and RequestError for one that is no file's.
    """
    file = _text_of(path)
    if not file or ":memory:" in file or "mode=memory" in file:
        raise RequestError(
            f"{path!r} names no file. Give the path of one; without a file, use an InMemoryStorage."
        )
    if "\0" in file:
        raise RequestError(f"{path!r} is no file's path: it has a NUL. Give one without.")
    if file.startswith(("postgres://", "postgresql://")):
        raise RequestError("This is a DSN of PostgreSQL's, and no path. Make a PostgresStorage of it.")
    if file.startswith("sqlite:"):
        raise RequestError(f"{file!r} is a DSN, and no path. Give the path of the file, without `sqlite:`.")
    return file if file.startswith("file:") else str(Path(file).absolute())


def _text_of(path: object) -> str:
    """A path's text; raises WrongType for what is no path."""
    file = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(file, str):
        raise WrongType(f"The path is {kind_of(path)}. Give the path of a file, as text or a Path.")
    return file


async def in_file(path: str | os.PathLike[str], job: Job[T], patience: float = 30.0) -> T:
    """Do a job on a connection of its own, whatever the schema is. Raises StorageError."""
    file = file_of(path)
    worker = Worker(lambda: connect(file, patience))
    try:
        return await do(worker, job, file)
    finally:
        await worker.close()


def expect_sqlite() -> None:
    """Accept the SQLite that Python brings; else raise StorageUnsuitable."""
    if sqlite3.sqlite_version_info < OLDEST:
        wanted = ".".join(map(str, OLDEST))
        raise StorageUnsuitable(
            f"Python brings SQLite {sqlite3.sqlite_version} here, and {wanted} is the oldest that is "
            "supported. Use a newer Python, or a newer SQLite."
        )
