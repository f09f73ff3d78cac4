"""What a DSN names: a SQLite file or a PostgreSQL database, opened for a command; and its workspaces."""

import difflib
import re
from argparse import ArgumentParser, Namespace
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from threadclaim.errors import RequestError, SchemaMismatch, StorageUnsuitable
from threadclaim.storage.protocol import Scope
from threadclaim.storage.schema import check
from threadclaim.storage.sql import operating
from threadclaim.storage.sql.base import SqlStorage
from threadclaim.storage.sqlite.storage import SqliteStorage, file_of

_SCHEME = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://")
_KINDS = "Give the path of a SQLite file, sqlite:///PATH, or postgresql://USER@HOST/DATABASE."
DSN_HELP = "a SQLite file's path, sqlite:///PATH, or postgresql://USER@HOST/DATABASE"


def add_dsn(parser: ArgumentParser) -> None:
    """Have a command take a DSN."""
    parser.add_argument("dsn", metavar="DSN", help=DSN_HELP)


def add_workspace(parser: ArgumentParser) -> None:
    """Have a command take the name of a workspace."""
    parser.add_argument("--tenant", metavar="T", help="only this tenant's workspaces")
    parser.add_argument("--workspace", metavar="W", help="only the workspaces of this name")


def target_of(dsn: str) -> str:
    """What a storage is made for: a DSN of PostgreSQL's, or a file's path. Raises RequestError.

    `sqlite:///threads.db` is a path from here, and `sqlite:////var/threads.db` one from the root.
    """
    match = _SCHEME.match(dsn)
    scheme = match["scheme"].lower() if match else ""
    if scheme in {"postgres", "postgresql"}:
        return scheme + dsn[len(scheme) :]
    if scheme == "sqlite":
        dsn = _path_of(dsn)
    elif scheme:
        raise RequestError(f"{scheme}:// names no database that is supported. {_KINDS}")
    if not dsn.strip():
        raise RequestError(f"The DSN is empty. {_KINDS}")
    file_of(dsn)  # raises for what is no file's path
    return dsn


def _path_of(url: str) -> str:
    """The path in a URL of SQLite's."""
    host, slash, path = url.partition("://")[2].partition("/")
    if host or not slash or not path:
        raise RequestError(
            f"{url!r} names no file. Give sqlite:///PATH: three slashes before a path from here, four before "
            "one from the root."
        )
    return path


def is_server(target: str) -> bool:
    """Whether it is PostgreSQL's."""
    return target.startswith(("postgres://", "postgresql://"))


def existing(dsn: str) -> str:
    """What a DSN names, if it is no file, or one that is there: looking makes none. Raises StorageError."""
    target = target_of(dsn)
    path = Path(target)
    if is_server(target) or target.startswith("file:"):
        return target
    if not path.exists():
        raise StorageUnsuitable(
            f"There is no file {path.absolute()}. Correct the path, or make it: `threadclaim migrate`."
        )
    if not path.is_file():
        raise StorageUnsuitable(f"{path.absolute()} is no file. Name a SQLite file.")
    if path.stat().st_size == 0:  # whoever opens it writes to it
        raise SchemaMismatch(f"{path.absolute()} is empty: it has no schema. Make it: `threadclaim migrate`.")
    return target


@asynccontextmanager
async def opened(dsn: str) -> AsyncGenerator[SqlStorage]:
    """A storage over what a DSN names, which must be there, with its schema; and closed in the end."""
    target = existing(dsn)
    await check(target)  # a storage would give an empty file its schema, and looking changes nothing
    storage = _storage(target)
    try:
        yield storage
    finally:
        await storage.aclose()


def _storage(target: str) -> SqlStorage:
    """A storage, of which nothing is opened yet."""
    if is_server(target):
        from threadclaim.storage.postgres import PostgresStorage  # noqa: PLC0415  # asyncpg is optional

        return PostgresStorage(target)
    return SqliteStorage(target)


async def chosen(storage: SqlStorage, arguments: Namespace) -> Sequence[Scope]:
    """The workspaces that a command is for: all, or those that it names. Raises RequestError for none."""
    scopes = await operating.scopes(storage)
    for what in ("tenant", "workspace"):
        name = getattr(arguments, what)
        if name is None:
            continue
        names = sorted({getattr(scope, what) for scope in scopes})
        scopes = [scope for scope in scopes if getattr(scope, what) == name]
        if not scopes:
            raise RequestError(f"There is no {what} {name!r} here{like(name, names)}")
    return scopes


def like(name: str, names: Sequence[str]) -> str:
    """The end of a sentence: what was meant perhaps, or if nothing is like it, what to do."""
    near = difflib.get_close_matches(name, names, n=3)
    if near:
        return f". Did you mean {' or '.join(map(repr, near))}?"
    return ". `threadclaim threads` lists what there is."
