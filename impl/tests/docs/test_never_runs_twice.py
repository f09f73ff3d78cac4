"""What never runs twice: a test for each such row of docs/what-may-run-twice.md."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from pydantic_ai import ToolCallPart

from tests.runner.faults import StorageDownError
from threadclaim.errors import SettledRequest, UsedMessageId
from threadclaim.events import (
    Approve,
    MessagePosted,
    Reply,
    RequestAnswered,
    RunEnded,
    RunStarted,
    ToolCalled,
)
from threadclaim.steps import Answer, Claim, EndRun, LoadHistory, RecordFact, Release, Send, StartRun
from threadclaim.steps import Reply as ReplyStep
from threadclaim.thread import RunStatus

if TYPE_CHECKING:
    from tests.docs.conftest import World

pytestmark = pytest.mark.anyio


async def paused(world: World, tool: str) -> str:
    """Have a run pause, for an answer to `ask` or an approval of `refund`; the request's id."""
    world.desk.script.append(ToolCallPart(tool))
    await world.runner().send(world.ann, "t", "one")
    await world.settle()
    run = (await world.ann.thread("t")).run
    assert run is not None
    assert run.status is RunStatus.PAUSED
    (request,) = run.open_requests
    return request.id


@pytest.mark.parametrize("step", [Send, Claim, LoadHistory])
async def test_a_prompt_is_given_once_if_its_process_dies_before_the_start(
    world: World, step: type[object]
) -> None:
    """The next process finds it asked for, and not taken."""
    await world.dies_after(step, "one")
    await world.recover()
    assert world.desk.told == ["one"]
    await world.expect_once()


@pytest.mark.parametrize("step", [StartRun, EndRun, Release])
async def test_a_prompt_is_not_given_again_if_its_process_dies_after_the_start(
    world: World, step: type[object]
) -> None:
    """It is consumed with the start, whatever comes of the run."""
    await world.dies_after(step, "one")
    told = list(world.desk.told)
    await world.recover()
    assert world.desk.told == told
    assert world.desk.times("one") <= 1
    await world.expect_once()


async def test_a_prompt_is_given_once_if_the_claim_lapses_before_the_start(world: World) -> None:
    """The start of a holder that has lost its claim is refused."""
    stalled, other = world.runner(), world.runner()
    gate = world.faulty.block(StartRun)
    sending = asyncio.create_task(stalled.send(world.ann, "t", "one"))
    await gate.reached.wait()
    await world.lapse()
    await other.resume(world.ann, "t")
    gate.open.set()
    sent = await sending
    assert sent.run is None
    await world.expect_once()
    assert world.desk.told == ["one"]
    assert len(await world.entries(RunStarted)) == 1


async def test_recorded_steering_is_not_given_again(world: World) -> None:
    """It is consumed with the end of the run that was told it, or with its pause."""
    world.desk.script.append(ToolCallPart("work"))
    process, cut = world.mortal(after=EndRun)
    work = world.desk.hold("work")
    await process.do(process.runner.send(world.ann, "t", "one"))
    await work.reached.wait()
    await world.sent(world.runner(), "two")
    work.open.set()
    await cut.wait()
    await world.kill(process)
    await world.recover()
    assert world.desk.told == ["one", "two"]
    await world.expect_once()


@pytest.mark.parametrize("step", [ReplyStep, StartRun, EndRun])
async def test_a_reply_answers_once(world: World, step: type[object]) -> None:
    """Whenever its process dies: the answered run resumes once, and is not resumed again if it died then."""
    await paused(world, "ask")
    await world.dies_after(step, "yes")
    await world.recover()
    assert len(await world.entries(RequestAnswered)) == 1
    assert world.desk.times("yes") == (0 if step is StartRun else 1)
    assert len([start for start in await world.entries(RunStarted) if start.resumed]) == 1
    await world.expect_once()


async def test_an_answer_given_again_is_refused(world: World) -> None:
    """The first took effect, and its answer was lost; it resumes the run all the same."""
    request_id = await paused(world, "ask")
    runner = world.runner()
    world.faulty.fail(Answer, effect=True)
    with pytest.raises(StorageDownError):
        await runner.answer(world.ann, "t", {request_id: Reply("yes")})
    with pytest.raises(SettledRequest):
        await runner.answer(world.ann, "t", {request_id: Reply("yes")})
    await world.settle()
    assert world.desk.times("yes") == 1
    assert await world.ends() == ["completed"]


async def test_an_approved_call_is_made_once(world: World) -> None:
    """The process dies as the tool has had its effect: the run is not resumed again."""
    request_id = await paused(world, "refund")
    process, _ = world.mortal()
    refund = world.desk.hold("work")
    await process.do(process.runner.answer(world.ann, "t", {request_id: Approve()}))
    await refund.reached.wait()
    await world.kill(process)
    await world.recover()
    assert world.desk.done == ["refund"]
    assert await world.ends() == ["abandoned"]


async def test_a_tool_is_not_called_again_because_its_run_died(world: World) -> None:
    """Nor is a request of the model made again: the run is recorded as failed, and not tried again."""
    world.desk.script.append(ToolCallPart("work"))
    process, _ = world.mortal()
    asked = world.desk.hold("model", 2)
    await process.do(process.runner.send(world.ann, "t", "one"))
    await asked.reached.wait()
    await world.kill(process)
    await world.recover()
    assert (world.desk.done, world.desk.requests) == (["work"], 2)
    assert await world.ends() == ["abandoned"]


async def test_a_fact_is_recorded_once_if_its_write_is_not_heard_of(world: World) -> None:
    """It is not written again; the run fails."""
    world.desk.script.append(ToolCallPart("work"))
    world.faulty.fail(RecordFact, effect=True)
    await world.runner().send(world.ann, "t", "one")
    await world.settle()
    assert len(await world.entries(ToolCalled)) == 1
    assert await world.ends() == ["failed"]


@pytest.mark.parametrize("effect", [False, True])
async def test_a_runs_end_is_recorded_once(world: World, effect: bool) -> None:
    """A write that fails is tried again; the second try of one that took effect is refused."""
    world.faulty.fail(EndRun, effect=effect)
    await world.runner().send(world.ann, "t", "one")
    await world.settle()
    assert world.faulty.count(EndRun) == 2
    assert await world.ends() == ["completed"]


async def test_a_run_is_kept_in_the_history_once(world: World) -> None:
    """It is kept with its end, in one write."""
    runner = world.runner()
    world.faulty.fail(EndRun, effect=True)
    await runner.send(world.ann, "t", "one")
    await world.settle()
    await runner.send(world.ann, "t", "two")
    await world.settle()
    assert world.desk.known == ["one", "two"]


async def test_a_message_sent_again_with_its_id_is_refused(world: World) -> None:
    """The first took effect, and its answer was lost; it is carried out all the same."""
    runner = world.runner()
    world.faulty.fail(Send, effect=True)
    with pytest.raises(StorageDownError):
        await runner.send(world.ann, "t", "one", message_id="m")
    with pytest.raises(UsedMessageId) as refused:
        await runner.send(world.ann, "t", "one", message_id="m")
    await world.settle()
    assert refused.value.repeats == next(entry for entry in await world.ann.read() if entry.is_message)
    assert world.desk.told == ["one"]
    assert len(await world.entries(MessagePosted)) == 1


async def test_a_notice_is_told_once(world: World) -> None:
    """To the next turn that starts, though its process dies."""
    await world.ann.post_message("t", "moved", kind="notice")
    process, _ = world.mortal()
    asked = world.desk.hold("model")
    await process.do(process.runner.send(world.ann, "t", "one"))
    await asked.reached.wait()
    await world.kill(process)
    await world.recover()
    await world.runner().send(world.ann, "t", "two")
    await world.settle()
    assert world.desk.told == ["<notice>moved</notice>", "one", "two"]


async def test_what_is_left_is_taken_once_by_however_many(world: World) -> None:
    """Three processes sweep at once, and again, and a fourth resumes: one run starts."""
    await world.dies_after(Send, "one")
    sweeping = [world.runner().recover(world.ann) for _ in range(3)]
    await asyncio.gather(*sweeping, world.runner().resume(world.ann, "t"))
    await world.recover()
    assert world.desk.told == ["one"]
    assert len(await world.entries(RunStarted)) == 1


@pytest.mark.parametrize("effect", [False, True])
async def test_what_was_refused_is_handed_over_once(world: World, effect: bool) -> None:
    """Though the release of its holder fails, which may have taken effect: a look takes it."""
    holder, refused = world.runner(), world.runner()
    asked = world.desk.hold("model")
    await world.sent(holder, "one")
    world.faulty.fail(Release, effect=effect)
    sent = await world.sent(refused, "two")
    # It comes too late for the run, whose one request is made.
    asked.open.set()
    await asyncio.sleep(0.001)
    await world.lapse()
    await asyncio.sleep(100)
    await world.settle()
    assert sent.run is None
    assert world.desk.told == ["one", "two"]
    assert len(await world.entries(RunEnded)) == 2
    await world.expect_once()
