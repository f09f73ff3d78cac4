"""Following a log: what there is, then what comes, with no gap between and nothing left behind."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from threadclaim.events import Custom, Envelope, PersonActor
from threadclaim.storage import Scope, Storage, Transaction
from threadclaim.workspace import Workspace

pytestmark = pytest.mark.anyio

ANN = PersonActor("ann")


async def take(entries: AsyncIterator[Envelope], count: int) -> list[int]:
    """The seqs of the next entries; what does not come within 10 s does not come."""
    async with asyncio.timeout(10):
        return [(await anext(entries)).seq for _ in range(count)]


async def test_replay_then_follow(ann: Workspace) -> None:
    """What is there comes first, and then what is committed, as the log has it."""
    await ann.record([Custom("1"), Custom("2"), Custom("3")])
    entries = ann.subscribe(after_seq=1)
    assert await take(entries, 2) == [2, 3]
    following = asyncio.create_task(take(entries, 2))
    await ann.commit(Custom("4"))
    await ann.commit(Custom("5"))
    assert await following == [4, 5]
    assert [await anext(ann.subscribe(after_seq=seq)) for seq in range(5)] == list(await ann.read())


async def test_follow_from_an_empty_log(ann: Workspace) -> None:
    """A log without entries can be followed: the first comes once it is committed."""
    following = asyncio.create_task(take(ann.subscribe(), 1))
    await asyncio.sleep(0)
    assert not following.done()
    await ann.commit(Custom("1"))
    assert await following == [1]


async def test_follow_from_past_the_head(ann: Workspace) -> None:
    """From a position that the log has not come to, the first is the entry after that position."""
    following = asyncio.create_task(take(ann.subscribe(after_seq=2), 1))
    await ann.commit(Custom("1"))
    await ann.record([Custom("2"), Custom("3")])
    assert await following == [3]


async def test_no_gap_while_others_write(ann: Workspace) -> None:
    """Followers that begin anywhere, at any time, see every entry once and in order as writers go on."""

    async def write(writer: int) -> None:
        for n in range(20):
            await ann.record([Custom(f"{writer}-{n}")] * (1 + n % 3))

    async def follow(begin: int) -> list[int]:
        for _ in range(begin):
            await asyncio.sleep(0)
        after = await ann.head() // 2
        seqs = []
        async for entry in ann.subscribe(after_seq=after):
            seqs.append(entry.seq)
            if entry.seq == total:
                break
        assert seqs == list(range(after + 1, total + 1))
        return seqs

    total = 5 * sum(1 + n % 3 for n in range(20))
    writers = [asyncio.create_task(write(writer)) for writer in range(5)]
    followers = [asyncio.create_task(follow(begin)) for begin in range(0, 60, 4)]
    async with asyncio.timeout(60):
        await asyncio.gather(*writers, *followers)


async def test_only_what_is_committed_is_seen(storage: Storage, scope: Scope, ann: Workspace) -> None:
    """What a transaction writes is seen once it is committed, and never if it is rolled back."""
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def fail(tx: Transaction) -> None:
        await tx.append(Custom("rolled back"), actor=ANN)
        begun.set()
        await go_on.wait()
        raise ValueError("on purpose")

    following = asyncio.create_task(take(ann.subscribe(), 1))
    failing = asyncio.create_task(storage.transact(scope, fail))
    await begun.wait()
    for _ in range(5):
        await asyncio.sleep(0)
    assert not following.done()
    go_on.set()
    with pytest.raises(ValueError, match="on purpose"):
        await failing
    committed = await ann.commit(Custom("committed"))
    assert await following == [committed.seq] == [1]


async def test_only_the_scopes_own(storage: Storage, ann: Workspace) -> None:
    """A follower sees no other scope's entries."""
    other = Workspace(storage, Scope("tenant", "another"), ANN)
    following = asyncio.create_task(take(ann.subscribe(), 1))
    await asyncio.sleep(0)
    await other.record([Custom("x"), Custom("y")])
    for _ in range(5):
        await asyncio.sleep(0)
    assert not following.done()
    await ann.commit(Custom("1"))
    assert await following == [1]


async def test_cancelled_follower(ann: Workspace) -> None:
    """Cancelling one who follows ends it at once, hinders nobody, and leaves no task behind."""
    before = len(asyncio.all_tasks())
    cancelled = asyncio.create_task(take(ann.subscribe(), 1))
    other = asyncio.create_task(take(ann.subscribe(), 1))
    for _ in range(5):
        await asyncio.sleep(0)
    cancelled.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    await ann.commit(Custom("1"))
    assert await other == [1]
    assert len(asyncio.all_tasks()) == before


async def test_follower_reads_on_after_it_was_cancelled(ann: Workspace) -> None:
    """A new subscription from where a cancelled one stood misses nothing."""
    await ann.record([Custom("1"), Custom("2")])
    entries = ann.subscribe()
    assert await take(entries, 2) == [1, 2]
    following = asyncio.create_task(take(entries, 1))
    await asyncio.sleep(0)
    following.cancel()
    await ann.commit(Custom("3"))
    with pytest.raises(asyncio.CancelledError):
        await following
    assert await take(ann.subscribe(after_seq=2), 1) == [3]
