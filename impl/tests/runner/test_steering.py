"""Steering: what arrives while a run goes on is given to it once, or left to the next turn."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from threadclaim.events import Request
from threadclaim.testing import Action, Complete, Fail, Pause, Raise, Take

if TYPE_CHECKING:
    from tests.runner.conftest import World

pytestmark = pytest.mark.anyio

TTL = 30.0
QUESTION = Request("q", "question", "ask")


@pytest.mark.parametrize("end", [Complete(), Fail("no"), Raise(ValueError("no"))])
async def test_what_a_run_was_given_is_recorded_with_its_end(world: World, end: Action) -> None:
    """Completed or failed; a turn that raises has said nothing of it, so it is given again."""
    runner = world.runner()
    running = world.held(Take(), end)
    first = await runner.send(world.ann, "t", "one")
    await running.reached.wait()
    second = await runner.send(world.ann, "t", "two")
    await world.tick()
    running.open.set()
    await world.expect_once(first.message, second.message)
    assert len(world.agent.runs) == (2 if isinstance(end, Raise) else 1)


async def test_what_a_pausing_run_was_given_is_no_reply(world: World) -> None:
    """It is taken with the pause."""
    runner = world.runner()
    running = world.held(Take(), Pause((QUESTION,)))
    first = await runner.send(world.ann, "t", "one")
    await running.reached.wait()
    second = await runner.send(world.ann, "t", "two")
    await world.tick()
    running.open.set()
    await world.expect_once(first.message, second.message)
    run = await world.run_row()
    assert run is not None
    assert run.open_requests == (QUESTION,)


async def test_what_a_failed_request_carried_is_the_next_turns(world: World) -> None:
    """It was taken of the watcher, and not delivered."""
    runner = world.runner()
    running = world.held(Take(answered=False), Fail("no"))
    first = await runner.send(world.ann, "t", "one")
    await running.reached.wait()
    second = await runner.send(world.ann, "t", "two")
    await world.tick()
    running.open.set()
    await world.expect_once(first.message, second.message)
    assert world.agent.runs[1].prompt == (second.message.seq,)


async def test_a_run_is_given_no_notice_and_no_other_threads_message(world: World) -> None:
    """Only what is said in its thread."""
    await world.ann.create_thread("u")
    runner = world.runner()
    running = world.held(Take())
    first = await runner.send(world.ann, "t", "one")
    await running.reached.wait()
    await world.ann.post_message("t", "notice", kind="notice")
    await world.ann.post_message("u", "elsewhere")
    await world.tick()
    running.open.set()
    await world.expect_once(first.message)
    assert world.agent.runs[0].taken == []


async def test_a_direct_message_steers_a_run_that_goes_on(world: World) -> None:
    """Though it asks for nothing."""
    runner = world.runner()
    running = world.held(Take())
    first = await runner.send(world.ann, "t", "one")
    await running.reached.wait()
    direct = await world.ann.post_message("t", "direct")
    await world.tick()
    running.open.set()
    await world.expect_once(first.message, direct)
    assert world.agent.runs[0].delivered == [direct.seq]


async def test_a_watcher_that_fails_leaves_what_comes_to_the_next_turn(world: World) -> None:
    """The run goes on, and ends as it would have."""
    runner = world.runner()
    running = world.held(Take())
    world.faulty.deaf = True
    first = await runner.send(world.ann, "t", "one")
    await running.reached.wait()
    second = await runner.send(world.ann, "t", "two")
    await asyncio.sleep(1)
    running.open.set()
    world.faulty.deaf = False
    await world.expect_once(first.message, second.message)
    assert await world.ends() == ["completed", "completed"]


async def test_a_watcher_that_fails_tries_again_from_where_it_stood(world: World) -> None:
    """A run that goes on is given what came meanwhile, once storage answers."""
    runner = world.runner()
    running = world.held(Take())
    world.faulty.deaf = True
    first = await runner.send(world.ann, "t", "one")
    await running.reached.wait()
    second = await runner.send(world.ann, "t", "two")
    await asyncio.sleep(1)
    world.faulty.deaf = False
    await asyncio.sleep(TTL)
    running.open.set()
    await world.expect_once(first.message, second.message)
    assert world.agent.runs[0].delivered == [second.message.seq]


async def test_nothing_of_a_run_is_alive_once_it_has_ended(world: World) -> None:
    """Its watcher and its renewals among it."""
    runner = world.runner()
    before = asyncio.all_tasks()
    await runner.send(world.ann, "t", "one")
    await world.settle()
    assert asyncio.all_tasks() == before
