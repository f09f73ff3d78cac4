"""The schema of a durable storage: making it, bringing it to another version, and saying whether it fits."""

import os

from threadclaim.storage.sql.steps_of_schema import Migrated, expect_newest
from threadclaim.storage.sqlite import schema as sqlite_schema
from threadclaim.storage.sqlite.storage import file_of, in_file

__all__ = ["Migrated", "check", "create_schema", "migrate"]

Target = str | os.PathLike[str]
"""A database: the DSN of a PostgreSQL server (`postgresql://…`), or the path of a SQLite file."""

_PATIENCE = 30.0
"""How long, in seconds, a migration waits for those who use the database."""


def is_dsn(target: Target) -> bool:
    """Whether it is the DSN of a PostgreSQL server, and no path."""
    return isinstance(target, str) and target.startswith(("postgres://", "postgresql://"))


async def migrate(target: Target, to: int | None = None) -> Migrated:
    """Bring a database's schema to a version: the newest, unless another is given, which may be an older one.

    It is safe to run on every start and by several processes at once: one does it, and the others find it
    done. All of it is one transaction. Migration 0005 records the upgrade point of each workspace that is
    there (ADR-0055, I7), and again after a downgrade and a second upgrade; an empty database has none.

    Raises StorageError: SchemaMismatch for a schema that a newer release made, StorageUnavailable or
    StorageUnsuitable for a database that cannot be used; RequestError for a version that there is not.
    """
    if is_dsn(target):
        from threadclaim.storage.postgres.schema import migrate_server  # noqa: PLC0415  # asyncpg is optional

        return await migrate_server(str(target), to)
    return await in_file(target, lambda connection: sqlite_schema.migrate(connection, to, _PATIENCE))


async def create_schema(target: Target) -> None:
    """Make the schema in a database that has none. No workspace is there, so it records no upgrade point.

    In a database that has one it does what `migrate` does. Raises as `migrate` does.
    """
    await migrate(target)


async def version(target: Target) -> int:
    """The version of a database's schema; 0 if it has none. Raises StorageError."""
    if is_dsn(target):
        from threadclaim.storage.postgres.schema import version_of_server  # noqa: PLC0415  # as above

        return await version_of_server(str(target))
    return await in_file(target, sqlite_schema.version)


async def check(target: Target) -> int:
    """Accept a database whose schema is the one that this release needs; gives its version.

    Raises SchemaMismatch, with a sentence on what to do, for one that is missing, older or newer; and as
    `migrate` does.
    """
    found = await version(target)
    if is_dsn(target):
        expect_newest("postgres", found, "the database")
    else:
        expect_newest("sqlite", found, file_of(target))
    return found
