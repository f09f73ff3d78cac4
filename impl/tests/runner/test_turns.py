"""A turn as the runner carries it out: what it is told, what surrounds it, and how it may go wrong."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.runner.conftest import QUESTION
from threadclaim.direct import run_directly
from threadclaim.errors import RunLeft
from threadclaim.events import Reply, RunEnded
from threadclaim.runner import Runner
from threadclaim.steps import EndRun, StartRun
from threadclaim.testing import Complete, Fail, Pause, Raise, Take
from threadclaim.turn import Failed, Stopped

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from tests.runner.conftest import World
    from threadclaim.events import Envelope
    from threadclaim.run import TurnContext
    from threadclaim.turn import TurnInput

pytestmark = pytest.mark.anyio


async def ended(world: World) -> list[RunEnded]:
    """The ends of the thread's runs."""
    return [e.event for e in await world.ann.read(threads=["t"]) if isinstance(e.event, RunEnded)]


# ---- Whose it is.


async def test_a_run_stays_its_starters_whoever_answers(world: World) -> None:
    """Ann's, though Bob answers it, by a command and then by a message: only whom it acts for changes."""
    runner = world.runner()
    await world.paused(runner, QUESTION)
    world.agent.then(Pause((replace(QUESTION, id="again"),)))
    await runner.answer(world.bob, "t", {"q": Reply("Bob's")})
    await world.settle()
    await runner.send(world.bob, "t", "Bob's message")
    await world.settle()
    await runner.send(world.bob, "t", "Bob's own run")
    await world.settle()
    ann, bob = world.ann.actor, world.bob.actor
    turns = [run.turn for run in world.agent.runs]
    assert [(turn.started_by, turn.actor) for turn in turns] == [
        (ann, ann),
        (ann, bob),
        (ann, bob),
        (bob, bob),
    ]
    assert len({turn.run_id for turn in turns[:3]}) == 1


async def test_a_run_that_another_asks_for_is_its_messages_authors(world: World) -> None:
    """Ann's message, for which Bob asks: it is her run. So is one that she makes directly and Bob answers."""
    await world.ann.post_message("t", "Ann's")
    runner = world.runner()
    await runner.resume(world.bob, "t")
    await world.settle()
    world.agent.then(Pause((QUESTION,)))
    async with world.ann.claim_thread("t") as held:
        await run_directly(world.ann, "t", world.agent, "directly", held=held)
    await runner.answer(world.bob, "t", {"q": Reply("Bob's")})
    await world.settle()
    ann, bob = world.ann.actor, world.bob.actor
    turns = [run.turn for run in world.agent.runs]
    assert [(turn.started_by, turn.actor) for turn in turns] == [(ann, ann), (ann, ann), (ann, bob)]


# ---- Notices.


async def test_a_turn_is_told_of_the_notices_since_the_last_began(world: World) -> None:
    """Each once, and never as a prompt: those before the first turn, during it, and as it is set up."""

    @asynccontextmanager
    async def posting(_turn: TurnInput) -> AsyncGenerator[None]:
        notices.append(await world.ann.post_message("t", "as it is set up", kind="notice"))
        yield

    notices: list[Envelope] = [await world.ann.post_message("t", "before", kind="notice")]
    runner = world.runner(turn_context=posting)
    running = world.held(Take())
    await runner.send(world.ann, "t", "one")
    await running.reached.wait()
    during = await world.ann.post_message("t", "during", kind="notice")
    running.open.set()
    await world.settle()
    await runner.send(world.ann, "t", "two")
    await world.settle()
    first, second = (run.turn for run in world.agent.runs)
    assert list(first.notices) == notices[:2]
    assert list(second.notices) == [during, notices[2]]
    assert first.prompt != second.prompt


# ---- A stop, as a run starts.


@pytest.mark.parametrize("close", [False, True])
async def test_a_stop_as_a_start_is_recorded_gives_the_run_its_input(world: World, close: bool) -> None:
    """The start consumed a message: the agent is given it, and then stopped (I1_ConsumedIsGiven)."""
    runner = world.runner()
    starting = world.faulty.block(StartRun)
    running = world.held()
    sending = asyncio.ensure_future(runner.send(world.ann, "t", "one"))
    await starting.reached.wait()
    closing = asyncio.ensure_future(runner.aclose() if close else halt(runner))
    await world.tick()
    starting.open.set()
    await closing
    sent = await sending
    assert sent.run is not None
    assert isinstance(await sent.run.wait(), Stopped)
    assert world.agent.runs[0].prompt == (sent.message.seq,)
    assert running.reached.is_set()
    assert await world.consumed() == [sent.message.seq]
    assert [event.outcome for event in await ended(world)] == ["stopped"]


async def halt(runner: Runner) -> None:
    """Ask every claimant of a runner to end, as a stop does of one whose run goes on."""
    for claimant in list(runner._claimants):  # noqa: SLF001  # `stop` finds only runs that have started
        claimant.halt()


# ---- What the application sets up around a turn.


def leaving(*, raises: BaseException | None = None, waits: asyncio.Event | None = None) -> TurnContext:
    """A turn_context that raises, or waits, as it is left."""

    @asynccontextmanager
    async def context(_turn: TurnInput) -> AsyncGenerator[None]:
        yield
        if waits is not None:
            await waits.wait()
        if raises is not None:
            raise raises

    return context


@pytest.mark.parametrize("error", [OSError("gone"), asyncio.CancelledError()])
async def test_a_context_that_fails_as_it_is_left_keeps_what_was_delivered(
    world: World, error: BaseException
) -> None:
    """The run failed; its steering was given, is recorded, and is given to nobody else."""
    runner = world.runner(turn_context=leaving(raises=error))
    running = world.held(Take())
    first = await runner.send(world.ann, "t", "one")
    await running.reached.wait()
    second = await runner.send(world.ann, "t", "two")
    await world.tick()
    running.open.set()
    await world.expect_once(first.message, second.message)
    assert len(world.agent.runs) == 1
    (end,) = await ended(world)
    assert end.outcome == "failed"
    assert "as it was left" in (end.error or "")


async def test_a_stop_as_the_context_is_left_does_not_undo_the_turn(world: World) -> None:
    """The agent's run had ended before it could be stopped: it has ended."""
    runner = world.runner(turn_context=leaving(waits=asyncio.Event()))
    sent = await runner.send(world.ann, "t", "one")
    await world.tick()
    await runner.stop(world.ann, "t")
    await world.expect_once(sent.message)
    assert await world.ends() == ["completed"]


async def test_a_context_that_swallows_an_error_fails_the_run(world: World) -> None:
    """What the turn came to is unknown then, and the run says whose fault that is."""

    @asynccontextmanager
    async def swallowing(_turn: TurnInput) -> AsyncGenerator[None]:
        with suppress(ValueError):
            yield

    world.agent.then(Raise(ValueError("no")))
    sent = await world.runner(turn_context=swallowing).send(world.ann, "t", "one")
    await world.expect_once(sent.message)
    (end,) = await ended(world)
    assert end.outcome == "failed"
    assert "turn_context swallowed" in (end.error or "")


# ---- What a turn may come to.


async def test_a_pause_that_asks_for_nothing_is_a_failure(world: World) -> None:
    """Nothing could resume it."""
    world.agent.then(Pause(()))
    sent = await world.runner().send(world.ann, "t", "one")
    assert sent.run is not None
    outcome = await sent.run.wait()
    assert isinstance(outcome, Failed)
    await world.expect_once(sent.message)
    assert await world.ends() == ["failed"]


@pytest.mark.parametrize(
    "end", [Complete("a\0b"), Complete("\ud83d"), Fail("a\0b"), Fail("no", reason="\ud83d")]
)
async def test_what_no_log_can_hold_fails_the_run_and_frees_the_thread(
    world: World, end: Complete | Fail
) -> None:
    """A turn of any framework's may come to it; it is recorded with escapes, and is not tried again."""
    world.agent.then(Take(), end)
    sent = await world.runner().send(world.ann, "t", "one")
    await world.expect_once(sent.message)
    (ended_as,) = await ended(world)
    assert ended_as.outcome == "failed"
    assert world.faulty.count(EndRun) == 1


async def test_whoever_waits_is_told_that_storage_does_not_answer_as_a_runner_closes(world: World) -> None:
    """A run whose end hangs in storage, and a send whose claimant hangs there."""
    runner = world.runner(close_within=1.0)
    ending, starting = world.faulty.block(EndRun), world.faulty.block(StartRun, nth=2)
    await world.ann.create_thread("u")
    sent = await runner.send(world.ann, "t", "one")
    await ending.reached.wait()
    hung = asyncio.ensure_future(runner.send(world.ann, "u", "two"))
    await starting.reached.wait()
    await runner.aclose()
    assert sent.run is not None
    with pytest.raises(RunLeft, match="what was committed stays"):
        await sent.run.wait()
    assert (await hung).run is None
