"""Each turn's trace as the runner makes it: whose span it links to, and what is of it (ADR-0035)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
from opentelemetry import trace

from tests.runner.faults import CALLER
from tests.traced import Traced, context_of, link_ids
from threadclaim.events import Reply, Request, RunEnded, RunPaused, RunStarted, ToolCalled
from threadclaim.steps import EndRun
from threadclaim.telemetry import link_from
from threadclaim.testing import Action, Call, Complete, Fail, Pause, Raise, Take

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

    from tests.runner.conftest import Context, World
    from tests.runner.faults import Gate
    from threadclaim.events import Envelope, Event

pytestmark = pytest.mark.anyio

TTL = 30.0
QUESTION = Request("q", "question", "ask")


@pytest.fixture
def traced(monkeypatch: pytest.MonkeyPatch) -> Iterator[Traced]:
    """The application's tracing, which is this test's own."""
    traced = Traced()
    monkeypatch.setattr(trace, "get_tracer", traced.provider.get_tracer)
    yield traced
    traced.provider.shutdown()


def only(traced: Traced, name: str) -> ReadableSpan:
    """The one span of this name."""
    (span,) = traced.named(name)
    return span


def span_id(traced: Traced, name: str) -> str:
    """Its id, as links have it."""
    return trace.format_span_id(context_of(only(traced, name)).span_id)


def links(traced: Traced) -> list[list[str]]:
    """What each turn links to, in the order that the turns ended: the names of spans of this test."""
    names = {trace.format_span_id(context_of(span).span_id): span.name for span in traced.ended}
    return [[names[link] for link in link_ids(turn)] for turn in traced.named("turn")]


async def steered(world: World, running: Gate) -> None:
    """Let the run at this gate take what its watcher has read, which a file or a server tells later."""
    await running.reached.wait()
    await world.tick()
    running.open.set()
    await world.settle()


async def entries(world: World, *kinds: type[Event]) -> list[Envelope]:
    """The thread's entries of these kinds."""
    return [entry for entry in await world.ann.read(threads=["t"]) if isinstance(entry.event, kinds)]


async def test_a_commands_turn_links_to_the_commands_span(world: World, traced: Traced) -> None:
    """Though it carries out an older message first; and it is a root, of a trace of its own."""
    with traced.tracer.start_as_current_span("post"):
        await world.ann.post_message("t", "older")
    running = world.held(Take())
    with traced.tracer.start_as_current_span("send"):
        await world.runner().send(world.ann, "t", "one")
    await steered(world, running)
    assert links(traced) == [["send"]]
    turn = only(traced, "turn")
    assert turn.parent is None
    assert context_of(turn).trace_id != context_of(only(traced, "send")).trace_id
    assert world.agent.runs[0].prompt == (2,)


@pytest.mark.parametrize("command", ["answer", "reply", "resume"])
async def test_a_resumes_turn_links_to_the_commands_span(world: World, traced: Traced, command: str) -> None:
    """Of an answer, of a message that replies, and of `resume`."""
    runner = world.runner()
    await world.paused(runner)
    with traced.tracer.start_as_current_span(command):
        if command == "answer":
            await runner.answer(world.ann, "t", {"q": Reply("yes")})
        elif command == "reply":
            await runner.send(world.ann, "t", "yes")
        else:
            await world.ann.post_message("t", "yes")
            await runner.resume(world.ann, "t")
    await world.settle()
    assert links(traced) == [[], [command]]


@pytest.mark.parametrize("by", ["ann", "bob"])
async def test_a_hand_overs_turn_links_to_where_its_message_was_committed(
    world: World, traced: Traced, by: str
) -> None:
    """And not to the command whose run hands over, nor to the last that was refused."""
    holder, other = world.runner(), world.runner()
    running = world.held(Complete("took no steering"))
    with traced.tracer.start_as_current_span("first"):
        await holder.send(world.ann, "t", "one")
    await running.reached.wait()
    world.agent.then(Complete("took none either"))
    for name in ("second", "third"):
        with traced.tracer.start_as_current_span(name):
            await other.send(world.ann if by == "ann" else world.bob, "t", name)
    running.open.set()
    await world.settle()
    assert links(traced) == [["first"], ["second"], ["third"]]


async def test_a_hand_overs_resume_links_to_where_its_answer_was_committed(
    world: World, traced: Traced
) -> None:
    """The answer came as the run paused, and its command was refused."""
    holder, other = world.runner(), world.runner()
    world.agent.then(Pause((QUESTION,)))
    ending = world.faulty.block(EndRun, effect=True)
    with traced.tracer.start_as_current_span("first"):
        await holder.send(world.ann, "t", "one")
    await ending.reached.wait()
    with traced.tracer.start_as_current_span("beside"):
        await world.ann.post_message("t", "beside the answer")
    with traced.tracer.start_as_current_span("answer"):
        answered = await other.answer(world.ann, "t", {"q": Reply("yes")})
    assert answered.run is None
    ending.open.set()
    await world.settle()
    assert links(traced) == [["first"], ["answer"]]


async def test_a_looks_turn_links_to_where_its_message_was_committed(world: World, traced: Traced) -> None:
    """Which is not the command that was refused, and looks again."""
    with traced.tracer.start_as_current_span("of the dead"):
        await world.die_holding("of the dead")
    with traced.tracer.start_as_current_span("refused"):
        await world.runner().send(world.bob, "t", "refused")
    await world.lapse()
    await asyncio.sleep(1.1 * TTL)
    await world.settle()
    assert links(traced) == [["of the dead"], ["refused"]]


async def test_a_sweeps_turn_links_to_where_its_message_was_committed(world: World, traced: Traced) -> None:
    """And not to the sweep's own span."""
    with traced.tracer.start_as_current_span("sent"):
        await world.ask("t")
    with traced.tracer.start_as_current_span("sweep"):
        await world.runner().recover(world.ann)
    await world.settle()
    assert links(traced) == [["sent"]]
    assert only(traced, "turn").parent is None


async def test_a_turn_whose_input_was_committed_without_a_span_links_to_nothing(
    world: World, traced: Traced
) -> None:
    """A sweep's; and a command's of an application that traces nothing."""
    await world.ask("t")
    with traced.tracer.start_as_current_span("sweep"):
        await world.runner().recover(world.ann)
    await world.settle()
    await world.runner().send(world.ann, "t", "one")
    await world.settle()
    assert links(traced) == [[], []]


async def test_each_turn_is_one_trace_and_the_thread_is_the_session(world: World, traced: Traced) -> None:
    """A pause ends a turn: the run's second segment is another trace, of the same run and session."""
    runner = world.runner()
    await world.paused(runner)
    await runner.answer(world.ann, "t", {"q": Reply("yes")})
    await world.settle()
    await runner.send(world.ann, "t", "another run")
    await world.settle()
    turns = traced.named("turn")
    assert len({context_of(turn).trace_id for turn in turns}) == len(turns) == 3
    told = [dict(turn.attributes or {}) for turn in turns]
    assert {each["session.id"] for each in told} == {each["gen_ai.conversation.id"] for each in told} == {"t"}
    assert told[0]["threadclaim.run.id"] == told[1]["threadclaim.run.id"] != told[2]["threadclaim.run.id"]
    assert len({each["threadclaim.holder"] for each in told}) == 3


async def test_what_a_turn_commits_is_of_its_trace(world: World, traced: Traced) -> None:
    """Its start, its facts and its end; what a command commits is of the command's."""
    world.agent.then(Call("tool"), Complete())
    with traced.tracer.start_as_current_span("send"):
        sent = await world.runner().send(world.ann, "t", "one")
    await world.settle()
    of_turn = await entries(world, RunStarted, ToolCalled, RunEnded)
    assert len(of_turn) == 3
    turn = context_of(only(traced, "turn"))
    for entry in of_turn:
        link = link_from(entry.traceparent)
        assert link is not None
        assert link.context.trace_id == turn.trace_id
    link = link_from(sent.message.traceparent)
    assert link is not None
    assert trace.format_span_id(link.context.span_id) == span_id(traced, "send")


@pytest.mark.parametrize(
    ("end", "outcome"),
    [
        (Complete(), "completed"),
        (Fail("no", "quota"), "failed"),
        (Raise(ValueError("no")), "failed"),
        (Raise(asyncio.CancelledError()), "failed"),
    ],
)
async def test_a_turns_span_says_what_the_log_says(
    world: World, traced: Traced, end: Action, outcome: str
) -> None:
    """The same word for how it ended, and none of the message's text."""
    world.agent.then(end)
    await world.runner().send(world.ann, "t", "the text of the message")
    await world.settle()
    (ended,) = await entries(world, RunEnded)
    turn = only(traced, "turn")
    assert isinstance(ended.event, RunEnded)
    assert ended.event.outcome == (turn.attributes or {})["threadclaim.outcome"] == outcome
    assert "the text" not in turn.to_json()


async def test_a_pause_and_a_stop_are_no_errors(world: World, traced: Traced) -> None:
    """Each is told by its name, and its span has no status of an error."""
    runner = world.runner()
    await world.paused(runner)
    running = world.held()
    await runner.send(world.ann, "t", "yes")
    await running.reached.wait()
    await runner.stop(world.ann, "t")
    await world.settle()
    turns = traced.named("turn")
    assert [(turn.attributes or {})["threadclaim.outcome"] for turn in turns] == ["paused", "stopped"]
    assert {turn.status.status_code for turn in turns} == {trace.StatusCode.UNSET}
    assert len(await entries(world, RunPaused)) == 1


async def test_a_turn_that_cannot_be_set_up_has_a_trace_that_says_so(
    world: World, traced: Traced, broken_context: Callable[..., Context]
) -> None:
    """It links to its command; the one that carries the message out is another."""
    runner = world.runner(turn_context=broken_context(failures=1))
    with traced.tracer.start_as_current_span("first"):
        await asyncio.gather(runner.send(world.ann, "t", "first"), return_exceptions=True)
    await world.settle()
    running = world.held(Take())
    with traced.tracer.start_as_current_span("second"):
        await runner.send(world.ann, "t", "second")
    await steered(world, running)
    outcomes = [(turn.attributes or {})["threadclaim.outcome"] for turn in traced.named("turn")]
    assert outcomes == ["failed", "completed"]
    assert links(traced) == [["first"], ["second"]]


async def test_nothing_of_a_callers_context_is_in_what_the_runner_does_by_itself(
    world: World, traced: Traced, broken_context: Callable[..., Context]
) -> None:
    """Not in a hand-over's turn, a look's or a sweep's: each has a context of its own."""
    context = broken_context()
    runner = world.runner(turn_context=context)
    other = world.runner(turn_context=context)
    token = CALLER.set("ann")
    with traced.tracer.start_as_current_span("sweep"):
        await world.ask("t")
        for run in await runner.recover(world.ann):  # a sweep's
            await run.wait()
        running = world.held(Take())
        await runner.send(world.ann, "t", "one")  # a command's
        await running.reached.wait()
        await other.send(world.bob, "t", "two")
        running.open.set()
        await world.settle()  # a hand-over's
        await world.die_holding("of the dead")
        await runner.send(world.ann, "t", "refused")
        looked = world.held(Take())
        await world.lapse()
        await asyncio.sleep(1.1 * TTL)
        await steered(world, looked)  # a look's
    CALLER.reset(token)
    sweeps, commands, *others = context.callers
    assert (sweeps, commands) == ("nobody", "ann")
    assert others == ["nobody"] * len(others) != []
    assert len(others) == 2, "the hand-over's and the look's"
    assert {turn.parent for turn in traced.named("turn")} == {None}
