"""A run of a pydantic-ai agent that is stopped: nothing of it is alive when its turn has ended."""

import asyncio
import threading
from collections.abc import AsyncIterable, AsyncIterator, Callable
from concurrent.futures import Executor, ThreadPoolExecutor

import anyio
import pytest
from pydantic_ai import Agent, ModelMessage, ModelMessagesTypeAdapter, ModelResponse, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from threadclaim.events import PersonActor
from threadclaim.pydantic_ai import PydanticAITurn
from threadclaim.pydantic_ai.messages import STOPPED, prompt_texts
from threadclaim.testing import QueuedSteering, RecordedFacts, posted
from threadclaim.turn import Completed, Outcome, Stopped, TurnInput

pytestmark = pytest.mark.anyio
Requests = list[list[ModelMessage]]
Replies = Callable[..., FunctionModel]
LOOK, WORK = ToolCallPart("look", {}, "a"), ToolCallPart("work", {}, "b")


def begin(
    agent: Agent[object, str], steering: QueuedSteering | None = None, executor: Executor | None = None
) -> "asyncio.Task[Outcome]":
    """A turn that goes on in a task of its own."""
    given = TurnInput(
        "thread", "run", PersonActor("ann"), [posted(1, "hello")], started_by=PersonActor("ann")
    )
    options = PydanticAITurn(agent, executor=executor)
    turn = options.run(given, steering or QueuedSteering(), RecordedFacts())
    return asyncio.get_running_loop().create_task(turn)


async def reach(event: asyncio.Event, running: "asyncio.Task[Outcome]") -> None:
    """Wait until a run has come to where it sets an event."""
    setting = asyncio.ensure_future(event.wait())
    await asyncio.wait([setting, running], return_when=asyncio.FIRST_COMPLETED)
    assert event.is_set(), running


async def steps() -> None:
    """Let whatever can go on do so, for as many steps as any cancellation takes here."""
    for _ in range(50):
        await asyncio.sleep(0)


@pytest.mark.parametrize("calls", [[WORK], [LOOK, WORK]], ids=["a tool", "tools at once"])
@pytest.mark.parametrize("times", [1, 3], ids=["stopped", "stopped again and again"])
async def test_nothing_is_alive_once_a_run_has_stopped(
    model_of: Replies, calls: list[ToolCallPart], times: int
) -> None:
    """A tool that ignores its cancellation for a while holds the turn up, however often that is cancelled."""
    agent: Agent[object, str] = Agent(model_of(calls))
    reached, go, done = asyncio.Event(), asyncio.Event(), asyncio.Event()

    @agent.tool_plain
    async def look() -> str:
        """Look."""
        return "seen"

    @agent.tool_plain
    async def work() -> None:
        """Work on until the test says so, whoever cancels."""
        reached.set()
        while not go.is_set():
            try:
                await go.wait()
            except asyncio.CancelledError:
                continue
        done.set()

    running = begin(agent)
    await reach(reached, running)
    for _ in range(times):
        running.cancel()
        await steps()
        assert not running.done()
    go.set()
    assert isinstance(await running, Stopped)
    assert done.is_set()


async def test_a_tool_may_clean_up(model_of: Replies) -> None:
    """What a tool awaits after its cancellation is waited for, and not cancelled again."""
    agent: Agent[object, str] = Agent(model_of([WORK]))
    reached, go, cleaned = asyncio.Event(), asyncio.Event(), asyncio.Event()

    @agent.tool_plain
    async def work() -> None:
        """Work for good, and clean up for a while."""
        try:
            reached.set()
            await asyncio.Event().wait()
        finally:
            await go.wait()
            cleaned.set()

    running = begin(agent)
    await reach(reached, running)
    for _ in range(2):
        running.cancel()
        await steps()
        assert not running.done()
    go.set()
    assert isinstance(await running, Stopped)
    assert cleaned.is_set()


@pytest.mark.parametrize("given", [True, False], ids=["the application's", "its own"])
async def test_a_tool_in_a_thread_is_waited_for(model_of: Replies, *, given: bool) -> None:
    """A thread cannot be cancelled: the turn ends when it has returned, whoever's executor it is on."""
    agent: Agent[object, str] = Agent(model_of([WORK]))
    executor = ThreadPoolExecutor(1) if given else None
    loop, reached = asyncio.get_running_loop(), asyncio.Event()
    go, done = threading.Event(), threading.Event()

    @agent.tool_plain
    def work() -> None:
        """Work in a thread until the test says so."""
        loop.call_soon_threadsafe(reached.set)
        go.wait()
        done.set()

    running = begin(agent, executor=executor)
    await reach(reached, running)
    running.cancel()
    await steps()
    assert not running.done()
    go.set()
    assert isinstance(await running, Stopped)
    assert done.is_set()
    if executor is not None:  # the turn leaves it as it was
        assert executor.submit(int).result() == 0
        executor.shutdown()


async def test_a_model_call_is_over_once_a_run_has_stopped() -> None:
    """A call of the model that cleans up for a while is waited for."""
    reached, go, over = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def stream(_: list[ModelMessage], __: AgentInfo) -> AsyncIterator[str]:
        """Say a word, and no more."""
        yield "half"
        try:
            reached.set()
            await asyncio.Event().wait()
        finally:
            await go.wait()
            over.set()

    async def handler(_: object, events: AsyncIterable[object]) -> None:
        """Follow the stream."""
        assert [event async for event in events] == []

    agent: Agent[object, str] = Agent(FunctionModel(stream_function=stream))
    given = TurnInput(
        "thread", "run", PersonActor("ann"), [posted(1, "hello")], started_by=PersonActor("ann")
    )
    turn = PydanticAITurn(agent, event_stream_handler=handler)
    running = asyncio.create_task(turn.run(given, QueuedSteering(posted(2, "hurry")), RecordedFacts()))
    await reach(reached, running)
    running.cancel()
    await steps()
    assert not running.done()
    go.set()
    stopped = await running
    assert isinstance(stopped, Stopped)
    assert over.is_set()
    assert stopped.delivered == ()
    assert stopped.history is not None
    assert prompt_texts(ModelMessagesTypeAdapter.validate_json(stopped.history)) == ["hello"]


async def test_a_stop_through_anyio_ends_in_order(model_of: Replies) -> None:
    """Anyio cancels a task at each of its steps until it ends: the turn waits for its tool all the same."""
    agent: Agent[object, str] = Agent(model_of([WORK]))
    reached, go, cleaned = asyncio.Event(), asyncio.Event(), asyncio.Event()

    @agent.tool_plain
    async def work() -> None:
        """Work for good, and clean up for a while."""
        try:
            reached.set()
            await asyncio.Event().wait()
        finally:
            await go.wait()
            cleaned.set()

    outcomes: list[Outcome] = []

    async def carry_out() -> None:
        """Keep the turn's outcome."""
        given = TurnInput(
            "thread", "run", PersonActor("ann"), [posted(1, "hello")], started_by=PersonActor("ann")
        )
        outcomes.append(await PydanticAITurn(agent).run(given, QueuedSteering(), RecordedFacts()))

    async with anyio.create_task_group() as group:
        group.start_soon(carry_out)
        await reached.wait()
        group.cancel_scope.cancel()
        with anyio.CancelScope(shield=True):
            await steps()
            assert outcomes == []
            go.set()
    assert cleaned.is_set()
    assert [type(outcome) for outcome in outcomes] == [Stopped]


async def test_a_stopped_run_makes_no_more_requests(model_of: Replies, requests: Requests) -> None:
    """A tool that swallows its cancellation and returns does not make the run go on."""
    agent: Agent[object, str] = Agent(model_of([WORK], "never"))
    reached = asyncio.Event()

    @agent.tool_plain
    async def work() -> str:
        """Return as soon as it is cancelled."""
        reached.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "as you wish"
        return "never"

    running = begin(agent)
    await reach(reached, running)
    running.cancel()
    assert isinstance(await running, Stopped)
    assert len(requests) == 1


async def test_a_stopped_run_can_be_gone_on_from(model_of: Replies, requests: Requests) -> None:
    """What it delivered counts, what it was doing is closed, and the next run knows of it."""
    agent: Agent[object, str] = Agent(model_of([LOOK, WORK], "done"))
    reached = asyncio.Event()

    @agent.tool_plain
    async def look() -> str:
        """Look."""
        return "seen"

    @agent.tool_plain
    async def work() -> None:
        """Work for good."""
        reached.set()
        await asyncio.Event().wait()

    running = begin(agent, QueuedSteering(posted(2, "hurry")))
    await reach(reached, running)
    running.cancel()
    stopped = await running
    assert isinstance(stopped, Stopped)
    assert stopped.delivered == (2,)
    assert stopped.history is not None
    given = TurnInput(
        "thread",
        "next",
        PersonActor("ann"),
        [posted(3, "more")],
        history=[stopped.history],
        started_by=PersonActor("ann"),
    )
    done = await PydanticAITurn(agent).run(given, QueuedSteering(), RecordedFacts())
    assert isinstance(done, Completed)
    assert prompt_texts(requests[-1]) == ["hello", "hurry", "more"]


async def test_a_run_that_ended_before_it_could_be_stopped_has_ended(model_of: Replies) -> None:
    """The stop comes as the agent's task is done and its turn has not heard: the run is completed."""
    running = begin(Agent(model_of("done")))
    await asyncio.sleep(0)  # the turn's first step makes the agent's task
    (agent,) = (task for task in asyncio.all_tasks() if task.get_name() == "agent of run")
    agent.add_done_callback(lambda _: running.cancel())
    outcome = await running
    assert isinstance(outcome, Completed)
    assert outcome.output == "done"


async def test_a_stop_before_the_agent_begins(model_of: Replies, requests: Requests) -> None:
    """Its prompt is kept, and its model is never asked."""
    running = begin(Agent(model_of()))
    await asyncio.sleep(0)
    running.cancel()
    stopped = await running
    assert isinstance(stopped, Stopped)
    assert stopped.history is not None
    assert prompt_texts(ModelMessagesTypeAdapter.validate_json(stopped.history)) == ["hello"]
    assert requests == []


async def test_a_stopped_prompt_does_not_become_one_with_the_next(
    model_of: Replies, requests: Requests
) -> None:
    """What was stopped is not carried out with what is asked for next: a model is told so, in between."""
    agent = Agent(model_of("done"))
    running = begin(agent)
    await asyncio.sleep(0)
    running.cancel()
    stopped = await running
    assert stopped.history is not None
    given = TurnInput(
        "thread",
        "next",
        PersonActor("ann"),
        [posted(3, "thanks for stopping")],
        history=[stopped.history],
        started_by=PersonActor("ann"),
    )
    assert isinstance(await PydanticAITurn(agent).run(given, QueuedSteering(), RecordedFacts()), Completed)
    first, closed, second = requests[-1]
    assert (prompt_texts([first]), prompt_texts([second])) == (["hello"], ["thanks for stopping"])
    assert isinstance(closed, ModelResponse)
    assert closed.text == STOPPED
