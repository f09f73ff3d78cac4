"""Commands cancelled at each of their awaits: by their task, by a scope around them, and again and again.

The awaits are counted and not listed: a command waits for a storage call, or for another turn of the loop;
how many there are these tests find by making it once, or by going on until it is over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING

import anyio
import pytest

from threadclaim.events import Reply
from threadclaim.testing import Take

if TYPE_CHECKING:
    from tests.runner.conftest import World, Worlds
    from tests.runner.faults import Gate
    from threadclaim.runner import Runner

pytestmark = pytest.mark.anyio

Command = Callable[["World", "Runner"], Awaitable[object]]
Cancel = Callable[[asyncio.Task[None], anyio.CancelScope], Awaitable[None]]


async def _send(world: World, runner: Runner) -> None:
    """To an idle thread: it starts a run."""
    await runner.send(world.ann, "t", "one")


async def _answer(world: World, runner: Runner) -> None:
    """Of a paused run: it resumes."""
    await runner.answer(world.ann, "t", {"q": Reply("yes")})


async def _resume(world: World, runner: Runner) -> None:
    """Of what was posted: it starts a run."""
    await runner.resume(world.ann, "t")


async def _recover(world: World, runner: Runner) -> None:
    """Of what a dead process asked for."""
    await runner.recover(world.ann)


COMMANDS: dict[str, Command] = {
    "send": _send,
    "reply": _send,
    "answer": _answer,
    "resume": _resume,
    "recover": _recover,
}


async def ready(worlds: Worlds, command: str) -> tuple[World, Runner]:
    """A world in which the command has something to do, and a runner to make it with."""
    world = await worlds()
    runner = world.runner()
    match command:
        case "reply" | "answer":
            await world.paused(runner)
        case "resume":
            await world.ann.post_message("t", "posted")
        case "recover":
            await world.ask("t")
        case _:
            pass
    world.faulty.steps.clear()
    return world, runner


async def within(scope: anyio.CancelScope, world: World, runner: Runner, command: Command) -> None:
    """Make a command within a scope that may cancel it."""
    with scope:
        await command(world, runner)


async def by_task(task: asyncio.Task[None], _: anyio.CancelScope) -> None:
    """Cancel the caller's task, once."""
    task.cancel()
    await asyncio.sleep(0)


async def by_scope(_: asyncio.Task[None], scope: anyio.CancelScope) -> None:
    """Cancel a scope around the call, which cancels on every turn of the loop until it is left."""
    scope.cancel()
    await asyncio.sleep(0)


async def again(task: asyncio.Task[None], scope: anyio.CancelScope) -> None:
    """Cancel the caller's task on five turns of the loop, and a scope around the call besides."""
    scope.cancel()
    for _ in range(5):
        task.cancel()
        await asyncio.sleep(0)


WAYS: dict[str, Cancel] = {"task": by_task, "scope": by_scope, "again": again}


async def expect_once(world: World, command: str) -> None:
    """Expect all that the log holds to be carried out once, if its ask was committed; and no claim left."""
    await world.settle()
    messages = [entry.seq for entry in await world.ann.read() if entry.is_message]
    is_asked = command != "resume" or await world.asked() > 0
    assert await world.consumed() == (messages if is_asked else [])
    assert len(world.agent.given) == len(set(world.agent.given))
    assert await world.is_at_rest()
    assert set(await world.ends()) <= {"completed"}


async def calls_of(worlds: Worlds, command: str) -> int:
    """How many storage calls a command and its turn make."""
    world, runner = await ready(worlds, command)
    await COMMANDS[command](world, runner)
    await expect_once(world, command)
    return len(world.faulty.steps)


async def cancelled_at(world: World, runner: Runner, gate: Gate, command: str, way: str) -> bool:
    """Cancel a command as one of its calls stands at a gate; gives whether it was cancelled."""
    scope = anyio.CancelScope()
    task = asyncio.create_task(within(scope, world, runner, COMMANDS[command]))
    await gate.reached.wait()
    was_over = task.done()
    await WAYS[way](task, scope)
    await world.tick()
    gate.open.set()
    await asyncio.wait([task])
    assert was_over or task.cancelled() or scope.cancelled_caught
    return task.cancelled() or scope.cancelled_caught


@pytest.mark.parametrize("effect", [False, True])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("command", COMMANDS)
async def test_a_command_cancelled_at_any_call_is_carried_out_once(
    worlds: Worlds, command: str, way: str, effect: bool
) -> None:
    """Before each call takes effect, and before its answer comes; a run that has started goes on."""
    calls = await calls_of(worlds, command)
    cancelled = []
    for call in range(1, calls + 1):
        world, runner = await ready(worlds, command)
        gate = world.faulty.block(None, effect=effect, nth=call)
        cancelled.append(await cancelled_at(world, runner, gate, command, way))
        await expect_once(world, command)
        assert await world.consumed() != [] or command == "resume"
    started = cancelled.index(False)
    assert cancelled == [True] * started + [False] * (calls - started)
    assert started >= 3, "A command waits for its own write, its claim and its run's start at least."


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("command", COMMANDS)
async def test_a_command_cancelled_on_any_turn_of_the_loop_is_carried_out_once_or_not_begun(
    worlds: Worlds, loop_turns: Iterator[int], command: str, way: str
) -> None:
    """From before its first step, where it commits nothing, to after its last; a run that began goes on."""
    for turns in loop_turns:
        world, runner = await ready(worlds, command)
        running = world.held(Take())
        scope = anyio.CancelScope()
        task = asyncio.create_task(within(scope, world, runner, COMMANDS[command]))
        for _ in range(turns):
            await asyncio.sleep(0)
        if task.done():
            break
        await WAYS[way](task, scope)
        await asyncio.wait([task])
        await world.tick()
        running.open.set()
        await expect_once_begun(world, command)
    assert turns > 10, "Some were cancelled as their claims were made."


async def expect_once_begun(world: World, command: str) -> None:
    """As `expect_once`; a command that has made no storage call has changed nothing."""
    await world.settle()
    if world.faulty.steps:
        await expect_once(world, command)
    else:
        assert not world.agent.runs[1:]
        assert await world.holder() is None


@pytest.mark.parametrize("way", WAYS)
async def test_steering_is_given_once_though_its_sender_is_cancelled(
    worlds: Worlds, loop_turns: Iterator[int], way: str
) -> None:
    """The sender was refused, or is about to be: its message is the run's, or the hand-over's."""
    for turns in loop_turns:
        world = await worlds()
        holder, other = world.runner(), world.runner()
        running = world.held(Take())
        await holder.send(world.ann, "t", "one")
        await running.reached.wait()
        scope = anyio.CancelScope()
        task = asyncio.create_task(within(scope, world, other, _send))
        for _ in range(turns):
            await asyncio.sleep(0)
        is_over = task.done()
        await WAYS[way](task, scope)
        await asyncio.wait([task])
        running.open.set()
        await expect_once(world, "send")
        if is_over:
            break
    assert turns > 5, "Some were cancelled before they were refused."
