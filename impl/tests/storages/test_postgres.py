"""What is PostgreSQL's own: wrong DSNs, lost connections, transactions run anew, locks, and hints."""

import asyncio
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any

import asyncpg
import pytest

from tests.durable import of_database, server
from tests.storages.databases import ANN, PostgresDatabase
from threadclaim.errors import (
    RequestError,
    SchemaMismatch,
    StorageError,
    StorageUnavailable,
    StorageUnsuitable,
    WrongType,
)
from threadclaim.events import Custom, MessagePosted
from threadclaim.steps import Send
from threadclaim.storage import PostgresStorage, Scope, Transaction, check, create_schema, migrate
from threadclaim.storage.postgres import failures, listening, schema
from threadclaim.storage.postgres import storage as module
from threadclaim.storage.postgres.failures import without_password
from threadclaim.storage.postgres.session import PostgresSession
from threadclaim.workspace import Workspace

pytestmark = pytest.mark.anyio

Open = Callable[..., PostgresStorage]


@pytest.fixture
async def made(postgres_database: PostgresDatabase) -> PostgresDatabase:
    """A database with the schema."""
    await create_schema(postgres_database.target)
    return postgres_database


@pytest.fixture
def open_server(made: PostgresDatabase, opened_storages: AsyncExitStack) -> Open:
    """Opens a storage over the database, as of one more process; it is closed in the end."""

    def open_(**settings: Any) -> PostgresStorage:  # noqa: ANN401  # each setting has a type of its own
        storage = PostgresStorage(settings.pop("dsn", made.target), **settings)
        opened_storages.push_async_callback(storage.aclose)
        return storage

    return open_


async def head(tx: Transaction) -> int:
    """The log's head."""
    return await tx.head()


async def append(tx: Transaction) -> int:
    """Commit an entry; gives its seq."""
    return (await tx.append(Custom("x"), actor=ANN)).seq


async def until(holds: Callable[[], Any]) -> None:
    """Wait until something holds, of which nobody tells; 60 s are a failure."""
    async with asyncio.timeout(60):
        while not await holds():  # noqa: ASYNC110  # the server tells nobody
            await asyncio.sleep(0.001)


# ---- What is left in a session.


@pytest.mark.parametrize("prepared", [False, True])
async def test_statements_are_prepared_where_that_is_asked_for(
    scope: Scope, open_server: Open, *, prepared: bool
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
    scope: Scope, open_server: Open, made: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
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


async def test_a_schema_that_is_taken_away(scope: Scope, open_server: Open, made: PostgresDatabase) -> None:
    """Under a storage that is open, it is told as what it is."""
    storage = open_server()
    await storage.transact(scope, append)
    await migrate(made.target, 0)
    with pytest.raises(SchemaMismatch):
        await storage.transact(scope, append)


# ---- The pool.


async def test_a_pool_of_one_renews_beside_sends(scope: Scope, open_server: Open) -> None:
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


async def test_one_workspace_takes_one_connection(scope: Scope, open_server: Open) -> None:
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
    scope: Scope, open_server: Open, monkeypatch: pytest.MonkeyPatch
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


# ---- Steps that are run anew, and those that are not.

TERMINATE = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
TERMINATE_ALL = f"{TERMINATE} AND datname = current_database()"


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step is run anew at once."""
    monkeypatch.setattr(module, "_PAUSE", 0.0)


@pytest.mark.usefixtures("at_once")
async def test_a_connection_that_is_lost_has_the_step_run_anew(
    scope: Scope, open_server: Open, made: PostgresDatabase
) -> None:
    """Nothing was committed, so nothing is written twice."""
    storage, runs = open_server(), []

    async def step(tx: Transaction) -> int:
        await append(tx)
        runs.append(await tx.head())
        if len(runs) < 3:
            await made.run(TERMINATE_ALL)
        await tx.is_used("m")
        return await append(tx)

    assert await storage.transact(scope, step) == 2
    assert runs == [1, 1, 1]
    await made.run(TERMINATE_ALL)
    assert await storage.transact(scope, head) == 2, "Every connection of the pool was lost."
    assert (await storage.stranded(scope)).left == ()


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("error", [asyncpg.SerializationError, asyncpg.DeadlockDetectedError])
async def test_a_transaction_that_the_server_gave_up_is_run_anew(
    scope: Scope, open_server: Open, made: PostgresDatabase, error: type[asyncpg.PostgresError]
) -> None:
    """As its commit comes, too: the server says that it kept nothing."""
    storage, runs = open_server(), []
    await _fail_commits(made, error.sqlstate)

    async def step(tx: Transaction) -> int:
        runs.append(1)
        if len(runs) == 3:
            await made.run("DROP TRIGGER fails ON threadclaim_log")
        return await append(tx)

    assert await storage.transact(scope, step) == 1
    assert len(runs) == 3


async def _fail_commits(made: PostgresDatabase, code: str) -> None:
    """Have every commit of an entry fail with this SQLSTATE; with none, have its connection terminated."""
    does = f"RAISE EXCEPTION SQLSTATE '{code}'" if code else "PERFORM pg_terminate_backend(pg_backend_pid())"
    body = f"$$ BEGIN {does}; RETURN NULL; END $$"
    await made.run(f"CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS {body}")
    await made.run(
        "CREATE CONSTRAINT TRIGGER fails AFTER INSERT ON threadclaim_log DEFERRABLE INITIALLY DEFERRED "
        "FOR EACH ROW EXECUTE FUNCTION fail()"
    )


@pytest.mark.usefixtures("at_once")
async def test_a_commit_whose_answer_is_lost_is_not_run_anew(
    scope: Scope, open_server: Open, made: PostgresDatabase
) -> None:
    """It may have taken effect, and that is what is said; the next call goes on."""
    storage, runs = open_server(), []
    await _fail_commits(made, "")

    async def step(tx: Transaction) -> int:
        runs.append(1)
        return await append(tx)

    with pytest.raises(StorageUnavailable, match="may have taken effect"):
        await storage.transact(scope, step)
    assert len(runs) == 1
    await made.run("DROP TRIGGER fails ON threadclaim_log")
    assert await storage.transact(scope, append) == 1


@pytest.mark.usefixtures("at_once")
async def test_what_does_not_pass_is_told(scope: Scope, open_server: Open, made: PostgresDatabase) -> None:
    """After the last try, with what the server says; what never passes, after the first."""
    storage, runs = open_server(), []
    await _fail_commits(made, "40001")

    async def step(tx: Transaction) -> int:
        runs.append(1)
        return await append(tx)

    with pytest.raises(StorageError, match="refused"):
        await storage.transact(scope, step)
    assert len(runs) == 4
    await made.run("DROP TRIGGER fails ON threadclaim_log")
    await made.run("DROP FUNCTION fail")
    await _fail_commits(made, "23514")
    with pytest.raises(StorageError):
        await storage.transact(scope, step)
    assert len(runs) == 5


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("error", [OSError("mine"), TimeoutError("mine"), asyncpg.SerializationError("mine")])
async def test_what_a_step_raises_is_its_own(scope: Scope, open_server: Open, error: Exception) -> None:
    """Whatever it looks like, it is raised, and the step is not run anew."""
    runs = []

    async def step(tx: Transaction) -> int:
        runs.append(await append(tx))
        raise error

    storage = open_server()
    with pytest.raises(type(error)) as raised:
        await storage.transact(scope, step)
    assert raised.value is error
    assert runs == [1]
    assert await storage.transact(scope, head) == 0


async def test_a_statement_that_hangs(scope: Scope, open_server: Open, made: PostgresDatabase) -> None:
    """It is told after `command_timeout`, and holds nothing after."""
    storage = open_server()
    await storage.transact(scope, append)
    blocker = await asyncpg.connect(made.target)
    async with blocker.transaction():
        await blocker.execute("SELECT * FROM threadclaim_scopes FOR UPDATE")
        with pytest.raises(StorageUnavailable, match="in time"):
            await open_server(command_timeout=0.2).transact(scope, append)
    await blocker.close()
    assert await storage.transact(scope, append) == 2


# ---- Locks.

BUSY = """
SELECT state, query FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
AND state <> 'idle'
"""
LOCKS = """
SELECT relation::regclass, mode FROM pg_locks
WHERE database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND pid <> pg_backend_pid()
"""


async def test_cancelled_sends_leave_no_lock_and_no_transaction(
    scope: Scope, open_server: Open, made: PostgresDatabase
) -> None:
    """At whatever turn of the loop, by its task or as its process dies: all or nothing is kept."""
    storage = open_server(connections=3)
    ann = Workspace(storage, scope, ANN)
    await ann.create_thread("t")
    for number in range(1000):
        before = asyncio.all_tasks()
        step = Send("t", MessagePosted(f"m-{number}", "x"), ANN)
        sending = asyncio.create_task(storage.transact(scope, step))
        for _ in range(number % 250):
            await asyncio.sleep(0)
        dying = asyncio.all_tasks() - before if number % 2 else {sending}
        for task in dying:
            task.cancel()
        await asyncio.gather(sending, return_exceptions=True)
    kept = await ann.read()
    assert [entry.seq for entry in kept] == list(range(1, len(kept) + 1))

    async def is_quiet() -> bool:
        return not await made.run(BUSY) and not await made.run(LOCKS)

    await until(is_quiet)
    assert await storage.transact(scope, append) == len(kept) + 1


@pytest.mark.parametrize("dies", [False, True])
async def test_cancelled_reads_leave_no_transaction(
    scope: Scope, open_server: Open, made: PostgresDatabase, *, dies: bool
) -> None:
    """At whatever turn of the loop: a connection whose statement is prepared, and not run, is in one."""
    storage = open_server(connections=1)
    await storage.transact(scope, append)
    for number in range(120):
        before = asyncio.all_tasks()
        reading = asyncio.create_task(storage.stranded(scope))
        for _ in range(number % 40):
            await asyncio.sleep(0)
        for task in asyncio.all_tasks() - before if dies else {reading}:
            task.cancel()
        await asyncio.gather(reading, return_exceptions=True)

        async def is_quiet() -> bool:
            return not await made.run(BUSY)

        await until(is_quiet)


async def test_a_connection_whose_release_is_cancelled_is_dropped(
    scope: Scope, open_server: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a loop that ends cancels the pool's own tasks: it would be nobody's, and never free."""
    storage = open_server(connections=1, acquire_timeout=1.0)
    await storage.transact(scope, append)

    async def cancelled(*_: object, **__: object) -> None:
        raise asyncio.CancelledError

    with monkeypatch.context() as patch:
        patch.setattr(asyncpg.pool.Pool, "release", cancelled)
        with pytest.raises(asyncio.CancelledError):
            await storage.stranded(scope)
    assert await storage.transact(scope, append) == 2


async def test_a_lease_counts_from_when_its_scope_was_locked(
    scope: Scope, open_server: Open, made: PostgresDatabase
) -> None:
    """One that waited behind another process has its whole time to live: `now()` is when it began to wait."""
    storage = open_server()
    await storage.transact(scope, append)
    blocker = await asyncpg.connect(made.target)
    async with blocker.transaction():
        await blocker.execute("SELECT * FROM threadclaim_scopes FOR UPDATE")
        taking = asyncio.create_task(storage.transact(scope, lambda tx: tx.acquire_lease("l", "ann", 600.0)))

        async def waits() -> bool:
            return bool(await made.run("SELECT 1 FROM pg_locks WHERE NOT granted"))

        await until(waits)
        ((freed,),) = await made.run("SELECT extract(epoch FROM clock_timestamp())::float8")
    await blocker.close()
    assert await taking
    ((ends,),) = await made.run("SELECT until FROM threadclaim_leases")
    assert ends - 600.0 >= freed  # type: ignore[operator]  # both are numbers


async def test_a_reader_never_skips_a_seq_that_commits_late(
    scope: Scope, open_server: Open, made: PostgresDatabase
) -> None:
    """The log's order is the order of its commits: a follower sees each entry, though one was slow."""
    slow, fast, following = open_server(), open_server(), open_server(poll_interval=0.001)
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def step(tx: Transaction) -> int:
        seq = await append(tx)
        begun.set()
        await go_on.wait()
        return seq

    entries = following.subscribe(scope, 0)
    first = asyncio.create_task(slow.transact(scope, step))
    await begun.wait()
    second = asyncio.create_task(fast.transact(scope, append))

    async def waits() -> bool:
        return bool(await made.run("SELECT 1 FROM pg_locks WHERE NOT granted"))

    await until(waits)
    go_on.set()
    assert (await first, await second) == (1, 2)
    assert [(await anext(entries)).seq for _ in range(2)] == [1, 2]


async def test_closing_is_bounded(scope: Scope, open_server: Open) -> None:
    """A transaction that does not end does not keep a process from going on."""
    storage = open_server(close_within=0.05)
    begun = asyncio.Event()

    async def stuck(tx: Transaction) -> None:
        await append(tx)
        begun.set()
        await asyncio.Event().wait()

    before = asyncio.all_tasks()
    calling = asyncio.create_task(storage.transact(scope, stuck))
    await begun.wait()
    async with asyncio.timeout(60):
        await storage.aclose()
    for task in asyncio.all_tasks() - before:
        task.cancel()
    await asyncio.gather(calling, return_exceptions=True)
    with pytest.raises(StorageError, match="closed"):
        await storage.transact(scope, append)


async def test_a_commit_that_was_a_rollback_is_told(scope: Scope, open_server: Open) -> None:
    """A step that hides an error of the database's keeps nothing, and is not told that it did."""
    storage = open_server()

    async def step(tx: Transaction) -> None:
        session: PostgresSession = tx._session  # type: ignore[attr-defined]  # noqa: SLF001  # a SqlTransaction's
        with pytest.raises(failures.DatabaseFailed):
            await session.fetch("SELECT nothing")
        await append(tx)

    with pytest.raises(StorageError):
        await storage.transact(scope, step)
    assert await storage.transact(scope, head) == 0


# ---- Hints.


@pytest.fixture
async def listening_pair(
    open_server: Open, made: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
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
    entries = following.subscribe(scope, 0)
    async with asyncio.timeout(60):
        for seq in range(1, 6):
            coming = asyncio.ensure_future(anext(entries))
            await asyncio.sleep(0)
            await writing.transact(scope, append)
            assert (await coming).seq == seq


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
    open_server: Open,
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


async def test_a_listener_that_cannot_connect_hinders_nobody(scope: Scope, open_server: Open) -> None:
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
