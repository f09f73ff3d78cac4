"""The schema's migrations: up, down, up again, at once, and with an earlier release beside."""

import asyncio

import pytest

from tests.storages.databases import ANN, Database, Open
from threadclaim.errors import RequestError, SchemaMismatch, StorageError
from threadclaim.events import Custom, MessagePosted, RunEnded, RunStarted
from threadclaim.plan import LeavePlan, StartPlan, plan
from threadclaim.steps import Claim, EndRun, Replan, Send, StartRun
from threadclaim.storage import Scope, Stranded, check, create_schema, migrate
from threadclaim.storage.protocol import UPGRADED
from threadclaim.storage.sql import steps_of_schema
from threadclaim.storage.sql.base import SqlStorage
from threadclaim.storage.sql.steps_of_schema import Move
from threadclaim.workspace import Workspace

pytestmark = pytest.mark.anyio

NEWEST = 5
OTHER = Scope("tenant", "another")


async def upgraded(storage: SqlStorage, scope: Scope) -> int | None:
    """Where a workspace's upgrade point is."""
    return await storage.transact(scope, lambda tx: tx.cursor(UPGRADED))


async def fill(storage: SqlStorage, scope: Scope) -> None:
    """What an earlier release leaves: a thread that is asked, one whose run is active, one with history."""
    ann = Workspace(storage, scope, ANN)
    for thread_id in ("asked", "active", "told"):
        await ann.create_thread(thread_id)
    for thread_id in ("asked", "active", "told"):
        sent = await storage.transact(scope, Send(thread_id, MessagePosted(thread_id, "Hello"), ANN))
        if thread_id != "asked":
            await storage.transact(scope, Claim(thread_id, "dead", 600.0))
            step = StartRun(thread_id, "dead", "r", ANN, sent.seq, (sent.seq,), resumed=False)
            await storage.transact(scope, step)
    ended = EndRun("told", "dead", RunEnded("r", "completed"), ANN, None, b"history")
    assert await storage.transact(scope, ended)


async def test_migrating_an_empty_database(database: Database, scope: Scope, open_storage: Open) -> None:
    """It is brought to the newest version, once; no workspace is there, so no upgrade point is recorded."""
    first, second = await migrate(database.target), await migrate(database.target)
    assert (first.before, first.after, len(first.ran)) == (0, NEWEST, NEWEST)
    assert (second.before, second.after, second.ran) == (NEWEST, NEWEST, [])
    assert await check(database.target) == NEWEST
    storage = open_storage()
    await Workspace(storage, scope, ANN).create_thread("t")
    assert await upgraded(storage, scope) is None


async def test_create_schema_records_no_upgrade_point(
    database: Database, scope: Scope, open_storage: Open
) -> None:
    """A database made new has none: its threads start from their beginning."""
    await create_schema(database.target)
    storage = open_storage()
    await Workspace(storage, scope, ANN).create_thread("t")
    await create_schema(database.target)
    assert await upgraded(storage, scope) is None


async def test_one_step_at_a_time_and_back(database: Database) -> None:
    """Each migration can be run alone, up and down, and what is down can be brought up again."""
    for version in (1, 2, 3, 4, 5, 4, 3, 2, 1, 0, 5, 0):
        assert (await migrate(database.target, version)).after == version
    with pytest.raises(SchemaMismatch, match="no schema"):
        await check(database.target)


async def test_upgrading_what_an_earlier_release_made(
    database: Database, scope: Scope, open_storage: Open
) -> None:
    """Nothing from before it is consumed, by any thread; a run left active is seen to; history stays."""
    await migrate(database.target, 4)
    earlier = database.open_earlier()
    await fill(earlier, scope)
    await Workspace(earlier, OTHER, ANN).create_thread("t")
    head = await Workspace(earlier, scope, ANN).head()
    await earlier.aclose()
    await migrate(database.target)
    storage = open_storage()
    assert (await upgraded(storage, scope), await upgraded(storage, OTHER)) == (head, 1)
    assert await storage.stranded(scope) == Stranded(left=("active",))
    view = await storage.transact(scope, Replan("asked"))
    assert (view.taken, view.messages, plan(view)) == (head, (), LeavePlan())
    assert list(await storage.transact(scope, lambda tx: tx.history("told"))) == [b"history"]


async def test_a_direct_message_after_the_upgrade_is_not_old(
    database: Database, scope: Scope, open_storage: Open
) -> None:
    """Committed after the deploy and before the first send, it is what that send's turn begins with."""
    await migrate(database.target, 4)
    earlier = database.open_earlier()
    await fill(earlier, scope)
    await earlier.aclose()
    await migrate(database.target)
    storage = open_storage()
    posted = await Workspace(storage, scope, ANN).post_message("asked", "direct")
    await storage.transact(scope, Send("asked", MessagePosted("new", "sent"), ANN))
    assert plan(await storage.transact(scope, Replan("asked"))) == StartPlan(posted)


async def test_a_downgrade_and_a_second_upgrade(database: Database, scope: Scope, open_storage: Open) -> None:
    """The point moves on: what an older release was sent between is not carried out again."""
    await create_schema(database.target)
    storage = open_storage()
    await fill(storage, scope)
    await migrate(database.target, 4)
    earlier = database.open_earlier()
    await earlier.transact(scope, Send("asked", MessagePosted("between", "Hello"), ANN))
    head = await Workspace(earlier, scope, ANN).head()
    await migrate(database.target)
    assert await upgraded(storage, scope) == head
    assert (await storage.stranded(scope)).left == ("active",)
    assert (await storage.transact(scope, Replan("asked"))).messages == ()
    await earlier.transact(scope, Send("told", MessagePosted("late", "Hello"), ANN))
    await migrate(database.target, 4)
    await migrate(database.target)
    assert await upgraded(storage, scope) == head + 1
    await earlier.aclose()


async def test_an_earlier_release_beside_a_new_one(
    database: Database, scope: Scope, open_storage: Open
) -> None:
    """One that goes on after the upgrade is read, and reads: the log has no gap, and its messages are new."""
    await migrate(database.target, 4)
    earlier = database.open_earlier()
    await fill(earlier, scope)
    await migrate(database.target)
    storage = open_storage()
    new, old = Workspace(storage, scope, ANN), Workspace(earlier, scope, ANN)
    before = await new.head()
    await asyncio.gather(
        *[workspace.post_message("asked", f"{number}") for number in range(10) for workspace in (new, old)]
    )
    assert [entry.seq for entry in await old.read()] == list(range(1, before + 21))
    await old.create_thread("by the old")
    await earlier.transact(scope, Send("by the old", MessagePosted("m", "Hello"), ANN))
    await storage.transact(scope, Send("by the old", MessagePosted("n", "Hello"), ANN))
    assert (await storage.stranded(scope)).left == ("active", "by the old")
    assert len((await storage.transact(scope, Replan("asked"))).messages) == 20
    await earlier.aclose()


async def test_a_transaction_that_spans_the_upgrade(
    database: Database, scope: Scope, open_storage: Open
) -> None:
    """A step that began before it ends before it, or after it: the point is where the log stood."""
    await migrate(database.target, 4)
    earlier = database.open_earlier()
    await fill(earlier, scope)
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slow(tx: object) -> int:
        begun.set()
        await go_on.wait()
        entry = await tx.append(Custom("late"), actor=ANN)  # type: ignore[attr-defined]  # a Transaction
        return int(entry.seq)

    under_way = asyncio.create_task(earlier.transact(scope, slow))
    await begun.wait()
    migrating = asyncio.create_task(migrate(database.target))
    for _ in range(100):
        await asyncio.sleep(0)
    go_on.set()
    seq, _ = await asyncio.gather(under_way, migrating)
    point = await upgraded(open_storage(), scope)
    assert point is not None
    assert point in {seq - 1, seq}
    assert await Workspace(earlier, scope, ANN).head() == seq
    await earlier.aclose()


async def test_many_migrate_at_once(database: Database) -> None:
    """One does it, the others find it done."""
    came = await asyncio.gather(*[migrate(database.target) for _ in range(6)])
    assert sorted(len(migrated.ran) for migrated in came) == [0, 0, 0, 0, 0, NEWEST]
    assert {migrated.after for migrated in came} == {NEWEST}


async def test_a_migration_that_fails_has_done_nothing(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that a call runs is one transaction."""
    bad = Move(5, "bad", is_up=True, sql="CREATE TABLE threadclaim_b (x INTEGER);\nSELECT * FROM nowhere;\n")
    for dialect in ("sqlite", "postgres"):
        moves = steps_of_schema._moves(dialect)  # noqa: SLF001  # no release has a migration that fails
        monkeypatch.setitem(moves, (5, True), bad)
    with pytest.raises(StorageError):
        await migrate(database.target)
    with pytest.raises(SchemaMismatch, match="no schema"):
        await check(database.target)
    monkeypatch.undo()
    assert (await migrate(database.target)).before == 0


async def test_a_version_that_there_is_not(database: Database) -> None:
    """A goal that no release has is the caller's mistake, and nothing is changed."""
    for version in (-1, 6):
        with pytest.raises(RequestError, match="no version"):
            await migrate(database.target, version)
    assert (await migrate(database.target)).before == 0


async def test_an_older_schema_is_refused_until_it_is_migrated(
    database: Database, scope: Scope, open_storage: Open
) -> None:
    """A storage says what to do, and works once it is done."""
    await migrate(database.target, 4)
    storage = open_storage()
    with pytest.raises(SchemaMismatch, match=r"version 4, and this threadclaim needs 5.*migrate"):
        await Workspace(storage, scope, ANN).head()
    with pytest.raises(SchemaMismatch, match="version 4"):
        await check(database.target)
    await migrate(database.target)
    assert await Workspace(storage, scope, ANN).head() == 0


async def test_a_newer_schema_is_refused(database: Database, scope: Scope, open_storage: Open) -> None:
    """By a storage, by `check`, and by `migrate`, up or down."""
    await migrate(database.target)
    await database.run("INSERT INTO threadclaim_schema (version) VALUES (6)")
    for call in (
        Workspace(open_storage(), scope, ANN).head(),
        check(database.target),
        migrate(database.target),
        migrate(database.target, 4),
    ):
        with pytest.raises(SchemaMismatch, match=r"version 6, and this threadclaim knows 5.*newer"):
            await call


async def test_an_upgrade_under_a_run(database: Database, scope: Scope, open_storage: Open) -> None:
    """A run that an earlier release started, and that goes on, ends as it would: its end is its own."""
    await migrate(database.target, 4)
    earlier = database.open_earlier()
    await fill(earlier, scope)
    await migrate(database.target)
    ended = EndRun("active", "dead", RunEnded("r", "completed"), ANN, None, b"kept")
    storage = open_storage()
    assert await storage.transact(scope, ended)
    assert await storage.stranded(scope) == Stranded()
    await storage.transact(scope, lambda tx: tx.append(RunStarted("s", "h"), actor=ANN, thread_id="active"))
    assert (await storage.stranded(scope)).left == ("active",)
    await earlier.aclose()
