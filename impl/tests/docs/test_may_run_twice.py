"""What may run twice, and what is lost: a test for each such row of docs/what-may-run-twice.md."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from pydantic_ai import ToolCallPart

from tests.runner.faults import StorageDownError
from threadclaim.events import ToolCalled
from threadclaim.steps import RecordFact, Send, StartRun

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from tests.docs.conftest import World
    from threadclaim.demo.process import Process
    from threadclaim.turn import TurnInput

pytestmark = pytest.mark.anyio


async def steered(world: World) -> Process:
    """A process that may die, in whose run the model was told "one", called a tool, and was told "two"."""
    world.desk.script.append(ToolCallPart("work"))
    process, _ = world.mortal()
    work, asked = world.desk.hold("work"), world.desk.hold("model", 2)
    await process.do(process.runner.send(world.ann, "t", "one"))
    await work.reached.wait()
    await world.sent(world.runner(), "two")
    work.open.set()
    await asked.reached.wait()
    assert world.desk.told == ["one", "two"]
    return process


async def test_steering_of_a_run_that_died_is_given_again(world: World) -> None:
    """No write had recorded it, so the next turn is told it, as its prompt."""
    process = await steered(world)
    await world.kill(process)
    await world.recover()
    assert world.desk.told == ["one", "two", "two"]
    await world.expect_once()


async def test_steering_of_a_run_whose_claim_lapsed_is_given_again(world: World) -> None:
    """The run is alive, but its end is refused: the next turn was told by then."""
    world.desk.script.append(ToolCallPart("work"))
    stalled = world.runner()
    work, asked = world.desk.hold("work"), world.desk.hold("model", 2)
    await stalled.send(world.ann, "t", "one")
    await work.reached.wait()
    await world.sent(world.runner(), "two")
    work.open.set()
    await asked.reached.wait()
    await world.lapse()
    await world.runner().recover(world.ann)
    await asyncio.sleep(0.001)
    assert world.desk.told == ["one", "two", "two"]
    asked.open.set()
    await world.expect_once()
    assert await world.ends() == ["abandoned", "completed"]


async def test_a_tool_is_called_again_for_steering_that_is_given_again(world: World) -> None:
    """The agent does not know that it did so; nor does the key, which names another run."""
    world.desk.script += [ToolCallPart("work"), ToolCallPart("work"), ToolCallPart("work")]
    process, _ = world.mortal()
    first, second = world.desk.hold("work"), world.desk.hold("work", 2)
    await process.do(process.runner.send(world.ann, "t", "one"))
    await first.reached.wait()
    await world.sent(world.runner(), "two")
    first.open.set()
    await second.reached.wait()
    await world.kill(process)
    await world.recover()
    assert world.desk.told == ["one", "two", "two"]
    assert len(world.desk.done) == 3
    of_one, of_two, again = world.desk.keys
    assert of_one == of_two
    assert again != of_two


async def test_a_run_whose_claim_lapsed_works_on_beside_the_next(world: World) -> None:
    """Until its process notices, its tools have effects; the log takes none of its facts."""
    world.desk.script += [ToolCallPart("work"), ToolCallPart("work")]
    stalled, other = world.runner(), world.runner()
    work = world.desk.hold("work")
    sent = await world.sent(stalled, "one")
    await work.reached.wait()
    await world.lapse()
    beside = world.desk.hold("model")
    await other.send(world.ann, "t", "two")
    await beside.reached.wait()
    assert stalled.running(world.ann, "t") is not None
    assert other.running(world.ann, "t") is not None
    work.open.set()
    assert sent.run is not None
    await sent.run.wait()
    assert len(world.desk.done) == 2
    assert len(await world.entries(ToolCalled)) == 1
    beside.open.set()
    await world.expect_once()


@dataclass(slots=True)
class SetUps:
    """A turn_context that notes what it sets up, and stands at its first gate."""

    turns: list[TurnInput] = field(default_factory=list)
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    stands: bool = False

    @asynccontextmanager
    async def __call__(self, turn: TurnInput) -> AsyncGenerator[None]:
        """Set up."""
        self.turns.append(turn)
        if self.stands and len(self.turns) == 1:
            self.reached.set()
            await asyncio.get_running_loop().create_future()
        yield

    @property
    def prompts(self) -> list[list[int]]:
        """The seqs that each turn that was set up was to consume."""
        return [[message.seq for message in turn.prompt] for turn in self.turns]


async def test_a_turn_is_set_up_again_if_its_process_dies_before_its_start(world: World) -> None:
    """Nothing is consumed before the start, so the next holder begins anew; under another run's id."""
    set_ups = SetUps(stands=True)
    process, _ = world.mortal(turn_context=set_ups)
    sending = asyncio.create_task(process.do(process.runner.send(world.ann, "t", "one")))
    await set_ups.reached.wait()
    await world.kill(process)
    await asyncio.wait([sending])
    await world.runner(turn_context=set_ups).recover(world.ann)
    await world.settle()
    assert set_ups.prompts == [[2], [2]]
    assert len({turn.run_id for turn in set_ups.turns}) == 2
    assert world.desk.told == ["one"]


async def test_a_turn_is_set_up_again_if_the_write_of_its_start_fails(world: World) -> None:
    """The send raises; the thread's next command begins anew."""
    set_ups = SetUps()
    runner = world.runner(turn_context=set_ups)
    world.faulty.fail(StartRun)
    with pytest.raises(StorageDownError):
        await runner.send(world.ann, "t", "one")
    await runner.resume(world.ann, "t")
    await world.settle()
    assert set_ups.prompts == [[2], [2]]
    assert world.desk.told == ["one"]


async def test_a_message_sent_again_without_an_id_is_another_message(world: World) -> None:
    """The first took effect, and its answer was lost."""
    runner = world.runner()
    world.faulty.fail(Send, effect=True)
    with pytest.raises(StorageDownError):
        await runner.send(world.ann, "t", "one")
    await runner.send(world.ann, "t", "one")
    await world.settle()
    assert world.desk.times("one") == 2
    await world.expect_once()


# ---- What is lost.


async def test_the_next_turn_knows_nothing_of_a_run_that_died(world: World) -> None:
    """A run's messages are kept with its end, which it never recorded; its prompt is consumed."""
    process, _ = world.mortal()
    asked = world.desk.hold("model")
    await process.do(process.runner.send(world.ann, "t", "one"))
    await asked.reached.wait()
    await world.kill(process)
    await world.recover()
    await world.runner().send(world.ann, "t", "two")
    await world.settle()
    assert world.desk.known == ["two"]
    assert await world.ends() == ["abandoned", "completed"]
    await world.expect_once()


@pytest.mark.parametrize("how", ["failed", "stopped"])
async def test_the_next_turn_is_told_that_a_run_broke_off(world: World, how: str) -> None:
    """It knows the prompt, and that nothing of it is carried out; then its own, which is all that is new."""
    asked = world.desk.hold("model")
    runner = world.runner()
    if how == "failed":
        world.desk.script.append(RuntimeError("overloaded"))
    await world.sent(runner, "one")
    await asked.reached.wait()
    if how == "stopped":
        assert await runner.stop(world.ann, "t")
    asked.open.set()
    await world.settle()
    await world.sent(runner, "two")
    await world.settle()
    assert world.desk.known == ["one", "two"]
    assert world.desk.told == ["one", "two"]
    assert await world.ends() == [how, "completed"]
    await world.expect_once()


async def test_a_prompt_whose_start_was_never_heard_of_is_never_given(world: World) -> None:
    """It is consumed, by a run that the log has as failed."""
    runner = world.runner()
    world.faulty.fail(StartRun, effect=True)
    with pytest.raises(StorageDownError):
        await runner.send(world.ann, "t", "one")
    await world.settle()
    assert world.desk.told == []
    assert await world.ends() == ["abandoned"]
    await world.expect_once()


async def test_a_fact_whose_write_fails_is_not_tried_again(world: World) -> None:
    """Its tool is not run, and the run fails."""
    world.desk.script.append(ToolCallPart("work"))
    runner = world.runner()
    world.faulty.fail(RecordFact)
    await runner.send(world.ann, "t", "one")
    await world.settle()
    assert (world.desk.done, await world.entries(ToolCalled)) == ([], [])
    assert await world.ends() == ["failed"]
