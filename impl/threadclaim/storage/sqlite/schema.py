"""The schema of a SQLite file: which it has, and its migrations. All of it is done on a worker's thread."""

import sqlite3
from collections.abc import Sequence

from threadclaim.storage.sql.steps_of_schema import (
    ADD_VERSION,
    CREATE_VERSIONS,
    DROP_VERSION,
    VERSION,
    Migrated,
    Move,
    expect_newest,
    path,
)
from threadclaim.storage.sqlite.failures import patiently


def prepare(connection: sqlite3.Connection, file: str, patience: float) -> None:
    """Make the schema in a file that has nothing in it; in any other, raise SchemaMismatch unless it fits."""
    if is_fresh(connection):
        migrate(connection, None, patience, only_fresh=True)
    expect_newest("sqlite", version(connection), file)


def is_fresh(connection: sqlite3.Connection) -> bool:
    """Whether there is nothing in the file, of this library's or of anybody's."""
    return connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is None


def version(connection: sqlite3.Connection) -> int:
    """The version of its schema; 0 for none."""
    there = "SELECT 1 FROM sqlite_master WHERE name = 'threadclaim_schema'"
    if connection.execute(there).fetchone() is None:
        return 0
    (found,) = connection.execute(VERSION).fetchone()
    return int(found)


def migrate(
    connection: sqlite3.Connection, to: int | None, patience: float, *, only_fresh: bool = False
) -> Migrated:
    """Bring the schema to a version, the newest unless one is given, in one transaction.

    With `only_fresh` nothing is done to a file that has anything in it: another process was first.
    """
    patiently(lambda: connection.execute("BEGIN IMMEDIATE"), patience)
    try:
        before = version(connection)
        moves: Sequence[Move] = ()
        if is_fresh(connection) or not only_fresh:
            moves = path("sqlite", before, to)
            connection.execute(CREATE_VERSIONS)
        for move in moves:
            _run(connection, move)
        after = version(connection)
        patiently(connection.commit, patience)
    except BaseException:
        connection.rollback()
        raise
    return Migrated(before, after, [f"{move.number:04}_{move.name}" for move in moves])


def _run(connection: sqlite3.Connection, move: Move) -> None:
    """Run a migration, one statement at a time: `executescript` would commit first."""
    statement = ""
    for line in move.sql.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            connection.execute(statement)
            statement = ""
    noted = ADD_VERSION if move.is_up else DROP_VERSION
    connection.execute(noted.replace("$", "?"), (move.number,))
