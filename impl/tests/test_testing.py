"""What the library gives to tests: the scripted turn, the clock, and the loop whose time is virtual."""

import asyncio
from typing import Any

import pytest
from pydantic_ai import Agent, ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from threadclaim.errors import WrongType
from threadclaim.events import (
    AnyAnswer,
    Approve,
    Deny,
    Envelope,
    FormValues,
    PersonActor,
    Reply,
    Request,
    ToolCalled,
    ToolReturned,
)
from threadclaim.pydantic_ai import PydanticAITurn
from threadclaim.runner import Runner
from threadclaim.storage import InMemoryStorage
from threadclaim.testing import (
    Action,
    Call,
    Complete,
    DeadlockError,
    Fail,
    ManualClock,
    Pause,
    QueuedSteering,
    Raise,
    RecordedFacts,
    ScriptedTurn,
    Take,
    VirtualTimeLoop,
    Wait,
    posted,
)
from threadclaim.thread import Answered
from threadclaim.turn import Completed, Failed, Outcome, Paused, Stopped, Turn, TurnInput
from threadclaim.workspace import Workspaces

ANN = PersonActor("ann")


def turn_input(*prompt: Envelope) -> TurnInput:
    """A turn with this prompt."""
    return TurnInput("thread", "run", ANN, prompt, started_by=ANN)


async def carry_out(turn: Turn, *, given: TurnInput, arrived: tuple[Envelope, ...] = ()) -> Outcome:
    """What comes of a turn, with these messages there from the beginning."""
    return await turn.run(given, QueuedSteering(*arrived), RecordedFacts())


def summary(outcome: Outcome) -> tuple[object, ...]:
    """An outcome without its history."""
    match outcome:
        case Completed(output=output, delivered=delivered):
            return "completed", output, delivered
        case Paused(requests=requests, delivered=delivered):
            return "paused", [request.id for request in requests], delivered
        case Failed(error=error, reason=reason, delivered=delivered):
            return "failed", error, reason, delivered
        case Stopped(delivered=delivered):
            return "stopped", delivered


@pytest.mark.anyio
async def test_without_a_script_a_run_echoes_what_it_was_given() -> None:
    """It takes its steering and completes; its output, and the log, tell what it was given."""
    turn = ScriptedTurn()
    outcome = await carry_out(turn, given=turn_input(posted(1, "hello")), arrived=(posted(2, "hurry"),))
    assert summary(outcome) == ("completed", "hello hurry", (2,))
    assert turn.given == [1, 2]
    assert turn.runs[0].outcome is outcome


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ([Complete("done")], ("completed", "done", ())),
        ([Take(), Pause((Request("q", "question", "ask"),))], ("paused", ["q"], (2,))),
        ([Take(), Fail("broke", "tired")], ("failed", "broke", "tired", (2,))),
        ([Take(answered=False), Fail("broke")], ("failed", "broke", None, ())),
        ([], ("completed", "hello", ())),
    ],
    ids=["complete", "pause", "fail", "a request that failed", "an empty script"],
)
async def test_a_script_says_how_a_run_ends(script: list[Action], expected: tuple[object, ...]) -> None:
    """Each ending has its outcome, with the steering that was answered as delivered."""
    given = turn_input(posted(1, "hello"))
    outcome = await carry_out(ScriptedTurn(script), given=given, arrived=(posted(2, "hurry"),))
    assert summary(outcome) == expected


@pytest.mark.anyio
async def test_what_a_failed_request_carried_was_taken_and_not_given() -> None:
    """The log tells the two apart, so that a test can see the message being given again."""
    turn = ScriptedTurn([Take(answered=False), Fail("broke")]).then(Complete())
    await carry_out(turn, given=turn_input(posted(1, "hello")), arrived=(posted(2, "hurry"),))
    await carry_out(turn, given=turn_input(posted(2, "hurry")))
    assert turn.runs[0].taken == [2]
    assert turn.given == [1, 2]


@pytest.mark.anyio
async def test_a_resumed_run_logs_and_echoes_its_answers() -> None:
    """Answers come before the messages beside them."""
    answers: dict[str, AnyAnswer] = {
        "q": Reply("blue"),
        "n": Reply(7),
        "a": Approve(),
        "d": Deny("no"),
        "f": FormValues({"size": 2}),
    }
    answered = {name: Answered(answer, ANN, 5) for name, answer in answers.items()}
    turn = ScriptedTurn()
    given = TurnInput("thread", "run", ANN, [posted(6, "and go")], answers=answered, started_by=ANN)
    outcome = await carry_out(turn, given=given)
    assert summary(outcome) == ("completed", 'blue 7 approved denied: no {"size": 2} and go', ())
    assert turn.runs[0].answers == answers


def test_what_is_no_script_is_refused() -> None:
    """An action alone, a list where actions are expected, and a class: each is told what to give."""
    no_scripts: list[Any] = [Complete("done"), "done", [Complete], ["done"], None]
    for script in no_scripts:
        with pytest.raises(WrongType, match="Give a"):
            ScriptedTurn(script)
    action: Any = [Complete("done")]
    with pytest.raises(WrongType, match="then"):
        ScriptedTurn().then(action)


@pytest.mark.anyio
async def test_calls_of_tools_are_recorded() -> None:
    """A call has its end, well or not, unless the script leaves that out."""
    facts, script = (
        RecordedFacts(),
        [Call("look", '{"at": 1}'), Call("break", ok=False), Call("hang", ok=None)],
    )
    await ScriptedTurn(script).run(turn_input(), QueuedSteering(), facts)
    assert facts.events == [
        ToolCalled("run", "run-0-0", "look", '{"at": 1}'),
        ToolReturned("run", "run-0-0", "look", ok=True),
        ToolCalled("run", "run-0-1", "break", "{}"),
        ToolReturned("run", "run-0-1", "break", ok=False),
        ToolCalled("run", "run-0-2", "hang", "{}"),
    ]


@pytest.mark.anyio
@pytest.mark.parametrize("error", [KeyError("broke"), asyncio.CancelledError()], ids=["error", "cancelled"])
async def test_what_a_script_raises_is_raised(error: BaseException) -> None:
    """A cancellation that nobody asked for is raised like any error: it is not a stop."""
    turn = ScriptedTurn([Raise(error)])
    with pytest.raises(type(error)):
        await carry_out(turn, given=turn_input())
    assert turn.runs[0].outcome is None


@pytest.mark.anyio
async def test_a_run_waits_for_the_test() -> None:
    """It says that it has come to its wait, and goes on from there."""
    reached, go = asyncio.Event(), asyncio.Event()
    steering = QueuedSteering()
    turn = ScriptedTurn([Wait(go, reached), Take()])
    running = asyncio.create_task(turn.run(turn_input(posted(1, "hello")), steering, RecordedFacts()))
    await reached.wait()
    steering.arrived.append(posted(2, "late"))
    go.set()
    assert summary(await running) == ("completed", "hello late", (2,))


@pytest.mark.anyio
async def test_a_run_that_is_stopped_returns_what_it_delivered() -> None:
    """It ends as stopped, though its wait was not over."""
    reached = asyncio.Event()
    turn = ScriptedTurn([Take(), Wait(asyncio.Event(), reached)])
    running = asyncio.create_task(carry_out(turn, given=turn_input(), arrived=(posted(2, "hurry"),)))
    await reached.wait()
    running.cancel()
    assert summary(await running) == ("stopped", (2,))


@pytest.mark.anyio
async def test_a_stubborn_run_ends_only_when_it_may() -> None:
    """It ignores each cancellation until its event is set; then it ends as stopped."""
    reached, go = asyncio.Event(), asyncio.Event()
    turn = ScriptedTurn([Wait(go, reached, stubborn=True), Complete("never")])
    running = asyncio.create_task(carry_out(turn, given=turn_input()))
    await reached.wait()
    for _ in range(2):
        running.cancel()
        await asyncio.wait([running], timeout=0)
        assert not running.done()
    go.set()
    assert summary(await running) == ("stopped", ())


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
    given = turn_input(posted(1, "hello"))
    outcome = VirtualTimeLoop.run(carry_out(PydanticAITurn(agent), given=given))
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
