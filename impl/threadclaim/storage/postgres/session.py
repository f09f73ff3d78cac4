"""A transaction of PostgreSQL's: the scope's row is locked first, and read in later statements only."""

import asyncio
import re
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING

import asyncpg

from threadclaim.errors import StorageError
from threadclaim.storage.postgres.failures import ERRORS, of_database
from threadclaim.storage.protocol import Scope
from threadclaim.storage.sql.keys import scope_keys
from threadclaim.storage.sql.session import Row, Write
from threadclaim.storage.sql.texts import ADD_SCOPE, LOCK_SCOPE, SCOPE

if TYPE_CHECKING:
    Connection = asyncpg.pool.PoolConnectionProxy[asyncpg.Record]

_PARAMETER = re.compile(r"\$(\d+)")

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

# Statements that see one state of the database, and wait for nobody: a step that only reads needs no more.
_BEGIN_READING = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

_AT_ONCE = 16
"""How many rows are written by one statement at most: a step of the protocol writes fewer."""


@lru_cache(maxsize=256)
def together(sqls: tuple[str, ...]) -> str:
    """Texts as one statement, whose parameters are theirs, one after another, but for `$1`, which all share.

    None of them may write to a row that another does, or read what another writes.
    """
    parts, before = [], 0
    for number, sql in enumerate(sqls):
        parts.append(f"w{number} AS ({_moved(sql, before)})")
        before += max(map(int, _PARAMETER.findall(sql))) - 1
    return f"WITH {', '.join(parts)} SELECT 1"  # of constants


def _moved(sql: str, before: int) -> str:
    """A text whose parameters but the first come after so many others."""
    return _PARAMETER.sub(lambda match: match[0] if match[1] == "1" else f"${int(match[1]) + before}", sql)


class PostgresSession:
    """A transaction of a scope (`threadclaim.storage.sql.session.Session`), on a connection of its own.

    One that `only_reads` locks nothing: it reads what was committed as it began.
    """

    def __init__(self, connection: "Connection", scope: Scope, *, only_reads: bool = False) -> None:
        """Nothing has begun."""
        self._connection, self._scope, self._only_reads = connection, scope, only_reads
        self.number, self.head = 0, 0
        self.sent_commit = False
        self._is_open = False

    async def begin(self) -> None:
        """Begin, and lock the scope's row, which is made if there is none."""
        self._is_open = True
        keys = scope_keys(self._scope)
        if self._only_reads:
            await self._begin_reading(keys)
            return
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

    async def _begin_reading(self, keys: tuple[str, str]) -> None:
        """Begin, and read the scope's row; of a scope that has none, nothing is found either."""
        with of_database():
            await self._connection.execute(_BEGIN_READING)
            row = await self._connection.fetchrow(SCOPE, *keys)
        if row is not None:
            self.number, self.head = row[0], row[1]

    async def fetch(self, sql: str, *args: object) -> Sequence[Row]:
        """Read, as of now; only this transaction can have changed anything of the scope."""
        with of_database():
            return await self._connection.fetch(sql, self.number, *args)

    async def commit(self, writes: Sequence[Write]) -> bool:
        """Write all, and commit. It is kept, or it raises."""
        with of_database():
            await self._write(writes)
            self.sent_commit = True
            done = await self._connection.execute("COMMIT")
        self._is_open = False
        if done != "COMMIT":
            raise StorageError(
                "The transaction was rolled back, and nothing was kept: a statement of it had failed, and "
                "its step went on all the same. Have the step raise what it is raised."
            )
        return True

    async def _write(self, writes: Sequence[Write]) -> None:
        """Write all: in one statement, unless it is very much.

        The scope is locked meanwhile, and without a cache of statements each takes two round trips.
        """
        rows = [(write.sql, row) for write in writes for row in write.rows]
        if len(rows) <= _AT_ONCE:
            args = [arg for _, row in rows for arg in row]
            await self._connection.execute(together(tuple(sql for sql, _ in rows)), self.number, *args)
            return
        for write in writes:
            await self._connection.executemany(write.sql, [(self.number, *row) for row in write.rows])

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
        except ERRORS:
            self._drop()

    def _drop(self) -> None:
        """Drop the connection; one that was lost is the pool's again already."""
        with suppress(*ERRORS):
            self._connection.terminate()
