"""Turns of a pydantic-ai agent: what its model is given, and what came of it."""

from collections.abc import AsyncIterable, Callable
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import (
    Agent,
    AgentStreamEvent,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelRetry,
    RunContext,
    ToolCallPart,
    ToolDefinition,
    UsageLimits,
    UserPromptPart,
)
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.test import TestModel

from threadclaim.events import Envelope, PersonActor, ToolCalled, ToolReturned
from threadclaim.pydantic_ai import PydanticAITurn, current_turn
from threadclaim.pydantic_ai.messages import prompt_texts
from threadclaim.testing import QueuedSteering, RecordedFacts, posted
from threadclaim.turn import Completed, Failed, Outcome, Turn, TurnInput

pytestmark = pytest.mark.anyio
Requests = list[list[ModelMessage]]
Replies = Callable[..., FunctionModel]


def turn_input(*prompt: Envelope, **more: Any) -> TurnInput:  # noqa: ANN401  # any of TurnInput's fields
    """A turn of the run "run" with this prompt."""
    return TurnInput("thread", "run", PersonActor("ann"), prompt, **more, started_by=PersonActor("ann"))


async def carry_out(turn: Turn, given: TurnInput, *arrived: Envelope) -> Outcome:
    """What comes of a turn, with these messages there from the beginning."""
    return await turn.run(given, QueuedSteering(*arrived), RecordedFacts())


async def test_a_prompt_is_answered(model_of: Replies, requests: Requests) -> None:
    """The model is given the prompt, and its text is the output."""
    outcome = await carry_out(PydanticAITurn(Agent(model_of("hi"))), turn_input(posted(1, "hello")))
    assert isinstance(outcome, Completed)
    assert (outcome.output, outcome.delivered) == ("hi", ())
    assert prompt_texts(requests[0]) == ["hello"]


async def test_the_thread_is_the_conversation(model_of: Replies) -> None:
    """Each message of a turn is marked with the thread as its conversation, and the segment as its run."""
    outcome = await carry_out(PydanticAITurn(Agent(model_of("hi"))), turn_input(posted(1, "hello")))
    assert outcome.history is not None
    kept = ModelMessagesTypeAdapter.validate_json(outcome.history)
    assert {(message.conversation_id, message.run_id) for message in kept} == {("thread", "run/0")}


async def test_a_turn_goes_on_from_the_history(model_of: Replies, requests: Requests) -> None:
    """The chunks are the messages so far, in order; a turn adds only its own."""
    turn = PydanticAITurn(Agent(model_of("one", "two", "three")))
    history: list[bytes] = []
    for seq in (1, 2, 3):
        outcome = await carry_out(turn, turn_input(posted(seq, f"prompt {seq}"), history=history))
        assert outcome.history is not None
        history.append(outcome.history)
    assert prompt_texts(requests[-1]) == ["prompt 1", "prompt 2", "prompt 3"]
    assert [len(ModelMessagesTypeAdapter.validate_json(chunk)) for chunk in history] == [2, 2, 2]


async def test_several_messages_are_parts_of_one_request(model_of: Replies, requests: Requests) -> None:
    """Each message is a user prompt of its own, in the log's order; the model is asked once."""
    turn = PydanticAITurn(Agent(model_of("hi")))
    await carry_out(turn, turn_input(posted(1, "one"), posted(2, "two")))
    (request,) = requests[0]
    assert isinstance(request, ModelRequest)
    assert [part.content for part in request.parts if isinstance(part, UserPromptPart)] == ["one", "two"]
    assert len(requests) == 1


@pytest.mark.parametrize(
    ("notices", "expected"),
    [(True, ["<notice>the page moved</notice>", "hello"]), (False, ["hello"])],
    ids=["asked for", "not asked for"],
)
async def test_notices_are_told_only_if_asked_for(
    model_of: Replies, requests: Requests, *, notices: bool, expected: list[str]
) -> None:
    """A notice is told in its place beside the prompt, in a frame that says what it is."""
    turn = PydanticAITurn(Agent(model_of("hi")), notices=notices)
    notice = posted(1, "the page moved", notice=True)
    await carry_out(turn, turn_input(posted(2, "hello"), notices=[notice]))
    assert prompt_texts(requests[0]) == expected


async def test_what_has_arrived_is_in_the_first_request(model_of: Replies, requests: Requests) -> None:
    """Steering that is there as the run begins is given with its prompt, and delivered."""
    turn = PydanticAITurn(Agent(model_of("hi")))
    outcome = await carry_out(turn, turn_input(posted(1, "hello")), posted(2, "hurry"), posted(3, "please"))
    assert prompt_texts(requests[0]) == ["hello", "hurry", "please"]
    assert outcome.delivered == (2, 3)


async def test_steering_is_in_the_next_request(model_of: Replies, requests: Requests) -> None:
    """A message that arrives while a tool runs is given with the tool's result, and not before."""
    steering = QueuedSteering()
    agent = Agent(model_of([ToolCallPart("look")], "done"))

    @agent.tool_plain
    async def look() -> str:
        """Look, while a message arrives."""
        steering.arrived.append(posted(2, "hurry"))
        return "seen"

    outcome = await PydanticAITurn(agent).run(turn_input(posted(1, "hello")), steering, RecordedFacts())
    assert [prompt_texts(request) for request in requests] == [["hello"], ["hello", "hurry"]]
    assert (outcome.delivered, steering.arrived) == ((2,), [])


async def test_a_message_after_the_last_request_is_left(model_of: Replies, requests: Requests) -> None:
    """What arrives while the model gives its last answer is not taken: the next turn has it."""
    steering = QueuedSteering()

    def answer() -> str:
        """Answer, while a message arrives."""
        steering.arrived.append(posted(2, "late"))
        return "done"

    turn = PydanticAITurn(Agent(model_of(answer)))
    outcome = await turn.run(turn_input(posted(1, "hello")), steering, RecordedFacts())
    assert (outcome.delivered, len(requests)) == ((), 1)
    assert [message.seq for message in steering.arrived] == [2]


async def test_steering_that_the_application_drops_from_the_history_was_delivered(
    model_of: Replies, requests: Requests
) -> None:
    """An agent that forgets what it was told has been told: the message is not given again."""
    agent = Agent(model_of([ToolCallPart("forget")], "done"))

    @agent.tool
    async def forget(ctx: RunContext[object]) -> str:
        """Drop what steered the run from its history."""
        ctx.messages[:] = [message for message in ctx.messages if prompt_texts([message]) != ["hurry"]]
        return "forgotten"

    outcome = await carry_out(PydanticAITurn(agent), turn_input(posted(1, "hello")), posted(2, "hurry"))
    assert prompt_texts(requests[-1]) == ["hello"]
    assert outcome.delivered == (2,)


async def test_a_prompt_that_the_application_drops_is_not_put_back(model_of: Replies) -> None:
    """What is kept of a run is what its agent left of it, as the model had its prompt."""
    agent: Agent[object, str] = Agent(model_of([ToolCallPart("forget")], "done"))

    @agent.tool
    async def forget(ctx: RunContext[object]) -> str:
        """Drop the prompt from the history."""
        ctx.messages[:] = [message for message in ctx.messages if not prompt_texts([message])]
        return "forgotten"

    outcome = await carry_out(PydanticAITurn(agent), turn_input(posted(1, "hello")))
    assert isinstance(outcome, Completed)
    assert outcome.history is not None
    assert prompt_texts(ModelMessagesTypeAdapter.validate_json(outcome.history)) == []


async def test_steering_of_an_earlier_turn_is_not_delivered_again(model_of: Replies) -> None:
    """A turn tells only of what it gave itself, though the history has the marks of others."""
    turn = PydanticAITurn(Agent(model_of("one", "two")))
    first = await carry_out(turn, turn_input(posted(1, "hello")), posted(2, "hurry"))
    assert first.history is not None
    second = await carry_out(turn, turn_input(posted(3, "more"), history=[first.history]))
    assert (first.delivered, second.delivered) == ((2,), ())


class Size(BaseModel):
    """An output that is no text."""

    width: int
    unit: str


@pytest.mark.parametrize(
    ("output_type", "arguments", "expected"),
    [(Size, {"width": 3, "unit": "m"}, '{"width":3,"unit":"m"}'), (list[int], [1, 2], "[1,2]")],
    ids=["a model", "a list"],
)
async def test_an_output_that_is_no_text_is_json(
    output_type: Any,  # noqa: ANN401  # any output that an agent may have
    arguments: object,
    expected: str,
) -> None:
    """The log has an output's JSON."""
    agent = Agent(TestModel(custom_output_args=arguments), output_type=output_type)
    outcome = await carry_out(PydanticAITurn(agent), turn_input(posted(1, "hello")))
    assert isinstance(outcome, Completed)
    assert outcome.output == expected


async def test_a_run_without_an_output_has_none() -> None:
    """An agent may complete with nothing."""

    async def nothing() -> None:
        """End the run with no output."""

    agent = Agent(TestModel(call_tools=[]), output_type=[nothing])
    outcome = await carry_out(PydanticAITurn(agent), turn_input(posted(1, "hello")))
    assert isinstance(outcome, Completed)
    assert outcome.output is None


@pytest.mark.parametrize("is_async", [True, False], ids=["async", "sync"])
async def test_dependencies_are_made_for_each_turn(model_of: Replies, *, is_async: bool) -> None:
    """A factory, async or not, is given the turn; tools get what it made."""
    agent = Agent(model_of([ToolCallPart("who")], "done"), deps_type=str)
    seen: list[str] = []

    @agent.tool
    async def who(ctx: RunContext[str]) -> str:
        """Keep the dependencies."""
        seen.append(ctx.deps)
        return ctx.deps

    def made(turn: TurnInput) -> str:
        """Dependencies that tell of the turn."""
        return f"{turn.thread_id} {turn.context}"

    async def awaited(turn: TurnInput) -> str:
        """The same, async."""
        return made(turn)

    turn = PydanticAITurn(agent, deps=awaited if is_async else made)
    await carry_out(turn, turn_input(posted(1, "hello"), context="session"))
    assert seen == ["thread session"]


async def test_a_tool_reads_the_turn_it_is_called_in(model_of: Replies) -> None:
    """Tools, in threads too, find the turn and its key; outside of a turn there is none."""
    agent = Agent(model_of([ToolCallPart("look"), ToolCallPart("look_sync")], "done"))
    keys: list[str] = []

    @agent.tool_plain
    async def look() -> None:
        """Keep the key."""
        keys.append(current_turn().key)

    @agent.tool_plain
    def look_sync() -> None:
        """Keep the key, from a thread."""
        keys.append(current_turn().key)

    await carry_out(PydanticAITurn(agent), turn_input(posted(4, "one"), posted(5, "two")))
    assert keys == ["run:4,5", "run:4,5"]
    with pytest.raises(LookupError, match="No turn"):
        current_turn()


async def test_calls_of_tools_are_facts(model_of: Replies) -> None:
    """Each call is recorded before the tool runs, and its end after, also of one that asks for a retry."""
    facts, ran = RecordedFacts(), []
    agent = Agent(
        model_of([ToolCallPart("look", {"at": 1}, "a")], [ToolCallPart("look", {"at": 2}, "b")], "done")
    )

    @agent.tool_plain
    async def look(at: int) -> str:
        """Look at what was recorded; not at the first."""
        ran.append(len(facts.events))
        if at == 1:
            raise ModelRetry("look elsewhere")
        return "seen"

    await PydanticAITurn(agent).run(turn_input(posted(1, "hello")), QueuedSteering(), facts)
    assert ran == [1, 3]
    assert facts.events == [
        ToolCalled("run", "a", "look", '{"at":1}'),
        ToolReturned("run", "a", "look", ok=False),
        ToolCalled("run", "b", "look", '{"at":2}'),
        ToolReturned("run", "b", "look", ok=True),
    ]


async def test_a_call_that_another_capability_refuses_is_no_fact(model_of: Replies) -> None:
    """A tool that was not called has not returned either."""

    class Refuse(AbstractCapability[Any]):
        """Refuses each call, before its tool runs."""

        async def before_tool_execute(
            self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: dict[str, Any]
        ) -> dict[str, Any]:
            """Ask for a retry."""
            raise ModelRetry(
                f"{call.tool_name} is not for you, as {tool_def.name} of step {ctx.run_step}: {args}"
            )

    agent: Agent[object, str] = Agent(model_of([ToolCallPart("look")], "done"), capabilities=[Refuse()])
    facts = RecordedFacts()

    @agent.tool_plain
    async def look() -> str:
        """Look."""
        return "seen"

    outcome = await PydanticAITurn(agent).run(turn_input(posted(1, "hello")), QueuedSteering(), facts)
    assert isinstance(outcome, Completed)
    assert facts.events == []


async def test_arguments_are_recorded_as_json(model_of: Replies) -> None:
    """What no text of a log can hold, NUL say, is told as JSON's escape."""
    facts = RecordedFacts()
    agent = Agent(model_of([ToolCallPart("look", {"at": "\0"}, "a")], "done"))

    @agent.tool_plain
    async def look(at: str) -> str:
        """Look."""
        return at

    await PydanticAITurn(agent).run(turn_input(posted(1, "hello")), QueuedSteering(), facts)
    assert facts.events[0] == ToolCalled("run", "a", "look", '{"at":"\\u0000"}')


async def test_a_run_within_its_limits_and_one_beyond(model_of: Replies) -> None:
    """Usage limits are for each segment; one that would go beyond fails, and says so."""
    agent = Agent(model_of([ToolCallPart("look")], "done", [ToolCallPart("look")]))

    @agent.tool_plain
    async def look() -> str:
        """Look."""
        return "seen"

    enough = PydanticAITurn(agent, usage_limits=UsageLimits(request_limit=2))
    assert isinstance(await carry_out(enough, turn_input(posted(1, "hello"))), Completed)
    scarce = PydanticAITurn(agent, usage_limits=UsageLimits(request_limit=1))
    failed = await carry_out(scarce, turn_input(posted(2, "again")))
    assert isinstance(failed, Failed)
    assert "request_limit" in failed.error


async def test_events_are_streamed_to_the_handler() -> None:
    """A handler gets the run's events, steering among them."""
    kinds: list[str] = []

    async def handler(_: RunContext[object], events: AsyncIterable[AgentStreamEvent]) -> None:
        """Keep the kinds of the events."""
        kinds.extend([event.event_kind async for event in events])

    turn = PydanticAITurn(Agent(TestModel(call_tools=[])), event_stream_handler=handler)
    outcome = await carry_out(turn, turn_input(posted(1, "hello")), posted(2, "hurry"))
    assert outcome.delivered == (2,)
    assert {"enqueued_messages", "part_start", "final_result"} <= set(kinds)
