"""What is PostgreSQL's own: lost connections, transactions run anew, locks, and what is cancelled."""

import asyncio

import asyncpg
import pytest

from tests.storages.databases import ANN, TERMINATE, OpenServer, PostgresDatabase, append, head, until
from threadclaim.errors import (
    StorageError,
    StorageUnavailable,
)
from threadclaim.events import MessagePosted
from threadclaim.steps import Send
from threadclaim.storage import Scope, Transaction
from threadclaim.storage.postgres import failures
from threadclaim.storage.postgres import storage as module
from threadclaim.storage.postgres.session import PostgresSession
from threadclaim.workspace import Workspace

pytestmark = pytest.mark.anyio


# ---- Steps that are run anew, and those that are not.

TERMINATE_ALL = f"{TERMINATE} AND datname = current_database()"


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step is run anew at once."""
    monkeypatch.setattr(module, "_PAUSE", 0.0)


@pytest.mark.usefixtures("at_once")
async def test_a_connection_that_is_lost_has_the_step_run_anew(
    scope: Scope, open_server: OpenServer, made: PostgresDatabase
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
    scope: Scope, open_server: OpenServer, made: PostgresDatabase, error: type[asyncpg.PostgresError]
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
    scope: Scope, open_server: OpenServer, made: PostgresDatabase
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
async def test_what_does_not_pass_is_told(
    scope: Scope, open_server: OpenServer, made: PostgresDatabase
) -> None:
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
async def test_what_a_step_raises_is_its_own(scope: Scope, open_server: OpenServer, error: Exception) -> None:
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


async def test_a_statement_that_hangs(scope: Scope, open_server: OpenServer, made: PostgresDatabase) -> None:
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


@pytest.mark.usefixtures("cancels_connecting")
async def test_cancelled_sends_leave_no_lock_and_no_transaction(
    scope: Scope, open_server: OpenServer, made: PostgresDatabase
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


@pytest.mark.usefixtures("cancels_connecting")
@pytest.mark.parametrize("dies", [False, True])
async def test_cancelled_reads_leave_no_transaction(
    scope: Scope, open_server: OpenServer, made: PostgresDatabase, *, dies: bool
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
    scope: Scope, open_server: OpenServer, monkeypatch: pytest.MonkeyPatch
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
    scope: Scope, open_server: OpenServer, made: PostgresDatabase
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
    scope: Scope, open_server: OpenServer, made: PostgresDatabase
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


async def test_closing_is_bounded(scope: Scope, open_server: OpenServer) -> None:
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


async def test_a_commit_that_was_a_rollback_is_told(scope: Scope, open_server: OpenServer) -> None:
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
