"""A durable storage but for its connections: turns of a scope, followers, and who is told of releases."""

import logging
import os
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from threadclaim.door import check_function
from threadclaim.errors import StorageUnsuitable
from threadclaim.events import Envelope
from threadclaim.limits import check_seconds
from threadclaim.storage.common import to_its_end
from threadclaim.storage.protocol import Reading, Released, Scope, Step, Stranded
from threadclaim.storage.sql import texts
from threadclaim.storage.sql.following import Following, Wakes
from threadclaim.storage.sql.keys import scope_keys, thread_keys
from threadclaim.storage.sql.rows import entry_of
from threadclaim.storage.sql.session import Row, Session
from threadclaim.storage.sql.transaction import Source, SqlTransaction
from threadclaim.storage.sql.turns import Turns

_log = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Kept(Generic[T]):
    """What came of a transaction that is committed: its result, and what others may want to hear of."""

    result: T
    wrote_log: bool = False
    released: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class HeldLease:
    """A lease to look at: its name, its holder, and the seconds it has left, fewer than 0 if it lapsed."""

    name: str
    holder: str
    left: float


class SqlStorage(ABC):
    """What the durable storages share (`threadclaim.storage.Storage`, which says the rest)."""

    def __init__(
        self,
        *,
        texts: texts.Texts,
        poll_interval: float,
        now: Callable[[], datetime],
        new_id: Callable[[], str],
    ) -> None:
        """Nothing is open yet. Raises LimitError for an interval that is no time."""
        check_seconds("poll_interval", poll_interval, more_than_none=True)
        check_function("now", now, "nothing, and gives a datetime")
        check_function("new_id", new_id, "nothing, and gives a new id")
        self._source = Source(now, new_id, texts)
        self._poll_interval = poll_interval
        self._turns, self._wakes = Turns(), Wakes()
        self._told: dict[object, Released] = {}
        self._process = os.getpid()

    def _check_process(self) -> None:
        """Raise StorageUnsuitable in a process that was forked from the one that made this storage.

        Threads and connections stay behind in a fork, and whoever waited for them would wait for ever.
        """
        if self._process != os.getpid():
            raise StorageUnsuitable(
                f"This storage was made in process {self._process}, and this one, {os.getpid()}, was forked "
                "from it. Make a storage in each process, after the fork."
            )

    @abstractmethod
    async def _attempt(self, scope: Scope, step: Step[T]) -> Kept[T]:
        """Run a step in a transaction, anew where that is safe, and keep what it wrote."""

    @abstractmethod
    async def _fetch(self, sql: str, *args: object) -> Sequence[Row]:
        """Read rows beside all transactions, as they are committed."""

    @abstractmethod
    async def aclose(self) -> None:
        """Give up what is held open, within a bound. Calling it again does nothing."""

    async def transact(self, scope: Scope, step: Step[T]) -> T:
        """Run a step in one transaction, in a task of its own. `Storage.transact` says the rest.

        Raises StorageUnsuitable in a process that was forked. The step may be run anew, if what it wrote
        could not be kept and certainly was not: a step reads and writes its transaction and nothing else.
        """
        self._check_process()
        return await to_its_end(self._transact(scope, step))

    async def _transact(self, scope: Scope, step: Step[T]) -> T:
        """Run a step in its turn, then tell those who wait for what it did; one that reads waits for none."""
        if isinstance(step, Reading):
            return (await self._attempt(scope, step)).result
        async with self._turns.of(scope):
            kept = await self._attempt(scope, step)
        if kept.wrote_log:
            self._wakes.wake(scope)
        for name in kept.released:
            self._tell(scope, name)
        return kept.result

    async def _carry_out(self, session: Session, step: Step[T]) -> Kept[T] | None:
        """Run a step in a session and commit; None if nothing was kept and it is to be run anew."""
        tx = SqlTransaction(session, self._source)
        result = await step(tx)
        if isinstance(step, Reading) and tx.has_written:
            raise AssertionError(f"{step!r} is of Reading, and writes. Have it not be, or not write.")
        return Kept(result, tx.wrote_log, tx.released) if await tx.commit() else None

    def _tell(self, scope: Scope, name: str) -> None:
        """Tell whoever asked of a lease that was given up; one that raises hinders nobody."""
        for told in list(self._told.values()):
            try:
                told(scope, name)
            except Exception:  # noqa: BLE001  # whatever it raised, the transaction is committed
                _log.exception("A callback of on_release raised; the release stands.")

    def on_release(self, told: Released) -> Callable[[], None]:
        """Tell `told` of every lease that this storage gives up, right after the commit."""
        key = object()
        self._told[key] = told
        return lambda: self._told.pop(key, None) and None

    def subscribe(self, scope: Scope, after_seq: int) -> AsyncIterator[Envelope]:
        """Follow the log. `Storage.subscribe` says the rest."""
        return Following(scope, after_seq, self._wakes, self._read_on, self._poll_interval)

    async def _read_on(self, scope: Scope, after_seq: int, limit: int) -> Sequence[Envelope]:
        """Read what is committed past a position, at most so many entries."""
        self._check_process()
        rows = await self._fetch(texts.FOLLOW, *scope_keys(scope), after_seq, limit)
        return [entry_of(row) for row in rows]

    async def stranded(self, scope: Scope) -> Stranded:
        """List the rows that say so, by an index that has no other."""
        self._check_process()
        rows = await self._fetch(texts.STRANDED, *scope_keys(scope))
        return Stranded(
            left=tuple(thread_id for thread_id, standing in rows if standing == "left"),
            waiting=tuple(thread_id for thread_id, standing in rows if standing == "waiting"),
        )

    async def look(self, sql: str, *args: object) -> Sequence[Row]:
        """Read rows to look at, which nothing is decided by: no lock is taken, and none waited for.

        `{clock}` in the text stands for the database's time, in seconds since 1970. Raises StorageError.
        """
        return await self._fetch(sql.replace("{clock}", self._source.texts.clock), *args)

    async def look_at(self, number: int, thread_id: str) -> Row:
        """Read a thread of the scope of this number, as `Texts.thread` has it, to look at."""
        (row,) = await self._fetch(self._source.texts.thread, number, *thread_keys(thread_id))
        return row

    async def leases(self, scope: Scope) -> Sequence[HeldLease]:
        """The scope's leases, by name, to look at: they are not locked, and may have changed since."""
        rows = await self._fetch(self._source.texts.leases, *scope_keys(scope))
        return [HeldLease(*row) for row in rows]
