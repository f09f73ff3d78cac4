"""InMemoryStorage: what it does by its clock, its ids and its loop, beside what every storage does."""

import asyncio
import contextlib
import gc
import logging
from datetime import UTC, datetime
from typing import Any

import anyio
import pytest

from threadclaim.events import Custom, MessagePosted, PersonActor, ThreadCreated
from threadclaim.storage import InMemoryStorage, Scope, Stranded, Transaction
from threadclaim.storage.common import thread_of_cursor
from threadclaim.storage.protocol import UPGRADED, asked_cursor, lease_name, taken_cursor

ANN = PersonActor("ann")
SCOPE = Scope("tenant", "workspace")
NOON = datetime(2026, 10, 17, 12, tzinfo=UTC)


class Clock:
    """A clock that is set by hand, in seconds."""

    def __init__(self) -> None:
        """Begin at 100 s."""
        self.now = 100.0

    def __call__(self) -> float:
        """The time."""
        return self.now


async def append(tx: Transaction) -> int:
    """Commit an entry; gives its seq."""
    return (await tx.append(Custom("x"), actor=ANN)).seq


async def head(tx: Transaction) -> int:
    """The log's head."""
    return await tx.head()


@pytest.mark.anyio
async def test_lease_lapses_after_its_ttl() -> None:
    """A lease is held until its time to live is over, counted from its taking or its last renewal."""
    clock = Clock()
    storage = InMemoryStorage(clock)
    await storage.transact(SCOPE, lambda tx: tx.acquire_lease("l", "ann", 10.0))
    clock.now = 109.9
    assert await storage.transact(SCOPE, lambda tx: tx.holder("l")) == "ann"
    assert await storage.transact(SCOPE, lambda tx: tx.renew_lease("l", "ann", 5.0))
    clock.now = 114.8
    assert not await storage.transact(SCOPE, lambda tx: tx.acquire_lease("l", "ben", 10.0))
    clock.now = 114.9
    assert await storage.transact(SCOPE, lambda tx: tx.holder("l")) is None
    assert not await storage.transact(SCOPE, lambda tx: tx.renew_lease("l", "ann", 5.0))
    assert await storage.transact(SCOPE, lambda tx: tx.acquire_lease("l", "ben", 10.0))


@pytest.mark.anyio
async def test_times_and_ids_are_injected() -> None:
    """Entries have the time and the ids that the storage was given: the same calls give the same log."""
    numbers = iter(range(9))
    storage = InMemoryStorage(now=lambda: NOON, new_id=lambda: f"e-{next(numbers)}")
    for _ in range(2):
        await storage.transact(SCOPE, append)
    entries = await storage.transact(SCOPE, lambda tx: tx.read())
    assert [(entry.at, entry.id) for entry in entries] == [(NOON, "e-0"), (NOON, "e-1")]


@pytest.mark.anyio
async def test_waiting_while_cancelled_does_not_spin() -> None:
    """A cancel scope cancels on every turn of the loop; a call that waits in it still lets the loop rest."""
    storage, begun, go_on = InMemoryStorage(), asyncio.Event(), asyncio.Event()
    cancellations = 0

    async def step(tx: Transaction) -> None:
        begun.set()
        await go_on.wait()
        await append(tx)

    async def call() -> None:
        with anyio.CancelScope() as cancelled:
            scopes.append(cancelled)
            await storage.transact(SCOPE, step)

    scopes: list[anyio.CancelScope] = []
    task = asyncio.create_task(call())
    await begun.wait()
    scopes[0].cancel()
    for _ in range(50):
        await asyncio.sleep(0)
        cancellations = max(cancellations, task.cancelling())
    assert not task.done()
    assert cancellations == 0, "the shield holds the scope off"
    go_on.set()
    await task
    assert scopes[0].cancelled_caught
    assert await storage.transact(SCOPE, head) == 1


@pytest.mark.anyio
async def test_follower_that_is_cancelled_is_forgotten() -> None:
    """Of one who follows, and is cancelled as they wait, the storage keeps nothing."""
    storage = InMemoryStorage()
    following = asyncio.ensure_future(anext(storage.subscribe(SCOPE, 0)))
    await asyncio.sleep(0)
    waiters = storage._scopes[SCOPE].waiters  # noqa: SLF001  # what must be empty is nobody's to see
    assert len(waiters) == 1
    following.cancel()
    with pytest.raises(asyncio.CancelledError):
        await following
    assert not waiters


@pytest.mark.anyio
async def test_callback_that_raises_hinders_nobody(caplog: pytest.LogCaptureFixture) -> None:
    """A callback of on_release that raises is logged; the release stands, and the others are told."""
    storage, told = InMemoryStorage(), []

    def broken(_: Scope, __: str) -> None:
        raise ValueError("on purpose")

    storage.on_release(broken)
    storage.on_release(lambda _, name: told.append(name))
    await storage.transact(SCOPE, lambda tx: tx.acquire_lease("l", "ann", 10.0))
    with caplog.at_level(logging.ERROR):
        assert await storage.transact(SCOPE, lambda tx: tx.release_lease("l", "ann"))
    assert told == ["l"]
    assert "on_release raised" in caplog.text


@pytest.mark.anyio
async def test_release_is_kept_before_it_is_told() -> None:
    """As a callback of on_release is called, the lease is free already."""
    storage, kept = InMemoryStorage(), []
    leases = storage._scopes[SCOPE].leases  # noqa: SLF001  # a callback cannot wait for a transaction
    storage.on_release(lambda _, name: kept.append(name in leases))
    await storage.transact(SCOPE, lambda tx: tx.acquire_lease("l", "ann", 10.0))
    await storage.transact(SCOPE, lambda tx: tx.release_lease("l", "ann"))
    assert kept == [False]


@pytest.mark.anyio
async def test_stranded_reads_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is stranded is known as it is asked for, and no other thread is looked at."""
    storage = InMemoryStorage()

    async def step(tx: Transaction) -> None:
        for n in range(100):
            await tx.append(ThreadCreated(), actor=ANN, thread_id=f"t-{n}")
        posted = await tx.append(MessagePosted("m", "Hello"), actor=ANN, thread_id="t-7")
        await tx.save_cursor(asked_cursor("t-7"), posted.seq)

    await storage.transact(SCOPE, step)
    monkeypatch.setattr("threadclaim.storage.memory_scope.standing", None)
    assert await storage.stranded(SCOPE) == Stranded(left=("t-7",))
    await storage.transact(SCOPE, append)
    monkeypatch.undo()
    looked_at: list[str] = []
    stand = type(storage._scopes[SCOPE]).stand  # noqa: SLF001  # which threads are looked at is nobody's to see

    def spy(scope: object, thread_ids: object) -> None:
        named = list(thread_ids)  # type: ignore[call-overload]  # an iterable of ids
        looked_at.extend(named)
        stand(scope, named)  # type: ignore[arg-type]  # it is the scope

    monkeypatch.setattr(type(storage._scopes[SCOPE]), "stand", spy)  # noqa: SLF001  # as above
    await storage.transact(SCOPE, lambda tx: tx.save_cursor(UPGRADED, 101))
    assert looked_at == ["t-7"]
    assert await storage.stranded(SCOPE) == Stranded()


@pytest.mark.parametrize(
    ("name", "thread_id"),
    [
        (asked_cursor("t"), "t"),
        (taken_cursor("t/asked"), "t/asked"),
        (asked_cursor("/"), "/"),
        (lease_name("t"), None),
        (UPGRADED, None),
        ("t/asked", None),
        ("", None),
    ],
)
def test_thread_of_cursor(name: str, thread_id: str | None) -> None:
    """A thread is found in the names of its two cursors, however it is called, and in no others."""
    assert thread_of_cursor(name) == thread_id


def test_one_loop_after_another() -> None:
    """A storage outlives its loop: what was committed under one is there under the next."""
    storage = InMemoryStorage()
    assert [asyncio.run(storage.transact(SCOPE, append)) for _ in range(3)] == [1, 2, 3]


def test_loop_that_is_closed_half_way() -> None:
    """What was under way, or following, as a loop closed has kept nothing, and holds up no later loop."""
    storage = InMemoryStorage()

    async def step(tx: Transaction) -> None:
        await append(tx)
        await asyncio.Event().wait()

    async def begin() -> list[asyncio.Future[Any]]:
        calls = [asyncio.ensure_future(storage.transact(SCOPE, step)) for _ in range(3)]
        following = asyncio.ensure_future(anext(storage.subscribe(SCOPE, 0)))
        for _ in range(5):
            await asyncio.sleep(0)
        return [*calls, following]

    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda *_: None)  # the loop reports that tasks were destroyed, as they were
    left = loop.run_until_complete(begin())
    loop.close()
    assert asyncio.run(storage.transact(SCOPE, append)) == 1
    left.clear()
    with contextlib.suppress(RuntimeError):
        gc.collect()
    assert asyncio.run(storage.transact(SCOPE, head)) == 1


def test_loops_that_take_turns() -> None:
    """A transaction that another loop came between is refused as it ends, and keeps nothing."""
    storage = InMemoryStorage()
    go_on = asyncio.Event()

    async def step(tx: Transaction) -> None:
        await append(tx)
        await go_on.wait()

    async def begin() -> asyncio.Task[None]:
        call = asyncio.create_task(storage.transact(SCOPE, step))
        for _ in range(3):
            await asyncio.sleep(0)
        return call

    async def end(call: asyncio.Task[None]) -> None:
        go_on.set()
        with pytest.raises(RuntimeError, match="one loop at a time"):
            await call

    with asyncio.Runner() as first:
        call = first.run(begin())
        with asyncio.Runner() as second:
            assert second.run(storage.transact(SCOPE, append)) == 1
        first.run(end(call))
    assert asyncio.run(storage.transact(SCOPE, head)) == 1
