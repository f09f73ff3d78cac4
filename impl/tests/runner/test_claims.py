"""Claims as a runner holds them: renewed while its run goes on, and lost with the run that relies on them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from threadclaim.events import PersonActor
from threadclaim.runner import Runner
from threadclaim.steps import Claim, EndRun, Renew
from threadclaim.storage import InMemoryStorage, Scope
from threadclaim.storage.protocol import lease_name
from threadclaim.testing import Call, Complete, ScriptedTurn, Wait
from threadclaim.turn import Stopped
from threadclaim.workspace import Workspace

if TYPE_CHECKING:
    from tests.runner.conftest import Context, World

pytestmark = pytest.mark.anyio

TTL = 30.0


async def test_a_claim_is_renewed_for_as_long_as_its_run_goes_on(world: World) -> None:
    """For three times its time to live it is the same holder's, and renewed every third of it."""
    runner = world.runner()
    running = world.held()
    await runner.send(world.ann, "t", "one")
    await running.reached.wait()
    holder = await world.holder()
    await asyncio.sleep(3.05 * TTL)
    assert await world.holder() == holder is not None
    assert world.faulty.count(Renew) == 9
    running.open.set()
    await world.settle()
    assert await world.holder() is None
    await asyncio.sleep(3 * TTL)
    assert world.faulty.count(Renew) == 9


async def test_a_renewed_claim_outlives_its_first_time_to_live() -> None:
    """By a storage whose leases lapse in the loop's own time; an unrenewed one would have."""
    storage = InMemoryStorage(clock=asyncio.get_running_loop().time)
    agent = ScriptedTurn()
    done, reached = asyncio.Event(), asyncio.Event()
    agent.then(Wait(done, reached))
    ann = Workspace(storage, Scope("tenant", "workspace"), PersonActor("ann"))
    await ann.create_thread("t")
    async with (
        Runner(agent, storage, claim_ttl=TTL) as runner,
        Runner(agent, storage, claim_ttl=TTL) as other,
    ):
        sent = await runner.send(ann, "t", "one")
        await reached.wait()
        await asyncio.sleep(3 * TTL)
        assert await other.resume(ann, "t") is None
        done.set()
        assert sent.run is not None
        await sent.run.wait()
    assert agent.given == [sent.message.seq]


@pytest.mark.parametrize("by", ["another", "failures", "silence"])
async def test_a_lost_claim_stops_its_run(world: World, by: str, caplog: pytest.LogCaptureFixture) -> None:
    """A renewal finds it gone, or none succeeds in its time to live, or none is answered; it is logged."""
    runner = world.runner()
    running = world.held()
    sent = await runner.send(world.ann, "t", "one")
    await running.reached.wait()
    if by == "another":
        await world.lapse()
    elif by == "failures":
        world.faulty.fail(Renew, times=1000)
    else:
        world.faulty.block(Renew)
    await asyncio.sleep((0.4 if by == "another" else 1.01) * TTL)
    assert runner.running(world.ann, "t") is None
    assert sent.run is not None
    assert isinstance(await sent.run.wait(), Stopped)
    await world.expect_once(sent.message)
    assert "The claim was lost while its run went on" in caplog.text


async def test_a_run_that_somebody_stops_is_logged_as_no_loss(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """It was stopped because somebody asked for that."""
    runner = world.runner()
    running = world.held()
    await runner.send(world.ann, "t", "one")
    await running.reached.wait()
    assert await runner.stop(world.ann, "t")
    assert "The claim was lost" not in caplog.text


async def test_a_renewal_that_fails_once_is_tried_again(world: World) -> None:
    """The run goes on."""
    runner = world.runner()
    world.faulty.fail(Renew)
    running = world.held()
    await runner.send(world.ann, "t", "one")
    await running.reached.wait()
    await asyncio.sleep(3 * TTL)
    assert runner.running(world.ann, "t") is not None
    running.open.set()
    await world.settle()
    assert await world.ends() == ["completed"]


async def test_a_cancelled_error_out_of_a_renewal_does_not_end_the_renewals(world: World) -> None:
    """Nobody cancelled it: it is a failure, which is tried again."""
    runner = world.runner()
    world.faulty.fail(Renew, error=asyncio.CancelledError)
    running = world.held()
    await runner.send(world.ann, "t", "one")
    await running.reached.wait()
    await asyncio.sleep(3 * TTL)
    assert runner.running(world.ann, "t") is not None
    running.open.set()
    await world.settle()
    assert await world.ends() == ["completed"]


async def test_an_end_that_can_never_be_recorded_lets_the_claim_go(world: World) -> None:
    """After a time to live it lets go, and a look records the run as abandoned."""
    runner = world.runner()
    world.faulty.fail(EndRun, times=1000)
    sent = await runner.send(world.ann, "t", "one")
    assert sent.run is not None
    await sent.run.wait()
    await asyncio.sleep(2 * TTL)
    await world.settle()
    assert await world.holder() is None
    assert await world.ends() == ["abandoned"]
    assert await world.consumed() == [sent.message.seq]


async def test_a_turn_is_set_up_under_the_claim(world: World, broken_context: Callable[..., Context]) -> None:
    """Its context comes before the start is recorded, and is the turn's."""
    gate = world.gate()
    context = broken_context(gate=gate)
    sending = asyncio.create_task(world.runner(turn_context=context).send(world.ann, "t", "one"))
    await gate.reached.wait()
    assert await world.holder() is not None
    assert await world.consumed() == []
    gate.open.set()
    await sending
    await world.settle()
    assert world.agent.runs[0].turn.context == "context"


async def test_a_claim_lost_while_a_turn_is_set_up_starts_nothing(
    world: World, broken_context: Callable[..., Context]
) -> None:
    """The set-up is cancelled, and the message is the next holder's."""
    gate = world.gate()
    runner, other = world.runner(turn_context=broken_context(gate=gate)), world.runner()
    sending = asyncio.create_task(runner.send(world.ann, "t", "one"))
    await gate.reached.wait()
    await world.lapse()
    await other.resume(world.ann, "t")
    await asyncio.sleep(1.1 * TTL)
    sent = await sending
    assert sent.run is None
    await world.expect_once(sent.message)


async def test_each_claim_has_a_holder_of_its_own(world: World) -> None:
    """It is never the run's id."""
    runner = world.runner()
    await world.paused(runner)
    await runner.send(world.ann, "t", "yes")
    await world.settle()
    holders = [step.holder for step in world.faulty.steps if isinstance(step, Claim)]
    assert len(holders) == len(set(holders)) == 2
    run = await world.run_row()
    assert run is not None
    assert run.run_id not in holders
    assert run.segment in holders


async def test_facts_of_a_run_that_was_abandoned_are_dropped(world: World) -> None:
    """A stalled run adds nothing to the log once another holds the thread."""
    stalled, other = world.runner(), world.runner()
    running = world.held(Call("tool"), Complete())
    await stalled.send(world.ann, "t", "one")
    await running.reached.wait()
    await world.lapse()
    await other.resume(world.ann, "t")
    head = await world.ann.head()
    running.open.set()
    await world.settle()
    assert await world.ann.head() == head


async def test_other_threads_are_not_held(world: World) -> None:
    """A thread's run keeps no other thread from its own."""
    await world.ann.create_thread("u")
    runner = world.runner()
    running = world.held()
    await runner.send(world.ann, "t", "one")
    await running.reached.wait()
    elsewhere = await runner.send(world.ann, "u", "two")
    assert elsewhere.run is not None
    await elsewhere.run.wait()
    assert await world.do(lambda tx: tx.holder(lease_name("t"))) is not None


async def test_a_claim_that_was_granted_late_is_not_relied_on(world: World) -> None:
    """Its time counts from before the call: it is given up, and the message carried out under another."""
    gate = world.faulty.block(Claim, effect=True)
    sending = asyncio.create_task(world.runner().send(world.ann, "t", "one"))
    await gate.reached.wait()
    await asyncio.sleep(1.5 * TTL)
    gate.open.set()
    sent = await sending
    await world.expect_once(sent.message)
    assert world.agent.given == [sent.message.seq]
