"""What the library gives to tests: the scripted turn, and what a turn needs of a runner."""

import asyncio
from typing import Any

import pytest

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
from threadclaim.testing import (
    Action,
    Call,
    Complete,
    Fail,
    Pause,
    QueuedSteering,
    Raise,
    RecordedFacts,
    ScriptedTurn,
    Take,
    Wait,
    posted,
)
from threadclaim.thread import Answered
from threadclaim.turn import Completed, Failed, Outcome, Paused, Stopped, Turn, TurnInput

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
