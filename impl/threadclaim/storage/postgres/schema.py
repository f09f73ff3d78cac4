"""The schema on a PostgreSQL server: which it has, and its migrations."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import asyncpg

from threadclaim.errors import RequestError, StorageUnsuitable, WrongType, kind_of
from threadclaim.storage.postgres.failures import OLDEST, DatabaseFailed, of_database, told, without_password
from threadclaim.storage.sql.steps_of_schema import (
    ADD_VERSION,
    CREATE_VERSIONS,
    DROP_VERSION,
    VERSION,
    Migrated,
    expect_newest,
    path,
)

if TYPE_CHECKING:
    Connection = asyncpg.Connection[asyncpg.Record]

_LOCK = 6_055_070
"""The number of the advisory lock that migrations take, one after another; it ends with the transaction."""

_WAITS_FOR = 30.0
"""How long, in seconds, a migration waits for each table: whoever comes after it waits for it meanwhile."""

_CONNECT_WITHIN = 30.0
"""How long, in seconds, a server may take to let one in."""


def dsn_of(dsn: object) -> str:
    """Accept a DSN; raises WrongType for what is no text, RequestError for what is none of PostgreSQL's."""
    if not isinstance(dsn, str):
        raise WrongType(f"The DSN is {kind_of(dsn)}. Give it as text: postgresql://user@host/database.")
    if not dsn.startswith(("postgres://", "postgresql://")):
        raise RequestError("A PostgresStorage is named by a DSN: postgresql://user@host/database. Give one.")
    return dsn


@asynccontextmanager
async def _connected(dsn: str) -> AsyncGenerator["Connection"]:
    """A connection of its own, to a server that is new enough."""
    with of_database():
        connection = await asyncpg.connect(dsn_of(dsn), timeout=_CONNECT_WITHIN, statement_cache_size=0)
    try:
        version = connection.get_server_version()
        if version.major < OLDEST:
            raise StorageUnsuitable(
                f"The server of {without_password(dsn)} is PostgreSQL {version.major}.{version.minor}, and "
                f"{OLDEST} is the oldest that is supported. Upgrade the server, or name another."
            )
        yield connection
    finally:
        connection.terminate()


async def prepare(dsn: str, *, makes: bool) -> None:
    """Accept a database whose schema fits; else raise SchemaMismatch. `makes` one where there is none."""
    found = await version_of_server(dsn)
    if makes and found == 0:
        await migrate_server(dsn, None)
        found = await version_of_server(dsn)
    expect_newest("postgres", found, without_password(dsn))


async def version_of_server(dsn: str) -> int:
    """The version of the schema; 0 for none. Raises StorageError."""
    try:
        async with _connected(dsn) as connection:
            with of_database():
                return await _version(connection)
    except DatabaseFailed as failed:
        raise told(failed, dsn) from failed.error


async def _version(connection: "Connection") -> int:
    """The version that the database says."""
    if await connection.fetchval("SELECT to_regclass('threadclaim_schema')") is None:
        return 0
    return int(await connection.fetchval(VERSION))


async def migrate_server(dsn: str, to: int | None) -> Migrated:
    """Bring the schema to a version. `threadclaim.storage.schema.migrate` says the rest."""
    try:
        async with _connected(dsn) as connection:
            return await _migrate(connection, to)
    except DatabaseFailed as failed:
        raise told(failed, dsn) from failed.error


async def _migrate(connection: "Connection", to: int | None) -> Migrated:
    """Run what is to be run, in one transaction, beside no other migration."""
    with of_database():
        async with connection.transaction(isolation="read_committed"):
            await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
            await connection.execute(f"SET LOCAL lock_timeout = {int(_WAITS_FOR * 1000)}")
            await connection.execute(CREATE_VERSIONS)
            before = await _version(connection)
            moves = path("postgres", before, to)
            for move in moves:
                await connection.execute(move.sql)
                await connection.execute(ADD_VERSION if move.is_up else DROP_VERSION, move.number)
            after = await _version(connection)
    return Migrated(before, after, [f"{move.number:04}_{move.name}" for move in moves])
