"""An empty database of each kind, and storages over it, which are closed in the end."""

import asyncio
import uuid
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from tests.durable import server
from tests.storages.databases import ANN, Database, Open, OpenServer, PostgresDatabase, SqliteDatabase
from threadclaim.storage import PostgresStorage, Scope, create_schema
from threadclaim.storage.sql.base import SqlStorage
from threadclaim.workspace import Workspace


@pytest.fixture(params=["sqlite", "postgres"])
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Database]:
    """An empty database of each kind."""
    if request.param == "sqlite":
        yield SqliteDatabase(tmp_path)
        return
    async for made in _postgres():
        yield made


@pytest.fixture
async def postgres_database() -> AsyncGenerator[Database]:
    """An empty database of the tests' server."""
    async for made in _postgres():
        yield made


async def _postgres() -> AsyncGenerator[Database]:
    """Make a database of the tests' server, and drop it in the end, whoever still uses it."""
    name = f"threadclaim_{uuid.uuid4().hex}"
    connection = await asyncpg.connect(server())
    await connection.execute(f"CREATE DATABASE {name}")
    yield PostgresDatabase(name)
    await connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
    await connection.close()


@pytest.fixture
async def cancels_connecting() -> None:
    """Of a test that cancels tasks that asyncpg connects in: what is asyncpg's then is let pass.

    Over TCP it asks for TLS with a protocol whose future gets an error as its connection is lost. If
    connecting is cancelled before anybody awaits that future, the loop is told of an exception that was
    never retrieved (asyncpg 0.32).
    """
    loop = asyncio.get_running_loop()
    handler = loop.get_exception_handler()
    assert handler is not None

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Pass on all else."""
        error = context.get("exception")
        if type(error) is not ConnectionError or str(error) != "unexpected connection_lost() call":
            handler(loop, context)

    loop.set_exception_handler(handle)


@pytest.fixture
async def opened_storages() -> AsyncGenerator[AsyncExitStack]:
    """Closes the storages of a test."""
    async with AsyncExitStack() as stack:
        yield stack


@pytest.fixture
def open_storage(database: Database, opened_storages: AsyncExitStack) -> Open:
    """Opens a storage over the database, as of one more process; it is closed in the end."""

    def open_(**settings: Any) -> SqlStorage:  # noqa: ANN401  # each setting has a type of its own
        storage = database.open(**settings)
        opened_storages.push_async_callback(storage.aclose)
        return storage

    return open_


@pytest.fixture
def workspace_of(scope: Scope) -> Callable[[SqlStorage], Workspace]:
    """The workspace in a storage, as Ann."""
    return lambda storage: Workspace(storage, scope, ANN)


@pytest.fixture
async def made(postgres_database: PostgresDatabase) -> PostgresDatabase:
    """A database with the schema."""
    await create_schema(postgres_database.target)
    return postgres_database


@pytest.fixture
def open_server(made: PostgresDatabase, opened_storages: AsyncExitStack) -> OpenServer:
    """Opens a storage over the database, as of one more process; it is closed in the end."""

    def open_(**settings: Any) -> PostgresStorage:  # noqa: ANN401  # each setting has a type of its own
        storage = PostgresStorage(settings.pop("dsn", made.target), **settings)
        opened_storages.push_async_callback(storage.aclose)
        return storage

    return open_
