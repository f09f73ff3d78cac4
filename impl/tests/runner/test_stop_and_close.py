"""How runs are stopped, and how a runner is drained and closed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from threadclaim.errors import RunnerClosed
from threadclaim.events import Reply
from threadclaim.steps import Claim, EndRun, LookAgain, Release
from threadclaim.testing import Complete, Take
from threadclaim.turn import Stopped

if TYPE_CHECKING:
    from tests.runner.conftest import World

pytestmark = pytest.mark.anyio

TTL = 30.0


async def test_stop_ends_the_run_and_hands_over_what_it_leaves(world: World) -> None:
    """It returns once the end is recorded; the hand-over is not stopped."""
    runner = world.runner()
    running = world.held()
    first = await runner.send(world.ann, "t", "one")
    await running.reached.wait()
    second = await runner.send(world.ann, "t", "two")
    assert await runner.stop(world.ann, "t")
    assert (await world.ends())[0] == "stopped"
    assert first.run is not None
    assert isinstance(await first.run.wait(), Stopped)
    await world.expect_once(first.message, second.message)
    assert await world.ends() == ["stopped", "completed"]


async def test_stop_of_nothing_is_none(world: World) -> None:
    """Neither before a run, nor after it, nor of another process's, nor of an unknown thread."""
    runner, other = world.runner(), world.runner()
    assert not await runner.stop(world.ann, "t")
    assert not await runner.stop(world.ann, "unknown")
    running = world.held()
    await runner.send(world.ann, "t", "one")
    await running.reached.wait()
    assert not await other.stop(world.ann, "t")
    running.open.set()
    await world.settle()
    assert not await runner.stop(world.ann, "t")


async def test_stop_keeps_what_was_delivered(world: World) -> None:
    """The steering that the run took is recorded with its end, and not given again."""
    runner = world.runner()
    taking, waiting = world.gate(), world.gate()
    world.agent.then(taking.wait, Take(), waiting.wait)
    first = await runner.send(world.ann, "t", "one")
    await taking.reached.wait()
    second = await runner.send(world.ann, "t", "two")
    await world.tick()
    taking.open.set()
    await waiting.reached.wait()
    assert await runner.stop(world.ann, "t")
    await world.expect_once(first.message, second.message)
    assert await world.ends() == ["stopped"]


async def test_a_stopped_run_that_ignores_it_ends_in_its_own_time(world: World) -> None:
    """Stop waits until nothing of it is alive."""
    runner = world.runner()
    gate = world.gate()
    world.agent.then(gate.stubborn)
    await runner.send(world.ann, "t", "one")
    await gate.reached.wait()
    stopping = asyncio.create_task(runner.stop(world.ann, "t"))
    await asyncio.sleep(100)
    assert not stopping.done()
    gate.open.set()
    assert await stopping
    assert await world.ends() == ["stopped"]


async def test_running_tells_of_this_processs_run(world: World) -> None:
    """While it goes on, and of this thread's only."""
    runner, other = world.runner(), world.runner()
    running = world.held()
    sent = await runner.send(world.ann, "t", "one")
    await running.reached.wait()
    assert runner.running(world.ann, "t") is sent.run
    assert runner.running(world.ann, "u") is None
    assert other.running(world.ann, "t") is None
    running.open.set()
    await world.settle()
    assert runner.running(world.ann, "t") is None


async def test_drain_waits_for_hand_overs_and_for_no_run(world: World) -> None:
    """Once the handed-over run has started, it is a run that goes on."""
    runner = world.runner()
    first, second = world.held(Complete()), world.held()
    await runner.send(world.ann, "t", "one")
    await first.reached.wait()
    await runner.drain()
    await runner.send(world.ann, "t", "two")
    claiming = world.faulty.block(Claim)
    first.open.set()
    await claiming.reached.wait()
    draining = asyncio.create_task(runner.drain())
    await world.tick()
    assert not draining.done()
    claiming.open.set()
    await draining
    await second.reached.wait()
    assert runner.running(world.ann, "t") is not None


async def test_drain_waits_for_no_look(world: World) -> None:
    """It returns while the thread is another's."""
    await world.die_holding("of the dead")
    runner = world.runner()
    await runner.send(world.ann, "t", "refused")
    before = asyncio.get_running_loop().time()
    await runner.drain()
    assert asyncio.get_running_loop().time() == before


async def test_closing_stops_runs_and_hands_nothing_over(world: World) -> None:
    """Their ends are recorded and their claims released; what is left is the next process's."""
    runner = world.runner()
    running = world.held()
    first = await runner.send(world.ann, "t", "one")
    await running.reached.wait()
    second = await runner.send(world.ann, "t", "two")
    await runner.aclose()
    assert await world.ends() == ["stopped"]
    assert await world.holder() is None
    await asyncio.sleep(1000)
    assert await world.consumed() == [first.message.seq]
    await world.runner().recover(world.ann)
    await world.expect_once(first.message, second.message)


async def test_a_closed_runner_refuses_every_command(world: World) -> None:
    """Nothing is committed; closing again does nothing new."""
    runner = world.runner()
    await runner.aclose()
    await runner.aclose()
    head = await world.ann.head()
    for command in (
        runner.send(world.ann, "t", "one"),
        runner.answer(world.ann, "t", {"q": Reply("yes")}),
        runner.resume(world.ann, "t"),
        runner.recover(world.ann),
    ):
        with pytest.raises(RunnerClosed):
            await command
    assert await world.ann.head() == head
    assert world.faulty.steps == []


async def test_a_runner_closes_as_its_block_is_left(world: World) -> None:
    """With the block's error, too."""
    with pytest.raises(world.faulty.down):
        async with world.runner() as runner:
            raise world.faulty.down
    with pytest.raises(RunnerClosed):
        await runner.resume(world.ann, "t")


@pytest.mark.parametrize("step", [Claim, EndRun, Release])
async def test_closing_is_bounded_when_storage_hangs(world: World, step: type[object]) -> None:
    """It waits for `close_within` and no longer."""
    runner = world.runner(close_within=5.0)
    gate = world.faulty.block(step)
    sending = asyncio.create_task(runner.send(world.ann, "t", "one"))
    await gate.reached.wait()
    before = asyncio.get_running_loop().time()
    await runner.aclose()
    assert asyncio.get_running_loop().time() - before == pytest.approx(5.0)
    gate.open.set()
    await asyncio.gather(sending, return_exceptions=True)


async def test_a_send_whose_runner_closes_as_it_is_committed_loses_nothing(world: World) -> None:
    """What it committed waits for the next process, and the caller is told that no run started."""
    runner = world.runner()
    gate = world.faulty.block(Claim)
    sending = asyncio.create_task(runner.send(world.ann, "t", "one"))
    await gate.reached.wait()
    closing = asyncio.create_task(runner.aclose())
    await world.tick()
    gate.open.set()
    await closing
    sent = await sending
    assert sent.run is None
    assert world.agent.runs == []
    await world.runner().recover(world.ann)
    await world.expect_once(sent.message)


async def test_a_send_still_being_committed_as_its_runner_closes_starts_nothing(world: World) -> None:
    """A closed runner starts no run, though its command came before."""
    runner = world.runner()
    gate = world.faulty.block(None)
    sending = asyncio.create_task(runner.send(world.ann, "t", "one"))
    await gate.reached.wait()
    await runner.aclose()
    gate.open.set()
    await asyncio.gather(sending, return_exceptions=True)
    await world.settle()
    assert world.agent.runs == []
    assert await world.holder() is None
    await world.runner().recover(world.ann)
    await world.settle()
    assert await world.consumed() == [2]


async def test_a_closed_runner_looks_no_more(world: World) -> None:
    """Not even once the claim that refused it has lapsed."""
    await world.die_holding("of the dead")
    runner = world.runner()
    await runner.send(world.ann, "t", "refused")
    await runner.aclose()
    await world.lapse()
    await asyncio.sleep(10 * TTL)
    assert world.faulty.count(LookAgain) == 0
    assert await world.consumed() == []


async def test_a_sweep_stops_where_its_runner_closes(world: World) -> None:
    """A closed runner starts no run, though its sweep came before."""
    for thread_id in ("u", "v"):
        await world.ann.create_thread(thread_id)
        await world.ask(thread_id)
    runner = world.runner()
    gate = world.faulty.block(Claim)
    sweeping = asyncio.create_task(runner.recover(world.ann))
    await gate.reached.wait()
    closing = asyncio.create_task(runner.aclose())
    await world.tick()
    gate.open.set()
    await closing
    with pytest.raises(RunnerClosed):
        await sweeping
    await world.settle()
    assert world.agent.runs == []


async def test_whoever_waits_for_a_run_is_told_as_its_runner_closes(world: World) -> None:
    """Its handle gives the run's own result."""
    runner = world.runner()
    running = world.held()
    sent = await runner.send(world.ann, "t", "one")
    await running.reached.wait()
    assert sent.run is not None
    waiting = asyncio.create_task(sent.run.wait())
    await runner.aclose()
    assert isinstance(await waiting, Stopped)


async def test_whoever_stops_waiting_for_a_run_does_not_stop_it(world: World) -> None:
    """A cancelled wait, or a caller's cancelled task, leaves the run alone."""
    runner = world.runner()
    running = world.held()
    sent = await runner.send(world.ann, "t", "one")
    await running.reached.wait()
    assert sent.run is not None
    waiting = asyncio.create_task(sent.run.wait())
    await world.tick()
    waiting.cancel()
    await world.tick()
    running.open.set()
    await world.expect_once(sent.message)
    assert await world.ends() == ["completed"]


async def test_whoever_waits_for_a_run_whose_end_cannot_be_recorded_is_told(world: World) -> None:
    """As its runner closes, having waited for storage."""
    runner = world.runner(close_within=5.0)
    world.faulty.fail(EndRun, times=1000)
    sent = await runner.send(world.ann, "t", "one")
    assert sent.run is not None
    waiting = asyncio.create_task(sent.run.wait())
    await runner.aclose()
    await asyncio.sleep(2 * TTL)
    assert waiting.done()
    waiting.cancel()
    assert await world.holder() is None
