"""Databases for commands that need one: a file, or a PostgreSQL that is named, or one that pip brought."""

import asyncio
import os
import shutil
import tempfile
import uuid
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

from threadclaim.storage import SqliteStorage, create_schema
from threadclaim.storage.sql.base import SqlStorage

NAMED = "THREADCLAIM_TEST_DSN"
"""The environment's variable that names a server."""

KINDS = ("sqlite", "postgres")
"""The durable storages."""


@asynccontextmanager
async def database(kind: str, dsn: str | None = None, *, waits_for_disk: bool = True) -> AsyncGenerator[str]:
    """The path, or the DSN, of an empty database with the schema; it is gone in the end.

    Where no process that is killed is the server's, a PostgreSQL's commits need not wait for the disk.
    Of PostgreSQL, the server is the one that `dsn` names, or the environment, or one that is started.
    """
    if kind == "sqlite":
        with tempfile.TemporaryDirectory(prefix="threadclaim-") as folder:
            target = str(Path(folder) / "threadclaim.db")
            await create_schema(target)
            yield target
        return
    async with (
        _server(dsn or os.environ.get(NAMED)) as server,
        _database_of(server, waits_for_disk=waits_for_disk) as target,
    ):
        await create_schema(target)
        yield target


@asynccontextmanager
async def _server(named: str | None) -> AsyncGenerator[str]:
    """The DSN of the server that is named; else of one of its own."""
    if named:
        yield named
        return
    from conformance.servers import started  # noqa: PLC0415  # where a server is named none need be there

    folder = Path(tempfile.mkdtemp(prefix="threadclaim-"))
    server = await asyncio.to_thread(started, folder)
    try:
        yield str(server.get_uri())
    finally:
        await asyncio.to_thread(server.cleanup)
        shutil.rmtree(folder, ignore_errors=True)


@asynccontextmanager
async def _database_of(server: str, *, waits_for_disk: bool) -> AsyncGenerator[str]:
    """A database of a server's, dropped in the end, whoever still uses it."""
    import asyncpg  # noqa: PLC0415  # an extra: what is done to a file needs none

    name = f"threadclaim_{uuid.uuid4().hex}"
    connection = await asyncpg.connect(server)
    try:
        await connection.execute(f"CREATE DATABASE {name}")
        if not waits_for_disk:
            await connection.execute(f"ALTER DATABASE {name} SET synchronous_commit = off")
        yield urlsplit(server)._replace(path=f"/{name}").geturl()
    finally:
        await connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        await connection.close()


def opened(
    target: str, *, connections: int = 4, poll_interval: float = 0.1, prepared: bool = False
) -> SqlStorage:
    """A storage over a database; statements of PostgreSQL's are `prepared`, or not."""
    if target.startswith("postgres"):
        from threadclaim.storage import PostgresStorage  # noqa: PLC0415  # its driver is an extra

        return PostgresStorage(
            target, connections=connections, poll_interval=poll_interval, prepared=prepared
        )
    return SqliteStorage(target, connections=connections, poll_interval=poll_interval)


def kinds_of(chosen: str) -> Sequence[str]:
    """The storages that an option names."""
    return KINDS if chosen == "both" else (chosen,)
