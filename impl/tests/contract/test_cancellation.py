"""A call that is cancelled runs to its end, and then is cancelled; what dies half way has written nothing."""

import asyncio
from itertools import count

import anyio
import pytest

from threadclaim.events import Custom, PersonActor
from threadclaim.storage import Scope, Storage, Transaction

pytestmark = pytest.mark.anyio

ANN = PersonActor("ann")


async def turn_loop(times: int = 1) -> None:
    """Let the loop turn."""
    for _ in range(times):
        await asyncio.sleep(0)


async def slow(tx: Transaction) -> int:
    """A step that waits, writes, waits, writes and waits; gives the head it began at."""
    head = await tx.head()
    await turn_loop(2)
    await tx.append(Custom("first"), actor=ANN)
    await turn_loop(2)
    await tx.append(Custom("second"), actor=ANN)
    await turn_loop(2)
    return head


async def head(tx: Transaction) -> int:
    """The log's head."""
    return await tx.head()


async def test_cancelled_call_has_committed(storage: Storage) -> None:
    """At whatever turn of the loop it is cancelled, a call commits, then raises; the next works."""
    for turns in count(1):
        scope = Scope("tenant", f"workspace-{turns}")
        if await _ends_before_it_is_cancelled(storage, scope, turns):
            break
        assert await storage.transact(scope, head) == 2
        assert await storage.transact(scope, slow) == 2
    assert turns > 6, "the step alone waits for six turns"


async def _ends_before_it_is_cancelled(storage: Storage, scope: Scope, turns: int) -> bool:
    """Whether a call ends before it is cancelled at a turn of the loop; if it does not, it raises."""
    call = asyncio.create_task(storage.transact(scope, slow))
    await turn_loop(turns)
    if not call.cancel():
        return await call == 0
    with pytest.raises(asyncio.CancelledError):
        await call
    return False


async def test_cancelled_on_every_turn(storage: Storage, scope: Scope) -> None:
    """A call that is cancelled again and again runs to its end all the same."""
    call = asyncio.create_task(storage.transact(scope, slow))
    await turn_loop()
    while not call.done():
        call.cancel()
        await turn_loop()
    assert call.cancelled()
    assert await storage.transact(scope, head) == 2


async def test_cancelled_by_a_scope(storage: Storage) -> None:
    """A cancel scope of anyio's, which cancels on every turn of the loop, is left in order too."""
    for turns in count():
        scope = Scope("tenant", f"workspace-{turns}")
        if await _ends_before_a_scope_is_cancelled(storage, scope, turns):
            break
        assert await storage.transact(scope, head) == 2
    assert turns > 6, "the step alone waits for six turns"


async def _ends_before_a_scope_is_cancelled(storage: Storage, scope: Scope, turns: int) -> bool:
    """Whether a call ends before its scope is cancelled at a turn of the loop; if it does not, it raises."""

    async def cancel(cancelled: anyio.CancelScope) -> None:
        await turn_loop(turns)
        cancelled.cancel()

    went_on = False
    with anyio.CancelScope() as cancelled:
        canceller = asyncio.create_task(cancel(cancelled))
        await storage.transact(scope, slow)
        went_on = True
        canceller.cancel()
    assert went_on is not cancelled.cancelled_caught
    return went_on


async def test_cancelled_before_it_is_called(storage: Storage, scope: Scope) -> None:
    """In a scope that is cancelled already, a call commits all or nothing, and raises."""
    with anyio.CancelScope() as cancelled:
        cancelled.cancel()
        await storage.transact(scope, slow)
    assert cancelled.cancelled_caught
    assert await storage.transact(scope, head) in {0, 2}


async def test_timeout(storage: Storage, scope: Scope) -> None:
    """A timeout of asyncio's, which counts its task's cancellations, is one; all is committed."""
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await storage.transact(scope, slow)
    current = asyncio.current_task()
    assert current is not None
    assert current.cancelling() == 0
    assert await storage.transact(scope, head) == 2


async def test_cancelled_while_it_waits_for_its_turn(storage: Storage, scope: Scope) -> None:
    """Cancelled while another transaction is under way, a call waits for it, commits, and then raises."""
    go_on, begun = asyncio.Event(), asyncio.Event()

    async def first(tx: Transaction) -> None:
        await tx.append(Custom("first"), actor=ANN)
        begun.set()
        await go_on.wait()

    under_way = asyncio.create_task(storage.transact(scope, first))
    await begun.wait()
    waiting = asyncio.create_task(storage.transact(scope, slow))
    await turn_loop(3)
    waiting.cancel()
    await turn_loop(3)
    assert not waiting.done()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await under_way
    assert await storage.transact(scope, head) == 3


async def test_cancelled_call_whose_step_raises(storage: Storage, scope: Scope) -> None:
    """A cancelled call whose step then raises is cancelled, keeps nothing, and leaves no error behind."""

    async def step(tx: Transaction) -> None:
        await slow(tx)
        raise ValueError("on purpose")

    call = asyncio.create_task(storage.transact(scope, step))
    await turn_loop(2)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert await storage.transact(scope, head) == 0


async def test_a_cancellation_of_the_steps_own(storage: Storage, scope: Scope) -> None:
    """A CancelledError that a step raises while nobody cancels is raised as it is, and keeps nothing."""
    own = asyncio.CancelledError("the step's own")

    async def step(tx: Transaction) -> None:
        await slow(tx)
        raise own

    with pytest.raises(asyncio.CancelledError) as raised:
        await storage.transact(scope, step)
    assert raised.value is own
    current = asyncio.current_task()
    assert current is not None
    assert current.cancelling() == 0
    assert await storage.transact(scope, head) == 0


async def test_a_step_that_dies(storage: Storage, scope: Scope) -> None:
    """A step whose own task is cancelled, as a dying process's are, keeps nothing and holds no lock."""
    tasks: list[asyncio.Task[object] | None] = []
    begun = asyncio.Event()

    async def step(tx: Transaction) -> None:
        tasks.append(asyncio.current_task())
        await tx.append(Custom("first"), actor=ANN)
        begun.set()
        await asyncio.Event().wait()

    call = asyncio.create_task(storage.transact(scope, step))
    await begun.wait()
    (task,) = tasks
    assert task is not None
    assert task is not call
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert await storage.transact(scope, head) == 0


async def test_a_process_that_dies(storage: Storage, scope: Scope) -> None:
    """All of a process's tasks are cancelled at once, under way and waiting: each commits all or nothing."""
    before = asyncio.all_tasks()
    calls = [asyncio.create_task(storage.transact(scope, slow)) for _ in range(5)]
    await turn_loop(5)
    for task in asyncio.all_tasks() - before:
        task.cancel()
    came = await asyncio.gather(*calls, return_exceptions=True)
    assert all(isinstance(result, asyncio.CancelledError | int) for result in came)
    kept = await storage.transact(scope, head)
    assert kept % 2 == 0
    assert await storage.transact(scope, slow) == kept
