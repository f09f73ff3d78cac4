"""The world: what is done to it, and what it refuses."""

import asyncio
import time
import uuid

import pytest

from conformance.actions import ACTIONS, ImpossibleError
from conformance.beside import Beside, DivergedError
from conformance.explore.walk import constants_of
from conformance.model.model import ACTIONS as MODEL_ACTIONS
from conformance.model.model import Model
from conformance.model.state import State
from conformance.state import Reader
from conformance.world.agent import SteppedAgent
from conformance.world.gates import Crashed
from conformance.world.model_agent import ModelAgent
from conformance.world.refuse import RefusedError
from conformance.world.world import World
from threadclaim.steps import Claim, Send

CONSTANTS = constants_of((2, 1))


def test_every_action_of_the_model_is_done_in_the_world() -> None:
    """And by whoever does it there."""
    by = {"task": "task", "process": "proc", "world": "world"}
    assert {action.name: by[action.by] for action in ACTIONS.values()} == dict(MODEL_ACTIONS)


@pytest.mark.parametrize("real", [False, True])
def test_a_turn_is_told_step_by_step(real: bool) -> None:
    """As the model has it: a message starts a run, steers it, answers it, and another is handed over."""
    steps = [
        *("Send p1", "Claim p1", "StartRun p1", "Send p2", "Refused p2", "Deliver p1", "Pause p1"),
        *("Release p1", "Send p2", "Claim p2", "Reply p2", "StartRun p2", "Send p1", "Refused p1"),
        *("EndRun p2", "Release p2", "Claim p2", "StartRun p2", "EndRun p2", "Release p2"),
    ]
    with World(CONSTANTS, make_agent=ModelAgent if real else SteppedAgent) as world:
        beside = Beside(Model(CONSTANTS), world)
        for step in steps:
            beside.take(*step.split())
        assert beside.state.once == beside.state.given == {1, 2, 3, 5}
        assert beside.state.taken == len(beside.state.log)
        assert world.told.messages
        assert beside.state.lease == "free"


def test_what_cannot_be_done_is_said_and_changes_nothing() -> None:
    """With what the task waits in instead."""
    with World(CONSTANTS) as world:
        reader = Reader(world)
        ACTIONS["Send"].do(world, "p1", "")
        before = reader.read()
        with pytest.raises(ImpossibleError, match="waits in Claim") as refused:
            ACTIONS["StartRun"].do(world, "p1", "")
        assert refused.value.instead == "Claim"
        for action in ("Send", "Ask", "Recover", "Deliver", "EndRun", "LetGo", "Renew"):
            with pytest.raises(ImpossibleError):
                ACTIONS[action].do(world, "p1", "")
        assert reader.read() == before


def test_a_crash_leaves_no_task_no_timer_and_no_effect() -> None:
    """What waited at a gate never takes effect; a new call of the dead never comes back."""
    with World(CONSTANTS) as world:
        for action in ("Send", "Claim"):
            ACTIONS[action].do(world, "p1", "")
        process = world.processes["p1"]
        storage = process.storage
        assert process.call("StartRun") is not None
        ACTIONS["Crash"].do(world, "p1", "")
        assert not storage.calls
        assert not asyncio.all_tasks(world.loop)
        assert not world.loop.timers
        with pytest.raises(Crashed):
            world.loop.run(storage.transact(world.workspace.scope, Claim("t", "dead", 30)))
        run = world.loop.run(world.workspace.thread("t")).run
        assert run is None


def test_a_process_that_starts_again_sweeps() -> None:
    """It finds what the dead one left."""
    with World(CONSTANTS) as world:
        beside = Beside(Model(CONSTANTS), world)
        for step in ("Send p1", "Crash p1", "Restart p1", "Claim p1", "StartRun p1"):
            beside.take(*step.split())
        assert beside.state.once == {1}


@pytest.mark.parametrize("ask", [uuid.uuid4, uuid.uuid1, time.time, time.monotonic])
def test_wall_clocks_and_random_ids_are_refused_as_it_is_stepped(ask: object) -> None:
    """By whoever asks for one; between steps they are the tests' own."""

    async def asks() -> None:
        getattr(uuid if "uuid" in name else time, name)()

    name = ask.__name__  # type: ignore[attr-defined]
    with World(CONSTANTS) as world:
        getattr(uuid if "uuid" in name else time, name)()
        with pytest.raises(RefusedError, match=name):
            world.loop.run(asks())
    getattr(uuid if "uuid" in name else time, name)()


class Sleepy(Model):
    """A model that forgets to ask for what is sent."""

    def send_asks(self, s: State, n: int) -> int:
        """SendAsks."""
        return s.asked + 0 * n


def test_a_state_that_the_model_has_not_is_told() -> None:
    """With what differs."""
    with World(CONSTANTS) as world:
        beside = Beside(Sleepy(CONSTANTS), world)
        with pytest.raises(DivergedError, match="asked: the model has 0, the world 1"):
            beside.take("Send", "p1")


def test_a_failed_command_is_heard_of_by_its_caller() -> None:
    """And leaves nothing unexplained."""
    with World(CONSTANTS) as world:
        beside = Beside(Model(CONSTANTS), world)
        for step in ("CommandFails p1", "Release p1", "Send p1", "FailUnheard p1", "Release p1", "Claim p1"):
            beside.take(*step.split())
        assert beside.state.task[0].at == "idle" or beside.state.task[0].at == "prompt"


def test_a_step_of_the_librarys_is_named_as_it_is() -> None:
    """Also where a twin has one of its own."""

    class Other(Send):
        """A twin's."""

    with World(CONSTANTS) as world:
        ACTIONS["Send"].do(world, "p1", "")
        (call,) = world.processes["p1"].storage.calls
        call.step = Other("t", None, None)  # type: ignore[arg-type]  # only its class counts
        assert call.name == "Send"
        call.step = Claim("t", "p1", 30)
