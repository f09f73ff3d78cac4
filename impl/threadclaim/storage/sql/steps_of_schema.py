"""The schema's migrations, as files; which are to be run; and what is said of a schema that does not fit.

Nothing here waits, or knows a database. `threadclaim.storage.schema` runs them.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

from threadclaim.errors import RequestError, SchemaMismatch

Dialect = Literal["sqlite", "postgres"]

CREATE_VERSIONS = "CREATE TABLE IF NOT EXISTS threadclaim_schema (version INTEGER PRIMARY KEY)"
VERSION = "SELECT coalesce(max(version), 0) FROM threadclaim_schema"
ADD_VERSION = "INSERT INTO threadclaim_schema (version) VALUES ($1)"
DROP_VERSION = "DELETE FROM threadclaim_schema WHERE version = $1"

_NAME = re.compile(r"(?P<number>\d{4})_(?P<name>\w+)\.(?P<way>up|down)\.sql")


@dataclass(frozen=True, slots=True)
class Move:
    """One migration to be run, up to its number or down from it."""

    number: int
    name: str
    is_up: bool
    sql: str


@dataclass(frozen=True, slots=True)
class Migrated:
    """What a migration did: the schema's version before and after it, and the migrations run, in order."""

    before: int
    after: int
    ran: Sequence[str] = ()


@cache
def _moves(dialect: Dialect) -> dict[tuple[int, bool], Move]:
    """Every migration, by its number and its way."""
    found: dict[tuple[int, bool], Move] = {}
    for file in files("threadclaim.storage").joinpath("migrations", dialect).iterdir():
        if match := _NAME.fullmatch(file.name):
            number, is_up = int(match["number"]), match["way"] == "up"
            found[number, is_up] = Move(number, match["name"], is_up, file.read_text(encoding="utf-8"))
    return found


def newest(dialect: Dialect) -> int:
    """The version of the schema that this library needs."""
    return max(number for number, _ in _moves(dialect))


def path(dialect: Dialect, current: int, to: int | None) -> Sequence[Move]:
    """The migrations that lead from one version to another, the newest unless one is given.

    Raises SchemaMismatch for a version that this library does not know, RequestError for a goal of that kind.
    """
    last = newest(dialect)
    goal = last if to is None else to
    if not 0 <= goal <= last:
        raise RequestError(f"There is no version {goal} of the schema. Migrate to one from 0 to {last}.")
    if current > last:
        raise SchemaMismatch(_newer(current, last))
    moves = _moves(dialect)
    if goal >= current:
        return [moves[number, True] for number in range(current + 1, goal + 1)]
    return [moves[number, False] for number in range(current, goal, -1)]


def expect_newest(dialect: Dialect, current: int, where: str) -> None:
    """Accept the schema of a database if it is this library's; else raise SchemaMismatch."""
    last = newest(dialect)
    if current == 0:
        raise SchemaMismatch(
            f"There is no schema of threadclaim's in {where}. Make it: `threadclaim migrate`, or "
            "`await threadclaim.storage.migrate(…)`; or correct the name of the database."
        )
    if current < last:
        raise SchemaMismatch(
            f"The schema in {where} is of version {current}, and this threadclaim needs {last}. Bring it up: "
            "`threadclaim migrate`, or `await threadclaim.storage.migrate(…)`."
        )
    if current > last:
        raise SchemaMismatch(f"In {where}: {_newer(current, last)}")


def _newer(current: int, last: int) -> str:
    """What is said of a schema that a newer release made."""
    return (
        f"The schema is of version {current}, and this threadclaim knows {last} at most. Use a newer "
        "threadclaim, or have the newer one migrate down first."
    )
