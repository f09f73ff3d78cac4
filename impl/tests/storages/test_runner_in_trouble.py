"""A runner over a database in trouble: what it acknowledged is carried out once, and it goes on by itself."""

import asyncio
import sqlite3
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, closing
from pathlib import Path

import asyncpg
import pytest
from typing_extensions import override

from tests.storages.databases import ANN, Database, Open, PostgresDatabase, SqliteDatabase
from threadclaim.errors import RunLeft, StorageUnavailable
from threadclaim.events import RequestAnswered, RunEnded, RunPaused, RunStarted
from threadclaim.runner import Runner
from threadclaim.storage import PostgresStorage, Scope, SqliteStorage, Transaction, create_schema
from threadclaim.storage.postgres.failures import of_database
from threadclaim.storage.postgres.session import PostgresSession
from threadclaim.storage.sql.base import SqlStorage
from threadclaim.testing import ScriptedTurn, Take, Wait
from threadclaim.turn import Facts, Outcome, Steering, Stopped, TurnInput
from threadclaim.workspace import Workspace

pytestmark = pytest.mark.anyio

_LAPSE = "UPDATE threadclaim_leases SET until = 0"
_TERMINATE = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE pid <> pg_backend_pid() AND datname = current_database()
"""
_SHORT_TTL = 0.3


@pytest.fixture
async def made(database: Database, scope: Scope) -> Database:
    """A database of each kind with the schema, and a thread `t`."""
    await create_schema(database.target)
    storage = database.open()
    await Workspace(storage, scope, ANN).create_thread("t")
    await storage.aclose()
    return database


class UntilStopped:
    """A turn that goes on until it is stopped."""

    def __init__(self) -> None:
        """Nothing runs yet."""
        self.began, self.stopped = asyncio.Event(), asyncio.Event()

    async def run(self, turn: TurnInput, steering: Steering, facts: Facts) -> Outcome:  # noqa: ARG002  # it does nothing
        """Wait for that."""
        self.began.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.stopped.set()
        return Stopped()


@asynccontextmanager
async def locked(database: Database) -> AsyncGenerator[None]:
    """Hold what every transaction of the workspace needs, as another session."""
    if isinstance(database, SqliteDatabase):
        with closing(sqlite3.connect(database.target, isolation_level=None)) as file:
            file.execute("BEGIN IMMEDIATE")
            yield
            file.rollback()
        return
    session = await asyncpg.connect(database.target)
    async with session.transaction():
        await session.execute("SELECT * FROM threadclaim_scopes FOR UPDATE")
        yield
    await session.close()


async def is_well(database: Database, scope: Scope, *acknowledged: str) -> None:
    """Once nothing is in the way, a process that starts carries out whatever is left, each message once."""
    storage = database.open()
    ann = Workspace(storage, scope, ANN)
    runner = Runner(ScriptedTurn(), storage)
    while (await storage.stranded(scope)).left:
        await database.run(_LAPSE)  # nobody renews a claim that was left
        for run in await runner.recover(ann):
            await run.wait()
        await runner.drain()
    entries = await ann.read()
    assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
    times: Counter[int] = Counter()
    for entry in entries:
        match entry.event:
            case RunStarted(consumes=seqs) | RunPaused(delivered=seqs) | RunEnded(delivered=seqs):
                times.update(seqs)
            case RequestAnswered(message_seq=int() as seq):
                times[seq] += 1
            case _:
                pass
    messages = {entry.seq: entry.event.message_id for entry in entries if entry.is_message}  # type: ignore[union-attr]  # a message
    assert {seq: times[seq] for seq in messages} == dict.fromkeys(messages, 1)
    assert set(acknowledged) <= set(messages.values())
    await runner.aclose()
    await storage.aclose()


async def test_a_statement_that_hangs_past_a_ttl(made: Database, scope: Scope, open_storage: Open) -> None:
    """The holder finds its claim lost by its own clock, and stops its run; nothing is lost or taken twice."""
    storage, agent = open_storage(), UntilStopped()
    ann = Workspace(storage, scope, ANN)
    async with Runner(agent, storage, claim_ttl=_SHORT_TTL) as runner:
        await runner.send(ann, "t", "x", message_id="m1")
        await agent.began.wait()
        async with locked(made):
            sending = asyncio.create_task(runner.send(ann, "t", "x", message_id="m2"))
            await agent.stopped.wait()
            assert not sending.done()
        await sending
    await is_well(made, scope, "m1", "m2")


async def test_closing_while_the_database_does_not_answer(
    made: Database, scope: Scope, opened_storages: AsyncExitStack
) -> None:
    """Both are bounded: the runner leaves its run as by a crash, and the storage drops its connections."""
    storage, agent = made.open(close_within=0.05), UntilStopped()
    opened_storages.push_async_callback(storage.aclose)
    ann = Workspace(storage, scope, ANN)
    runner = Runner(agent, storage, close_within=0.05)
    sent = await runner.send(ann, "t", "x", message_id="m1")
    await agent.began.wait()
    assert sent.run is not None
    claimants = list(runner._claimants.values())  # noqa: SLF001  # nothing else tells of them
    async with asyncio.timeout(60), locked(made):
        await runner.aclose()
        with pytest.raises(RunLeft):
            await sent.run.wait()
        await storage.aclose()
        _, late = await asyncio.wait(claimants, timeout=10.0)
        assert not late, "What is left as by a crash does not go on trying to record its end."
    await is_well(made, scope, "m1")


async def test_every_connection_is_terminated_under_a_run(
    postgres_database: PostgresDatabase, scope: Scope, opened_storages: AsyncExitStack
) -> None:
    """Again and again; the run goes on, and ends, and what was sent meanwhile is carried out."""
    await create_schema(postgres_database.target)
    storage = postgres_database.open()
    opened_storages.push_async_callback(storage.aclose)
    ann = Workspace(storage, scope, ANN)
    await ann.create_thread("t")
    go_on, reached = asyncio.Event(), asyncio.Event()
    agent = ScriptedTurn([Wait(go_on, reached), Take()])
    async with Runner(agent, storage) as runner:
        sent = await runner.send(ann, "t", "x", message_id="m0")
        await reached.wait()
        for number in range(1, 4):
            await postgres_database.run(_TERMINATE)
            await _until_sent(runner, ann, f"m{number}")
        await postgres_database.run(_TERMINATE)
        go_on.set()
        assert sent.run is not None
        await sent.run.wait()
        await runner.drain()
    await is_well(postgres_database, scope, "m0", "m1", "m2", "m3")


async def _until_sent(runner: Runner, ann: Workspace, message_id: str) -> None:
    """Send, until it is acknowledged: a retry with the same id is never a second message."""
    while True:
        try:
            await runner.send(ann, "t", "x", message_id=message_id)
        except StorageUnavailable:
            continue
        return


async def test_the_pool_is_exhausted(
    postgres_database: PostgresDatabase, scope: Scope, opened_storages: AsyncExitStack
) -> None:
    """A send that finds no connection says so; once there is one, a retry is carried out."""
    await create_schema(postgres_database.target)
    storage = PostgresStorage(postgres_database.target, connections=1, acquire_timeout=0.05)
    opened_storages.push_async_callback(storage.aclose)
    ann = Workspace(storage, scope, ANN)
    await ann.create_thread("t")
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slow(tx: Transaction) -> int:
        begun.set()
        await go_on.wait()
        return await tx.head()

    async with Runner(ScriptedTurn(), storage) as runner:
        busy = asyncio.create_task(storage.transact(Scope("tenant", "another"), slow))
        await begun.wait()
        with pytest.raises(StorageUnavailable, match="no connection came free"):
            await runner.send(ann, "t", "x", message_id="m1")
        go_on.set()
        await busy
        await _until_sent(runner, ann, "m2")
        await runner.drain()
    await is_well(postgres_database, scope, "m2")


async def _send_on(runner: Runner, ann: Workspace, acknowledged: list[str]) -> None:
    """Send, for as long as it goes well; keep which were acknowledged."""
    while True:
        message_id = f"m{len(acknowledged)}"
        await runner.send(ann, "t", "x" * 3000, message_id=message_id)
        acknowledged.append(message_id)


class SmallStorage(SqliteStorage):
    """A storage whose file may not grow."""

    @override
    def _open(self) -> sqlite3.Connection:
        connection = super()._open()
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages + 6}")
        return connection


def _small(database: SqliteDatabase) -> SqlStorage:
    """A storage that will be full."""
    return SmallStorage(database.target)


def _read_only(database: SqliteDatabase) -> SqlStorage:
    """A storage that cannot be written to."""
    return SqliteStorage(f"file:{database.target}?mode=ro")


@pytest.mark.parametrize("open_bad", [_small, _read_only])
async def test_a_file_that_takes_no_more(
    scope: Scope,
    tmp_path: Path,
    open_bad: Callable[[SqliteDatabase], SqlStorage],  # a Path
) -> None:
    """Sends are refused with a sentence; those before are kept, and with room all of them are carried out."""
    database = SqliteDatabase(tmp_path)
    await create_schema(database.target)
    good = database.open()
    await Workspace(good, scope, ANN).create_thread("t")
    await good.aclose()
    bad = open_bad(database)
    acknowledged: list[str] = []
    ann = Workspace(bad, scope, ANN)
    async with Runner(ScriptedTurn(), bad, claim_ttl=_SHORT_TTL, close_within=1.0) as runner:
        with pytest.raises(StorageUnavailable):
            await _send_on(runner, ann, acknowledged)
    await bad.aclose()
    await is_well(database, scope, *acknowledged)


async def test_a_connection_that_was_told_of_its_end(
    postgres_database: PostgresDatabase,
    scope: Scope,
    opened_storages: AsyncExitStack,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Until it is seen to be gone, asyncpg calls it busy: nothing was sent, so the step is run anew."""
    await create_schema(postgres_database.target)
    storage = postgres_database.open()
    opened_storages.push_async_callback(storage.aclose)
    begin, tries = PostgresSession.begin, []

    async def told_of_its_end(self: PostgresSession) -> None:
        tries.append(1)
        if len(tries) == 1:
            with of_database():
                raise asyncpg.InternalClientError("cannot switch to state 15; another operation (2) is on")
        await begin(self)

    monkeypatch.setattr(PostgresSession, "begin", told_of_its_end)
    thread = await Workspace(storage, scope, ANN).create_thread("t")
    assert (thread.thread_id, len(tries)) == ("t", 2)
