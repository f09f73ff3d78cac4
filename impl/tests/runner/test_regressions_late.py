"""What went wrong before: lines 29 to 32 of the list of regressions, each a test named after its line."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from threadclaim.events import Envelope, Reply, Request
from threadclaim.steps import (
    Abandon,
    EndRun,
    Renew,
    StartRun,
)
from threadclaim.steps import Reply as ReplyStep
from threadclaim.testing import Complete, Pause, Take
from threadclaim.thread import RunStatus

if TYPE_CHECKING:
    from tests.runner.conftest import World

pytestmark = pytest.mark.anyio

TTL = 30.0
QUESTION, FORM = Request("q", "question", "ask"), Request("f", "form", "ask_form")


def seqs(*messages: Envelope) -> list[int]:
    """The places of messages in the log."""
    return [message.seq for message in messages]


@pytest.mark.parametrize("before_its_read", [True, False])
async def test_r29_steering_that_a_lapsed_runs_end_records_is_not_consumed_again(
    world: World, before_its_read: bool
) -> None:
    """Whether the end comes before the next holder's read or after it, as the run is still active."""
    stalled, other = world.runner(), world.runner()
    running = world.held(Take())
    first = await stalled.send(world.ann, "t", "one")
    await running.reached.wait()
    steering = await stalled.send(world.ann, "t", "two")
    await world.tick()
    ending, abandoning = world.faulty.block(EndRun), world.faulty.block(Abandon)
    running.open.set()
    await ending.reached.wait()
    await world.lapse()
    if before_its_read:
        ending.open.set()
        await world.tick()
        abandoning.open.set()
        await other.resume(world.ann, "t")
    else:
        resuming = asyncio.create_task(other.resume(world.ann, "t"))
        await abandoning.reached.wait()
        ending.open.set()
        await world.tick()
        abandoning.open.set()
        await resuming
    await world.expect_once(first.message, steering.message)
    assert world.agent.given == seqs(first.message, steering.message)
    assert await world.ends() == ["completed"]


async def test_r30_a_recorded_reply_whose_caller_is_cancelled_resumes_the_run(world: World) -> None:
    """Before the resume starts."""
    runner = world.runner()
    first = await world.paused(runner)
    gate = world.faulty.block(ReplyStep, effect=True)
    sending = asyncio.create_task(runner.send(world.ann, "t", "yes"))
    await gate.reached.wait()
    sending.cancel()
    await world.tick()
    gate.open.set()
    with pytest.raises(asyncio.CancelledError):
        await sending
    await world.settle()
    assert len(await world.consumed()) == 2
    assert await world.ends() == ["completed"]
    assert world.agent.runs[1].answers == {"q": Reply("yes")}
    assert first.seq == world.agent.runs[0].prompt[0]


async def test_r30_a_recorded_reply_whose_claimant_dies_resumes_the_run(world: World) -> None:
    """The next process's sweep sees to it."""
    doomed, other = world.runner(), world.runner()
    await world.paused(doomed)
    gate = world.faulty.block(ReplyStep, effect=True)
    sending = asyncio.create_task(doomed.send(world.ann, "t", "yes"))
    await gate.reached.wait()
    await world.lapse()
    runs = await other.recover(world.ann)
    assert len(runs) == 1
    gate.open.set()
    await sending
    await world.settle()
    assert len(await world.consumed()) == 2
    assert len(world.agent.runs) == 2
    assert world.agent.runs[1].answers == {"q": Reply("yes")}


async def test_r31_a_renewal_that_comes_late_takes_nothing_back(world: World) -> None:
    """The claim lapsed, another used it, and released it."""
    stalled, other = world.runner(), world.runner()
    gate = world.faulty.block(Renew)
    running = world.held()
    sent = await stalled.send(world.ann, "t", "one")
    await gate.reached.wait()
    await world.lapse()
    await other.resume(world.ann, "t")
    assert await world.holder() is None
    gate.open.set()
    await world.tick()
    assert await world.holder() is None
    await world.expect_once(sent.message)
    assert not running.open.is_set()
    assert await world.ends() == ["abandoned"]


@pytest.mark.parametrize("has_begun", [True, False])
async def test_r32_a_lapsed_runs_late_pause_is_refused(world: World, has_begun: bool) -> None:
    """Another run has begun in the thread, or is about to."""
    stalled, other = world.runner(), world.runner()
    ending = world.faulty.block(EndRun)
    world.agent.then(Pause((QUESTION,)))
    first = await stalled.send(world.ann, "t", "one")
    await ending.reached.wait()
    await world.lapse()
    starting = world.faulty.block(StartRun)
    next_run = world.held(Complete("done"))
    sending = asyncio.create_task(other.send(world.ann, "t", "two"))
    await starting.reached.wait()
    if has_begun:
        starting.open.set()
        await next_run.reached.wait()
    ending.open.set()
    await world.tick()
    assert await world.status() is (RunStatus.ACTIVE if has_begun else RunStatus.ENDED)
    starting.open.set()
    next_run.open.set()
    sent = await sending
    await world.expect_once(first.message, sent.message)
    assert await world.ends() == ["abandoned", "completed"]
