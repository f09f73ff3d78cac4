"""What the library gives to tests of time: the clock, and the loop whose time is virtual."""

import asyncio

import pytest
from pydantic_ai import Agent, ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from threadclaim.events import PersonActor
from threadclaim.pydantic_ai import PydanticAITurn
from threadclaim.runner import Runner
from threadclaim.storage import InMemoryStorage
from threadclaim.testing import (
    DeadlockError,
    ManualClock,
    QueuedSteering,
    RecordedFacts,
    ScriptedTurn,
    VirtualTimeLoop,
    Wait,
    posted,
)
from threadclaim.turn import Failed, TurnInput
from threadclaim.workspace import Workspaces

ANN = PersonActor("ann")


def test_a_clock_moves_only_by_hand() -> None:
    """It starts at 0, and goes on by what it is told."""
    clock = ManualClock()
    before = clock()
    clock.advance(1.5)
    clock.advance(0)
    assert (before, clock()) == (0.0, 1.5)


@pytest.mark.parametrize("seconds", [-1.0, float("nan"), float("inf")])
def test_a_clock_never_goes_back(seconds: float) -> None:
    """It refuses what is no time to go on by, and stays where it is."""
    clock = ManualClock()
    with pytest.raises(ValueError, match="moves on"):
        clock.advance(seconds)
    assert clock() == 0.0


def test_virtual_time_is_exactly_what_was_waited_for() -> None:
    """A sleep of a month takes none, and the loop's time tells of it to the last bit."""

    async def main() -> list[float]:
        """Sleep, and tell the time after each."""
        loop, times = asyncio.get_running_loop(), []
        for seconds in (0.1, 0.2, 30 * 86400.0):
            await asyncio.sleep(seconds)
            times.append(loop.time())
        return times

    assert VirtualTimeLoop.run(main(), within=float("inf")) == [0.1, 0.1 + 0.2, 0.1 + 0.2 + 30 * 86400.0]


async def order_of_fifty_timers() -> list[int]:
    """Set fifty timers for one time, others between them, and tell the order in which the fifty came."""
    loop = asyncio.get_running_loop()
    came: list[int] = []
    for number in range(50):
        loop.call_at(1.0, came.append, number)
        loop.call_at(0.5 + number % 2, lambda: None)
    await asyncio.sleep(2)
    return came


def test_timers_of_one_time_come_in_the_order_of_creation() -> None:
    """The loop gives them an order of their own."""
    assert VirtualTimeLoop.run(order_of_fifty_timers()) == list(range(50))


def test_without_that_order_timers_of_one_time_come_as_they_lie() -> None:
    """What the loop adds is needed: the heap of asyncio's own loops does not keep the order of creation."""

    class Plain(VirtualTimeLoop):
        """A virtual-time loop with asyncio's own timers."""

        call_at = asyncio.SelectorEventLoop.call_at

    with asyncio.Runner(loop_factory=Plain) as runner:
        came = runner.run(order_of_fifty_timers())
    assert sorted(came) == list(range(50))
    assert came != list(range(50))


def test_what_is_ready_comes_before_any_time_passes() -> None:
    """A timer does not come while a callback is ready, however many follow one another."""

    async def main() -> tuple[int, float]:
        """Step a hundred times with a timer set for the nearest time."""
        loop, steps = asyncio.get_running_loop(), 0
        timer = loop.call_later(1e-6, lambda: None)
        for _ in range(100):
            await asyncio.sleep(0)
            steps += 1
        timer.cancel()
        return steps, loop.time()

    assert VirtualTimeLoop.run(main()) == (100, 0.0)


def test_a_cancelled_timer_does_not_move_time() -> None:
    """A wait that ends early leaves time where it was."""

    async def main() -> float:
        """Be done long before a timeout."""
        event = asyncio.Event()
        asyncio.get_running_loop().call_later(1.0, event.set)
        async with asyncio.timeout(100):
            await event.wait()
        await asyncio.sleep(1)
        return asyncio.get_running_loop().time()

    assert VirtualTimeLoop.run(main()) == 2.0


def test_a_timeout_comes_in_virtual_time() -> None:
    """What never ends is given up at its deadline."""

    async def main() -> float:
        """Wait for what never comes, for an hour."""
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(3600):
                await asyncio.Event().wait()
        return asyncio.get_running_loop().time()

    assert VirtualTimeLoop.run(main()) == 3600.0


def test_a_deadlock_is_an_error() -> None:
    """A test that waits for what nobody sets fails at once, instead of hanging."""

    async def main() -> None:
        """Wait for good."""
        await asyncio.Event().wait()

    with pytest.raises(DeadlockError, match="nobody sets"):
        VirtualTimeLoop.run(main())


def endless_turn(within: float) -> tuple[DeadlockError, float]:
    """Send a message to a turn that never ends, and wait for it; what that raises, and when."""
    loop = VirtualTimeLoop(within=within)

    async def main() -> None:
        """Wait for good, while the runner renews its claim."""
        storage = InMemoryStorage(clock=loop.time)
        ann = Workspaces(storage).workspace("tenant", "workspace", ANN)
        await ann.create_thread("t")
        async with Runner(ScriptedTurn([Wait(asyncio.Event())]), storage) as runner:
            sent = await runner.send(ann, "t", "hello")
            assert sent.run is not None
            await sent.run.wait()

    with pytest.raises(DeadlockError) as raised, asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(main())
    return raised.value, loop.time()


def test_a_turn_that_never_ends_is_an_error() -> None:
    """Its claim is renewed, so that a timer is always set; time is bounded, and the turn is named."""
    error, time = endless_turn(3600)
    assert time <= 3600 + 30
    assert "3,600 s" in str(error)
    assert "turn of t" in str(error)
    assert "`within`" in str(error)


@pytest.mark.parametrize("seconds", [0, -1.0, float("nan")])
def test_time_must_pass(seconds: float) -> None:
    """No loop is bounded by no time at all."""
    with pytest.raises(ValueError, match="more than 0"):
        VirtualTimeLoop(within=seconds)


def test_time_passes_to_the_bound_and_no_further() -> None:
    """A day, unless more is given; what is raised as it is over ends the test, whatever waits."""
    VirtualTimeLoop.run(asyncio.sleep(86_400))
    VirtualTimeLoop.run(asyncio.sleep(100_000), within=100_000)
    with pytest.raises(DeadlockError, match="86,400 s"):
        VirtualTimeLoop.run(asyncio.sleep(86_401))


def sync_tool() -> str:
    """Look at something."""
    return "seen"


def sync_model(_messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    """Say nothing much."""
    return ModelResponse([TextPart("so")])


@pytest.mark.parametrize(
    ("agent", "name"),
    [(Agent("test", tools=[sync_tool]), "sync_tool"), (Agent(FunctionModel(sync_model)), "sync_model")],
    ids=["a tool", "a model"],
)
def test_what_is_synchronous_is_named_and_told_to_be_async(agent: Agent[None, str], name: str) -> None:
    """The run fails with a sentence that says which function, and what to do."""
    given = TurnInput("thread", "run", ANN, [posted(1, "hello")], started_by=ANN)
    run = PydanticAITurn(agent).run(given, QueuedSteering(), RecordedFacts())
    outcome = VirtualTimeLoop.run(run)
    assert isinstance(outcome, Failed)
    assert f"not {name} either" in outcome.error
    assert "make it `async def`" in outcome.error


def test_threads_are_refused() -> None:
    """A thread would take real time, so asking for one raises."""

    async def main() -> None:
        """Ask for a thread."""
        await asyncio.to_thread(print)

    with pytest.raises(RuntimeError, match="nothing in threads, so not print"):
        VirtualTimeLoop.run(main())


def test_a_closed_loop_sets_no_timer() -> None:
    """As asyncio's own loops do, it refuses."""
    loop = VirtualTimeLoop()
    loop.close()
    with pytest.raises(RuntimeError, match="closed"):
        loop.call_later(1, print)
