"""The records' invariants, I1 to I7, each shown once by the runner over a storage."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from threadclaim.events import FormValues, Reply, Request, RunEnded, RunStarted
from threadclaim.steps import EndRun, Release, StartRun
from threadclaim.storage.protocol import UPGRADED, Transaction, taken_cursor
from threadclaim.testing import Pause, Take
from threadclaim.thread import RunStatus

if TYPE_CHECKING:
    from tests.runner.conftest import Context, World

pytestmark = pytest.mark.anyio


async def test_i1_prompts_replies_and_steering_are_consumed_once_and_notices_never(world: World) -> None:
    """A message is one of the three, whoever serves the thread."""
    runner, other = world.runner(), world.runner()
    running = world.held(Take(), Pause((Request("q", "question", "ask"),)))
    prompt = await runner.send(world.ann, "t", "prompt")
    await running.reached.wait()
    steering = await other.send(world.ann, "t", "steering")
    notice = await world.ann.post_message("t", "notice", kind="notice")
    await world.tick()
    running.open.set()
    await world.settle()
    reply = await other.send(world.ann, "t", "reply")
    await world.expect_once(prompt.message, steering.message, reply.message)
    told = [text for run in world.agent.runs for text in run.texts]
    assert sorted(told) == ["prompt", "reply", "steering"]
    assert await world.taken() >= notice.seq


async def test_i2_consumption_is_recorded_with_the_write_that_consumes(world: World) -> None:
    """At every position of the log, what is taken is what it says was consumed."""
    runner = world.runner()
    started, ended = world.faulty.block(StartRun, effect=True), world.faulty.block(EndRun, effect=True)
    sending = asyncio.create_task(runner.send(world.ann, "t", "one"))
    await started.reached.wait()
    assert await world.consumed() == [await world.taken()] == [2]
    running = world.held(Take())
    started.open.set()
    await sending
    await running.reached.wait()
    steering = await runner.send(world.ann, "t", "two")
    await world.tick()
    assert await world.taken() == 2
    running.open.set()
    await ended.reached.wait()
    assert await world.consumed() == [2, steering.message.seq]
    assert await world.taken() == steering.message.seq


async def test_i3_nothing_asked_is_stranded_by_a_release(world: World) -> None:
    """The hand-over reads what was asked after the release, so it sees whom it refused."""
    runner, other = world.runner(), world.runner()
    gate = world.faulty.block(Release)
    first = await runner.send(world.ann, "t", "one")
    await gate.reached.wait()
    refused = [await other.send(world.ann, "t", f"refused {number}") for number in range(3)]
    assert [sent.run for sent in refused] == [None] * 3
    gate.open.set()
    await world.expect_once(first.message, *(sent.message for sent in refused))


async def test_i4_a_turn_that_fails_before_it_starts_consumes_nothing(
    world: World, broken_context: Callable[..., Context]
) -> None:
    """The log does not know of it, and the next command consumes its input first."""
    runner = world.runner(turn_context=broken_context(failures=1))
    with pytest.raises(RuntimeError):
        await runner.send(world.ann, "t", "one")
    await runner.drain()
    events = [entry.event for entry in await world.ann.read()]
    assert not any(isinstance(event, RunStarted | RunEnded) for event in events)
    second = await runner.send(world.ann, "t", "two")
    await world.settle()
    assert world.agent.runs[0].prompt == (second.message.seq - 1,)


async def test_i5_a_direct_message_starts_no_turn(world: World) -> None:
    """The thread's next turn consumes it; a sweep starts none either."""
    runner = world.runner()
    posted = await world.ann.post_message("t", "direct")
    assert await runner.recover(world.ann) == []
    assert world.agent.runs == []
    sent = await runner.send(world.ann, "t", "sent")
    await world.expect_once(posted, sent.message)


async def test_i6_the_oldest_message_not_consumed_is_the_reply(world: World) -> None:
    """However it was committed, whoever posted it; a notice is none."""
    runner = world.runner()
    first = await world.paused(runner)
    await world.bob.post_message("t", "a notice", kind="notice")
    direct = await world.bob.post_message("t", "direct")
    sent = await runner.send(world.ann, "t", "sent")
    await world.expect_once(first, direct, sent.message)
    assert world.agent.runs[1].answers == {"q": Reply("direct")}
    assert world.agent.runs[1].turn.actor == world.bob.actor


async def test_i6_a_message_is_no_forms_answer(world: World) -> None:
    """The form waits for values."""
    runner = world.runner()
    first = await world.paused(runner, Request("f", "form", "ask_form"))
    sent = await runner.send(world.ann, "t", "text")
    await world.settle()
    assert await world.status() is RunStatus.PAUSED
    await runner.answer(world.ann, "t", {"f": FormValues({"a": 1})})
    await world.expect_once(first, sent.message)


async def test_i7_nothing_from_before_the_upgrade_is_consumed(world: World) -> None:
    """A thread without a position of its own starts from the upgrade point."""
    await world.ann.post_message("t", "old")

    async def upgrade(tx: Transaction) -> None:
        await tx.save_cursor(UPGRADED, await tx.head())

    await world.do(upgrade)
    new = await world.ann.post_message("t", "new")
    sent = await world.runner().send(world.ann, "t", "sent")
    await world.expect_once(new, sent.message)


async def test_i7_a_thread_starts_from_what_its_agent_was_last_told(world: World) -> None:
    """A run without the runner has saved history, and no position."""
    await world.ann.post_message("t", "told")

    async def direct_run(tx: Transaction) -> None:
        await tx.save_history("t", b"told")

    await world.do(direct_run)
    sent = await world.runner().send(world.ann, "t", "sent")
    await world.expect_once(sent.message)
    assert await world.do(lambda tx: tx.cursor(taken_cursor("t"))) is not None
