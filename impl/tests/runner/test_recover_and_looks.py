"""Sweeps and looks: what dead processes left is carried out, or recorded, and nobody looks without end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tests.runner.faults import StorageDownError
from threadclaim.errors import UsedMessageId
from threadclaim.events import RUNNER, MessagePosted, RunEnded
from threadclaim.steps import Claim, EndRun, LookAgain, Release, Send
from threadclaim.storage import Scope, Stranded
from threadclaim.testing import Complete

if TYPE_CHECKING:
    from tests.runner.conftest import Context, World

pytestmark = pytest.mark.anyio

TTL = 30.0


async def test_recover_of_an_idle_workspace_does_nothing(world: World) -> None:
    """And reads no thread."""
    await world.runner().recover(world.ann)
    assert world.faulty.steps == []


async def test_recover_is_idempotent(world: World) -> None:
    """Two processes sweep at once, and again: each message is carried out once."""
    messages = [await world.ask("t") for _ in range(3)]
    one, two = world.runner(), world.runner()
    await asyncio.gather(one.recover(world.ann), two.recover(world.ann))
    await one.recover(world.ann)
    await world.expect_once(*messages)
    assert sorted(world.agent.given) == [message.seq for message in messages]
    assert await two.recover(world.ann) == []


async def test_recover_gives_the_runs_that_it_started(world: World) -> None:
    """One for each thread that had something left."""
    await world.ann.create_thread("u")
    await world.ask("u")
    await world.ask("t")
    runs = await world.runner().recover(world.ann)
    assert sorted(run.thread_id for run in runs) == ["t", "u"]
    for run in runs:
        await run.wait()


async def test_recover_records_a_dead_run_and_goes_on(world: World) -> None:
    """The dead run's prompt is consumed; what was asked beside it starts a run."""
    dead = await world.die_holding("of the dead", started=True)
    assert dead is not None
    asked = await world.ask("t")
    await world.lapse()
    await world.runner().recover(world.ann)
    await world.expect_once(dead, asked)
    assert await world.ends() == ["abandoned", "completed"]
    ended = [entry for entry in await world.ann.read() if isinstance(entry.event, RunEnded)]
    assert ended[0].actor == RUNNER


async def test_one_threads_failure_does_not_end_the_sweep(
    world: World, broken_context: Callable[..., Context]
) -> None:
    """It is logged, and the others are carried out; a database decides which thread is the first."""
    for thread_id in ("u", "v"):
        await world.ann.create_thread(thread_id)
    for thread_id in ("t", "u", "v"):
        await world.ask(thread_id)
    runs = await world.runner(turn_context=broken_context(failures=1)).recover(world.ann)
    carried_out = [run.thread_id for run in runs]
    assert carried_out == sorted(carried_out)
    (failed,) = {"t", "u", "v"} - set(carried_out)
    for run in runs:
        await run.wait()
    assert await world.faulty.stranded(world.scope) == Stranded(left=(failed,))


async def test_a_sweep_whose_list_is_cancelled_by_nobody_fails(world: World) -> None:
    """Its caller is told of a failure: a CancelledError would look like its own (ADR-0055 I4)."""
    world.faulty.unlisted.add(world.scope)
    world.faulty.unlisted_by = asyncio.CancelledError
    with pytest.raises(RuntimeError, match="nobody asked for it"):
        await world.runner().recover(world.ann)


async def test_a_sweep_whose_caller_is_cancelled_as_it_lists_raises_that(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is the caller's own."""
    lists = asyncio.Event()

    async def stands(_: Scope) -> Stranded:
        lists.set()
        await asyncio.get_running_loop().create_future()
        return Stranded()

    monkeypatch.setattr(world.faulty, "stranded", stands)
    sweep = asyncio.create_task(world.runner().recover(world.ann))
    await lists.wait()
    sweep.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sweep


async def test_a_sweep_whose_list_fails_raises(world: World) -> None:
    """Its process counts as not started."""
    world.faulty.unlisted.add(world.scope)
    with pytest.raises(world.faulty.down):
        await world.runner().recover(world.ann)


async def test_a_cancelled_sweep_loses_nothing(world: World) -> None:
    """What it was about to start is handed over, and the rest is the next sweep's."""
    await world.ann.create_thread("u")
    await world.ask("u")
    message = await world.ask("t")
    runner = world.runner()
    gate = world.faulty.block(Claim)
    sweeping = asyncio.create_task(runner.recover(world.ann))
    await gate.reached.wait()
    sweeping.cancel()
    await world.tick()
    gate.open.set()
    with pytest.raises(asyncio.CancelledError):
        await sweeping
    await world.settle()
    for run in await runner.recover(world.ann):
        await run.wait()
    await world.expect_once(message)
    assert len(world.agent.runs) == 2


async def test_a_look_is_armed_once_for_a_thread(world: World) -> None:
    """Three refusals, one look."""
    await world.die_holding("of the dead")
    runner = world.runner()
    for _ in range(3):
        await runner.send(world.ann, "t", "refused")
    await asyncio.sleep(1.1 * TTL)
    assert world.faulty.count(LookAgain) == 1
    await asyncio.sleep(TTL)
    assert world.faulty.count(LookAgain) == 2


async def test_a_look_claims_only_once_the_thread_is_free(world: World) -> None:
    """While the claim is held it waits again, and then takes the thread."""
    await world.die_holding("of the dead")
    runner = world.runner()
    await runner.send(world.ann, "t", "refused")
    claims = world.faulty.count(Claim)
    await asyncio.sleep(5.5 * TTL)
    assert world.faulty.count(Claim) == claims
    assert world.faulty.count(LookAgain) == 5
    await world.lapse()
    await asyncio.sleep(TTL)
    await world.settle()
    assert world.faulty.count(Claim) > claims
    assert await world.is_at_rest()


async def test_a_look_is_over_when_nothing_is_left(world: World) -> None:
    """The holder handed the thread over meanwhile."""
    holder, refused = world.runner(), world.runner()
    running = world.held(Complete())
    first = await holder.send(world.ann, "t", "one")
    await running.reached.wait()
    second = await refused.send(world.ann, "t", "two")
    running.open.set()
    await world.expect_once(first.message, second.message)
    claims = world.faulty.count(Claim)
    await asyncio.sleep(100 * TTL)
    assert world.faulty.count(LookAgain) == 1
    assert world.faulty.count(Claim) == claims


@pytest.mark.parametrize("error", ["down", "cancelled"])
async def test_a_look_that_fails_is_over(world: World, error: str) -> None:
    """What was asked waits for the thread's next command, and a later refusal arms a look again."""
    await world.die_holding("of the dead")
    runner = world.runner()
    await runner.send(world.ann, "t", "refused")
    world.faulty.fail(LookAgain, error=world.faulty.down if error == "down" else asyncio.CancelledError)
    await asyncio.sleep(100 * TTL)
    assert world.faulty.count(LookAgain) == 1
    assert await world.consumed() == []
    await runner.send(world.ann, "t", "refused, too")
    await world.lapse()
    await asyncio.sleep(1.1 * TTL)
    await world.settle()
    assert world.faulty.count(LookAgain) >= 2
    assert len(await world.consumed()) == 3


async def test_a_release_that_fails_is_looked_after(world: World) -> None:
    """What was refused meanwhile is taken once the claim has lapsed."""
    holder = world.runner()
    ending = world.faulty.block(EndRun)
    world.faulty.fail(Release)
    first = await holder.send(world.ann, "t", "one")
    await ending.reached.wait()
    second = await world.ask("t", "two")
    ending.open.set()
    await world.tick()
    await world.lapse()
    await asyncio.sleep(1.1 * TTL)
    await world.expect_once(first.message, second)


async def test_a_failed_release_after_a_failure_looks_for_what_is_newer(
    world: World, broken_context: Callable[..., Context]
) -> None:
    """A failure that persists does not spin through looks."""
    context = broken_context(failures=100)
    runner = world.runner(turn_context=context)
    world.faulty.fail(Release, effect=True, times=100)
    with pytest.raises(RuntimeError):
        await runner.send(world.ann, "t", "one")
    await asyncio.sleep(100 * TTL)
    assert len(context.turns) == 1


async def test_two_processes_whose_turns_fail_do_not_spin(
    world: World, broken_context: Callable[..., Context]
) -> None:
    """Each refuses the other, and each looks; few turns are made."""
    gate_context = broken_context(failures=1000)
    one, two = world.runner(turn_context=gate_context), world.runner(turn_context=gate_context)
    await asyncio.gather(
        one.send(world.ann, "t", "one"), two.send(world.ann, "t", "two"), return_exceptions=True
    )
    await asyncio.sleep(10 * TTL)
    turns = len(gate_context.turns)
    assert turns <= 6
    await asyncio.sleep(1000 * TTL)
    assert len(gate_context.turns) == turns


async def test_a_retry_carries_out_what_was_left_of_the_first(world: World) -> None:
    """Storage was down as the first was claimed, and as its look came: whoever sends it again has it done."""
    runner = world.runner()
    world.faulty.fail(Claim, times=9)
    world.faulty.fail(LookAgain, times=9)
    with pytest.raises(StorageDownError):
        await runner.send(world.ann, "t", "one", message_id="m")
    await world.settle()
    assert await world.consumed() == []
    world.faulty.heal()
    with pytest.raises(UsedMessageId) as used:
        await runner.send(world.ann, "t", "one", message_id="m")
    assert used.value.repeats is not None
    await world.expect_once(used.value.repeats)


async def test_another_message_of_a_used_id_carries_out_nothing(world: World) -> None:
    """It is no retry: what is left is left."""
    runner = world.runner()
    await world.do(Send("t", MessagePosted("m", "one"), world.ann.actor))
    with pytest.raises(UsedMessageId):
        await runner.send(world.ann, "t", "two", message_id="m")
    await world.settle()
    assert await world.consumed() == []
