"""Transactions: all or nothing, one at a time in a scope, and scopes apart from each other."""

import asyncio
import contextvars
from collections import Counter

import pytest

from threadclaim.errors import UsedMessageId
from threadclaim.events import Custom, MessagePosted, PersonActor, ThreadCreated
from threadclaim.steps import Send
from threadclaim.storage import Scope, Storage, Stranded, Transaction
from threadclaim.storage.protocol import asked_cursor, taken_cursor
from threadclaim.workspace import Workspace, Workspaces

pytestmark = pytest.mark.anyio

ANN = PersonActor("ann")
COLOUR = contextvars.ContextVar("COLOUR", default="none")


class OnPurposeError(Exception):
    """What a step raises to be rolled back."""


async def write_everything(tx: Transaction) -> None:
    """Write one of each: entries, a thread, a message id, cursors, a lease, history."""
    await tx.append(ThreadCreated(), actor=ANN, thread_id="t")
    posted = await tx.append(MessagePosted("m", "Hello"), actor=ANN, thread_id="t")
    await tx.save_cursor(asked_cursor("t"), posted.seq)
    await tx.save_cursor(taken_cursor("t"), posted.seq - 1)
    await tx.save_cursor("c", 5)
    await tx.acquire_lease("l", "ann", 600.0)
    await tx.save_history("t", b"chunk")


async def read_everything(tx: Transaction) -> list[object]:
    """Read what `write_everything` writes."""
    return [
        await tx.head(),
        len(await tx.read()),
        len(await tx.read(threads=["t"])),
        await tx.thread("t"),
        await tx.is_used("m"),
        await tx.cursor("c"),
        await tx.cursor(asked_cursor("t")),
        await tx.holder("l"),
        await tx.told("t"),
        list(await tx.history("t")),
    ]


NOTHING: list[object] = [0, 0, 0, None, False, None, None, None, 0, []]


async def test_step_gives_what_it_returns(storage: Storage, scope: Scope) -> None:
    """A call gives the step's result, whatever it is."""

    async def step(_: Transaction) -> dict[str, int]:
        return {"a": 1}

    assert await storage.transact(scope, step) == {"a": 1}


async def test_step_that_returns_keeps_everything(storage: Storage, scope: Scope) -> None:
    """What is read in a later transaction is what was written, and nothing is there before it."""
    assert await storage.transact(scope, read_everything) == NOTHING
    await storage.transact(scope, write_everything)
    kept = await storage.transact(scope, read_everything)
    assert all(found != nothing for found, nothing in zip(kept, NOTHING, strict=True))
    assert await storage.stranded(scope) == Stranded(left=("t",))


async def test_step_that_raises_keeps_nothing(storage: Storage, scope: Scope) -> None:
    """A step that raises after it wrote one of each has written nothing, and the next gets the same seqs."""

    async def step(tx: Transaction) -> None:
        await write_everything(tx)
        raise OnPurposeError

    for _ in range(2):
        with pytest.raises(OnPurposeError):
            await storage.transact(scope, step)
        assert await storage.transact(scope, read_everything) == NOTHING
        assert await storage.stranded(scope) == Stranded()
    await storage.transact(scope, write_everything)
    assert (await storage.transact(scope, read_everything))[0] == 2


async def test_step_that_raises_half_way_leaves_what_was(storage: Storage, scope: Scope) -> None:
    """Of what was kept before, a step that raises changes nothing: no lease given up, no cursor moved."""
    await storage.transact(scope, write_everything)
    before = await storage.transact(scope, read_everything)

    async def step(tx: Transaction) -> None:
        await tx.release_lease("l", "ann")
        await tx.save_cursor("c", 9)
        await tx.append(MessagePosted("m-2", "Again"), actor=ANN, thread_id="t")
        await tx.save_history("t", b"another")
        raise OnPurposeError

    with pytest.raises(OnPurposeError):
        await storage.transact(scope, step)
    assert await storage.transact(scope, read_everything) == before


async def test_transaction_reads_what_it_wrote(storage: Storage, scope: Scope) -> None:
    """What a transaction loads includes all that it has written."""

    async def step(tx: Transaction) -> list[object]:
        await write_everything(tx)
        return await read_everything(tx)

    own = await storage.transact(scope, step)
    assert own == await storage.transact(scope, read_everything)


async def test_transactions_of_a_scope_come_one_after_another(storage: Storage, scope: Scope) -> None:
    """While one is under way no other of its scope begins, so what it loads does not change."""
    begun, go_on = asyncio.Event(), asyncio.Event()
    order: list[str] = []

    async def first(tx: Transaction) -> None:
        order.append("first begins")
        heads = [await tx.head()]
        begun.set()
        await go_on.wait()
        heads.append(await tx.head())
        assert heads == [0, 0]
        await tx.append(Custom("first"), actor=ANN)
        order.append("first ends")

    async def second(tx: Transaction) -> int:
        order.append("second begins")
        return await tx.head()

    async def let_go_on() -> None:
        await begun.wait()
        for _ in range(20):
            await asyncio.sleep(0)
        go_on.set()

    _, head, _ = await asyncio.gather(
        storage.transact(scope, first), storage.transact(scope, second), let_go_on()
    )
    assert head == 1
    assert order == ["first begins", "first ends", "second begins"]


async def test_scopes_do_not_wait_for_each_other(storage: Storage, scope: Scope) -> None:
    """A transaction of one scope waits for none of another's, of the same tenant or not."""
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def first(tx: Transaction) -> None:
        await tx.head()
        begun.set()
        await go_on.wait()

    async def second(tx: Transaction) -> int:
        return await tx.head()

    waiting = asyncio.create_task(storage.transact(scope, first))
    await begun.wait()
    assert await storage.transact(Scope("tenant", "another"), second) == 0
    assert await storage.transact(Scope("another", "workspace"), second) == 0
    assert not waiting.done()
    go_on.set()
    await waiting


async def test_scopes_share_nothing(storage: Storage, scope: Scope) -> None:
    """What one scope holds, no other has, though all its ids are the same."""
    await storage.transact(scope, write_everything)
    kept = await storage.transact(scope, read_everything)
    others = [Scope("tenant", "another"), Scope("another", "workspace"), Scope("workspace", "tenant")]
    for other in others:
        assert await storage.transact(other, read_everything) == NOTHING
        assert await storage.stranded(other) == Stranded()
    for other in others:
        await storage.transact(other, write_everything)
        assert await storage.transact(other, read_everything) == kept
        await storage.transact(other, write_more)
    assert await storage.transact(scope, read_everything) == kept


async def write_more(tx: Transaction) -> None:
    """Change everything again."""
    await tx.append(MessagePosted("m-2", "Again"), actor=ANN, thread_id="t")
    await tx.save_cursor("c", 9)
    await tx.release_lease("l", "ann")
    await tx.save_history("t", b"more")


async def test_fifty_sends_at_once(storage: Storage, scope: Scope, ann: Workspace) -> None:
    """Fifty sends at once, to two threads, have seqs without a gap; each thread is asked up to its last."""
    await ann.create_thread("a")
    await ann.create_thread("b")
    sends = [Send("ab"[n % 2], MessagePosted(f"m-{n}", str(n)), ANN) for n in range(50)]
    sent = await asyncio.gather(*[storage.transact(scope, send) for send in sends])
    assert sorted(entry.seq for entry in sent) == list(range(3, 53))
    log = await ann.read()
    assert [entry.seq for entry in log] == list(range(1, 53))
    assert {entry.id for entry in sent} == {entry.id for entry in log[2:]}
    for thread_id in "ab":
        last = max(entry.seq for entry in sent if entry.thread_id == thread_id)
        assert await ann.cursor(asked_cursor(thread_id)) == last


async def test_one_message_id_sent_by_many(storage: Storage, scope: Scope, ann: Workspace) -> None:
    """Of ten sends of one message id at once, one is committed and nine are refused."""
    await ann.create_thread("t")
    sends = [storage.transact(scope, Send("t", MessagePosted("m", str(n)), ANN)) for n in range(10)]
    came = await asyncio.gather(*sends, return_exceptions=True)
    assert Counter(type(result).__name__ for result in came) == {"Envelope": 1, UsedMessageId.__name__: 9}
    assert await ann.head() == 2


async def test_step_sees_the_callers_context(storage: Storage, scope: Scope) -> None:
    """A step runs with the context variables of whoever called."""

    async def step(_: Transaction) -> str:
        return COLOUR.get()

    token = COLOUR.set("red")
    try:
        assert await storage.transact(scope, step) == "red"
    finally:
        COLOUR.reset(token)
    assert await storage.transact(scope, step) == "none"


async def test_storage_is_closed_twice(storage: Storage) -> None:
    """Closing again does nothing."""
    await storage.aclose()
    await storage.aclose()


async def test_workspaces_are_handles(storage: Storage, scope: Scope, ann: Workspace) -> None:
    """Two handles to one workspace are one workspace."""
    await ann.create_thread("t")
    again = Workspaces(storage).workspace(scope.tenant, scope.workspace, PersonActor("ben"))
    assert await again.thread("t") == await ann.thread("t")
