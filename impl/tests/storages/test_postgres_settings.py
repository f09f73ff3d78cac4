"""PostgreSQL's settings: DSNs and what they lead to, the schema, what is prepared, and the pool."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest

from tests.durable import of_database, server
from tests.storages.databases import ANN, OpenServer, PostgresDatabase, append, head
from threadclaim.errors import (
    RequestError,
    SchemaMismatch,
    StorageError,
    StorageUnavailable,
    StorageUnsuitable,
    WrongType,
)
from threadclaim.events import MessagePosted
from threadclaim.steps import Send
from threadclaim.storage import PostgresStorage, Scope, Transaction, check, migrate
from threadclaim.storage.postgres import schema
from threadclaim.storage.postgres import storage as module
from threadclaim.storage.postgres.failures import without_password
from threadclaim.workspace import Workspace

pytestmark = pytest.mark.anyio


# ---- DSNs, and what they lead to.


@pytest.mark.parametrize("dsn", ["", "x.db", "mysql://x/y", "host=x dbname=y"])
def test_what_is_no_dsn(dsn: str) -> None:
    """It is refused at once."""
    with pytest.raises(RequestError, match="postgresql://"):
        PostgresStorage(dsn)
    with pytest.raises(RequestError, match="postgresql://"):
        PostgresStorage("postgresql://x/y", listen_dsn=dsn)


@pytest.mark.parametrize("dsn", [None, b"postgresql://x/y", 5])
def test_what_is_no_text(dsn: Any) -> None:  # noqa: ANN401  # whatever somebody gives
    """It is refused at once, and named."""
    with pytest.raises(WrongType, match=r"The DSN is .*\. Give it as text"):
        PostgresStorage(dsn)


@pytest.mark.parametrize(
    "settings",
    [
        {"connections": "10"},
        {"connections": 2.5},
        {"connections": True},
        {"prepared": "no"},
        {"create_schema": "no"},
        {"now": 5},
        {"new_id": "x"},
    ],
)
def test_settings_of_a_wrong_kind(settings: dict[str, Any]) -> None:
    """They are refused at once, by their names."""
    with pytest.raises(WrongType, match=f"^{next(iter(settings))} is "):
        PostgresStorage("postgresql://x/y", **settings)


@pytest.mark.parametrize(
    "settings",
    [
        {"connections": 0},
        {"command_timeout": -1.0},
        {"command_timeout": 0},
        {"acquire_timeout": 0},
        {"poll_interval": 0},
        {"poll_interval": 1e9},
    ],
)
def test_bad_settings(settings: dict[str, Any]) -> None:
    """What cannot be meant is refused at once."""
    with pytest.raises(RequestError):
        PostgresStorage("postgresql://x/y", **settings)


def wrong_dsns() -> dict[str, tuple[Callable[[], str], type[StorageError], str]]:
    """DSNs that lead nowhere, and what is said of each."""
    return {
        "no database": (lambda: of_database(server(), "none"), StorageUnsuitable, "does not exist"),
        "no user": (lambda: server().replace("//postgres:@", "//nobody:x@"), StorageUnsuitable, "nobody"),
        "no server": (lambda: "postgresql://u:secret@127.0.0.1:1/x", StorageUnavailable, "does not answer"),
        "no host": (lambda: "postgresql://u:secret@nowhere.invalid/x", StorageUnavailable, "does not answer"),
        "no port": (lambda: "postgresql://u:secret@127.0.0.1:port/x", StorageUnsuitable, "no DSN that can"),
    }


@pytest.mark.parametrize("name", wrong_dsns())
async def test_wrong_dsn(scope: Scope, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sentence says what is wrong, and shows no password."""
    monkeypatch.setattr(module, "_PAUSE", 0.0)
    dsn, kind, told = wrong_dsns()[name]
    storage = PostgresStorage(dsn())
    for call in (storage.transact(scope, head), storage.stranded(scope), check(dsn()), migrate(dsn())):
        with pytest.raises(kind, match=told) as raised:
            await call
        assert "secret" not in str(raised.value)
    await storage.aclose()


def test_passwords_are_not_shown() -> None:
    """However a DSN has one."""
    assert without_password("postgresql://u:p%40ss@h:1/d") == "postgresql://u:…@h:1/d"
    assert (
        without_password("postgresql://h/d?user=u&password=p&x=y") == "postgresql://h/d?user=u&password=…&x=y"
    )
    assert without_password("postgresql://u@h/d") == "postgresql://u@h/d"


async def test_a_server_that_is_too_old(
    scope: Scope, open_server: OpenServer, made: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is said which is the oldest that is supported."""
    monkeypatch.setattr(schema, "OLDEST", 99)
    for call in (open_server().transact(scope, head), migrate(made.target)):
        with pytest.raises(StorageUnsuitable, match="99 is the oldest"):
            await call


async def test_a_schema_is_made_if_that_is_asked_for(
    postgres_database: PostgresDatabase, opened_storages: AsyncExitStack, scope: Scope
) -> None:
    """And by no storage that was not asked."""
    unasked = PostgresStorage(postgres_database.target)
    opened_storages.push_async_callback(unasked.aclose)
    with pytest.raises(SchemaMismatch, match="no schema"):
        await unasked.transact(scope, head)
    asked = [PostgresStorage(postgres_database.target, create_schema=True) for _ in range(3)]
    for storage in asked:
        opened_storages.push_async_callback(storage.aclose)
    await asyncio.gather(*[storage.transact(scope, append) for storage in asked])
    assert await unasked.transact(scope, head) == 3


async def test_a_schema_that_is_taken_away(
    scope: Scope, open_server: OpenServer, made: PostgresDatabase
) -> None:
    """Under a storage that is open, it is told as what it is."""
    storage = open_server()
    await storage.transact(scope, append)
    await migrate(made.target, 0)
    with pytest.raises(SchemaMismatch):
        await storage.transact(scope, append)


@pytest.mark.parametrize("prepared", [False, True])
async def test_statements_are_prepared_where_that_is_asked_for(
    scope: Scope, open_server: OpenServer, *, prepared: bool
) -> None:
    """Else a connection keeps none, for a proxy gives it to somebody else."""
    storage = open_server(connections=1, prepared=prepared)
    workspace = Workspace(storage, scope, ANN)
    thread = await workspace.create_thread("t")
    await storage.transact(scope, append)
    await storage.transact(scope, append)
    assert await workspace.thread("t") == thread
    assert [entry.seq for entry in await workspace.read()] == [thread.created, 2, 3]
    kept = await storage.look("SELECT statement FROM pg_prepared_statements")
    assert bool(kept) == prepared


# ---- The pool.


async def test_a_pool_of_one_renews_beside_sends(scope: Scope, open_server: OpenServer) -> None:
    """With one connection, everything goes on, one after another; followers hold none."""
    storage = open_server(connections=1, acquire_timeout=60.0)
    ann = Workspace(storage, scope, ANN)
    await ann.create_thread("t")
    follower = asyncio.ensure_future(anext(storage.subscribe(scope, 21)))
    await storage.transact(scope, lambda tx: tx.acquire_lease("l", "ann", 600.0))
    renewals = [storage.transact(scope, lambda tx: tx.renew_lease("l", "ann", 600.0)) for _ in range(20)]
    sends = [storage.transact(scope, Send("t", MessagePosted(f"m-{n}", "x"), ANN)) for n in range(20)]
    *came, _ = await asyncio.gather(*renewals, *sends, storage.stranded(scope))
    assert came[:20] == [True] * 20
    await storage.transact(scope, append)
    assert (await follower).seq == 22


async def test_one_workspace_takes_one_connection(scope: Scope, open_server: OpenServer) -> None:
    """Who waits for a turn in a busy workspace keeps no connection from the others."""
    storage = open_server(connections=2)
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slow(tx: Transaction) -> int:
        begun.set()
        await go_on.wait()
        return await append(tx)

    busy = [asyncio.create_task(storage.transact(scope, slow)) for _ in range(5)]
    await begun.wait()
    assert await storage.transact(Scope("tenant", "another"), append) == 1
    go_on.set()
    assert sorted(await asyncio.gather(*busy)) == [1, 2, 3, 4, 5]


async def test_no_connection_comes_free(
    scope: Scope, open_server: OpenServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is said so, after `acquire_timeout`."""
    storage = open_server(connections=1)
    await storage.transact(scope, append)
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slow(tx: Transaction) -> int:
        begun.set()
        await go_on.wait()
        return await append(tx)

    busy = asyncio.create_task(storage.transact(scope, slow))
    await begun.wait()
    monkeypatch.setattr(storage, "_acquire_timeout", 0.01)
    with pytest.raises(StorageUnavailable, match="no connection came free"):
        await storage.stranded(scope)
    go_on.set()
    assert await busy == 2
