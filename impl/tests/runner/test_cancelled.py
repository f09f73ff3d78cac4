"""Callers cancelled as their claimant goes wrong, or stands: what they asked for is handed over."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from threadclaim.steps import LoadHistory, StartRun

if TYPE_CHECKING:
    from tests.runner.conftest import Context, World

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("step", [LoadHistory, StartRun])
async def test_a_claimant_that_fails_once_its_caller_was_cancelled_hands_over(
    world: World, step: type[object]
) -> None:
    """As one that was cancelled: all that is asked, its own input too."""
    gate = world.faulty.block(step, error=world.faulty.down)
    sending = asyncio.create_task(world.runner().send(world.ann, "t", "one"))
    await gate.reached.wait()
    sending.cancel()
    await world.tick()
    gate.open.set()
    with pytest.raises(asyncio.CancelledError):
        await sending
    await world.settle()
    assert world.agent.given == await world.consumed() == [2]
    assert await world.is_at_rest()


async def test_a_cancelled_callers_turn_is_not_set_up_to_its_end(
    world: World, broken_context: Callable[..., Context]
) -> None:
    """Its set-up is cancelled, and the hand-over sets up a turn of its own."""
    context = broken_context(gate=world.gate())
    sending = asyncio.create_task(world.runner(turn_context=context).send(world.ann, "t", "one"))
    assert context.gate is not None
    await context.gate.reached.wait()
    sending.cancel()
    await world.tick()
    assert len(context.turns) == 2
    context.gate.open.set()
    await world.settle()
    assert world.agent.given == await world.consumed() == [2]


async def test_a_start_that_took_effect_unheard_is_recorded_as_failed(world: World) -> None:
    """By a hand-over, at once: its claimant had consumed something."""
    world.faulty.fail(StartRun, effect=True)
    with pytest.raises(world.faulty.down):
        await world.runner().send(world.ann, "t", "one")
    await world.settle()
    assert await world.ends() == ["abandoned"]
    assert await world.is_at_rest()
    assert world.agent.runs == []
