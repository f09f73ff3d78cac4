"""How runs of a pydantic-ai agent fail and are stopped, and what is kept of them so that others can go on."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from pydantic_ai import (
    Agent,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturn,
    ToolReturnPart,
    UsageLimits,
)
from pydantic_ai.models.function import FunctionModel

from threadclaim.errors import RunFailure
from threadclaim.events import Envelope, PersonActor, ToolCalled
from threadclaim.limits import escaped
from threadclaim.pydantic_ai import PydanticAITurn
from threadclaim.pydantic_ai.messages import FAILED, prompt_texts
from threadclaim.testing import QueuedSteering, RecordedFacts, posted
from threadclaim.turn import Completed, Failed, Outcome, Turn, TurnInput

pytestmark = pytest.mark.anyio
Requests = list[list[ModelMessage]]
Replies = Callable[..., FunctionModel]
LOOK = ToolCallPart("look", {}, "a")


def turn_input(*prompt: Envelope, history: tuple[bytes | None, ...] = ()) -> TurnInput:
    """A turn of the run "run" with this prompt."""
    chunks = [chunk for chunk in history if chunk is not None]
    return TurnInput(
        "thread", "run", PersonActor("ann"), prompt, history=chunks, started_by=PersonActor("ann")
    )


async def carry_out(turn: Turn, given: TurnInput, *arrived: Envelope) -> Outcome:
    """What comes of a turn, with these messages there from the beginning."""
    return await turn.run(given, QueuedSteering(*arrived), RecordedFacts())


def kept(outcome: Outcome) -> list[ModelMessage]:
    """The messages that are kept of a run."""
    return [] if outcome.history is None else ModelMessagesTypeAdapter.validate_json(outcome.history)


def agent_that_breaks(model: FunctionModel, error: BaseException) -> Agent[object, str]:
    """An agent whose tool looks well and whose other tool breaks."""
    agent: Agent[object, str] = Agent(model)

    @agent.tool_plain
    async def look() -> str:
        """Look."""
        return "seen"

    @agent.tool_plain
    async def break_() -> str:
        """Break."""
        raise error

    return agent


async def failure(model: FunctionModel, error: BaseException, *arrived: Envelope) -> Failed:
    """The failure of a run whose tool breaks."""
    turn = PydanticAITurn(agent_that_breaks(model, error))
    failed = await carry_out(turn, turn_input(posted(1, "hello")), *arrived)
    assert isinstance(failed, Failed)
    return failed


async def test_a_run_failure_has_its_reason(model_of: Replies) -> None:
    """A tool that raises RunFailure ends its run with that reason, which clients can rely on."""
    error = RunFailure("the budget is spent", reason="budget")
    failed = await failure(model_of([ToolCallPart("break_")]), error)
    assert (failed.error, failed.reason, failed.exception) == ("the budget is spent", "budget", error)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("no such page"), "no such page"),
        (ValueError(), "ValueError"),
        (ValueError("a\0b\ud800"), "a\\u0000b\\ud800"),
        (BaseExceptionGroup("two", [ValueError("one"), KeyError()]), "two (2 sub-exceptions)"),
    ],
    ids=["a text", "no text", "a text that no log can hold", "a group"],
)
async def test_another_exception_is_its_text(model_of: Replies, error: BaseException, text: str) -> None:
    """Without a reason of its own, a failure has none."""
    failed = await failure(model_of([ToolCallPart("break_")]), error)
    assert (failed.error, failed.reason) == (text, None)


async def test_a_run_failure_in_a_group_has_its_reason(model_of: Replies) -> None:
    """What a task group of a tool's own wraps is looked for; the only error of a group stands for it."""
    two = ExceptionGroup("two", [KeyError("x"), ExceptionGroup("", [RunFailure("spent", reason="budget")])])
    failed = await failure(model_of([ToolCallPart("break_")]), two)
    assert (failed.error, failed.reason) == ("spent", "budget")
    one = await failure(model_of([ToolCallPart("break_")]), ExceptionGroup("one", [ValueError("alone")]))
    assert one.error == "alone"


async def test_a_cancellation_that_nobody_asked_for_is_a_failure(model_of: Replies) -> None:
    """A CancelledError that a tool raises is not a stop: nobody cancelled the turn."""
    failed = await failure(model_of([ToolCallPart("break_")]), asyncio.CancelledError())
    assert "nobody stopped it" in failed.error
    assert isinstance(failed.exception, asyncio.CancelledError)


async def test_the_prompt_of_a_failed_run_is_kept(model_of: Replies, requests: Requests) -> None:
    """The next run knows what this one was asked, though the model never answered."""
    turn = PydanticAITurn(Agent(model_of(KeyError("model"), "done")))
    failed = await carry_out(turn, turn_input(posted(1, "hello")))
    assert isinstance(failed, Failed)
    done = await carry_out(turn, turn_input(posted(2, "more"), history=(failed.history,)))
    assert isinstance(done, Completed)
    assert prompt_texts(requests[-1]) == ["hello", "more"]


async def test_a_run_whose_dependencies_fail_keeps_its_prompt(model_of: Replies) -> None:
    """A run that fails before its agent begins is a failure like any other."""

    def deps(_: TurnInput) -> str:
        """Fail."""
        raise RunFailure("no database", reason="database")

    failed = await carry_out(PydanticAITurn(Agent(model_of()), deps=deps), turn_input(posted(1, "hello")))
    assert isinstance(failed, Failed)
    assert (failed.reason, prompt_texts(kept(failed))) == ("database", ["hello"])


async def test_a_run_that_may_make_no_request_keeps_its_prompt_once(model_of: Replies) -> None:
    """pydantic-ai has put the prompt into the history as it refuses the request: it is there once."""
    turn = PydanticAITurn(Agent(model_of()), usage_limits=UsageLimits(request_limit=0))
    failed = await carry_out(turn, turn_input(posted(1, "hello")), posted(2, "hurry"))
    assert (prompt_texts(kept(failed)), failed.delivered) == (["hello"], ())


async def test_a_history_that_is_none_fails_the_run(model_of: Replies) -> None:
    """Chunks that are not pydantic-ai's are a failure that the log tells of; the prompt is kept."""
    turn = PydanticAITurn(Agent(model_of()))
    failed = await carry_out(turn, turn_input(posted(1, "hello"), history=(b"{}",)))
    assert isinstance(failed, Failed)
    assert prompt_texts(kept(failed)) == ["hello"]


@pytest.mark.parametrize("first", [[], [[LOOK]]], ids=["its first request", "a later one"])
async def test_what_a_failed_request_carried_is_not_delivered(model_of: Replies, first: list[Any]) -> None:
    """Drained is not delivered: the message is neither counted nor kept, so the next turn gives it once."""
    steering = QueuedSteering(*([] if first else [posted(2, "hurry")]))
    agent = Agent(model_of(*first, KeyError("model")))

    @agent.tool_plain
    async def look() -> str:
        """Look, while a message arrives."""
        steering.arrived.append(posted(2, "hurry"))
        return "seen"

    failed = await PydanticAITurn(agent).run(turn_input(posted(1, "hello")), steering, RecordedFacts())
    assert isinstance(failed, Failed)
    assert (steering.arrived, failed.delivered) == ([], ())
    assert prompt_texts(kept(failed)) == ["hello"]


async def test_what_an_answered_request_carried_is_delivered_though_the_run_fails(model_of: Replies) -> None:
    """The model answered the message, and a tool broke after: it was given, and is kept."""
    failed = await failure(model_of([ToolCallPart("break_")]), KeyError("tool"), posted(2, "hurry"))
    assert failed.delivered == (2,)
    assert prompt_texts(kept(failed)) == ["hello", "hurry"]


async def test_a_failed_run_can_be_gone_on_from(model_of: Replies, requests: Requests) -> None:
    """Calls that were cut off are closed, and those that returned are kept, as their effects are."""
    model = model_of([LOOK], [ToolCallPart("look", {}, "b"), ToolCallPart("break_", {}, "c")], "done")
    agent = agent_that_breaks(model, KeyError("tool"))
    failed = await carry_out(PydanticAITurn(agent), turn_input(posted(1, "hello")))
    assert isinstance(failed, Failed)
    done = await carry_out(PydanticAITurn(agent), turn_input(posted(2, "more"), history=(failed.history,)))
    assert isinstance(done, Completed)
    last = requests[-1][-1]
    assert isinstance(last, ModelRequest)
    returned = {part.tool_call_id: part.outcome for part in last.parts if isinstance(part, ToolReturnPart)}
    assert returned == {"b": "success", "c": "interrupted"}


async def test_the_history_of_a_failed_run_is_one_that_others_can_go_on_from(model_of: Replies) -> None:
    """No call is open at its end, so that pydantic-ai itself takes it with a new prompt."""
    model = model_of([ToolCallPart("break_", {}, "c")], "done")
    agent = agent_that_breaks(model, KeyError("tool"))
    failed = await carry_out(PydanticAITurn(agent), turn_input(posted(1, "hello")))
    result = await agent.run("more", message_history=kept(failed))
    assert result.output == "done"


async def test_a_response_that_a_provider_would_go_on_with_is_left_out(
    model_of: Replies, requests: Requests
) -> None:
    """A thread whose history ends in a suspended response, on which no prompt may follow, goes on."""
    suspended: list[ModelMessage] = [
        ModelRequest.user_text_prompt("hello"),
        ModelResponse([TextPart("half")], state="suspended"),
    ]
    history = (ModelMessagesTypeAdapter.dump_json(suspended),)
    done = await carry_out(
        PydanticAITurn(Agent(model_of("done"))), turn_input(posted(2, "more"), history=history)
    )
    assert isinstance(done, Completed)
    assert prompt_texts(requests[0]) == ["hello", "more"]


async def test_a_response_over_the_limit_is_kept(model_of: Replies) -> None:
    """It came whole, and was paid for: what it answered was delivered, and its calls are closed."""
    turn = PydanticAITurn(Agent(model_of([LOOK])), usage_limits=UsageLimits(output_tokens_limit=1))
    failed = await carry_out(turn, turn_input(posted(1, "hello")), posted(2, "hurry"))
    assert isinstance(failed, Failed)
    assert failed.delivered == (2,)
    assert [message.kind for message in kept(failed)] == ["request", "request", "response", "request"]


@pytest.mark.parametrize("parts", [[TextPart("half \ud800")], [ToolCallPart("look", {"at": "\ud800"})]])
async def test_output_that_cannot_be_stored_fails_the_run(model_of: Replies, parts: list[Any]) -> None:
    """Half a surrogate pair: the run fails, what came before is kept, and the thread can go on."""
    turn = PydanticAITurn(agent_that_breaks(model_of([LOOK], parts, "done"), KeyError()))
    failed = await carry_out(turn, turn_input(posted(1, "hello")), posted(2, "hurry"))
    assert isinstance(failed, Failed)
    assert failed.delivered == (2,)
    assert [message.kind for message in kept(failed)] == ["request", "request", "response", "request"]
    done = await carry_out(turn, turn_input(posted(3, "more"), history=(failed.history,)))
    assert isinstance(done, Completed)


async def test_output_with_nul_fails_the_run_and_its_history_is_kept(model_of: Replies) -> None:
    """No log can hold NUL; a chunk of history can, as it is bytes."""
    failed = await carry_out(PydanticAITurn(Agent(model_of("a\0b"))), turn_input(posted(1, "hello")))
    assert isinstance(failed, Failed)
    assert "NUL" in failed.error
    assert [message.kind for message in kept(failed)] == ["request", "response"]


async def test_a_tools_result_that_cannot_be_stored_fails_the_run(model_of: Replies) -> None:
    """An object that JSON cannot say: what came before the result is kept, and the call is closed."""
    agent = Agent(model_of([LOOK], "done"))

    @agent.tool_plain
    async def look() -> ToolReturn[str]:
        """Return what is told to the model as a text, and keep an object beside it."""
        return ToolReturn("seen", metadata=object())

    failed = await carry_out(PydanticAITurn(agent), turn_input(posted(1, "hello")))
    assert isinstance(failed, Failed)
    assert "messages cannot be stored" in failed.error
    assert [message.kind for message in kept(failed)] == ["request", "response", "request"]


async def test_a_prompt_that_cannot_be_stored_leaves_nothing(model_of: Replies) -> None:
    """The door refuses such a message; if it came through all the same, the run fails and keeps nothing."""
    failed = await carry_out(PydanticAITurn(Agent(model_of("done"))), turn_input(posted(1, "\ud800")))
    assert isinstance(failed, Failed)
    assert failed.history is None


async def test_what_is_no_message_is_told_to_nobody(model_of: Replies) -> None:
    """An entry of another kind as a prompt is the caller's mistake, and fails the run."""
    other = Envelope(1, "e1", posted(1, "").at, PersonActor("ann"), ToolCalled("run", "a", "look", ""))
    failed = await carry_out(PydanticAITurn(Agent(model_of())), turn_input(other))
    assert isinstance(failed, Failed)
    assert "no message" in failed.error


def test_escapes_are_only_for_what_cannot_be_held() -> None:
    """Any other text stays as it is."""
    assert escaped("naïve 🙂\n") == "naïve 🙂\n"
    assert escaped("a\0\ud83d") == "a\\u0000\\ud83d"


async def test_a_failed_prompt_does_not_become_one_with_the_next(
    model_of: Replies, requests: Requests
) -> None:
    """A model is told that nothing of it is carried out, and then of the next, apart."""
    turn = PydanticAITurn(Agent(model_of(RuntimeError("503 overloaded"), "done")))
    failed = await carry_out(turn, turn_input(posted(1, "pay rent")))
    assert isinstance(failed, Failed)
    assert [message.kind for message in kept(failed)] == ["request", "response"]
    done = await carry_out(turn, turn_input(posted(2, "pay rent"), history=(failed.history,)))
    assert isinstance(done, Completed)
    first, closed, second = requests[-1]
    assert prompt_texts([first]) == prompt_texts([second]) == ["pay rent"]
    assert isinstance(closed, ModelResponse)
    assert closed.text == FAILED
