"""PostgreSQL's hints: followers and looks are woken by what other processes commit."""

import asyncio
import time
from typing import Any

import asyncpg
import pytest

from tests.durable import of_database, server
from tests.storages.databases import (
    TERMINATE,
    OpenServer,
    PostgresDatabase,
    append,
    expect_followed,
    head,
    until,
)
from threadclaim.errors import (
    StorageUnavailable,
)
from threadclaim.storage import PostgresStorage, Scope, Transaction, check, migrate
from threadclaim.storage.postgres import listening, schema

pytestmark = pytest.mark.anyio


@pytest.fixture
async def listening_pair(
    open_server: OpenServer, made: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> tuple[PostgresStorage, PostgresStorage]:
    """Two processes that look once a day, and listen."""
    monkeypatch.setattr(listening, "_PAUSE", 0.001)
    settings: dict[str, Any] = {"listen_dsn": made.target, "poll_interval": 86400.0}
    pair = open_server(**settings), open_server(**settings)
    for storage in pair:
        await storage.transact(Scope("tenant", "a workspace nobody follows"), head)

    async def both_listen() -> bool:
        return len(await made.run("SELECT 1 FROM pg_stat_activity WHERE query ILIKE 'LISTEN%'")) == 2

    await until(both_listen)
    return pair


Pair = tuple[PostgresStorage, PostgresStorage]


async def test_a_follower_is_woken_by_another_process(scope: Scope, listening_pair: Pair) -> None:
    """Each time, though it looks once a day."""
    writing, following = listening_pair
    await expect_followed(writing, following, scope)


@pytest.mark.parametrize("name", ["l", "'\";\\ 🎉", "x" * 1000])
async def test_a_release_is_told_to_another_process(scope: Scope, listening_pair: Pair, name: str) -> None:
    """By its name, in its scope."""
    holding, waiting = listening_pair
    told: asyncio.Queue[tuple[Scope, str]] = asyncio.Queue()
    waiting.on_release(lambda scope, name: told.put_nowait((scope, name)))
    await holding.transact(scope, lambda tx: tx.acquire_lease(name, "ann", 600.0))
    await holding.transact(scope, lambda tx: tx.release_lease(name, "ann"))
    async with asyncio.timeout(60):
        assert await told.get() == (scope, name)
    assert told.empty()


async def test_a_name_that_is_too_long_to_be_told(scope: Scope, listening_pair: Pair) -> None:
    """What a hint cannot carry is left to whoever looks; followers are woken all the same."""
    writing, following = listening_pair
    names = [f"{number}" + "🎉" * 999 for number in range(3)]

    async def take(tx: Transaction) -> None:
        for name in names:
            await tx.acquire_lease(name, "ann", 600.0)

    async def release(tx: Transaction) -> None:
        for name in names:
            await tx.release_lease(name, "ann")
        await append(tx)

    coming = asyncio.ensure_future(anext(following.subscribe(scope, 0)))
    await asyncio.sleep(0)
    await writing.transact(scope, take)
    await writing.transact(scope, release)
    async with asyncio.timeout(60):
        assert (await coming).seq == 1


async def test_a_listener_that_is_dropped_is_restored(
    scope: Scope,
    listening_pair: Pair,
    made: PostgresDatabase,
    open_server: OpenServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And what came meanwhile is read then, and what comes later is heard."""
    writing, following = listening_pair
    quiet = open_server()
    await quiet.transact(scope, head)
    entries = following.subscribe(scope, 0)
    coming = asyncio.ensure_future(anext(entries))
    await asyncio.sleep(0)
    monkeypatch.setattr(listening, "_ANSWERS_WITHIN", 0.0)  # nobody can connect anew
    async with asyncio.timeout(60):
        await made.run(f"{TERMINATE} AND query ILIKE 'LISTEN%'")
        await quiet.transact(scope, append)
        monkeypatch.setattr(listening, "_ANSWERS_WITHIN", 60.0)
        assert (await coming).seq == 1
        coming = asyncio.ensure_future(anext(entries))
        await writing.transact(scope, append)
        assert (await coming).seq == 2


async def test_nonsense_on_the_channel_hinders_nobody(
    scope: Scope, listening_pair: Pair, made: PostgresDatabase
) -> None:
    """Others may use its name; what is none of ours is let pass."""
    writing, following = listening_pair
    for payload in ("", "x", "[]", "[1]", '["me", "x", []]', '["me", 99999, ["l"]]', '["me", null, 3]', "{}"):
        await made.run("SELECT pg_notify('threadclaim', $1)", payload)
    coming = asyncio.ensure_future(anext(following.subscribe(scope, 0)))
    await asyncio.sleep(0)
    await writing.transact(scope, append)
    async with asyncio.timeout(60):
        assert (await coming).seq == 1


async def test_a_listener_that_cannot_connect_hinders_nobody(scope: Scope, open_server: OpenServer) -> None:
    """The hint is missed, and that is logged; polling goes on."""
    dsn = of_database(server(), "none")
    storage = open_server(listen_dsn=dsn, poll_interval=0.001)
    began = time.monotonic()
    assert await storage.transact(scope, append) == 1
    assert (await anext(storage.subscribe(scope, 0))).seq == 1
    assert time.monotonic() - began < 60


async def test_a_migration_that_others_keep_waiting(
    made: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It gives up, having changed nothing, and says so: whoever came after would wait for it."""
    monkeypatch.setattr(schema, "_WAITS_FOR", 0.05)
    blocker = await asyncpg.connect(made.target)
    async with blocker.transaction():
        await blocker.execute("SELECT * FROM threadclaim_threads")
        with pytest.raises(StorageUnavailable, match="longer than a migration waits"):
            await migrate(made.target, 4)
    await blocker.close()
    assert await check(made.target) == 5
    assert (await migrate(made.target, 4)).after == 4
