"""Tasks cancelled before their first step, and runners stopped or closed on any turn of the loop.

A task that is cancelled before its first step never enters its `try`: nothing that must be undone may be left
to one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from threadclaim.errors import RunnerClosed
from threadclaim.steps import Claim, Renew
from threadclaim.storage import InMemoryStorage, Storage
from threadclaim.testing import Take

if TYPE_CHECKING:
    from tests.runner.conftest import World, Worlds

pytestmark = pytest.mark.anyio

TTL = 30.0


async def made(name: str) -> asyncio.Task[object]:
    """The task of this name, on the turn of the loop that makes it: it has not begun."""
    for _ in range(100_000):  # a server takes some hundreds
        for task in asyncio.all_tasks():
            if task.get_name() == name:
                return task
        await asyncio.sleep(0)
    pytest.fail(f"No task {name!r} was made.")


async def test_a_task_cancelled_before_its_first_step_never_enters_its_try() -> None:
    """What the runner is made for: asyncio's own rule, on every Python that is supported."""
    entered = []

    async def careful() -> None:
        try:
            entered.append("try")
        finally:
            entered.append("finally")

    task = asyncio.create_task(careful())
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert entered == []


async def test_a_send_cancelled_before_its_first_step_commits_nothing(world: World) -> None:
    """It has not begun."""
    sending = asyncio.create_task(world.runner().send(world.ann, "t", "one"))
    sending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sending
    assert world.faulty.steps == []
    assert await world.ann.head() == 1


async def test_a_send_cancelled_before_its_claimants_first_step_hands_over(world: World) -> None:
    """Its message is committed, its claimant's task made and not begun: the claim is made all the same."""
    sending = asyncio.create_task(world.runner().send(world.ann, "t", "one"))
    assert not (await made("claimant of t")).done()
    assert world.faulty.count(Claim) == 0
    sending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sending
    await world.settle()
    assert world.agent.given == await world.consumed() == [2]
    assert await world.is_at_rest()


async def test_a_turn_stopped_before_its_first_step_gives_its_claim_up(world: World) -> None:
    """The turn's task is made and not begun: nothing is consumed; the hand-over carries the message out."""
    sending = asyncio.create_task(world.runner().send(world.ann, "t", "one"))
    turn = await made("turn of t")
    sending.cancel()
    await asyncio.wait([turn, sending])
    assert turn.cancelled()
    await world.settle()
    assert world.agent.given == await world.consumed() == [2]
    assert len(world.agent.runs) == 1
    assert await world.is_at_rest()


async def test_renewals_that_end_before_their_first_step_leave_no_claim(world: World) -> None:
    """A claim that is granted and found lost at once is kept by nobody."""
    gate = world.faulty.block(Claim, effect=True)
    sending = asyncio.create_task(world.runner().send(world.ann, "t", "one"))
    await gate.reached.wait()
    sending.cancel()
    await world.tick()
    gate.open.set()
    await asyncio.wait([sending])
    await world.settle()
    await asyncio.sleep(3 * TTL)
    assert world.faulty.count(Renew) == 0
    assert await world.is_at_rest()


async def test_a_run_stopped_on_any_turn_of_the_loop_loses_nothing(
    worlds: Worlds, loop_turns: Iterator[int], storage: Storage
) -> None:
    """From the send's first step to the run's end: what was consumed is recorded, the rest handed over.

    Over a database how many turns a run takes is its machine's matter, so there it may be over at each look.
    """
    stopped = []
    for turns in loop_turns:
        world = await worlds()
        runner = world.runner()
        sending = asyncio.create_task(runner.send(world.ann, "t", "one"))
        for _ in range(turns):
            await asyncio.sleep(0)
        is_over = sending.done() and runner.running(world.ann, "t") is None
        stopped.append(await runner.stop(world.ann, "t"))
        await sending
        await world.settle()
        assert await world.consumed() == [2]
        assert await world.is_at_rest()
        assert await world.ends() in (["completed"], ["stopped"])
        assert len(world.agent.runs) == 1
        if is_over:
            break
    assert True in stopped or not isinstance(storage, InMemoryStorage), "Some were stopped as they ran."


@pytest.mark.parametrize("within", [0.0, 10.0])
async def test_a_runner_closed_on_any_turn_of_the_loop_loses_nothing(
    worlds: Worlds, loop_turns: Iterator[int], within: float
) -> None:
    """Whoever waits is told; the next process carries out what is left, and nothing is given twice.

    With 0 s to wait for storage it ends as by a crash, some tasks cancelled before their first step.
    """
    for turns in loop_turns:
        world = await worlds()
        doomed = world.runner(close_within=within)
        sending = asyncio.create_task(doomed.send(world.ann, "t", "one"))
        for _ in range(turns):
            await asyncio.sleep(0)
        is_over = sending.done() and doomed.running(world.ann, "t") is None
        await doomed.aclose()
        (came,) = await asyncio.gather(sending, return_exceptions=True)
        assert not isinstance(came, BaseException) or isinstance(came, RunnerClosed)
        await world.tick()
        await expect_the_next_process_to_see_to_it(world)
        if is_over:
            break
    assert turns > 10, "Some were closed as their claims were made."


async def expect_the_next_process_to_see_to_it(world: World) -> None:
    """Expect a sweep, once a dead claim has lapsed, to carry out whatever has not been carried out."""
    if await world.holder() is not None:
        await world.lapse()
    await world.runner().recover(world.ann)
    await world.settle()
    assert await world.consumed() == [entry.seq for entry in await world.ann.read() if entry.is_message]
    assert len(world.agent.given) == len(set(world.agent.given))
    assert await world.is_at_rest()


async def test_a_runner_closed_on_any_turn_of_a_hand_over_loses_nothing(
    worlds: Worlds, loop_turns: Iterator[int]
) -> None:
    """A message that the ending run missed is the next process's, and is given once."""
    for turns in loop_turns:
        world = await worlds()
        doomed, other = world.runner(), world.runner()
        running = world.held()
        await doomed.send(world.ann, "t", "one")
        await running.reached.wait()
        missed = await other.send(world.ann.as_actor(world.bob.actor), "t", "two")
        running.open.set()
        for _ in range(turns):
            await asyncio.sleep(0)
        is_over = missed.message.seq in world.agent.given
        await doomed.aclose()
        await expect_the_next_process_to_see_to_it(world)
        if is_over:
            break
    assert turns > 5, "Some were closed before the hand-over had begun."


async def test_nothing_of_a_closed_runner_is_alive(worlds: Worlds) -> None:
    """On whatever turn of the loop it was closed: no task of its own goes on, and no timer comes."""
    before = asyncio.all_tasks()
    for turns in range(40):
        world = await worlds()
        runner = world.runner()
        world.agent.then(Take())
        sending = asyncio.create_task(runner.send(world.ann, "t", "one"))
        for _ in range(turns):
            await asyncio.sleep(0)
        await runner.aclose()
        await asyncio.gather(sending, return_exceptions=True)
        await world.tick()
        assert asyncio.all_tasks() == before
        calls = len(world.faulty.steps)
        await asyncio.sleep(10 * TTL)
        assert len(world.faulty.steps) == calls
