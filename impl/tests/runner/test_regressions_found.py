"""What went wrong before: lines 18 to 28 of the list of regressions, each a test named after its line."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from threadclaim.events import Envelope, FormValues, Reply, Request
from threadclaim.steps import (
    Claim,
    EndRun,
    LoadHistory,
    Release,
    Send,
    StartRun,
)
from threadclaim.steps import Reply as ReplyStep
from threadclaim.storage.protocol import UPGRADED, Transaction
from threadclaim.testing import Raise, Take
from threadclaim.thread import RunStatus

if TYPE_CHECKING:
    from tests.runner.conftest import World

pytestmark = pytest.mark.anyio

TTL = 30.0
QUESTION, FORM = Request("q", "question", "ask"), Request("f", "form", "ask_form")


def seqs(*messages: Envelope) -> list[int]:
    """The places of messages in the log."""
    return [message.seq for message in messages]


async def test_r18_a_lapsed_holders_start_is_refused(world: World) -> None:
    """One prompt, one run."""
    stalled, other = world.runner(), world.runner()
    gate = world.faulty.block(StartRun)
    sending = asyncio.create_task(stalled.send(world.ann, "t", "one"))
    await gate.reached.wait()
    await world.lapse()
    run = await other.resume(world.ann, "t")
    assert run is not None
    gate.open.set()
    sent = await sending
    assert sent.run is None
    await world.expect_once(sent.message)
    assert world.agent.given == [sent.message.seq]


async def test_r18_a_lapsed_holders_reply_is_refused(world: World) -> None:
    """One message answers once, though both had planned to."""
    stalled, other = world.runner(), world.runner()
    first = await world.paused(stalled)
    gate = world.faulty.block(ReplyStep)
    sending = asyncio.create_task(stalled.send(world.ann, "t", "yes"))
    await gate.reached.wait()
    await world.lapse()
    assert await other.resume(world.ann, "t") is not None
    gate.open.set()
    sent = await sending
    await world.expect_once(first, sent.message)
    assert len(world.agent.runs) == 2


async def test_r19_a_claim_granted_to_a_cancelled_call_is_released(world: World) -> None:
    """And what its caller asked for is carried out."""
    gate = world.faulty.block(Claim, effect=True)
    sending = asyncio.create_task(world.runner().send(world.ann, "t", "one"))
    await gate.reached.wait()
    sending.cancel()
    await world.tick()
    gate.open.set()
    with pytest.raises(asyncio.CancelledError):
        await sending
    await world.settle()
    assert len(await world.consumed()) == 1
    assert await world.is_at_rest()


async def test_r19_a_claim_granted_to_a_call_that_failed_is_released(world: World) -> None:
    """Before the failure is raised."""
    runner = world.runner()
    world.faulty.fail(Claim, effect=True, times=2)
    with pytest.raises(world.faulty.down):
        await runner.send(world.ann, "t", "one")
    await runner.drain()
    assert await world.holder() is None


@pytest.mark.parametrize("effect", [False, True])
@pytest.mark.parametrize("step", [Send, Claim])
async def test_r20_a_send_cancelled_from_its_ask_on_hands_over(
    world: World, step: type[object], effect: bool
) -> None:
    """Its message is carried out, once."""
    gate = world.faulty.block(step, effect=effect)
    sending = asyncio.create_task(world.runner().send(world.ann, "t", "one"))
    await gate.reached.wait()
    sending.cancel()
    await world.tick()
    gate.open.set()
    with pytest.raises(asyncio.CancelledError):
        await sending
    await world.settle()
    assert world.agent.given == await world.consumed() == [2]
    assert await world.is_at_rest()


@pytest.mark.parametrize("step", [Send, Claim])
async def test_r20_a_send_that_failed_having_read_nothing_hands_over(
    world: World, step: type[object]
) -> None:
    """All that is asked is newer than nothing."""
    world.faulty.fail(step, effect=step is Send)
    with pytest.raises(world.faulty.down):
        await world.runner().send(world.ann, "t", "one")
    await world.settle()
    assert world.agent.given == await world.consumed() == [2]
    assert await world.is_at_rest()


async def test_r21_what_a_dead_holder_refused_is_taken_by_a_look(world: World) -> None:
    """A look that finds the thread held waits again."""
    await world.die_holding("of the dead")
    runner = world.runner()
    sent = await runner.send(world.ann, "t", "refused")
    assert sent.run is None
    await asyncio.sleep(3.5 * TTL)
    assert await world.consumed() == []
    await world.lapse()
    await asyncio.sleep(1.1 * TTL)
    await world.settle()
    assert await world.consumed() == [sent.message.seq - 1, sent.message.seq]
    assert await world.is_at_rest()


async def test_r22_recover_takes_what_a_process_that_died_alone_left(world: World) -> None:
    """Its run is recorded as abandoned."""
    posted = await world.die_holding("of the dead", started=True)
    assert posted is not None
    await world.lapse()
    assert await world.runner().recover(world.ann) == []
    await world.expect_once(posted)
    assert await world.ends() == ["abandoned"]


async def test_r22_recover_is_refused_by_a_claim_that_has_not_lapsed_and_looks_again(world: World) -> None:
    """The look takes the thread once it has."""
    posted = await world.die_holding("of the dead")
    assert posted is not None
    assert await world.runner().recover(world.ann) == []
    assert await world.consumed() == []
    await world.lapse()
    await asyncio.sleep(1.1 * TTL)
    await world.expect_once(posted)


async def test_r23_a_crash_gives_steering_again_and_a_prompt_never(world: World) -> None:
    """The log says once; the agent may be told of steering twice."""
    doomed, other = world.runner(), world.runner()
    running, stays = world.held(Take()), world.faulty.block(EndRun)
    prompt = await doomed.send(world.ann, "t", "one")
    await running.reached.wait()
    steering = await doomed.send(world.ann, "t", "two")
    await world.tick()
    running.open.set()
    await stays.reached.wait()
    await world.lapse()
    await other.recover(world.ann)
    await other.drain()
    run = other.running(world.ann, "t")
    if run is not None:
        await run.wait()
    stays.open.set()
    await world.expect_once(prompt.message, steering.message)
    assert world.agent.given == seqs(prompt.message, steering.message, steering.message)
    assert await world.ends() == ["abandoned", "completed"]


async def test_r24_a_reply_beside_a_form_leaves_the_form_open(world: World) -> None:
    """The run resumes with the form's own answer."""
    runner = world.runner()
    first = await world.paused(runner, QUESTION, FORM)
    sent = await runner.send(world.ann, "t", "yes")
    assert sent.run is None
    await world.expect_once(first, sent.message)
    run = await world.run_row()
    assert run is not None
    assert (run.status, run.open_requests) == (RunStatus.PAUSED, (FORM,))
    answered = await runner.answer(world.ann, "t", {"f": FormValues({"a": 1})})
    assert answered.run is not None
    await world.expect_once(first, sent.message)
    assert world.agent.runs[1].answers == {"q": Reply("yes"), "f": FormValues({"a": 1})}


async def test_r25_a_message_waits_for_the_form_alone_and_joins_its_resume(world: World) -> None:
    """It is neither taken nor counted, and the resume takes messages up to another author's."""
    runner = world.runner()
    first = await world.paused(runner, FORM)
    mine = await runner.send(world.ann, "t", "mine")
    bobs = await runner.send(world.bob, "t", "bob's")
    await asyncio.sleep(2 * TTL)  # a look, of whoever was refused, comes once
    calls = len(world.faulty.steps)
    await asyncio.sleep(1000)
    assert len(world.faulty.steps) == calls
    assert await world.consumed() == seqs(first)
    assert await world.taken() < mine.message.seq
    assert await world.holder() is None
    await runner.answer(world.ann, "t", {"f": FormValues({})})
    await world.expect_once(first, mine.message, bobs.message)
    assert [list(run.prompt) for run in world.agent.runs[1:]] == [seqs(mine.message), seqs(bobs.message)]


async def test_r26_a_round_during_which_the_positions_moved_looks_again(world: World) -> None:
    """One that leaves both ends; a message refused meanwhile makes one more."""
    runner = world.runner()
    await world.paused(runner, FORM)
    await runner.send(world.ann, "t", "one")
    await world.settle()
    claims = world.faulty.count(Claim)
    gate = world.faulty.block(Release)
    sending = asyncio.create_task(runner.send(world.ann, "t", "two"))
    await gate.reached.wait()
    await runner.send(world.ann, "t", "three")
    gate.open.set()
    await sending
    await asyncio.sleep(2 * TTL)
    rounds = world.faulty.count(Claim) - claims
    assert rounds == 4  # the two commands', one more as the positions moved, and the look of the refused
    await asyncio.sleep(1000)
    assert world.faulty.count(Claim) == claims + rounds
    assert await world.holder() is None


async def _upgrade(world: World) -> None:
    """Record the upgrade point where the log stands, as the migration does."""

    async def upgrade(tx: Transaction) -> None:
        await tx.save_cursor(UPGRADED, await tx.head())

    await world.do(upgrade)


async def test_r27_nothing_from_before_the_second_upgrade_is_consumed(world: World) -> None:
    """A thread's own `taken`, from before a downgrade, does not say otherwise."""
    runner = world.runner()
    await _upgrade(world)
    first = await runner.send(world.ann, "t", "one")
    await world.settle()
    await world.ann.post_message("t", "carried out by the older release")
    await _upgrade(world)
    direct = await world.ann.post_message("t", "direct, after the deploy")
    last = await runner.send(world.ann, "t", "last")
    await world.expect_once(first.message, direct, last.message)


async def test_r28_a_cancelled_error_out_of_a_turn_is_its_failure(world: World) -> None:
    """Nobody cancelled it."""
    world.agent.then(Raise(asyncio.CancelledError()))
    sent = await world.runner().send(world.ann, "t", "one")
    await world.expect_once(sent.message)
    assert await world.ends() == ["failed"]


@pytest.mark.parametrize("step", [LoadHistory, StartRun])
async def test_r28_a_cancelled_error_out_of_storage_is_a_failure(world: World, step: type[object]) -> None:
    """One turn for each command, and what is raised is no cancellation of the caller's."""
    runner = world.runner()
    world.faulty.fail(step, times=100, error=asyncio.CancelledError)
    for count in range(1, 3):
        with pytest.raises(RuntimeError):
            await runner.send(world.ann, "t", "again")
        await asyncio.sleep(1000)
        assert world.faulty.count(step) == count
    assert await world.consumed() == []
    assert await world.holder() is None


async def test_r28_a_cancelled_error_out_of_the_commands_write_is_a_failure(world: World) -> None:
    """It hands over once, and a claim that fails then ends it."""
    runner = world.runner()
    world.faulty.fail(Send, effect=True, error=asyncio.CancelledError)
    world.faulty.fail(LoadHistory, times=100)
    with pytest.raises(RuntimeError):
        await runner.send(world.ann, "t", "one")
    await asyncio.sleep(1000)
    assert world.faulty.count(LoadHistory) == 1
