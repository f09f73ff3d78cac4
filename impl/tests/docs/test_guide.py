"""What the guide says in words, beside what its code shows."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from pydantic_ai import (
    Agent,
    DeferredToolRequests,
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.models.function import AgentInfo, FunctionModel

from threadclaim import (
    Completed,
    InMemoryStorage,
    Paused,
    PersonActor,
    Runner,
    SystemActor,
    Workspace,
    Workspaces,
)
from threadclaim.errors import SettledRequest
from threadclaim.events import Approve, Deny, Request, RequestAnswered, RunStarted
from threadclaim.pydantic_ai import PydanticAITurn, current_turn
from threadclaim.testing import Pause, ScriptedTurn
from threadclaim.thread import Answered

pytestmark = pytest.mark.anyio

Answers = Callable[[list[ModelMessage], AgentInfo], Awaitable[ModelResponse]]


@pytest.fixture
async def ann() -> Workspace:
    """A workspace in memory, as in the guide's tests: over every storage, other tests say the same."""
    storage = InMemoryStorage(clock=asyncio.get_running_loop().time)
    return Workspaces(storage).workspace("acme", "tests", PersonActor("ann"))


def says(text: str) -> Answers:
    """A model that says one thing."""

    async def say(_messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        """Say it."""
        return ModelResponse([TextPart(text)])

    return say


async def test_a_bystanders_message_declines_an_approval(ann: Workspace) -> None:
    """Whatever it says; the run resumes for the bystander, and stays its starter's."""

    async def refunds(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        """Call `refund`, then say what came of it."""
        returned = [part for part in messages[-1].parts if isinstance(part, ToolReturnPart)]
        if not returned:
            return ModelResponse([ToolCallPart("refund")])
        return ModelResponse([TextPart(str(returned[0].content))])

    agent = Agent(FunctionModel(refunds), output_type=[str, DeferredToolRequests])
    paid: list[str] = []

    @agent.tool_plain(requires_approval=True)
    async def refund() -> str:
        """Give money back."""
        paid.append("all of it")
        return "paid"

    await ann.create_thread("t")
    async with Runner(PydanticAITurn(agent), ann.storage) as runner:
        sent = await runner.send(ann, "t", "My money, please.")
        assert sent.run
        assert isinstance(await sent.run.wait(), Paused)
        sent = await runner.send(ann.as_actor(PersonActor("eve")), "t", "Thanks!")
        assert sent.run
        outcome = await sent.run.wait()
    assert isinstance(outcome, Completed)
    assert (outcome.output, paid) == ("Thanks!", [])
    answers = [e.event.answer for e in await ann.read() if isinstance(e.event, RequestAnswered)]
    assert answers == [Deny("Thanks!")]


async def test_whose_answer_stands_is_told_by_the_thread(ann: Workspace) -> None:
    """Bob approved, so Eve's refusal is none: the thread has his answer, and keeps it."""
    turn = ScriptedTurn([Pause((Request("r", "approval", "refund"),))])
    eve = ann.as_actor(PersonActor("eve"))
    await ann.create_thread("t")
    async with Runner(turn, ann.storage) as runner:
        await runner.send(ann, "t", "My money, please.")
        await asyncio.sleep(1)
        bobs = await runner.answer(ann.as_actor(PersonActor("bob")), "t", {"r": Approve()})
        for _ in range(2):
            with pytest.raises(SettledRequest):
                await runner.answer(eve, "t", {"r": Deny("no")})
            run = (await eve.thread("t")).run
            assert run is not None
            assert run.answers["r"] == Answered(Approve(), PersonActor("bob"), bobs.committed[0].seq)
            await asyncio.sleep(1)


async def test_a_model_may_be_told_less_of_a_long_history(ann: Workspace) -> None:
    """With pydantic-ai's ProcessHistory; the thread's history keeps all of it."""
    told: list[list[object]] = []

    async def model(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        """Note what it is told."""
        parts = [part for message in messages for part in message.parts]
        told.append([part.content for part in parts if isinstance(part, UserPromptPart)])
        return ModelResponse([TextPart("so")])

    async def last(messages: list[ModelMessage]) -> list[ModelMessage]:
        """Only the last message."""
        return messages[-1:]

    agent = Agent(FunctionModel(model), capabilities=[ProcessHistory(last)])
    await ann.create_thread("t")
    async with Runner(PydanticAITurn(agent), ann.storage) as runner:
        for text in ("one", "two", "three"):
            sent = await runner.send(ann, "t", text)
            assert sent.run
            await sent.run.wait()
    assert told == [["one"], ["two"], ["three"]]
    history = await ann.storage.transact(ann.scope, lambda tx: tx.history("t"))
    assert [text in chunk for text, chunk in zip((b"one", b"two", b"three"), history, strict=True)] == [
        True
    ] * 3


async def test_an_override_reaches_the_turns_of_commands_alone(ann: Workspace) -> None:
    """A hand-over's turn has a context of its own, so the agent's own model is what it calls."""
    reached, go = asyncio.Event(), asyncio.Event()

    async def overriding(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        """Wait for the test."""
        reached.set()
        await go.wait()
        return await says("overridden")(messages, info)

    agent = Agent(FunctionModel(says("its own")))
    await ann.create_thread("t")
    async with Runner(PydanticAITurn(agent), ann.storage) as runner:
        with agent.override(model=FunctionModel(overriding)):
            sent = await runner.send(ann, "t", "one")
            assert sent.run
            await reached.wait()
            await runner.send(ann.as_actor(PersonActor("bob")), "t", "two")
            go.set()
            first = await sent.run.wait()
            await runner.drain()
            handed_over = runner.running(ann, "t")
            assert handed_over is not None
            second = await handed_over.wait()
    outputs = [outcome.output for outcome in (first, second) if isinstance(outcome, Completed)]
    assert outputs == ["overridden", "its own"]


async def test_a_tool_that_sends_to_its_own_thread(ann: Workspace) -> None:
    """As the turn's actor it steers its own run; as another, its message starts the next."""
    agent: Agent[None, str] = Agent("test")
    handles: list[Runner] = []

    @agent.tool_plain
    async def send() -> str:
        """Send a message as the turn's actor, and one as the system; only in the first run."""
        if len(handles) == 1:
            await handles[0].send(ann.as_actor(current_turn().actor), "t", "steering")
            await handles[0].send(ann.as_actor(SystemActor("tool")), "t", "the next")
            await asyncio.sleep(1)  # so that its watcher finds them
        handles.append(handles[0])
        return "sent"

    await ann.create_thread("t")
    async with Runner(PydanticAITurn(agent), ann.storage) as runner:
        handles.append(runner)
        sent = await runner.send(ann, "t", "Do it.")
        assert sent.run
        outcome = await sent.run.wait()
        await asyncio.sleep(1)
    messages = [entry for entry in await ann.read() if entry.is_message]
    starts = [entry for entry in await ann.read() if isinstance(entry.event, RunStarted)]
    assert outcome.delivered == (messages[1].seq,)
    assert [start.actor for start in starts] == [ann.actor, SystemActor("tool")]
