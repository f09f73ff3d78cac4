"""Ends that cannot be recorded, replies that answer nothing any more, and writes of a closed runner."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from threadclaim.events import Reply as ReplyTo
from threadclaim.steps import EndRun, Renew, Reply, Send

if TYPE_CHECKING:
    from tests.runner.conftest import World

pytestmark = pytest.mark.anyio

TTL = 30.0


async def test_an_end_is_tried_no_more_once_its_claim_is_lost(world: World) -> None:
    """Another may have the thread by then: whoever waits is told, and the next holder records the end."""
    runner = world.runner()
    world.faulty.fail(EndRun, times=1000)
    world.faulty.fail(Renew, times=1000)
    running = world.held()
    sent = await runner.send(world.ann, "t", "one")
    await running.reached.wait()
    await asyncio.sleep(0.9 * TTL)  # so that the claim is lost a tenth of its time to live from now
    running.open.set()
    assert sent.run is not None
    await sent.run.wait()
    assert asyncio.get_running_loop().time() < 1.1 * TTL
    world.faulty.heal()
    await world.lapse()
    await runner.resume(world.ann, "t")
    await world.settle()
    assert await world.ends() == ["abandoned"]


@pytest.mark.parametrize("how", ["down", "cancelled"])
async def test_a_closed_runners_failed_write_begins_nothing(world: World, how: str) -> None:
    """It was under way as the runner closed: what it may have asked for is the next process's."""
    runner = world.runner()
    before = asyncio.all_tasks()
    gate = world.faulty.block(
        Send, effect=True, error=world.faulty.down if how == "down" else asyncio.CancelledError
    )
    sending = asyncio.create_task(runner.send(world.ann, "t", "one"))
    await gate.reached.wait()
    await runner.aclose()
    gate.open.set()
    with pytest.raises(world.faulty.down if how == "down" else RuntimeError):
        await sending
    await world.tick()
    assert asyncio.all_tasks() == before
    assert len(world.faulty.steps) == 1
    await world.runner().recover(world.ann)
    await world.settle()
    assert world.agent.given == await world.consumed() == [2]


async def test_a_reply_that_answers_nothing_any_more_is_planned_again(world: World) -> None:
    """All was answered first: the run resumes with that answer, and the message beside it."""
    runner, other = world.runner(), world.runner()
    first = await world.paused(runner)
    replying = world.faulty.block(Reply)
    sending = asyncio.create_task(runner.send(world.ann, "t", "late"))
    await replying.reached.wait()
    await other.answer(world.ann, "t", {"q": ReplyTo("first")})
    replying.open.set()
    sent = await sending
    await world.expect_once(first, sent.message)
    assert dict(world.agent.runs[1].answers) == {"q": ReplyTo("first")}
    assert world.agent.runs[1].prompt == (sent.message.seq,)
