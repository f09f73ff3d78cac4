"""Pauses of a pydantic-ai agent, and how it goes on from them."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from pydantic_ai import (
    Agent,
    ApprovalRequired,
    CallDeferred,
    DeferredToolRequests,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    RunContext,
    ToolCallPart,
    ToolReturn,
    ToolReturnPart,
)
from pydantic_ai.models.function import FunctionModel

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
)
from threadclaim.pydantic_ai import PydanticAITurn
from threadclaim.pydantic_ai.messages import prompt_texts
from threadclaim.testing import QueuedSteering, RecordedFacts, posted
from threadclaim.thread import Answered
from threadclaim.turn import Completed, Failed, Outcome, Paused, TurnInput

pytestmark = pytest.mark.anyio
ANN = PersonActor("ann")
Requests = list[list[ModelMessage]]
Replies = Callable[..., FunctionModel]

ASK, PAY, LOOK = (
    ToolCallPart("ask", {"about": "colour"}, "q"),
    ToolCallPart("pay", {}, "p"),
    ToolCallPart("look"),
)


def deferring_agent(model: FunctionModel, ran: list[str] | None = None) -> Agent[object, Any]:
    """An agent that can ask, pay if it may, and look; `ran` gets the names of the tools that run."""
    ran = [] if ran is None else ran
    agent: Agent[object, Any] = Agent(model, output_type=[str, DeferredToolRequests])

    @agent.tool_plain
    async def ask(about: str) -> str:
        """Ask the user."""
        raise CallDeferred(metadata={"about": about})

    @agent.tool_plain(requires_approval=True)
    async def pay() -> str:
        """Pay, once somebody has approved."""
        ran.append("pay")
        return "paid"

    @agent.tool_plain
    async def look() -> str:
        """Look."""
        ran.append("look")
        return "seen"

    return agent


def start(*prompt: Envelope) -> TurnInput:
    """A turn that starts a run."""
    return TurnInput("thread", "run", ANN, prompt, started_by=ANN)


def resume(
    paused: Outcome, answers: Mapping[str, AnyAnswer], *beside: Envelope, earlier: bytes = b"[]"
) -> TurnInput:
    """A turn that resumes a paused run with answers, and these messages beside them."""
    assert isinstance(paused, Paused)
    assert paused.history is not None
    answered = {request_id: Answered(answer, ANN, 10) for request_id, answer in answers.items()}
    return TurnInput(
        "thread", "run", ANN, beside, paused.requests, answered, [earlier, paused.history], started_by=ANN
    )


async def carry_out(agent: Agent[object, Any], given: TurnInput, *arrived: Envelope) -> Outcome:
    """What comes of a turn, with these messages there from the beginning."""
    return await PydanticAITurn(agent).run(given, QueuedSteering(*arrived), RecordedFacts())


def returns(messages: list[ModelMessage]) -> dict[str, object]:
    """What each tool returned, by its name, in the last request."""
    last = messages[-1]
    assert isinstance(last, ModelRequest)
    return {part.tool_name: part.content for part in last.parts if isinstance(part, ToolReturnPart)}


async def test_deferred_calls_are_requests_in_the_models_order(model_of: Replies) -> None:
    """A call that waits for its result is a question, one that waits for approval an approval."""
    paused = await carry_out(deferring_agent(model_of([PAY, LOOK, ASK])), start(posted(1, "hello")))
    assert isinstance(paused, Paused)
    assert paused.requests == (
        Request("p", "approval", "pay"),
        Request("q", "question", "ask", {"about": "colour"}),
    )


@pytest.mark.parametrize("how", ["metadata", "arguments", "approval"])
async def test_ask_form_is_a_form(model_of: Replies, requests: Requests, how: str) -> None:
    """Its schema is in the metadata or the arguments; its values are the call's result, and it is not run."""
    schema, ran = {"type": "object"}, []
    call = ToolCallPart("ask_form", {"schema": schema} if how != "metadata" else {"schema": {}}, "f")
    agent: Agent[object, Any] = Agent(model_of([call], "done"), output_type=[str, DeferredToolRequests])

    @agent.tool_plain(requires_approval=how == "approval")
    async def ask_form(schema: dict[str, Any]) -> str:
        """Ask for a form's values."""
        ran.append(schema)
        raise CallDeferred(metadata={"schema": {"type": "object"}} if how == "metadata" else None)

    paused = await carry_out(agent, start(posted(1, "hello")))
    assert isinstance(paused, Paused)
    assert [(r.id, r.kind, r.schema) for r in paused.requests] == [("f", "form", schema)]
    called = len(ran)
    done = await carry_out(agent, resume(paused, {"f": FormValues({"size": 2})}))
    assert isinstance(done, Completed)
    assert returns(requests[-1]) == {"ask_form": {"size": 2}}
    assert len(ran) == called


@pytest.mark.parametrize(
    ("answers", "expected", "ran"),
    [
        ({"q": Reply("blue"), "p": Approve()}, {"ask": "blue", "pay": "paid"}, ["look", "pay"]),
        ({"q": Reply(None), "p": Deny("too much")}, {"ask": None, "pay": "too much"}, ["look"]),
        ({"q": Reply({"a": [1]}), "p": Approve()}, {"ask": {"a": [1]}, "pay": "paid"}, ["look", "pay"]),
    ],
    ids=["approved", "denied", "a value that is no text"],
)
async def test_answers_become_results_of_exactly_the_open_calls(
    model_of: Replies,
    requests: Requests,
    answers: dict[str, AnyAnswer],
    expected: dict[str, object],
    ran: list[str],
) -> None:
    """A run whose other tools ran as it paused goes on with the answers, and they run once."""
    did: list[str] = []
    agent = deferring_agent(model_of([PAY, LOOK, ASK], "done"), did)
    paused = await carry_out(agent, start(posted(1, "hello")))
    done = await carry_out(agent, resume(paused, answers))
    assert isinstance(done, Completed)
    assert {name: value for name, value in returns(requests[-1]).items() if name != "look"} == expected
    assert did == ran


async def test_messages_beside_answers_follow_the_results(model_of: Replies, requests: Requests) -> None:
    """They are the resumed run's prompt: parts of the same request, in order, after the tools' results."""
    agent = deferring_agent(model_of([ASK], "done"))
    paused = await carry_out(agent, start(posted(1, "hello")))
    await carry_out(agent, resume(paused, {"q": Reply("blue")}, posted(3, "and"), posted(4, "go")))
    last = requests[-1][-1]
    assert isinstance(last, ModelRequest)
    assert [part.part_kind for part in last.parts] == ["tool-return", "user-prompt", "user-prompt"]
    assert prompt_texts(requests[-1]) == ["hello", "and", "go"]


@pytest.mark.parametrize("beside", [(), (LOOK,)], ids=["only deferred calls", "a tool beside"])
async def test_a_message_that_arrives_as_the_run_pauses_does_not_discard_the_pause(
    model_of: Replies, requests: Requests, beside: tuple[ToolCallPart, ...]
) -> None:
    """A response asks for approval as the message arrives: the pause stands, and the message is left."""
    steering = QueuedSteering()

    def ask_and_be_interrupted() -> list[ToolCallPart]:
        """Ask for approval, while a message arrives."""
        steering.arrived.append(posted(2, "wait"))
        return [PAY, *beside]

    turn = PydanticAITurn(deferring_agent(model_of(ask_and_be_interrupted)))
    paused = await turn.run(start(posted(1, "hello")), steering, RecordedFacts())
    assert isinstance(paused, Paused)
    assert [request.id for request in paused.requests] == ["p"]
    assert (paused.delivered, len(requests)) == ((), 1)
    assert [message.seq for message in steering.arrived] == [2]


async def test_a_pause_delivers_what_its_requests_carried(model_of: Replies) -> None:
    """Steering of the request that the model answered with a question was delivered."""
    paused = await carry_out(deferring_agent(model_of([ASK])), start(posted(1, "hello")), posted(2, "hurry"))
    assert isinstance(paused, Paused)
    assert paused.delivered == (2,)


async def test_a_run_may_pause_again_and_again(model_of: Replies, requests: Requests) -> None:
    """Each segment is a chunk, and an id of its own for pydantic-ai; the run keeps its id."""
    agent = deferring_agent(model_of([ASK], [PAY], "done"))
    first = await carry_out(agent, start(posted(1, "hello")))
    second = await carry_out(agent, resume(first, {"q": Reply("blue")}))
    assert first.history is not None
    done = await carry_out(agent, resume(second, {"p": Approve()}, earlier=first.history))
    assert isinstance(done, Completed)
    assert returns(requests[-1]) == {"pay": "paid"}


async def test_messages_beside_answers_wait_while_the_run_asks_again(
    model_of: Replies, requests: Requests
) -> None:
    """If the run pauses again before any request, they are kept with it, and given with the next request."""
    agent: Agent[object, Any] = Agent(model_of([PAY], "done"), output_type=[str, DeferredToolRequests])

    @agent.tool(requires_approval=True)
    async def pay(ctx: RunContext[object]) -> str:
        """Ask a second time before paying."""
        if len(asked) == 1:
            asked.append("second")
            raise ApprovalRequired
        return "paid" if ctx.tool_call_approved else "unpaid"

    asked = ["first"]
    first = await carry_out(agent, start(posted(1, "hello")))
    again = await carry_out(agent, resume(first, {"p": Approve()}, posted(3, "be quick")), posted(4, "hurry"))
    assert isinstance(again, Paused)
    assert ([r.id for r in again.requests], again.delivered, len(requests)) == (["p"], (), 1)
    assert first.history is not None
    beside = posted(6, "please")
    done = await carry_out(agent, resume(again, {"p": Approve()}, beside, earlier=first.history))
    assert isinstance(done, Completed)
    assert prompt_texts(requests[-1]) == ["hello", "be quick", "please"]
    last = requests[-1][-1]
    assert [part.part_kind for part in last.parts] == ["tool-return", "user-prompt", "user-prompt"]
    assert returns(requests[-1]) == {"pay": "paid"}


async def test_a_paused_run_that_is_given_up_is_gone_on_from(model_of: Replies, requests: Requests) -> None:
    """A new run on a history whose calls stayed open, as a process died: they are closed, and it goes on."""
    agent = deferring_agent(model_of([ASK], "done"))
    paused = await carry_out(agent, start(posted(1, "hello")))
    assert paused.history is not None
    given = TurnInput("thread", "next", ANN, [posted(5, "more")], history=[paused.history], started_by=ANN)
    done = await carry_out(agent, given)
    assert isinstance(done, Completed)
    assert list(returns(requests[-1])) == ["ask"]
    assert prompt_texts(requests[-1]) == ["hello", "more"]


async def test_a_resumption_that_fails_first_closes_the_calls(model_of: Replies, requests: Requests) -> None:
    """An approved tool that breaks ends the run: the calls are closed, and the messages beside are kept."""
    agent: Agent[object, Any] = Agent(model_of([PAY, ASK], "done"), output_type=[str, DeferredToolRequests])

    @agent.tool_plain(requires_approval=True)
    async def pay() -> str:
        """Break."""
        raise KeyError("purse")

    @agent.tool_plain
    async def ask(about: str) -> str:
        """Ask the user."""
        raise CallDeferred(metadata={"about": about})

    paused = await carry_out(agent, start(posted(1, "hello")))
    answers: dict[str, AnyAnswer] = {"p": Approve(), "q": Reply("blue")}
    failed = await carry_out(agent, resume(paused, answers, posted(3, "be quick")))
    assert isinstance(failed, Failed)
    assert paused.history is not None
    assert failed.history is not None
    kept = ModelMessagesTypeAdapter.validate_json(failed.history)
    assert prompt_texts(kept) == ["be quick"]
    given = TurnInput(
        "thread", "next", ANN, [posted(5, "more")], history=[paused.history, failed.history], started_by=ANN
    )
    assert isinstance(await carry_out(agent, given), Completed)
    parts = [part for message in requests[-1] for part in message.parts]
    assert {part.tool_name for part in parts if isinstance(part, ToolReturnPart)} == {"pay", "ask"}
    assert prompt_texts(requests[-1]) == ["hello", "be quick", "more"]


async def test_answers_that_are_not_for_the_open_calls_fail_the_run(model_of: Replies) -> None:
    """A history that does not fit the requests is an error that the log tells of."""
    agent = deferring_agent(model_of([ASK], "done"))
    paused = await carry_out(agent, start(posted(1, "hello")))
    assert isinstance(paused, Paused)
    other = Paused((Request("x", "question", "ask"),), paused.history)
    failed = await carry_out(agent, resume(other, {"x": Reply("blue")}))
    assert isinstance(failed, Failed)
    assert failed.reason is None


async def test_requests_that_no_log_can_hold_fail_the_run(model_of: Replies) -> None:
    """NUL in what the model asks with: the run fails instead of pausing, and its call is closed."""
    agent = deferring_agent(model_of([ToolCallPart("ask", {"about": "\0"}, "q")], "done"))
    failed = await carry_out(agent, start(posted(1, "hello")))
    assert isinstance(failed, Failed)
    assert "NUL" in failed.error
    assert failed.history is not None
    given = TurnInput("thread", "next", ANN, [posted(5, "more")], history=[failed.history], started_by=ANN)
    assert isinstance(await carry_out(agent, given), Completed)


async def test_a_call_that_defers_itself_has_not_returned(model_of: Replies) -> None:
    """A tool that runs only to ask is recorded as called; its end is the answer."""
    facts = RecordedFacts()
    agent = deferring_agent(model_of([ASK]))
    await PydanticAITurn(agent).run(start(posted(1, "hello")), QueuedSteering(), facts)
    assert facts.events == [ToolCalled("run", "q", "ask", '{"about":"colour"}')]


async def test_a_resumption_that_cannot_be_stored_keeps_the_messages_beside(model_of: Replies) -> None:
    """Their request cannot be kept, for what a tool returned in it; the agent still learns of them."""
    agent: Agent[object, Any] = Agent(model_of([PAY], "done"), output_type=[str, DeferredToolRequests])

    @agent.tool_plain(requires_approval=True)
    async def pay() -> ToolReturn[str]:
        """Return an object that JSON cannot say, beside a text."""
        return ToolReturn("paid", metadata=object())

    paused = await carry_out(agent, start(posted(1, "hello")))
    failed = await carry_out(agent, resume(paused, {"p": Approve()}, posted(3, "be quick")))
    assert isinstance(failed, Failed)
    assert failed.history is not None
    assert prompt_texts(ModelMessagesTypeAdapter.validate_json(failed.history)) == ["be quick"]
