"""A connection to a SQLite file, on a thread of its own, which does one job after another.

A job is a plain function of the connection. All that is between `BEGIN IMMEDIATE` and `COMMIT` is one job:
the event loop has no part in it, so neither a loop that stalls nor a task that is cancelled can hold the
file's lock. That is why this is no wrapper with an await for each statement, such as aiosqlite.
"""

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from threadclaim.errors import StorageUnavailable

T = TypeVar("T")
Job = Callable[[sqlite3.Connection], T]


@dataclass(frozen=True, slots=True)
class _Asked:
    """A job, or None for the end of all, and who waits for what comes of it."""

    job: Job[Any] | None
    loop: asyncio.AbstractEventLoop
    waits: asyncio.Future[Any]

    def tell(self, result: object, error: BaseException | None) -> None:
        """Tell it to the loop that asked, if that is still open and anybody still waits."""
        with suppress(RuntimeError):  # the loop is closed
            self.loop.call_soon_threadsafe(self._set, result, error)

    def _set(self, result: object, error: BaseException | None) -> None:
        """Set the future, on its own loop."""
        if self.waits.done():
            return
        if error is None:
            self.waits.set_result(result)
        else:
            self.waits.set_exception(error)


class Worker:
    """A thread with a connection, which is opened with the first job and closed with the last.

    `is_broken_off` is whether what it is at is to be given up.
    """

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        """Begin; `connect` opens the connection, on the thread."""
        self._connect = connect
        self._jobs: queue.SimpleQueue[_Asked | Job[object]] = queue.SimpleQueue()
        self._connection: sqlite3.Connection | None = None
        self._is_closed = self.is_broken_off = False
        # A daemon, so that a database that hangs keeps no process from ending.
        threading.Thread(target=self._work, name="threadclaim sqlite", daemon=True).start()

    async def do(self, job: Job[T]) -> T:
        """Do a job, and give what it gives. Cancelled, it is done all the same, and nobody waits for it.

        Raises StorageUnavailable once the connection is closed, or to be closed.
        """
        if self._is_closed:
            raise StorageUnavailable("The storage was closed under a transaction, which kept nothing.")
        waits: asyncio.Future[T] = self._ask(job)
        return await waits

    def later(self, job: Job[object]) -> None:
        """Do a job after those that were asked for, if the connection is open then, and tell nobody."""
        if not self._is_closed:
            self._jobs.put(job)

    def close(self) -> "asyncio.Future[None]":
        """Close the connection after the jobs that were asked for before, and do no more."""
        self._is_closed = True
        return self._ask(None)

    def _ask(self, job: Job[T] | None) -> "asyncio.Future[Any]":
        """Put a job on the list."""
        loop = asyncio.get_running_loop()
        waits: asyncio.Future[Any] = loop.create_future()
        self._jobs.put(_Asked(job, loop, waits))
        return waits

    def interrupt(self) -> None:
        """Break off what the connection is at, its patience for a lock too."""
        self.is_broken_off = True
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.interrupt()

    def _work(self) -> None:
        """Do the jobs until the end of all."""
        while self._do(self._jobs.get()):
            pass

    def _do(self, asked: "_Asked | Job[object]") -> bool:
        """Do one job, and tell of it; whether more are to come."""
        job = asked.job if isinstance(asked, _Asked) else asked
        result, error = None, None
        try:
            if job is None:
                self._close()
            elif isinstance(asked, _Asked) or self._connection is not None:
                result = job(self._opened())
        except BaseException as raised:  # noqa: BLE001  # it is told to whoever waits
            error = raised
        if isinstance(asked, _Asked):
            asked.tell(result, error)
        return job is not None

    def _opened(self) -> sqlite3.Connection:
        """The connection, opened if it is not yet."""
        if self._connection is None:
            self._connection = self._connect()
        return self._connection

    def _close(self) -> None:
        """Close the connection, if it was opened."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
