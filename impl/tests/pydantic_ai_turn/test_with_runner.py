"""Agents of pydantic-ai's under a runner: what comes at the worst moment is given once, no pause is lost."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic_ai import (
    Agent,
    DeferredToolRequests,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from threadclaim.events import Approve, Deny, MessagePosted, PersonActor, RequestAnswered, RunEnded, RunPaused
from threadclaim.pydantic_ai import PydanticAITurn
from threadclaim.runner import Runner
from threadclaim.storage import Scope, Storage
from threadclaim.thread import RunStatus
from threadclaim.workspace import Workspace

pytestmark = pytest.mark.anyio

PAY = ToolCallPart("pay", {"amount": 5}, "p")
DONE = TextPart("done")


@pytest.fixture
def anyio_backend(virtual_time: tuple[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    """Time passes at once."""
    return virtual_time


@dataclass
class Answering:
    """A model that says `replies` in turn, and `DONE` after them; its n-th answer waits for the n-th gate."""

    replies: list[TextPart | ToolCallPart] = field(default_factory=list)
    gates: dict[int, asyncio.Event] = field(default_factory=dict)
    asked: list[list[ModelMessage]] = field(default_factory=list)
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    paid: list[int] = field(default_factory=list)

    async def __call__(self, messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        """Keep what it is asked, wait if it must, and answer."""
        self.asked.append(list(messages))
        number = len(self.asked)
        if (gate := self.gates.get(number)) is not None:
            self.reached.set()
            await gate.wait()
        return ModelResponse([self.replies.pop(0) if self.replies else DONE])

    def wait_at(self, number: int) -> asyncio.Event:
        """Have the answer of this number wait for the gate that is returned."""
        self.gates[number] = asyncio.Event()
        return self.gates[number]

    def agent(self) -> Agent[object, Any]:
        """An agent of this model, that can pay once somebody has approved."""
        agent: Agent[object, Any] = Agent(FunctionModel(self), output_type=[str, DeferredToolRequests])

        @agent.tool_plain(requires_approval=True)
        async def pay(amount: int) -> str:
            """Pay."""
            self.paid.append(amount)
            return "paid"

        return agent

    def told(self) -> list[str]:
        """The texts of users that the model was given: all of those in the last request's history."""
        return [
            text
            for message in self.asked[-1]
            if isinstance(message, ModelRequest)
            for part in message.parts
            if isinstance(part, UserPromptPart)
            for text in ([part.content] if isinstance(part.content, str) else map(str, part.content))
        ]

    def returned(self) -> list[object]:
        """What the tools returned, in the last request's history."""
        return [
            part.content
            for message in self.asked[-1]
            if isinstance(message, ModelRequest)
            for part in message.parts
            if isinstance(part, ToolReturnPart)
        ]


Serve = Callable[[Answering], Runner]


@pytest.fixture
async def serve(storage: Storage, ann: Workspace) -> AsyncGenerator[Serve]:
    """Makes runners of a model's agent, which serve thread `t`."""
    await ann.create_thread("t")
    runners: list[Runner] = []

    def make(model: Answering) -> Runner:
        runners.append(Runner(PydanticAITurn(model.agent()), storage))
        return runners[-1]

    yield make
    for runner in runners:
        await runner.aclose()


async def settled(ann: Workspace, *runners: Runner) -> None:
    """Wait until nothing runs, and nothing is handed over."""
    while True:
        for runner in runners:
            await runner.drain()
        running = [run for runner in runners if (run := runner.running(ann, "t")) is not None]
        if not running:
            return
        for run in running:
            await run.wait()


async def status(ann: Workspace) -> RunStatus | None:
    """How the thread's run is."""
    run = (await ann.thread("t")).run
    return None if run is None else run.status


async def test_a_message_as_the_model_asks_only_for_approval_does_not_discard_the_pause(
    serve: Serve, ann: Workspace, scope: Scope
) -> None:
    """It comes while the model answers; the run pauses, and the message is its reply: it declines."""
    model = Answering([PAY])
    answer = model.wait_at(1)
    runner = serve(model)
    await runner.send(ann, "t", "Pay five.")
    await model.reached.wait()
    late = await runner.send(ann, "t", "Wait, six.")
    await asyncio.sleep(1)
    answer.set()
    await settled(ann, runner)
    events = [entry.event for entry in await ann.read(threads=["t"])]
    (paused,) = [event for event in events if isinstance(event, RunPaused)]
    assert [request.id for request in paused.requests] == ["p"]
    assert paused.delivered == ()
    (answered,) = [event for event in events if isinstance(event, RequestAnswered)]
    assert (answered.answer, answered.message_seq) == (Deny("Wait, six."), late.message.seq)
    assert model.paid == []
    assert model.returned() == ["Wait, six."]
    assert await status(ann) is RunStatus.ENDED
    assert (await ann.storage.stranded(scope)).left == ()


@pytest.mark.parametrize("how", ["text", "approve", "deny"])
async def test_free_text_to_an_approval_declines_it(serve: Serve, ann: Workspace, how: str) -> None:
    """The model is told the text, and the tool is not run; only an approval runs it, and once."""
    model = Answering([PAY])
    runner = serve(model)
    await runner.send(ann, "t", "Pay five.")
    await settled(ann, runner)
    assert await status(ann) is RunStatus.PAUSED
    if how == "text":
        await runner.send(ann, "t", "yes, do it")
    else:
        await runner.answer(ann, "t", {"p": Approve() if how == "approve" else Deny("No.")})
    await settled(ann, runner)
    assert await status(ann) is RunStatus.ENDED
    assert model.paid == ([5] if how == "approve" else [])
    assert model.returned() == [{"text": "yes, do it", "approve": "paid", "deny": "No."}[how]]


async def test_a_steer_accepted_while_the_run_drains_its_last_is_given_once(
    serve: Serve, ann: Workspace, scope: Scope
) -> None:
    """It comes as the last answer is under way, which no request can carry it to: the next turn's prompt."""
    model = Answering()
    answer = model.wait_at(1)
    runner = serve(model)
    first = await runner.send(ann, "t", "One.")
    await model.reached.wait()
    steer = await runner.send(ann, "t", "Two.")
    assert steer.run is None
    await asyncio.sleep(1)
    answer.set()
    await settled(ann, runner)
    assert model.told() == ["One.", "Two."]
    ends = [entry.event for entry in await ann.read(threads=["t"]) if isinstance(entry.event, RunEnded)]
    assert [end.outcome for end in ends] == ["completed"] * len(ends)
    assert len(ends) == 2
    assert first.message.seq < steer.message.seq
    assert (await ann.storage.stranded(scope)).left == ()


async def test_a_message_on_any_turn_of_the_loop_is_given_once(
    storage: Storage, loop_turns: Iterator[int]
) -> None:
    """From the run's first step to after its end: it steers the run, or is the next one's prompt."""
    runs = set()
    for turns in loop_turns:
        ann = Workspace(storage, Scope("tenant", f"turn {turns}"), PersonActor("ann"))
        await ann.create_thread("t")
        model = Answering()
        async with Runner(PydanticAITurn(model.agent()), storage) as runner:
            sending = asyncio.create_task(runner.send(ann, "t", "One."))
            await anext(ann.subscribe(after_seq=1))  # it is committed
            for _ in range(turns):
                await asyncio.sleep(0)
            is_over = sending.done() and runner.running(ann, "t") is None
            await runner.send(ann, "t", "Two.")
            await sending
            await settled(ann, runner)
        assert model.told() == ["One.", "Two."]
        ends = [entry.event for entry in await ann.read() if isinstance(entry.event, RunEnded)]
        assert [end.outcome for end in ends] == ["completed"] * len(ends)
        runs.add(len(ends))
        if is_over:
            break
    assert runs == {1, 2}, "Some steered, and some were handed over."


async def test_twenty_sends_at_once_from_two_runners(serve: Serve, ann: Workspace, scope: Scope) -> None:
    """Each text is told to the model once, in the log's order."""
    model = Answering()
    runners = serve(model), serve(model)
    sends = [runners[number % 2].send(ann, "t", f"Message {number}.") for number in range(20)]
    sent = sorted(await asyncio.gather(*sends), key=lambda one: one.message.seq)
    await settled(ann, *runners)
    texts = [one.message.event.text for one in sent if isinstance(one.message.event, MessagePosted)]
    assert model.told() == texts
    assert len(texts) == 20
    assert (await ann.storage.stranded(scope)).left == ()
