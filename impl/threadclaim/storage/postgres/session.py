"""A transaction of PostgreSQL's: the scope's row is locked first, and read in later statements only."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import asyncpg

from threadclaim.errors import StorageError
from threadclaim.storage.postgres.failures import of_database
from threadclaim.storage.protocol import Scope
from threadclaim.storage.sql.keys import scope_keys
from threadclaim.storage.sql.session import Row, Write
from threadclaim.storage.sql.texts import ADD_SCOPE, LOCK_SCOPE

if TYPE_CHECKING:
    Connection = asyncpg.pool.PoolConnectionProxy[asyncpg.Record]

_ROLLBACK_WITHIN = 5.0
"""How long, in seconds, a rollback may take; a connection that takes longer is dropped."""

# READ COMMITTED is said, whatever the database's default: a statement after the lock must see what the
# transaction before has committed. Both settings end with the transaction: a proxy that pools by transactions
# gives the connection to somebody else then. A process that is stopped half way frees its scope after a
# minute.
_BEGIN = """
BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
SET LOCAL idle_in_transaction_session_timeout = 60000
"""


class PostgresSession:
    """A transaction of a scope (`threadclaim.storage.sql.session.Session`), on a connection of its own."""

    def __init__(self, connection: "Connection", scope: Scope) -> None:
        """Nothing has begun."""
        self._connection, self._scope = connection, scope
        self.number, self.head = 0, 0
        self.sent_commit = False
        self._is_open = False

    async def begin(self) -> None:
        """Begin, and lock the scope's row, which is made if there is none."""
        self._is_open = True
        keys = scope_keys(self._scope)
        with of_database():
            await self._connection.execute(_BEGIN)
            row = await self._connection.fetchrow(LOCK_SCOPE, *keys)
            if row is None:
                names = self._scope.tenant, self._scope.workspace
                row = await self._connection.fetchrow(ADD_SCOPE, *keys, *names)
        if row is None:
            raise AssertionError(
                "A scope's row that was just made is not there: its rules of access hide it."
            )
        self.number, self.head = row[0], row[1]

    async def fetch(self, sql: str, *args: object) -> Sequence[Row]:
        """Read, as of now; only this transaction can have changed anything of the scope."""
        with of_database():
            return await self._connection.fetch(sql, self.number, *args)

    async def commit(self, writes: Sequence[Write]) -> bool:
        """Write all, and commit. It is kept, or it raises."""
        with of_database():
            for write in writes:
                rows = [(self.number, *row) for row in write.rows]
                if len(rows) == 1:
                    await self._connection.execute(write.sql, *rows[0])
                else:
                    await self._connection.executemany(write.sql, rows)
            self.sent_commit = True
            done = await self._connection.execute("COMMIT")
        self._is_open = False
        if done != "COMMIT":
            raise StorageError(
                "The transaction was rolled back, and nothing was kept: a statement of it had failed, and "
                "its step went on all the same. Have the step raise what it is raised."
            )
        return True

    async def end(self) -> None:
        """Roll back, unless it is committed. A connection that cannot is dropped: its server rolls back."""
        if not self._is_open:
            return
        try:
            async with asyncio.timeout(_ROLLBACK_WITHIN):
                await self._connection.execute("ROLLBACK")
        except asyncio.CancelledError:
            self._drop()
            raise
        except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
            self._drop()

    def _drop(self) -> None:
        """Drop the connection; one that was lost is the pool's again already."""
        with suppress(asyncpg.InterfaceError):
            self._connection.terminate()
