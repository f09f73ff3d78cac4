"""What went wrong before: lines 1 to 17 of the list of regressions, each a test named after its line."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from threadclaim.events import Envelope, PersonActor, Reply, Request
from threadclaim.steps import Answer, Claim, EndRun, LoadHistory, Release, StartRun
from threadclaim.steps import Reply as ReplyStep
from threadclaim.testing import Complete, Fail, Pause, Take
from threadclaim.thread import RunStatus

if TYPE_CHECKING:
    from tests.runner.conftest import Context, World

pytestmark = pytest.mark.anyio

WINDOW = [(EndRun, False), (EndRun, True), (Release, False), (Release, True)]
"""Where a message may come as a run ends: around the recording of its end, and around its release."""


def seqs(*messages: Envelope) -> tuple[int, ...]:
    """The places of messages in the log."""
    return tuple(message.seq for message in messages)


@pytest.mark.parametrize("others", [False, True])
@pytest.mark.parametrize(("step", "effect"), WINDOW)
async def test_r01_a_message_as_a_run_ends_is_consumed(
    world: World, step: type[object], effect: bool, others: bool
) -> None:
    """From the same process or another, it is the next turn's."""
    runner = world.runner()
    sender = world.runner() if others else runner
    gate = world.faulty.block(step, effect=effect)
    first = await runner.send(world.ann, "t", "one")
    await gate.reached.wait()
    second = await sender.send(world.ann, "t", "two")
    gate.open.set()
    await world.expect_once(first.message, second.message)
    assert sorted(world.agent.given) == [first.message.seq, second.message.seq]


async def test_r02_an_answer_as_a_run_pauses_resumes_it_under_a_claim_of_its_own(world: World) -> None:
    """The pausing segment's release takes nothing away from the resume."""
    runner, other = world.runner(), world.runner()
    gate = world.faulty.block(Release)
    world.agent.then(Pause((Request("q", "question", "ask"),)))
    await runner.send(world.ann, "t", "one")
    await gate.reached.wait()
    paused = await world.run_row()
    answered = await other.answer(world.ann, "t", {"q": Reply("yes")})
    assert answered.run is None
    resumed = world.held()
    gate.open.set()
    await resumed.reached.wait()
    run = await world.run_row()
    assert run is not None
    assert paused is not None
    assert (run.run_id, run.status) == (paused.run_id, RunStatus.ACTIVE)
    assert run.segment != paused.segment
    assert await world.holder() == run.segment
    resumed.open.set()
    await world.settle()
    assert world.agent.runs[1].answers == {"q": Reply("yes")}
    assert await world.ends() == ["completed"]


async def test_r03_a_run_that_fails_before_it_starts_reads_nothing_taken(
    world: World, broken_context: Callable[..., Context]
) -> None:
    """The next command consumes its input first, and nothing from before."""
    first = await world.runner().send(world.ann, "t", "one")
    await world.settle()
    context = broken_context(failures=1)
    runner = world.runner(turn_context=context)
    with pytest.raises(RuntimeError):
        await runner.send(world.ann, "t", "two", message_id="two")
    await world.settle()
    third = await runner.send(world.ann, "t", "three")
    await world.settle()
    second = next(
        entry for entry in await world.ann.read() if entry.is_message and entry.seq > first.message.seq
    )
    await world.expect_once(first.message, second, third.message)
    assert world.agent.runs[1].prompt == seqs(second)


async def test_r03_a_failure_that_persists_makes_one_turn_for_each_command(
    world: World, broken_context: Callable[..., Context]
) -> None:
    """Three commands, three turns, and none by itself."""
    context = broken_context(failures=100)
    runner = world.runner(turn_context=context)
    for count in range(1, 4):
        with pytest.raises(RuntimeError):
            await runner.send(world.ann, "t", "again")
        await asyncio.sleep(1000)
        assert len(context.turns) == count
    assert await world.consumed() == []
    assert await world.holder() is None


async def test_r04_a_second_reply_in_the_pausing_window_steers_the_resumed_run(world: World) -> None:
    """The first is the reply, and the second comes to the watcher."""
    runner = world.runner()
    gate = world.faulty.block(Release)
    world.agent.then(Pause((Request("q", "question", "ask"),)))
    first = await runner.send(world.ann, "t", "one")
    await gate.reached.wait()
    reply = await runner.send(world.ann, "t", "yes")
    second = await runner.send(world.ann, "t", "and more")
    resumed = world.held(Take())
    gate.open.set()
    await resumed.reached.wait()
    await world.tick()
    resumed.open.set()
    await world.expect_once(first.message, reply.message, second.message)
    assert world.agent.runs[1].answers == {"q": Reply("yes")}
    assert world.agent.runs[1].delivered == [second.message.seq]


async def test_r05_a_send_that_stalls_before_its_claim_is_carried_out_once(world: World) -> None:
    """Another takes its message meanwhile; the send then finds nothing to do."""
    stalled, other = world.runner(), world.runner()
    gate = world.faulty.block(Claim)
    sending = asyncio.create_task(stalled.send(world.ann, "t", "one"))
    await gate.reached.wait()
    run = await other.resume(world.ann, "t")
    assert run is not None
    await run.wait()
    gate.open.set()
    sent = await sending
    assert sent.run is None
    await world.expect_once(sent.message)


async def test_r05_a_turn_that_fails_fast_is_carried_out_once(world: World) -> None:
    """Its failure hands over nothing that it has consumed."""
    world.agent.then(Fail("no"))
    sent = await world.runner().send(world.ann, "t", "one")
    await world.expect_once(sent.message)
    assert len(world.agent.runs) == 1


@pytest.mark.parametrize(("step", "effect"), WINDOW)
async def test_r06_a_direct_commit_starts_no_turn(world: World, step: type[object], effect: bool) -> None:
    """Neither in the window nor outside of it; the next turn consumes it."""
    runner = world.runner()
    gate = world.faulty.block(step, effect=effect)
    first = await runner.send(world.ann, "t", "one")
    await gate.reached.wait()
    inside = await world.ann.post_message("t", "inside")
    gate.open.set()
    await world.settle()
    outside = await world.ann.post_message("t", "outside")
    await asyncio.sleep(1000)
    assert len(world.agent.runs) == 1
    last = await runner.send(world.ann, "t", "last")
    await world.expect_once(first.message, inside, outside, last.message)
    assert world.agent.runs[1].prompt == seqs(inside)


async def test_r07_a_sender_that_takes_the_thread_first_carries_out_what_was_missed(world: World) -> None:
    """Its own message comes after what the ending run missed."""
    runner, sender = world.runner(), world.runner()
    ending, released = world.faulty.block(EndRun), world.faulty.block(Release, effect=True)
    first = await runner.send(world.ann, "t", "one")
    await ending.reached.wait()
    missed = await runner.send(world.ann, "t", "missed")
    ending.open.set()
    await released.reached.wait()
    own = await sender.send(world.ann, "t", "own")
    assert own.run is not None
    await own.run.wait()
    released.open.set()
    await world.expect_once(first.message, missed.message, own.message)
    assert world.agent.runs[1].prompt == seqs(missed.message)


async def test_r08_resume_ends_where_the_head_is_another_threads(world: World) -> None:
    """What it asked for is counted, and it claims twice at most."""
    await world.ann.create_thread("u")
    await world.ann.post_message("u", "elsewhere")
    assert await world.runner().resume(world.ann, "t") is None
    await asyncio.sleep(1000)
    assert world.faulty.count(Claim) <= 2
    assert await world.taken() == await world.ann.head()
    assert await world.is_at_rest()


@pytest.mark.parametrize("effect", [False, True])
async def test_r09_a_send_cancelled_as_its_turn_starts_loses_nothing(world: World, effect: bool) -> None:
    """Its message is carried out once."""
    gate = world.faulty.block(StartRun, effect=effect)
    sending = asyncio.create_task(world.runner().send(world.ann, "t", "one", message_id="m"))
    await gate.reached.wait()
    sending.cancel()
    await world.tick()
    gate.open.set()
    with pytest.raises(asyncio.CancelledError):
        await sending
    await world.settle()
    assert world.agent.given == await world.consumed() == [2]
    assert await world.is_at_rest()


@pytest.mark.parametrize("step", [Claim, LoadHistory, StartRun])
@pytest.mark.parametrize("effect", [False, True])
async def test_r09_a_runner_closed_during_a_hand_over_loses_nothing(
    world: World, step: type[object], effect: bool
) -> None:
    """The next process carries out what it was about to."""
    runner = world.runner()
    running = world.held(Complete())
    first = await runner.send(world.ann, "t", "one")
    await running.reached.wait()
    second = await runner.send(world.ann, "t", "two")
    gate = world.faulty.block(step, effect=effect)
    running.open.set()
    await gate.reached.wait()
    closing = asyncio.create_task(runner.aclose())
    await world.tick()
    gate.open.set()
    await closing
    assert await world.holder() is None
    await world.runner().recover(world.ann)
    await world.expect_once(first.message, second.message)


async def test_r10_a_resume_by_answers_takes_nothing_that_it_did_not_deliver(world: World) -> None:
    """What comes while it goes on, and is not taken by it, is the next turn's."""
    runner = world.runner()
    first = await world.paused(runner)
    resumed = world.held(Complete("done"))
    await runner.answer(world.ann, "t", {"q": Reply("yes")})
    await resumed.reached.wait()
    late = await runner.send(world.ann, "t", "late")
    await world.tick()
    resumed.open.set()
    await world.expect_once(first, late.message)
    assert world.agent.runs[2].prompt == seqs(late.message)


@pytest.mark.parametrize("dies", [False, True])
async def test_r11_recorded_steering_is_not_given_again(world: World, dies: bool) -> None:
    """Whether the end's answer is lost, or its process dies with it."""
    runner = world.runner()
    running = world.held(Take())
    first = await runner.send(world.ann, "t", "one")
    await running.reached.wait()
    steering = await runner.send(world.ann, "t", "two")
    await world.tick()
    if dies:
        gate = world.faulty.block(EndRun, effect=True)
        running.open.set()
        await gate.reached.wait()
        await world.lapse()
        await world.runner().recover(world.ann)
        gate.open.set()
    else:
        world.faulty.fail(EndRun, effect=True)
        running.open.set()
    await world.expect_once(first.message, steering.message)
    assert world.agent.given == [*seqs(first.message, steering.message)]


@pytest.mark.parametrize("step", [StartRun, ReplyStep, EndRun])
async def test_r12_a_consuming_write_that_is_rolled_back_moves_nothing(
    world: World, step: type[object]
) -> None:
    """`taken` and the log stand together, before and after."""
    runner = world.runner()
    if step is ReplyStep:
        await world.paused(runner)
    before, taken = await world.consumed(), await world.taken()
    gate = world.faulty.block(step, error=world.faulty.down)
    sending = asyncio.create_task(runner.send(world.ann, "t", "one"))
    await gate.reached.wait()
    if step is not EndRun:
        assert (await world.consumed(), await world.taken()) == (before, taken)
        gate.open.set()
        with pytest.raises(world.faulty.down):
            await sending
        assert (await world.consumed(), await world.taken()) == (before, taken)
        await runner.resume(world.ann, "t")
    else:
        gate.open.set()
        await sending
    await world.settle()
    consumed = await world.consumed()
    assert len(consumed) == len(before) + 1
    assert await world.taken() >= consumed[-1]
    assert await world.is_at_rest()


async def test_r13_a_reply_that_races_an_answer_leaves_the_answer(world: World) -> None:
    """The holder plans again: the message goes with the resume."""
    runner, other = world.runner(), world.runner()
    first = await world.paused(runner)
    gate = world.faulty.block(ReplyStep)
    sending = asyncio.create_task(runner.send(world.ann, "t", "reply"))
    await gate.reached.wait()
    await other.answer(world.ann, "t", {"q": Reply("answer")})
    gate.open.set()
    sent = await sending
    await world.expect_once(first, sent.message)
    assert world.agent.runs[1].answers == {"q": Reply("answer")}
    assert world.agent.runs[1].prompt == seqs(sent.message)


async def test_r14_what_was_left_to_a_holder_that_failed_is_handed_over(world: World) -> None:
    """It was asked after the holder's read."""
    runner, other = world.runner(), world.runner()
    gate = world.faulty.block(LoadHistory, error=world.faulty.down)
    sending = asyncio.create_task(runner.send(world.ann, "t", "one"))
    await gate.reached.wait()
    second = await other.send(world.ann, "t", "two")
    assert second.run is None
    gate.open.set()
    with pytest.raises(world.faulty.down):
        await sending
    await world.settle()
    assert await world.consumed() == [second.message.seq - 1, second.message.seq]
    assert await world.is_at_rest()


async def test_r14_what_a_holder_that_failed_has_read_waits_for_the_next_command(world: World) -> None:
    """Nothing newer is asked, so nothing is handed over; and nothing is lost."""
    runner = world.runner()
    world.faulty.fail(LoadHistory)
    with pytest.raises(world.faulty.down):
        await runner.send(world.ann, "t", "one")
    await asyncio.sleep(1000)
    assert await world.consumed() == []
    second = await runner.send(world.ann, "t", "two")
    await world.settle()
    assert await world.consumed() == [second.message.seq - 1, second.message.seq]


async def test_r14_what_was_left_to_a_holder_that_was_stopped_is_handed_over(world: World) -> None:
    """Its own input, and what it refused."""
    runner, other = world.runner(), world.runner()
    gate = world.faulty.block(LoadHistory)
    sending = asyncio.create_task(runner.send(world.ann, "t", "one"))
    await gate.reached.wait()
    second = await other.send(world.ann, "t", "two")
    sending.cancel()
    await world.tick()
    gate.open.set()
    with pytest.raises(asyncio.CancelledError):
        await sending
    await world.settle()
    assert await world.consumed() == [second.message.seq - 1, second.message.seq]
    assert await world.is_at_rest()


async def test_r15_a_threads_first_run_loses_nothing(world: World) -> None:
    """What was posted before its first command is consumed first."""
    posted = [await world.ann.post_message("t", text) for text in ("one", "two")]
    sent = await world.runner().send(world.ann, "t", "three")
    await world.expect_once(*posted, sent.message)
    assert world.agent.runs[0].prompt == seqs(posted[0])


async def test_r16_another_authors_message_starts_the_next_turn(world: World) -> None:
    """The watcher stops before it, and takes nothing that comes after it."""
    runner = world.runner()
    running = world.held(Take())
    first = await runner.send(world.ann, "t", "one")
    await running.reached.wait()
    own = await runner.send(world.ann, "t", "mine")
    bobs = await runner.send(world.bob, "t", "bob's")
    last = await runner.send(world.ann, "t", "after bob's")
    await world.tick()
    running.open.set()
    await world.expect_once(first.message, own.message, bobs.message, last.message)
    assert world.agent.runs[0].delivered == [own.message.seq]
    assert [run.turn.actor for run in world.agent.runs] == [world.ann.actor, world.bob.actor, world.ann.actor]
    assert world.agent.runs[1].prompt == seqs(bobs.message)


async def test_r17_a_resumed_run_acts_for_the_last_to_answer(world: World) -> None:
    """It takes the log up to just before another's message."""
    runner = world.runner()
    first = await world.paused(runner, Request("q1", "question", "ask"), Request("q2", "question", "ask"))
    bobs, anns = await world.bob.post_message("t", "b"), await world.ann.post_message("t", "a")
    await world.do(Answer("t", {"q1": Reply("ann's")}, world.ann.actor))
    await runner.answer(world.bob, "t", {"q2": Reply("bob's")})
    await world.expect_once(first, bobs, anns)
    resumed, after = world.agent.runs[1:]
    assert (resumed.turn.actor, resumed.prompt) == (PersonActor("bob"), seqs(bobs))
    assert (after.turn.actor, after.prompt) == (PersonActor("ann"), seqs(anns))
