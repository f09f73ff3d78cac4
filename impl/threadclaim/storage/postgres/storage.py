"""`PostgresStorage`: workspaces on a PostgreSQL server, for any number of processes and hosts."""

import asyncio
import random
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

import asyncpg

from threadclaim.errors import StorageError
from threadclaim.limits import check_connections, check_flag, check_seconds
from threadclaim.storage.common import new_id, to_its_end, utc_now
from threadclaim.storage.postgres import schema
from threadclaim.storage.postgres.failures import ERRORS, DatabaseFailed, of_database, told, without_password
from threadclaim.storage.postgres.listening import Listener
from threadclaim.storage.postgres.session import PostgresSession
from threadclaim.storage.protocol import Reading, Scope, Step
from threadclaim.storage.sql.base import Kept, SqlStorage
from threadclaim.storage.sql.session import Row
from threadclaim.storage.sql.texts import SCOPE_NAMES, with_clock

if TYPE_CHECKING:
    Pool = asyncpg.Pool[asyncpg.Record]
    Connection = asyncpg.pool.PoolConnectionProxy[asyncpg.Record]

T = TypeVar("T")

# `now()` is the time at which the transaction began, before it waited for its scope.
_TEXTS = with_clock("CAST(extract(epoch FROM clock_timestamp()) AS DOUBLE PRECISION)")

_STATEMENTS = 200
"""How many statements a connection keeps prepared: more than there are, which differ by what is written."""

_TRIES = 4
"""How often a step is run at most, where nothing was kept."""

_PAUSE = 0.2
"""How long, in seconds, at most before the second time; twice that before the third."""


class PostgresStorage(SqlStorage):
    """A storage on a PostgreSQL server (`threadclaim.storage.Storage`), of version 15 or newer.

    The schema must be there (`threadclaim.storage.migrate`). No session state is relied on, unless it is
    asked for, so `dsn` may be that of a proxy that pools by transactions. Leases lapse by the server's clock
    alone.

    A serialization failure, a deadlock, or a connection that is lost has the step run anew, unless its commit
    was sent. If the answer to that is lost, StorageUnavailable says that it may have taken effect.
    """

    def __init__(  # noqa: PLR0913  # each has a default, and most need none
        self,
        dsn: str,
        *,
        listen_dsn: str | None = None,
        connections: int = 10,
        prepared: bool = False,
        create_schema: bool = False,
        poll_interval: float = 0.5,
        command_timeout: float = 60.0,
        acquire_timeout: float = 30.0,
        close_within: float = 5.0,
        now: Callable[[], datetime] = utc_now,
        new_id: Callable[[], str] = new_id,
    ) -> None:
        """Open nothing yet.

        Args:
            dsn: The database's, as `postgresql://user@host/name`.
            listen_dsn: One that leads to the server itself, and past a proxy: what another process commits is
                then told at once in most cases, and `poll_interval` stays as the bound.
            connections: How many the pool has at most: one is enough, and more let more workspaces be written
                to at once.
            prepared: Whether each connection prepares a statement once, which saves every second round trip.
                Only where `dsn` leads to the server itself: it is state of the session.
            create_schema: Whether the schema is made in a database that has none.
            poll_interval: How soon what another process committed is seen at the latest, in seconds.
            command_timeout: How long a statement may take, in seconds.
            acquire_timeout: How long one waits for a connection of the pool's, in seconds.
            close_within: How long `aclose` takes at most, in seconds.
            now: Gives the times of entries, with their time zone.
            new_id: Gives the ids of entries.

        Raises:
            WrongType: if a DSN is no text.
            RequestError: if it is none of PostgreSQL's, or there is to be no connection.
            LimitError: if a time is against the table of limits.
        """
        super().__init__(texts=_TEXTS, poll_interval=poll_interval, now=now, new_id=new_id)
        times = {
            "command_timeout": command_timeout,
            "acquire_timeout": acquire_timeout,
            "close_within": close_within,
        }
        for name, seconds in times.items():
            check_seconds(name, seconds, more_than_none=name != "close_within")
        check_connections(connections)
        check_flag("prepared", prepared)
        check_flag("create_schema", create_schema)
        self._dsn = schema.dsn_of(dsn)
        self._connections, self._makes_schema = connections, create_schema
        self._command_timeout, self._acquire_timeout = command_timeout, acquire_timeout
        self._close_within, self._statements = close_within, _STATEMENTS if prepared else 0
        self._pool: Pool | None = None
        self._is_closed = False
        self._scopes: dict[int, Scope] = {}
        self._listener = None if listen_dsn is None else Listener(schema.dsn_of(listen_dsn), self._hinted)

    async def _attempt(self, scope: Scope, step: Step[T]) -> Kept[T]:
        """Run a step, anew after what may pass by itself and kept nothing."""
        for tries_left in reversed(range(_TRIES)):
            session: PostgresSession | None = None
            try:
                async with self._session(scope, only_reads=isinstance(step, Reading)) as session:
                    kept = await self._carry_out(session, step)
                    if kept is not None:
                        self._hint(session.number, scope, kept)
                        return kept
            except DatabaseFailed as failed:
                unheard = session is not None and session.sent_commit and not failed.was_rolled_back
                if unheard or not failed.may_pass or not tries_left:
                    raise told(failed, self._dsn, unheard=unheard) from failed.error
                await _pause(tries_left)
        raise AssertionError("The last try neither returned nor raised.")

    @asynccontextmanager
    async def _session(self, scope: Scope, *, only_reads: bool) -> AsyncGenerator[PostgresSession]:
        """A transaction, begun; it is over, and its connection free, once this is left."""
        async with self._connection() as connection:
            session = PostgresSession(connection, scope, only_reads=only_reads)
            try:
                await session.begin()
                yield session
            finally:
                await session.end()

    @asynccontextmanager
    async def _connection(self) -> AsyncGenerator["Connection"]:
        """A connection of the pool's."""
        with of_database():
            pool = await self._opened()
            connection = await pool.acquire(timeout=self._acquire_timeout)
        try:
            yield connection
        finally:
            # One that is lost by now is dropped by the pool; whether a commit was heard is known before.
            with suppress(*ERRORS):
                try:
                    await pool.release(connection)
                except asyncio.CancelledError:  # of the pool's own task: it would be nobody's, and not free
                    connection.terminate()
                    raise

    async def _opened(self) -> "Pool":
        """The pool, opened, of a database whose schema fits."""
        async with self._turns.of("pool"):
            self._expect_open()
            if self._pool is None:
                await self._prepare()
                self._expect_open()
                self._pool = await asyncpg.create_pool(
                    self._dsn,
                    min_size=0,
                    max_size=self._connections,
                    reset=_leave,
                    command_timeout=self._command_timeout,
                    statement_cache_size=self._statements,
                )
        if self._listener is not None:
            self._listener.start()
        return self._pool

    def _expect_open(self) -> None:
        """Raise StorageError once it is closed, or to be closed."""
        if self._is_closed:
            where = without_password(self._dsn)
            raise StorageError(f"This storage of {where} is closed. Use one that is open.")

    async def _prepare(self) -> None:
        """Look at the schema, and make it if that was asked for."""
        await schema.prepare(self._dsn, makes=self._makes_schema)

    async def _fetch(self, sql: str, *args: object) -> Sequence[Row]:
        """Read rows beside all transactions. A call that is cancelled runs to its end, as transactions do."""
        return await to_its_end(self._fetched(sql, *args))

    async def _fetched(self, sql: str, *args: object) -> Sequence[Row]:
        """Read rows, again if the connection is lost."""
        for tries_left in reversed(range(_TRIES)):
            try:
                async with self._connection() as connection:
                    try:
                        with of_database():
                            return await connection.fetch(sql, *args)
                    except asyncio.CancelledError:
                        # Of a statement that it has not run yet, its server waits for the rest, in a
                        # transaction: whoever had the connection next would be in that one.
                        connection.terminate()
                        raise
            except DatabaseFailed as failed:
                if not failed.may_pass or not tries_left:
                    raise told(failed, self._dsn) from failed.error
                await _pause(tries_left)
        raise AssertionError("The last try neither returned nor raised.")

    def _hint(self, number: int, scope: Scope, kept: Kept[T]) -> None:
        """Tell other processes what this one has committed; it is only a hint."""
        if self._listener is not None and (kept.wrote_log or kept.released):
            self._scopes[number] = scope
            self._listener.tell(number, kept.released)

    async def _hinted(self, number: int | None, released: Sequence[str]) -> None:
        """Wake who waits for what another process has committed; None for whatever it may be."""
        if number is None:
            self._wakes.wake_all()
            return
        if number not in self._scopes:
            rows = await self._fetch(SCOPE_NAMES, number)
            if not rows:
                return  # somebody else uses the channel
            self._scopes[number] = Scope(*rows[0])
        self._wakes.wake(self._scopes[number])
        for name in released:
            self._tell(self._scopes[number], name)

    async def aclose(self) -> None:
        """Close every connection; those that take longer than `close_within` are dropped. Again, nothing."""
        self._is_closed = True
        if self._listener is not None:
            await self._listener.aclose()
        pool, self._pool = self._pool, None
        if pool is None:
            return
        try:
            async with asyncio.timeout(self._close_within):
                await pool.close()
        except TimeoutError:
            pool.terminate()


async def _leave(_connection: object) -> None:
    """Leave a connection as it is: nothing was set on it that outlasts a transaction."""


async def _pause(tries_left: int) -> None:
    """Wait before a step is run anew, longer each time, and by chance, so that those who collided part."""
    longest = _PAUSE * 2 ** (_TRIES - 1 - tries_left)
    await asyncio.sleep(random.uniform(longest / 4, longest))  # noqa: S311  # no secret: only not in step
