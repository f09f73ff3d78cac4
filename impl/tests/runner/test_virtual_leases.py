"""Claims that lapse by themselves: a storage in memory whose clock is the loop's, which is virtual."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import pytest

from threadclaim.errors import ClaimLost
from threadclaim.events import Reply
from threadclaim.steps import Abandon, Claim, CountTaken, EndRun, LookAgain, Renew
from threadclaim.storage import InMemoryStorage, Scope, Storage
from threadclaim.testing import Take
from threadclaim.thread import RunStatus
from threadclaim.turn import Stopped

if TYPE_CHECKING:
    from tests.runner.conftest import Context, World

pytestmark = pytest.mark.anyio

Lapse = Callable[[Scope, str], Awaitable[None]]
TTL = 30.0


@pytest.fixture
def storage() -> Storage:
    """A storage in memory whose leases lapse in the loop's time."""
    return InMemoryStorage(clock=lambda: asyncio.get_running_loop().time())


@pytest.fixture
def lapse() -> Lapse:
    """Nothing lapses but by the clock."""

    async def refuse(_: Scope, name: str) -> None:
        raise AssertionError(f"The lease {name} lapses in its own time here.")

    return refuse


async def stall(world: World) -> None:
    """Have whatever is renewed from now on fail, and let a claim lapse."""
    world.faulty.fail(Renew, times=1000)
    await asyncio.sleep(1.1 * TTL)
    world.faulty.heal()


async def test_a_run_of_three_ttls_is_renewed(world: World) -> None:
    """Neither a sweep, a command nor a look of another process takes it, and it ends as it would have."""
    holder, other = world.runner(), world.runner()
    running = world.held(Take())
    first = await holder.send(world.ann, "t", "one")
    await running.reached.wait()
    second = await other.send(world.ann, "t", "two")
    for _ in range(3):
        await asyncio.sleep(TTL)
        assert await other.recover(world.ann) == []
        assert await other.resume(world.ann, "t") is None
    assert world.faulty.count(LookAgain) > 0
    running.open.set()
    await world.expect_once(first.message, second.message)
    assert await world.ends() == ["completed"]


async def test_a_pause_of_ten_ttls_is_swept_and_still_paused(world: World) -> None:
    """A pause holds no claim, asks for nothing, and is nobody's to see to, until its answer comes."""
    runner, other = world.runner(), world.runner()
    message = await world.paused(runner)
    for _ in range(10):
        await asyncio.sleep(TTL)
        assert await other.recover(world.ann) == []
        assert await world.status() is RunStatus.PAUSED
        assert await world.holder() is None
    answered = await other.answer(world.ann, "t", {"q": Reply("yes")})
    assert answered.run is not None
    await world.expect_once(message)
    assert await world.ends() == ["completed"]
    assert [dict(run.answers) for run in world.agent.runs] == [{}, {"q": Reply("yes")}]


@pytest.mark.parametrize(("of_holder", "of_other"), [(TTL, 1.0), (1.0, TTL)])
async def test_two_runners_with_different_ttls_work_together(
    world: World, of_holder: float, of_other: float
) -> None:
    """A live run is nobody else's, however short the other's patience; a dead one is taken by its own TTL."""
    holder, other = world.runner(ttl=of_holder), world.runner(ttl=of_other)
    running = world.held(Take())
    first = await holder.send(world.ann, "t", "one")
    await running.reached.wait()
    second = await other.send(world.ann, "t", "two")
    await asyncio.sleep(3 * max(of_holder, of_other))
    assert await world.ends() == []
    running.open.set()
    await world.expect_once(first.message, second.message)
    assert await world.ends() == ["completed"]


@pytest.mark.parametrize(("of_dead", "of_other"), [(TTL, 1.0), (1.0, TTL)])
async def test_a_dead_claim_lapses_by_its_own_ttl(world: World, of_dead: float, of_other: float) -> None:
    """And whom it refused looks by theirs: the later of the two, and one look more, is when it is taken."""
    asked = await world.ask("t")
    await world.do(Claim("t", "dead", of_dead))
    other = world.runner(ttl=of_other)
    assert await other.recover(world.ann) == []
    await asyncio.sleep(0.9 * max(of_dead, of_other))
    assert await world.consumed() == []
    await asyncio.sleep(0.2 * max(of_dead, of_other) + of_other)
    await world.expect_once(asked)


async def test_a_runner_that_loses_its_claim_takes_it_again_and_its_old_holder_stays_fenced(
    world: World,
) -> None:
    """The stalled run is stopped and abandoned; a new holder of the same process carries the rest out."""
    runner = world.runner()
    running = world.held()
    first = await runner.send(world.ann, "t", "one")
    await running.reached.wait()
    old = await world.holder()
    assert old is not None
    ending = world.faulty.block(EndRun)
    await stall(world)
    assert await world.holder() is None
    second = await runner.send(world.ann, "t", "two")
    assert second.run is not None
    new = (await world.run_row() or pytest.fail("a run has begun")).segment
    assert new != old
    ending.open.set()
    await world.settle()
    for holder in (old, new):
        with pytest.raises(ClaimLost):
            await world.do(CountTaken("t", holder, 99))
        assert await world.do(Renew("t", holder, TTL)) is False
    assert first.run is not None
    assert isinstance(await first.run.wait(), Stopped)
    await world.expect_once(first.message, second.message)
    assert await world.ends() == ["abandoned", "completed"]


async def test_an_old_holder_stays_fenced_while_its_process_holds_the_thread_again(world: World) -> None:
    """The claim is the new holder's, and not the process's."""
    runner = world.runner()
    running = world.held()
    await runner.send(world.ann, "t", "one")
    await running.reached.wait()
    old = await world.holder()
    assert old is not None
    await stall(world)
    again = world.held()
    await runner.send(world.ann, "t", "two")
    await again.reached.wait()
    new = await world.holder()
    assert new not in {None, old}
    with pytest.raises(ClaimLost):
        await world.do(CountTaken("t", old, 99))
    assert await world.do(Renew("t", old, TTL)) is False
    running.open.set()
    await asyncio.sleep(2 * TTL)
    assert await world.holder() == new
    again.open.set()
    await world.settle()
    assert await world.is_at_rest()


@pytest.mark.parametrize("kth", [1, 2, 3, 4])
async def test_a_sweep_whose_kth_thread_fails_goes_on(
    world: World, broken_context: Callable[..., Context], kth: int
) -> None:
    """The failed one is logged, keeps no claim, and waits for the next sweep; the others are carried out."""
    threads = ["t", "u", "v", "w"]
    for thread_id in threads[1:]:
        await world.ann.create_thread(thread_id)
    for thread_id in threads:
        await world.ask(thread_id)
    failing = broken_context(failing={kth})
    runner = world.runner(turn_context=failing)
    runs = await runner.recover(world.ann)
    failed = threads[kth - 1]
    assert [run.thread_id for run in runs] == [thread for thread in threads if thread != failed]
    for run in runs:
        await run.wait()
    await runner.drain()
    assert (await world.faulty.inner.stranded(world.scope)).left == (failed,)
    assert [run.thread_id for run in await runner.recover(world.ann)] == [failed]
    await runner.drain()


@pytest.mark.parametrize("effect", [False, True])
async def test_a_sweep_that_reads_and_a_run_that_ends_before_it_writes(world: World, effect: bool) -> None:
    """It had listed the thread, or claimed nothing yet: it finds nothing to do, and repeats nothing."""
    holder, sweeper = world.runner(), world.runner()
    running = world.held()
    first = await holder.send(world.ann, "t", "one")
    await running.reached.wait()
    claiming = world.faulty.block(Claim, effect=effect)
    sweeping = asyncio.create_task(sweeper.recover(world.ann))
    await claiming.reached.wait()
    running.open.set()
    assert first.run is not None
    await first.run.wait()
    await holder.drain()
    claiming.open.set()
    assert await sweeping == []
    await asyncio.sleep(2 * TTL)
    await world.expect_once(first.message)
    assert await world.ends() == ["completed"]


async def test_a_sweep_that_has_read_a_run_leaves_its_end_as_it_came(world: World) -> None:
    """It holds the thread, and is about to record as abandoned a run that ends just before."""
    stalled, sweeper = world.runner(), world.runner()
    running = world.held()
    first = await stalled.send(world.ann, "t", "one")
    await running.reached.wait()
    ending = world.faulty.block(EndRun)
    running.open.set()
    await ending.reached.wait()
    await stall(world)
    abandoning = world.faulty.block(Abandon)
    sweeping = asyncio.create_task(sweeper.recover(world.ann))
    await abandoning.reached.wait()
    ending.open.set()
    await world.tick()
    abandoning.open.set()
    assert await sweeping == []
    await world.expect_once(first.message)
    assert await world.ends() == ["completed"]
