"""Commands that are cancelled or fail, at each of their calls: a message is carried out once, or waits."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from threadclaim.events import Reply, Request
from threadclaim.steps import EndRun, Release, Send
from threadclaim.testing import Take
from threadclaim.thread import RunStatus

if TYPE_CHECKING:
    from tests.runner.conftest import World

pytestmark = pytest.mark.anyio

TTL = 30.0

CALLS = range(1, 7)
"""Of a send to an idle thread: send, claim, history, start, end, release."""

REPLY_CALLS = range(1, 8)
"""Of a reply: send, claim, reply, history, start, end, release."""


async def test_twenty_sends_at_once_from_two_processes(world: World) -> None:
    """Each message is consumed once, and each given once."""
    runners = world.runner(), world.runner()
    sends = [runners[number % 2].send(world.ann, "t", f"message {number}") for number in range(20)]
    sent = await asyncio.gather(*sends)
    await world.expect_once(*(one.message for one in sent))
    assert sorted(world.agent.given) == sorted(one.message.seq for one in sent)


async def test_twenty_sends_of_two_authors_are_given_in_order(world: World) -> None:
    """No run takes what is not its author's."""
    runner = world.runner()
    authors = [(world.ann, world.bob)[number % 2] for number in range(20)]
    sent = [await runner.send(author, "t", f"message {number}") for number, author in enumerate(authors)]
    await world.expect_once(*(one.message for one in sent))
    assert world.agent.given == [one.message.seq for one in sent]
    authors_of = {one.message.seq: one.message.actor for one in sent}
    for run in world.agent.runs:
        assert {authors_of[seq] for seq in (*run.prompt, *run.delivered)} == {run.turn.actor}


@pytest.mark.parametrize("effect", [False, True])
@pytest.mark.parametrize("call", CALLS)
async def test_a_send_cancelled_at_any_call_is_carried_out_once(
    world: World, call: int, effect: bool
) -> None:
    """Before the call takes effect, and before its answer comes."""
    gate = world.faulty.block(None, effect=effect, nth=call)
    sending = asyncio.create_task(world.runner().send(world.ann, "t", "one"))
    await gate.reached.wait()
    sending.cancel()
    await world.tick()
    gate.open.set()
    await asyncio.gather(sending, return_exceptions=True)
    await world.settle()
    assert world.agent.given == await world.consumed() == [2]
    assert await world.is_at_rest()
    assert await world.ends() == ["completed"]


@pytest.mark.parametrize("effect", [False, True])
@pytest.mark.parametrize("call", REPLY_CALLS)
async def test_a_reply_cancelled_at_any_call_is_carried_out_once(
    world: World, call: int, effect: bool
) -> None:
    """The run resumes with it."""
    runner = world.runner()
    await world.paused(runner)
    gate = world.faulty.block(None, effect=effect, nth=call)
    sending = asyncio.create_task(runner.send(world.ann, "t", "yes"))
    await gate.reached.wait()
    sending.cancel()
    await world.tick()
    gate.open.set()
    await asyncio.gather(sending, return_exceptions=True)
    await world.settle()
    assert len(await world.consumed()) == 2
    assert [dict(run.answers) for run in world.agent.runs] == [{}, {"q": Reply("yes")}]
    assert await world.is_at_rest()
    assert await world.ends() == ["completed"]


@pytest.mark.parametrize("effect", [False, True])
@pytest.mark.parametrize("call", range(1, 7))
async def test_an_answer_cancelled_at_any_call_resumes_the_run_once(
    world: World, call: int, effect: bool
) -> None:
    """The answer is committed once, and the run goes on."""
    runner = world.runner()
    await world.paused(runner)
    gate = world.faulty.block(None, effect=effect, nth=call)
    answering = asyncio.create_task(runner.answer(world.ann, "t", {"q": Reply("yes")}))
    await gate.reached.wait()
    answering.cancel()
    await world.tick()
    gate.open.set()
    await asyncio.gather(answering, return_exceptions=True)
    await world.settle()
    assert [dict(run.answers) for run in world.agent.runs] == [{}, {"q": Reply("yes")}]
    assert await world.is_at_rest()
    assert await world.ends() == ["completed"]


@pytest.mark.parametrize("error", ["down", "cancelled"])
@pytest.mark.parametrize("effect", [False, True])
@pytest.mark.parametrize("call", CALLS)
async def test_a_call_that_fails_once_loses_nothing(
    world: World, call: int, effect: bool, error: str
) -> None:
    """The message is carried out, or left to the next command; never twice, and the thread is not stuck."""
    raised = world.faulty.down if error == "down" else asyncio.CancelledError
    world.faulty.fail(None, effect=effect, nth=call, error=raised)
    runner = world.runner()
    sending = asyncio.create_task(runner.send(world.ann, "t", "one"))
    await asyncio.gather(sending, return_exceptions=True)
    await asyncio.sleep(TTL / 2)  # in which recording an end is tried again
    if await world.holder() is not None:  # its release failed: the claim lapses, and a look comes
        assert isinstance(world.faulty.steps[-1], Release)
        await world.lapse()
    await asyncio.sleep(1000)
    assert await world.holder() is None
    second = await runner.send(world.ann, "t", "two")
    await asyncio.sleep(1000)
    messages = [entry.seq for entry in await world.ann.read() if entry.is_message]
    assert second.message.seq == messages[-1]
    assert await world.consumed() == messages
    assert len(world.agent.given) == len(set(world.agent.given))
    assert await world.is_at_rest()


@pytest.mark.parametrize("effect", [False, True])
@pytest.mark.parametrize("call", REPLY_CALLS)
async def test_a_call_of_a_reply_that_fails_once_loses_nothing(world: World, call: int, effect: bool) -> None:
    """The run resumes, at the next command at the latest, and answers once."""
    runner = world.runner()
    await world.paused(runner)
    world.faulty.fail(None, effect=effect, nth=call)
    sending = asyncio.create_task(runner.send(world.ann, "t", "yes"))
    await asyncio.gather(sending, return_exceptions=True)
    await asyncio.sleep(TTL / 2)  # in which recording an end is tried again
    if await world.holder() is not None:  # its release failed: the claim lapses, and a look comes
        assert isinstance(world.faulty.steps[-1], Release)
        await world.lapse()
    await asyncio.sleep(1000)
    assert await world.holder() is None
    await runner.send(world.ann, "t", "more")
    await asyncio.sleep(1000)
    assert await world.consumed() == [entry.seq for entry in await world.ann.read() if entry.is_message]
    assert await world.status() is RunStatus.ENDED
    assert await world.is_at_rest()


async def test_a_storage_that_fails_for_long_is_not_called_without_end(world: World) -> None:
    """Whatever fails, a command makes few calls, and none by and by."""
    runner = world.runner()
    world.faulty.fail(None, nth=2, times=10_000)
    with pytest.raises(world.faulty.down):
        await runner.send(world.ann, "t", "one")
    await asyncio.sleep(10_000)
    calls = len(world.faulty.steps)
    assert calls < 10
    await asyncio.sleep(10_000)
    assert len(world.faulty.steps) == calls
    world.faulty.heal()
    await runner.resume(world.ann, "t")
    await world.settle()
    assert await world.consumed() == [2]


async def test_a_send_that_took_effect_unheard_is_carried_out_once(world: World) -> None:
    """And a retry with its message's id is refused, for the first is carried out."""
    runner = world.runner()
    world.faulty.fail(Send, effect=True)
    with pytest.raises(world.faulty.down):
        await runner.send(world.ann, "t", "one", message_id="m")
    await world.settle()
    assert world.agent.given == [2]


async def test_an_end_that_fails_is_tried_again_and_its_steering_given_once(world: World) -> None:
    """Nobody died, and nothing lapsed."""
    runner = world.runner()
    running = world.held(Take())
    first = await runner.send(world.ann, "t", "one")
    await running.reached.wait()
    second = await runner.send(world.ann, "t", "two")
    await world.tick()
    world.faulty.fail(EndRun, times=5)
    running.open.set()
    await world.expect_once(first.message, second.message)
    assert world.agent.given == [first.message.seq, second.message.seq]
    assert world.faulty.count(EndRun) == 6


async def test_answers_to_some_requests_leave_the_run_paused(world: World) -> None:
    """It resumes once every request is answered, with all the answers."""
    runner = world.runner()
    await world.paused(runner, Request("a", "question", "ask"), Request("b", "question", "ask"))
    first = await runner.answer(world.ann, "t", {"a": Reply("1")})
    assert first.run is None
    await world.settle()
    assert await world.status() is RunStatus.PAUSED
    second = await runner.answer(world.ann, "t", {"b": Reply("2")})
    assert second.run is not None
    await world.settle()
    assert world.agent.runs[1].answers == {"a": Reply("1"), "b": Reply("2")}


async def test_the_handle_gives_the_runs_own_result(world: World) -> None:
    """It waits for no hand-over."""
    sent = await world.runner().send(world.ann, "t", "one")
    assert sent.run is not None
    assert await sent.run.wait() == world.agent.runs[0].outcome


@pytest.mark.parametrize("effects", [(a, b) for a in (False, True) for b in (False, True)])
@pytest.mark.parametrize("calls", [(i, j) for j in range(2, 10) for i in range(1, j)])
async def test_two_calls_that_fail_lose_nothing(
    world: World, calls: tuple[int, int], effects: tuple[bool, bool]
) -> None:
    """With two processes and two messages: each is consumed once, at the next command at the latest."""
    for call, effect in zip(calls, effects, strict=True):
        world.faulty.fail(None, effect=effect, nth=call)
    runners = world.runner(), world.runner()
    sends = (runner.send(world.ann, "t", "text") for runner in runners)
    await asyncio.gather(*sends, return_exceptions=True)
    await asyncio.sleep(TTL / 2)
    if await world.holder() is not None:
        await world.lapse()
    await asyncio.sleep(1000)
    assert await world.holder() is None
    world.faulty.heal()
    await runners[0].resume(world.ann, "t")
    await world.settle()
    assert await world.consumed() == [entry.seq for entry in await world.ann.read() if entry.is_message]
    assert len(world.agent.given) == len(set(world.agent.given))
    assert await world.is_at_rest()
