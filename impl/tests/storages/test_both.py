"""What both databases must do that memory need not: processes, the clock, long ids, and few rows read."""

import asyncio
import time
from collections.abc import Callable, Iterator

import pytest

from tests.storages.databases import ANN, Database, Open, append, expect_followed
from threadclaim.errors import StorageUnsuitable
from threadclaim.events import MessagePosted, ThreadCreated
from threadclaim.storage import Scope, Stranded, Transaction, create_schema
from threadclaim.storage.protocol import Reading, asked_cursor, lease_name
from threadclaim.storage.sql import texts
from threadclaim.storage.sql.base import SqlStorage
from threadclaim.storage.sql.keys import key_of, scope_keys
from threadclaim.workspace import Workspace

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("made")]

WorkspaceOf = Callable[[SqlStorage], Workspace]


@pytest.fixture
async def made(database: Database) -> Database:
    """A database with the schema."""
    await create_schema(database.target)
    return database


# ---- Steps that only read.


class Looks(Reading):
    """Reads an entry, and a cursor later; between them it says that it has begun, and waits."""

    def __init__(self) -> None:
        """It has not begun."""
        self.has_begun, self.go_on = asyncio.Event(), asyncio.Event()

    async def __call__(self, tx: Transaction) -> tuple[int, int, int | None]:
        """How many entries there are, what the head is, and where the cursor is."""
        entries = len(await tx.read())
        self.has_begun.set()
        await self.go_on.wait()
        return entries, await tx.head(), await tx.cursor("c")


async def move_on(tx: Transaction) -> None:
    """Commit an entry, and a cursor there."""
    await tx.save_cursor("c", await append(tx))


@pytest.mark.parametrize("elsewhere", [False, True])
async def test_a_step_that_only_reads_keeps_nobody_waiting(
    scope: Scope, open_storage: Open, *, elsewhere: bool
) -> None:
    """Nor is it kept; and what it reads is of one time, whatever is committed meanwhile."""
    storage = open_storage()
    writing = open_storage() if elsewhere else storage
    await storage.transact(scope, move_on)
    looks = Looks()
    async with asyncio.timeout(60):
        looking = asyncio.ensure_future(storage.transact(scope, looks))
        await looks.has_begun.wait()
        await writing.transact(scope, move_on)
        looks.go_on.set()
        assert await looking == (1, 1, 1)


@pytest.mark.parametrize("elsewhere", [False, True])
async def test_a_step_that_only_reads_does_not_wait_for_one_that_writes(
    scope: Scope, open_storage: Open, *, elsewhere: bool
) -> None:
    """It reads what was committed before, in the workspace of a thread that is written to."""
    storage = open_storage()
    reading = open_storage() if elsewhere else storage
    await storage.transact(scope, move_on)
    has_begun, go_on = asyncio.Event(), asyncio.Event()

    async def writes(tx: Transaction) -> None:
        await move_on(tx)
        has_begun.set()
        await go_on.wait()

    async with asyncio.timeout(60):
        writing = asyncio.ensure_future(storage.transact(scope, writes))
        await has_begun.wait()
        assert len(await Workspace(reading, scope, ANN).read()) == 1
        go_on.set()
        await writing
        assert len(await Workspace(reading, scope, ANN).read()) == 2


async def test_a_step_that_only_reads_makes_no_workspace(scope: Scope, open_storage: Open) -> None:
    """Where there is none it finds nothing, and leaves none."""
    storage = open_storage()
    assert await Workspace(storage, scope, ANN).read() == []
    assert await storage.look("SELECT 1 FROM threadclaim_scopes") == []


class Writes(Reading):
    """Says that it only reads."""

    async def __call__(self, tx: Transaction) -> None:
        """And writes."""
        await move_on(tx)


async def test_a_step_that_says_it_only_reads_must(scope: Scope, open_storage: Open) -> None:
    """Else it is an error, and nothing is kept."""
    storage = open_storage()
    with pytest.raises(AssertionError, match="is of Reading, and writes"):
        await storage.transact(scope, Writes())
    assert await Workspace(storage, scope, ANN).read() == []


# ---- Several processes.


async def test_a_follower_sees_what_another_process_commits(scope: Scope, open_storage: Open) -> None:
    """In order, once, and within its interval."""
    following, writing = open_storage(poll_interval=0.01), open_storage()
    await expect_followed(writing, following, scope)


async def test_a_follower_is_woken_at_once_by_its_own_process(scope: Scope, open_storage: Open) -> None:
    """It need not look: with an interval of a day, it is told."""
    storage = open_storage(poll_interval=86400.0)
    entries = storage.subscribe(scope, 0)
    async with asyncio.timeout(60):
        coming = asyncio.ensure_future(anext(entries))
        await asyncio.sleep(0)
        await storage.transact(scope, append)
        assert (await coming).seq == 1


async def test_a_follower_that_is_far_behind_reads_in_parts(scope: Scope, open_storage: Open) -> None:
    """And misses nothing between them."""
    storage = open_storage()

    async def append_many(tx: Transaction) -> None:
        for _ in range(250):
            await append(tx)

    await storage.transact(scope, append_many)
    entries = storage.subscribe(scope, 0)
    assert [(await anext(entries)).seq for _ in range(250)] == list(range(1, 251))


async def test_one_claim_is_taken_by_one_process(scope: Scope, open_storage: Open) -> None:
    """Of many that ask at once, in two processes."""
    storages = [open_storage(), open_storage()]
    took = await asyncio.gather(
        *[
            storages[number % 2].transact(scope, lambda tx, n=number: tx.acquire_lease("l", f"{n}", 600.0))
            for number in range(20)
        ]
    )
    assert sum(took) == 1


async def test_leases_can_be_looked_at(scope: Scope, open_storage: Open) -> None:
    """With whom, and for how long; nothing is locked."""
    storage = open_storage()
    assert await storage.leases(scope) == []
    await storage.transact(scope, lambda tx: tx.acquire_lease("b", "ben", 600.0))
    await storage.transact(scope, lambda tx: tx.acquire_lease("a", "ann", 60.0))
    first, second = await storage.leases(scope)
    assert (first.name, first.holder, second.name, second.holder) == ("a", "ann", "b", "ben")
    assert 0 < first.left <= 60 < second.left <= 600


# ---- The clock.


@pytest.fixture(params=["UTC", "Asia/Kathmandu", "America/St_Johns"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The time zone of this process."""
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


async def test_a_short_lease_in_any_time_zone(scope: Scope, open_storage: Open, zone: str) -> None:
    """A lease of less than a second is held, for that long, and lapses by itself."""
    storage, began = open_storage(), time.monotonic()
    assert await storage.transact(scope, lambda tx: tx.acquire_lease("l", "ann", 0.6))
    assert (await storage.leases(scope))[0].left <= 0.6, zone
    while await storage.transact(scope, lambda tx: tx.holder("l")) is not None:
        assert time.monotonic() < began + 60
    assert time.monotonic() >= began + 0.59  # the clocks of a file and of a process have their own ticks
    assert (await storage.leases(scope))[0].left <= 0
    assert not await storage.transact(scope, lambda tx: tx.renew_lease("l", "ann", 0.6))


async def test_an_application_whose_clock_is_wrong(
    scope: Scope, open_storage: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An hour off, it takes no lease that is held, and thinks none lapsed: the database's clock says."""
    right = open_storage()
    await right.transact(scope, lambda tx: tx.acquire_lease("l", "ann", 600.0))
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() + 3600.0)
    wrong = open_storage()
    assert not await wrong.transact(scope, lambda tx: tx.acquire_lease("l", "ben", 600.0))
    assert await wrong.transact(scope, lambda tx: tx.acquire_lease("m", "ben", 600.0))
    monkeypatch.undo()
    assert await right.transact(scope, lambda tx: tx.holder("m")) == "ben"
    assert {0 < lease.left <= 600 for lease in await right.leases(scope)} == {True}


# ---- Ids and texts.

LONG = {
    "wide": "\U0001d518" * 1000,
    "quotes": "'\";--%_/\\" * 100,
    "right to left": "שלום" * 250,
    "combining": "e\u0301" * 500,
    "white": " " * 999 + ".",
    "hash": key_of("\U0001d518" * 1000),
    "control": "\x01\x7f\u2028" * 300,
}
"""Ids that are as long as they may be, or such that a key could be taken for another's."""


@pytest.mark.parametrize("name", LONG)
async def test_ids_at_their_limits(open_storage: Open, name: str) -> None:
    """As every id there is, each comes back as it was, and is nobody else's."""
    text, storage = LONG[name], open_storage()
    for of in (text, text[:-1] + "!"):
        scope = Scope(of, of)
        assert await storage.stranded(scope) == Stranded()

        async def write(tx: Transaction, of: str = of) -> None:
            assert await tx.thread(of) is None
            assert not await tx.is_used(of)
            await tx.append(ThreadCreated(of), actor=ANN, thread_id=of)
            await tx.append(MessagePosted(of, of), actor=ANN, thread_id=of, run_id=of)
            await tx.save_cursor(asked_cursor(of), 2)
            await tx.save_cursor(of, 7)
            assert await tx.acquire_lease(lease_name(of), of, 600.0)
            await tx.save_history(of, b"x")
            await tx.save_cursor(asked_cursor(of), 3)

        async def read(tx: Transaction, of: str = of) -> list[object]:
            thread = await tx.thread(of)
            entries = await tx.read(threads=[of])
            return [
                thread and thread.thread_id,
                [(entry.thread_id, entry.run_id) for entry in entries],
                entries[1].event,
                await tx.is_used(of),
                await tx.cursor(of),
                await tx.holder(lease_name(of)),
                list(await tx.history(of)),
            ]

        await storage.transact(scope, write)
        expected = [of, [(of, None), (of, of)], MessagePosted(of, of), True, 7, of, [b"x"]]
        assert await storage.transact(scope, read) == expected
        assert (await storage.stranded(scope)).left == (of,)
        assert [lease.name for lease in await storage.leases(scope)] == [lease_name(of)]


@pytest.mark.parametrize("unit", ["x", "🎉", "e\u0301", "א", "\\u0000", '"', "\r\n\t", "\ufeff\u200f"])
async def test_a_mebibyte_of_text_comes_back(
    open_storage: Open, workspace_of: WorkspaceOf, unit: str
) -> None:
    """Exactly, to the last byte."""
    text = "." + unit * ((1024 * 1024 - 1) // len(unit.encode()))
    ann = workspace_of(open_storage())
    await ann.create_thread("t", title=unit * 100)
    await ann.post_message("t", text)
    (entry,) = [entry for entry in await ann.read() if entry.is_message]
    assert isinstance(entry.event, MessagePosted)
    assert entry.event.text == text


# ---- What is read.

MANY = """
INSERT INTO threadclaim_threads (scope_id, thread_key, thread_id, body, created, standing)
WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 20000)
SELECT 1, CAST(n AS TEXT), CAST(n AS TEXT), '{}', n, CASE WHEN n % 2000 = 0 THEN 'left' END FROM numbers
"""


async def test_what_is_stranded_is_read_by_its_index(
    made: Database, scope: Scope, open_storage: Open
) -> None:
    """Of 20,000 threads of which 10 are stranded, 10 rows are read."""
    storage = open_storage()
    await storage.transact(scope, append)
    await made.run(MANY)
    await made.run("ANALYZE")
    assert len((await storage.stranded(scope)).left) == 10
    plan = "\n".join(map(str, await made.run(f"{made.explain} {texts.STRANDED}", *scope_keys(scope))))
    assert "threadclaim_threads_stranded" in plan
    assert "Seq Scan on threadclaim_threads" not in plan
    assert "SCAN threadclaim_threads" not in plan


async def test_a_forked_process_is_refused(open_storage: Open, scope: Scope) -> None:
    """Threads and connections stay behind in a fork: it would wait for ever, and is told what to do."""
    storage = open_storage()
    storage._process += 1  # noqa: SLF001  # as in a process that was forked
    with pytest.raises(StorageUnsuitable, match="after the fork"):
        await storage.transact(scope, append)
    with pytest.raises(StorageUnsuitable, match="after the fork"):
        await storage.stranded(scope)
