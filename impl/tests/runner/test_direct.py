"""Runs made without the runner: what holds for them, held and not held (ADR-0055; DESIGN.md, repair j)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import anyio
import pytest

from threadclaim.direct import run_directly
from threadclaim.errors import ClaimLost, LimitError, RequestError, UnknownThread
from threadclaim.events import Request
from threadclaim.testing import Call, Pause, Raise
from threadclaim.thread import RunStatus
from threadclaim.turn import Completed, Failed, Stopped

if TYPE_CHECKING:
    from tests.runner.conftest import World

pytestmark = pytest.mark.anyio

QUESTION = Request("q", "question", "ask")


async def test_a_run_whose_thread_is_held_is_left_alone(world: World) -> None:
    """A message sent meanwhile waits for the runner's look, and is the next turn's, once."""
    runner = world.runner()
    running = world.held(Call("tool"))
    async with world.ann.claim_thread("t") as held:
        going = asyncio.ensure_future(run_directly(world.ann, "t", world.agent, "directly", held=held))
        await running.reached.wait()
        sent = await runner.send(world.ann, "t", "meanwhile")
        assert sent.run is None
        running.open.set()
        assert isinstance(await going, Completed)
    await asyncio.sleep(100)
    await world.expect_once(sent.message)
    assert await world.ends() == ["completed", "completed"]
    assert [run.texts for run in world.agent.runs] == [["directly"], ["meanwhile"]]


async def test_a_run_whose_thread_is_not_held_may_be_recorded_as_abandoned(world: World) -> None:
    """Nothing tells it from a dead one; its own end is refused then."""
    runner = world.runner()
    running = world.held()
    going = asyncio.ensure_future(run_directly(world.ann, "t", world.agent, "directly"))
    await running.reached.wait()
    sent = await runner.send(world.ann, "t", "meanwhile")
    await world.settle()
    running.open.set()
    assert isinstance(await going, Completed)
    await world.expect_once(sent.message)
    assert await world.ends() == ["abandoned", "completed"]


async def test_its_history_is_the_threads_and_moves_no_position(world: World) -> None:
    """The next turn knows what was said; a message asked for before is still consumed (repair p)."""
    asked = await world.ask("t", "asked before")
    async with world.ann.claim_thread("t") as held:
        await run_directly(world.ann, "t", world.agent, "directly", held=held)
    await world.runner().recover(world.ann)
    await world.expect_once(asked)
    assert len(world.agent.runs[-1].turn.history) == 1


async def test_a_dead_run_is_recorded_before_a_held_one_starts(world: World) -> None:
    """Its holder's claim had lapsed: whoever holds the thread now knows that it is dead."""
    await world.die_holding("dead", started=True)
    await world.lapse()
    async with world.ann.claim_thread("t") as held:
        await run_directly(world.ann, "t", world.agent, "directly", held=held)
    assert await world.ends() == ["abandoned", "completed"]


async def test_a_run_does_not_start_beside_another(world: World) -> None:
    """One that goes on unheld, or waits for its answers: refused, and nothing recorded."""
    await world.die_holding("active", started=True)
    with pytest.raises(RequestError, match="is active"):
        await run_directly(world.ann, "t", world.agent, "directly")
    await world.lapse()
    runner = world.runner()
    await runner.recover(world.ann)
    await world.settle()
    await world.paused(runner)
    async with world.ann.claim_thread("t") as held:
        with pytest.raises(RequestError, match="is paused"):
            await run_directly(world.ann, "t", world.agent, "directly", held=held)
    assert await world.status() is RunStatus.PAUSED


async def test_a_run_that_pauses_is_resumed_by_a_runner(world: World) -> None:
    """The oldest message is its reply."""
    world.agent.then(Pause((QUESTION,)))
    async with world.ann.claim_thread("t") as held:
        await run_directly(world.ann, "t", world.agent, "directly", held=held)
    assert await world.status() is RunStatus.PAUSED
    sent = await world.runner().send(world.ann, "t", "so")
    await world.expect_once(sent.message)
    assert await world.ends() == ["completed"]


@pytest.mark.parametrize("scope", [False, True])
async def test_a_cancelled_run_is_stopped_and_its_end_recorded(world: World, scope: bool) -> None:
    """However often it is cancelled: nothing of it is alive when the cancellation is raised."""
    running = world.held()
    with anyio.CancelScope() as cancels:
        async with world.ann.claim_thread("t") as held:
            going = asyncio.ensure_future(run_directly(world.ann, "t", world.agent, "directly", held=held))
            await running.reached.wait()
            if scope:
                going.cancel()
                await asyncio.wait([going])
                cancels.cancel()
            else:
                going.cancel()
                going.cancel()
                await asyncio.wait([going])
    assert going.cancelled()
    assert isinstance(world.agent.runs[0].outcome, Stopped)
    assert await world.ends() == ["stopped"]
    assert await world.is_at_rest()


async def test_a_lost_claim_stops_it(world: World) -> None:
    """As soon as a renewal finds it gone."""
    world.held()
    async with world.ann.claim_thread("t") as held:
        going = asyncio.ensure_future(run_directly(world.ann, "t", world.agent, "directly", held=held))
        await world.tick()
        await world.lapse()
        assert isinstance(await going, Stopped)
    assert await world.ends() == ["stopped"]


async def test_a_claim_that_has_lapsed_starts_nothing(world: World) -> None:
    """Its start relies on it."""
    async with world.ann.claim_thread("t") as held:
        await world.lapse()
        with pytest.raises(ClaimLost):
            await run_directly(world.ann, "t", world.agent, "directly", held=held)
    assert await world.run_row() is None


async def test_an_agent_that_fails_is_a_failed_run(world: World) -> None:
    """Nothing is raised for it."""
    world.agent.then(Raise(ValueError("no")))
    outcome = await run_directly(world.ann, "t", world.agent, "directly")
    assert isinstance(outcome, Failed)
    assert await world.ends() == ["failed"]


async def test_bad_input_is_refused_at_the_door(world: World) -> None:
    """And nothing is recorded."""
    await world.ann.create_thread("u")
    with pytest.raises(UnknownThread):
        await run_directly(world.ann, "none", world.agent, "directly")
    with pytest.raises(LimitError):
        await run_directly(world.ann, "t", world.agent, " ")
    async with world.ann.claim_thread("u") as held:
        with pytest.raises(RequestError, match="Hold the run's own thread"):
            await run_directly(world.ann, "t", world.agent, "directly", held=held)
    assert await world.run_row() is None
