"""What the turn rests on in pydantic-ai: a test that fails here, with a newer one, says where to look."""

import asyncio
import socket
import threading
from collections.abc import Callable
from typing import Any

import pytest
from pydantic_ai import (
    Agent,
    CallDeferred,
    DeferredToolRequests,
    DeferredToolResults,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    RunContext,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserError,
    UserPromptPart,
    capture_run_messages,
)
from pydantic_ai.capabilities import AbstractCapability, WrapRunHandler
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.run import AgentRunResult
from pydantic_core import PydanticSerializationError

from threadclaim.pydantic_ai.messages import prompt_texts

pytestmark = pytest.mark.anyio
Requests = list[list[ModelMessage]]
Replies = Callable[..., FunctionModel]
PAY, ASK = ToolCallPart("pay", {}, "p"), ToolCallPart("ask", {}, "q")


class Context(AbstractCapability[Any]):
    """Keeps the run's context, and what of the run is alive as its `wrap_run` ends."""

    def __init__(self) -> None:
        """Keep nothing yet."""
        self.run: RunContext[Any] | None = None
        self.alive: list[str] = []
        self.at_end: list[str] | None = None
        self.ended = asyncio.Event()

    async def wrap_run(self, ctx: RunContext[Any], *, handler: WrapRunHandler) -> AgentRunResult[Any]:
        """Keep the context, and what is alive at the end."""
        self.run = ctx
        try:
            return await handler()
        finally:
            self.at_end = list(self.alive)
            self.ended.set()

    def enqueue(self, text: str) -> None:
        """Give a message to the run."""
        assert self.run is not None
        self.run.enqueue(text)


def deferring_agent(model: FunctionModel) -> Agent[object, Any]:
    """An agent that can ask, pay if it may, and look."""
    agent: Agent[object, Any] = Agent(model, output_type=[str, DeferredToolRequests])

    @agent.tool_plain
    async def ask() -> str:
        """Ask."""
        raise CallDeferred

    @agent.tool_plain(requires_approval=True)
    async def pay() -> str:
        """Pay."""
        return "paid"

    @agent.tool_plain
    async def look() -> str:
        """Look."""
        return "seen"

    return agent


@pytest.mark.parametrize(
    ("beside", "pauses"),
    [((), False), ((ToolCallPart("look"),), True)],
    ids=["only deferred", "a tool beside"],
)
async def test_a_message_enqueued_as_a_response_only_defers_calls_discards_the_pause(
    model_of: Replies, beside: tuple[ToolCallPart, ...], *, pauses: bool
) -> None:
    """So a message is given from `before_model_request` alone, and at no other time."""
    context = Context()

    def ask_and_be_interrupted() -> list[ToolCallPart]:
        """Ask for approval, while a message is enqueued."""
        context.enqueue("wait")
        return [PAY, *beside]

    agent = deferring_agent(model_of(ask_and_be_interrupted, "never mind"))
    result = await agent.run("hello", capabilities=[context])
    assert isinstance(result.output, DeferredToolRequests) == pauses


async def test_a_message_after_the_last_request_makes_one_more(model_of: Replies, requests: Requests) -> None:
    """What is enqueued before the queue closes is given; after that, enqueueing raises."""
    context = Context()

    def answer() -> str:
        """Answer, while a message is enqueued."""
        context.enqueue("late")
        return "done"

    result = await Agent(model_of(answer, "done again")).run("hello", capabilities=[context])
    assert (result.output, prompt_texts(requests[-1])) == ("done again", ["hello", "late"])
    with pytest.raises(UserError, match="run has ended"):
        context.enqueue("too late")


async def test_what_is_enqueued_before_a_request_is_in_it(model_of: Replies, requests: Requests) -> None:
    """From `before_model_request`, a whole request goes into the one that is made, with its metadata."""

    class Steer(AbstractCapability[Any]):
        """Enqueues a request, marked."""

        async def before_model_request(
            self, ctx: RunContext[Any], request_context: ModelRequestContext
        ) -> ModelRequestContext:
            """Enqueue it."""
            ctx.enqueue(ModelRequest([UserPromptPart("steer")], metadata={"seq": 5}))
            return request_context

    result = await Agent(model_of("done")).run("hello", capabilities=[Steer()])
    assert prompt_texts(requests[0]) == ["hello", "steer"]
    assert [message.metadata for message in result.new_messages()] == [None, {"seq": 5}, None]


async def test_drained_is_not_delivered(model_of: Replies) -> None:
    """A message whose request fails is in no queue, and in the captured history without an answer."""
    context = Context()

    def break_() -> str:
        """Fail, as a model does."""
        raise KeyError("model")

    def look() -> list[ToolCallPart]:
        """Call a tool, while a message is enqueued."""
        context.enqueue("hurry")
        return [ToolCallPart("look")]

    agent = deferring_agent(model_of(look, break_))
    with capture_run_messages() as messages, pytest.raises(KeyError):
        await agent.run("hello", capabilities=[context])
    assert context.run is not None
    assert context.run.pending_messages == []
    assert prompt_texts(messages) == ["hello", "hurry"]
    assert isinstance(messages[-1], ModelRequest)


async def test_a_tool_outlives_wrap_run_as_a_run_is_cancelled(model_of: Replies) -> None:
    """So a run's end is recorded after `agent.run` has raised: a tool may be alive within it until then."""
    context, reached, go = Context(), asyncio.Event(), asyncio.Event()
    agent: Agent[object, str] = Agent(model_of([ToolCallPart("work")]))

    @agent.tool_plain
    async def work() -> None:
        """Work for good, and clean up until the test says so."""
        context.alive.append("work")
        try:
            reached.set()
            await asyncio.Event().wait()
        finally:
            await go.wait()
            context.alive.remove("work")

    running = asyncio.create_task(agent.run("hello", capabilities=[context]))
    await reached.wait()
    running.cancel()
    await context.ended.wait()
    assert (context.at_end, running.done()) == (["work"], False)
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert context.alive == []


async def test_a_cancelled_run_leaves_its_threads(model_of: Replies) -> None:
    """So a run's threads are ours to wait for: `agent.run` raises while one still works."""
    agent: Agent[object, str] = Agent(model_of([ToolCallPart("work")]))
    loop, reached, go, done = asyncio.get_running_loop(), asyncio.Event(), threading.Event(), asyncio.Event()

    @agent.tool_plain
    def work() -> None:
        """Work in a thread until the test says so."""
        loop.call_soon_threadsafe(reached.set)
        go.wait()
        loop.call_soon_threadsafe(done.set)

    running = asyncio.create_task(agent.run("hello"))
    await reached.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not done.is_set()
    go.set()
    await done.wait()


@pytest.mark.parametrize(
    "results",
    [
        DeferredToolResults(calls={"q": "blue"}),
        DeferredToolResults(calls={"q": "blue", "x": "?"}, approvals={"p": True}),
    ],
    ids=["too few", "an unknown one"],
)
async def test_results_must_cover_exactly_the_open_calls(
    model_of: Replies, results: DeferredToolResults
) -> None:
    """Partial or unknown ids are refused."""
    agent = deferring_agent(model_of([PAY, ASK], "done"))
    paused = await agent.run("hello")
    with pytest.raises(UserError):
        await agent.run(message_history=paused.all_messages(), deferred_tool_results=results)


async def test_a_call_result_for_an_approval_is_its_result(model_of: Replies, requests: Requests) -> None:
    """The tool is not run: so a form's values are its result even where it needs approval."""
    agent = deferring_agent(model_of([PAY], "done"))
    paused = await agent.run("hello")
    results = DeferredToolResults(calls={"p": "not run"})
    await agent.run(message_history=paused.all_messages(), deferred_tool_results=results)
    last = requests[-1][-1]
    assert isinstance(last, ModelRequest)
    assert [part.content for part in last.parts if isinstance(part, ToolReturnPart)] == ["not run"]


async def test_a_run_id_must_be_fresh(model_of: Replies) -> None:
    """So each segment of a resumed run has an id of its own for pydantic-ai."""
    agent = Agent(model_of("one", "two"))
    first = await agent.run("hello", run_id="run")
    with pytest.raises(UserError, match="distinct"):
        await agent.run("more", run_id="run", message_history=first.all_messages())


async def test_a_prompt_on_open_calls_is_refused(model_of: Replies) -> None:
    """So the calls that a dead run left open are closed before another begins."""
    agent = deferring_agent(model_of([ASK]))
    paused = await agent.run("hello")
    with pytest.raises(UserError, match="unprocessed tool calls"):
        await agent.run("more", message_history=paused.all_messages())


def test_what_a_chunk_can_hold() -> None:
    """NUL comes back as it was; half a surrogate pair cannot be written."""
    nul: list[ModelMessage] = [ModelResponse([TextPart("a\0b")])]
    assert ModelMessagesTypeAdapter.validate_json(ModelMessagesTypeAdapter.dump_json(nul)) == nul
    with pytest.raises(PydanticSerializationError):
        ModelMessagesTypeAdapter.dump_json([ModelResponse([TextPart("\ud800")])])


async def test_a_run_of_async_functions_makes_no_thread_and_no_socket(
    model_of: Replies, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So it runs on a loop that has neither."""
    made: list[str] = []
    monkeypatch.setattr(threading.Thread, "start", lambda *_: made.append("thread"))
    monkeypatch.setattr(socket, "socket", lambda *_: made.append("socket"))
    result = await deferring_agent(model_of([ToolCallPart("look")], "done")).run("hello")
    assert (result.output, made) == ("done", [])
