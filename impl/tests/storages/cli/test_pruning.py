"""`prune`: what is idle and old goes; what is not taken is taken afterwards exactly as it would have been."""

import asyncio
import json
import random
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.storages.cli.conftest import FORM, QUESTION, SECRET, Run, ask, long_ago, take
from tests.storages.databases import ANN, Database, Open
from threadclaim.errors import UnknownThread, UsedMessageId
from threadclaim.events import (
    Custom,
    Envelope,
    FormValues,
    Reply,
    RunStarted,
    SystemActor,
)
from threadclaim.runner import Runner
from threadclaim.steps import Answer, Ask
from threadclaim.storage.sql import operating
from threadclaim.storage.sql.base import SqlStorage
from threadclaim.storage.sql.pruning import PRUNED, old_threads, prune
from threadclaim.testing import Call, Complete, Fail, Pause, ScriptedTurn
from threadclaim.turn import TurnInput
from threadclaim.workspace import Workspace, Workspaces

pytestmark = pytest.mark.anyio


class Clock:
    """The application's clock, which a test sets."""

    def __init__(self) -> None:
        """Long ago."""
        self.now = long_ago()

    def __call__(self) -> datetime:
        """The time, a little later at each look."""
        self.now += timedelta(seconds=1)
        return self.now


@pytest.fixture
def clock() -> Clock:
    """A clock that begins long ago."""
    return Clock()


@pytest.fixture
def storage(made: Database, open_storage: Open, clock: Clock) -> SqlStorage:
    """A storage whose entries have the clock's times."""
    assert made.target
    return open_storage(now=clock)


async def rows_of(database: Database, table: str) -> Sequence[tuple[object, ...]]:
    """All of a table."""
    return sorted(await database.run(f"SELECT * FROM threadclaim_{table}"), key=repr)  # noqa: S608  # a constant


async def test_an_old_idle_thread_goes_whole(trips: Workspace, database: Database, run: Run) -> None:
    """Its log's contents, its history, cursors and claim; its entries' places stay."""
    await trips.create_thread("t", title=SECRET)
    await take(trips, "t", [Call("search", args=SECRET), Complete(SECRET)])
    async with trips.claim_thread("t", ttl=600.0):
        pass
    before = await trips.read()
    ran = await run("prune", database.target, "--keep-days", "30")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[-1].startswith(f"1 thread went, with {len(before)} entries and ")
    after = await trips.read()
    assert [(entry.seq, entry.id, entry.at) for entry in after] == [(e.seq, e.id, e.at) for e in before]
    assert {(entry.event, entry.actor, entry.thread_id, entry.run_id) for entry in after} == {
        (Custom(PRUNED), SystemActor("prune"), None, None)
    }
    with pytest.raises(UnknownThread):
        await trips.thread("t")
    for table in ("threads", "history", "cursors", "leases"):
        assert await rows_of(database, table) == []
    kept = repr([await rows_of(database, table) for table in ("log", "scopes")])
    assert SECRET not in kept
    assert (await run("threads", database.target)).out.endswith("0 threads in 1 workspace.\n")


async def test_a_dry_run_changes_nothing(trips: Workspace, database: Database, run: Run) -> None:
    """And says the same."""
    await trips.create_thread("t")
    await take(trips, "t", [Complete(SECRET)])
    before = [await rows_of(database, table) for table in ("log", "threads", "history", "cursors")]
    dry = await run("prune", database.target, "--keep-days", "30", "--dry-run", "--json")
    assert before == [await rows_of(database, table) for table in ("log", "threads", "history", "cursors")]
    wet = await run("prune", database.target, "--keep-days", "30", "--json")
    assert (dry.json["rows"], dry.json["rows"][0]["thread"]) == (wet.json["rows"], "t")
    assert (dry.json["figures"]["dry_run"], wet.json["figures"]["dry_run"]) == (True, False)
    assert list(wet.json["figures"]) == ["dry_run", "before", "threads", "entries", "size"]
    assert list(wet.json["rows"][0]) == ["tenant", "workspace", "thread", "entries", "size"]
    again = await run("prune", database.target, "--keep-days", "30", "--json")
    assert again.json["rows"] == []


async def test_a_used_message_id_stays_used(trips: Workspace, database: Database, run: Run) -> None:
    """A retry that comes however late is refused, in a new thread of the same id too: it is consumed once."""
    await trips.create_thread("t")
    await ask(trips, "t", "m-1")
    async with Runner(ScriptedTurn([Complete()]), trips.storage) as runner:
        await asyncio.gather(*(each.wait() for each in await runner.recover(trips)))
        await runner.drain()
    assert (await run("prune", database.target, "--keep-days", "1")).code == 0
    with pytest.raises(UnknownThread):
        await ask(trips, "t", "m-1")
    await trips.create_thread("t")
    with pytest.raises(UsedMessageId):
        await ask(trips, "t", "m-1")
    await take(trips, "t", [Complete()])
    assert [entry.event.consumes for entry in await trips.read() if isinstance(entry.event, RunStarted)] == [
        (6,)
    ]


async def test_readers_by_seq_find_no_gap(trips: Workspace, database: Database, run: Run) -> None:
    """One who follows from before a pruned entry sees every seq; a thread that stayed is as it was."""
    for thread_id in ("old", "kept"):
        await trips.create_thread(thread_id)
    await take(trips, "old", [Complete()])
    await ask(trips, "kept", "m")
    before = await trips.read(threads=["kept"])
    await run("prune", database.target, "--keep-days", "1")
    head = await trips.head()
    following = trips.subscribe(0)
    assert [(await anext(following)).seq for _ in range(head)] == list(range(1, head + 1))
    assert await trips.read(threads=["kept"]) == before
    assert (await trips.create_thread("new")).created == head + 1


async def test_what_is_young_is_kept(
    trips: Workspace, storage: SqlStorage, database: Database, run: Run, clock: Clock
) -> None:
    """By its last entry, as the database's clock judges it."""
    now = await operating.clock(storage)
    for days, thread_id in ((31, "old"), (29, "young")):
        clock.now = now - timedelta(days=days)
        await trips.create_thread(thread_id)
    ran = await run("prune", database.target, "--keep-days", "30", "--json")
    assert [row["thread"] for row in ran.json["rows"]] == ["old"]


@pytest.mark.usefixtures("states")
async def test_whatever_is_not_idle_is_kept(database: Database, run: Run) -> None:
    """However old it is."""
    ran = await run("prune", database.target, "--keep-days", "1", "--json")
    assert [row["thread"] for row in ran.json["rows"]] == ["idle"]
    listed = await run("threads", database.target, "--json")
    assert {row["thread"] for row in listed.json["rows"]} == {
        "left",
        "running",
        "claimed",
        "waiting",
        "paused",
    }


async def test_a_message_that_nobody_asked_for_is_kept(
    trips: Workspace, database: Database, run: Run
) -> None:
    """The thread's next turn would take it; a notice does not keep its thread."""
    for kind, thread_id in (("message", "posted"), ("notice", "noted")):
        await trips.create_thread(thread_id)
        await trips.post_message(thread_id, SECRET, kind=kind)  # type: ignore[arg-type]  # one of the two
    ran = await run("prune", database.target, "--keep-days", "1", "--json")
    assert [row["thread"] for row in ran.json["rows"]] == ["noted"]


async def test_what_is_asked_between_the_look_and_the_drop_is_kept(
    trips: Workspace, storage: SqlStorage, clock: Clock
) -> None:
    """A thread is looked at again, under its workspace's lock."""
    for number in range(25):
        await trips.create_thread(f"t{number:02}")
    old = await old_threads(storage, trips.scope, clock.now + timedelta(days=1))
    await ask(trips, "t07", "m")
    gone = await prune(storage, trips.scope, old, clock.now + timedelta(days=1))
    assert {each.thread_id for each in old} - {each.thread_id for each in gone} == {"t07"}
    assert (await storage.stranded(trips.scope)).left == ("t07",)


async def test_what_is_used_between_the_look_and_the_drop_is_kept(
    trips: Workspace, storage: SqlStorage, clock: Clock
) -> None:
    """It is idle again by then, and not old any more."""
    for thread_id in ("old", "used"):
        await trips.create_thread(thread_id)
    before = clock.now + timedelta(days=1)
    old = await old_threads(storage, trips.scope, before)
    clock.now = before
    await trips.post_message("used", "a notice", kind="notice")
    gone = await prune(storage, trips.scope, old, before)
    assert [each.thread_id for each in gone] == ["old"]
    assert (await trips.thread("used")).run is None


@pytest.mark.parametrize("number", ["0", "-1", "x", "1.5", "1e9", ""])
async def test_a_number_of_days_that_is_none(database: Database, run: Run, number: str) -> None:
    """Is refused, with what is accepted."""
    ran = await run("prune", database.target, f"--keep-days={number}")
    assert (ran.code, "Give one from 1 to 36500." in ran.err) == (2, True)
    assert (await run("prune", database.target)).code == 2


# ---- After pruning, all that is not taken is taken exactly as it would have been.


async def act(workspace: Workspace, rng: random.Random, number: int) -> None:
    """Do one thing in a thread, as of a process that may die then: what is left of it stays."""
    thread_id = rng.choice(THREADS)
    thread = await workspace.thread(thread_id)
    storage = workspace.storage
    match rng.randrange(6):
        case 0:
            await ask(workspace, thread_id, f"m{number}", f"text {number}")
        case 1:
            await workspace.post_message(thread_id, f"text {number}", message_id=f"m{number}")
        case 2:
            await workspace.post_message(thread_id, "note", message_id=f"m{number}", kind="notice")
        case 3:
            await storage.transact(workspace.scope, Ask(thread_id))
        case 4 if thread.run is not None and thread.run.open_requests:
            open_ = thread.run.open_requests[0]
            answer = FormValues({}) if open_.kind == "form" else Reply("yes")
            await storage.transact(workspace.scope, Answer(thread_id, {open_.id: answer}, ANN))
        case _:
            await carry_out(workspace, rng)


THREADS = [f"t{number}" for number in range(6)]


async def settle(runner: Runner, workspace: Workspace) -> None:
    """Wait until no run goes on, and none is handed over to."""
    while True:
        await runner.drain()
        going = [run for thread_id in THREADS if (run := runner.running(workspace, thread_id))]
        if not going:
            return
        await asyncio.gather(*(run.wait() for run in going))


async def carry_out(workspace: Workspace, rng: random.Random) -> None:
    """Sweep, with turns that end, pause or fail by chance."""
    ends: list[list[Any]] = [[Complete("done")], [Pause((QUESTION,))], [Pause((FORM,))], [Fail("no")]]
    turn = ScriptedTurn(*(rng.choice(ends) for _ in range(40)))
    async with Runner(turn, workspace.storage) as runner:
        await runner.recover(workspace)
        await settle(runner, workspace)


async def finish(workspace: Workspace) -> tuple[list[Any], list[Any]]:
    """Carry all out to its end; gives what the agent was told, and what the log says of it, by thread."""
    head = await workspace.head()
    turn = ScriptedTurn(*([Complete("done")] for _ in range(60)))
    async with Runner(turn, workspace.storage) as runner:
        await runner.recover(workspace)
        await settle(runner, workspace)
    told = [
        (run.turn.thread_id, run.turn.actor, run.prompt, run.answers, remembered(run.turn), run.turn.notices)
        for run in turn.runs
    ]
    return sorted(told, key=repr), sorted(map(fact, await workspace.read(after_seq=head)), key=repr)


def remembered(turn: TurnInput) -> list[object]:
    """What a turn's history says, but for the ids of runs."""
    return [json.loads(chunk)["given"] for chunk in turn.history]


def fact(entry: Envelope) -> tuple[object, ...]:
    """What an entry says, but for its own ids, place and time."""
    event = entry.event
    seqs = getattr(event, "consumes", None) or getattr(event, "delivered", None)
    return entry.thread_id, event.type, entry.actor, seqs, getattr(event, "message_seq", None)


COLUMNS = {
    "log": "seq, id, at, actor, event, thread_id, run_id, traceparent, thread_key, message_key, message_kind",
    "threads": "thread_key, thread_id, body, created, standing",
    "history": "thread_key, number, thread_id, head, data",
    "cursors": "name_key, name, seq",
    "leases": "name_key, name, holder, until",
}


async def copy(database: Database, workspace: Workspace, name: str) -> Workspace:
    """Another workspace, with the same past to the letter."""
    await database.run(
        "INSERT INTO threadclaim_scopes (tenant_key, workspace_key, tenant, workspace, head, version) "
        "SELECT tenant_key, $1, tenant, $1, head, version FROM threadclaim_scopes",
        name,
    )
    for table, columns in COLUMNS.items():
        await database.run(
            f"INSERT INTO threadclaim_{table} (scope_id, {columns}) "  # noqa: S608  # constants
            f"SELECT (SELECT max(id) FROM threadclaim_scopes), {columns} FROM threadclaim_{table}"
        )
    return Workspaces(workspace.storage).workspace(workspace.scope.tenant, name, workspace.actor)


@pytest.mark.parametrize("seed", range(8))
async def test_what_is_not_taken_is_taken_as_before(
    seed: int, trips: Workspace, storage: SqlStorage, database: Database, clock: Clock
) -> None:
    """Of two workspaces with one past one is pruned: they have one future, but for the threads that went."""
    rng = random.Random(seed)  # noqa: S311  # a past that can be made again
    for thread_id in THREADS:
        await trips.create_thread(thread_id)
    for number in range(30):
        await act(trips, rng, number)
    twin = await copy(database, trips, "twin")
    before, stranded = clock.now + timedelta(days=1), await storage.stranded(trips.scope)
    gone = {
        old.thread_id
        for old in await prune(storage, trips.scope, await old_threads(storage, trips.scope, before), before)
    }
    assert await storage.stranded(trips.scope) == stranded == await storage.stranded(twin.scope)
    idle = {
        each.thread.thread_id for each in await operating.threads(storage, twin.scope) if each.state == "idle"
    }
    assert gone <= idle
    for thread_id in sorted(set(THREADS) - gone):
        for workspace in (trips, twin):
            await ask(workspace, thread_id, f"last {thread_id}")
    assert await finish(trips) == await finish(twin)
