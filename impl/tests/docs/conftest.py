"""What the tests of what may run twice share: an agent that notes all that reaches it, and processes."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

import pytest
from pydantic_ai import (
    Agent,
    CallDeferred,
    DeferredToolRequests,
    ModelMessage,
    ModelResponse,
    ModelResponsePart,
    TextPart,
    Tool,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from tests.conftest import STORAGES
from tests.opened import Opened
from tests.runner.faults import FaultyStorage, Gate
from threadclaim.demo.process import Process
from threadclaim.demo.telling import consumed_by
from threadclaim.events import RunEnded
from threadclaim.pydantic_ai import PydanticAITurn, current_turn
from threadclaim.run import RunHandle, TurnContext
from threadclaim.runner import Runner, Sent
from threadclaim.storage import Scope, Step, Storage
from threadclaim.storage.protocol import lease_name
from threadclaim.workspace import Workspace

T = TypeVar("T")
Place = Literal["model", "work"]

TTL = 30.0


@pytest.fixture(params=["memory"])
async def opened(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Opened]:
    """A storage in memory: what documents tell is the runner's, and the suites hold that to every storage."""
    async with STORAGES[request.param](tmp_path) as opened:
        yield opened


@pytest.fixture
def anyio_backend(virtual_time: tuple[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    """Time is virtual."""
    return virtual_time


class Desk:
    """An agent of pydantic-ai's, shared by every process, that notes all that reaches it.

    `script` is what its model says next, and "done" after that. `told` are the texts that requests of its
    model brought, each as often as it was brought; `requests` how many were made; `done` what its tools did;
    `keys` the turn's key at each call of `work`.
    """

    def __init__(self) -> None:
        """Begin with nothing to say."""
        self.script: list[ModelResponsePart | Exception] = []
        self.told: list[str] = []
        self.requests = 0
        self.done: list[str] = []
        self.keys: list[str] = []
        self.known: list[str] = []
        self.held: list[Gate] = []
        self._gates: dict[Place, list[Gate]] = {"model": [], "work": []}
        agent: Agent[None, Any] = Agent(
            FunctionModel(self._model),
            tools=[Tool(self.work), Tool(self.ask), Tool(self.refund, requires_approval=True)],
            output_type=[str, DeferredToolRequests],
        )
        self.turn = PydanticAITurn(agent, notices=True)

    def hold(self, place: Place, nth: int = 1) -> Gate:
        """Have the nth request of the model from now, or call of `work`, stand at the gate that is returned.

        What it does, or was told, is noted before it stands there.
        """
        gate, gates = Gate(), self._gates[place]
        gates += [Gate() for _ in range(nth - len(gates) - 1)]
        for passed in gates:
            passed.open.set()
        gates.append(gate)
        self.held.append(gate)
        return gate

    def times(self, text: str) -> int:
        """How often the model was told a text."""
        return self.told.count(text)

    async def work(self) -> str:
        """Do some work."""
        self.keys.append(current_turn().key)
        self.done.append("work")
        await self._stand("work")
        return "worked"

    async def refund(self) -> str:
        """Give money back, if somebody approves of it."""
        self.done.append("refund")
        await self._stand("work")
        return "refunded"

    async def ask(self) -> str:
        """Ask the user."""
        raise CallDeferred

    async def _model(self, messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        """Note what the request tells, and say what is next."""
        self.requests += 1
        self.known = [text for message in messages for text in _texts(message)]
        self.told += _new(messages)
        await self._stand("model")
        said = self.script.pop(0) if self.script else TextPart("done")
        if isinstance(said, Exception):
            raise said
        return ModelResponse([said])

    async def _stand(self, place: Place) -> None:
        """Stand at the gate, if it is time for one."""
        if self._gates[place]:
            gate = self._gates[place].pop(0)
            gate.reached.set()
            await gate.open.wait()


def _texts(message: ModelMessage) -> list[str]:
    """What a message brings from people: prompts, and answers."""
    if isinstance(message, ModelResponse):
        return []
    brought = (
        part
        for part in message.parts
        if isinstance(part, UserPromptPart) or (isinstance(part, ToolReturnPart) and part.tool_name == "ask")
    )
    return [str(part.content) for part in brought]


def _new(messages: Sequence[ModelMessage]) -> list[str]:
    """What came from people since the last response."""
    new: list[str] = []
    for message in messages:
        new = [] if isinstance(message, ModelResponse) else new + _texts(message)
    return new


@dataclass(slots=True)
class World:
    """Thread `t`, and the processes that serve it: those that may die, and those that go on."""

    faulty: FaultyStorage
    scope: Scope
    ann: Workspace
    lapse_lease: Callable[[Scope, str], Awaitable[None]]
    desk: Desk = field(default_factory=Desk)
    runners: list[Runner] = field(default_factory=list)

    def runner(self, *, turn_context: TurnContext | None = None) -> Runner:
        """A process that lives to the end of the test."""
        runner = Runner(self.desk.turn, self.faulty, claim_ttl=TTL, turn_context=turn_context)
        self.runners.append(runner)
        return runner

    def mortal(
        self, *, after: type[object] | None = None, turn_context: TurnContext | None = None
    ) -> tuple[Process, asyncio.Event]:
        """A process that may die: right `after` its first step of this kind; and when it was cut off so."""
        cut = asyncio.Event()

        async def heard(step: Step[Any], _: object) -> None:
            """Cut it off from storage, at its first such step."""
            if after is not None and isinstance(step, after):
                process.storage.die()
                cut.set()
                await process.storage.living()

        storage = self.faulty
        process = Process(self.desk.turn, storage, claim_ttl=TTL, turn_context=turn_context, heard=heard)
        return process, cut

    async def dies_after(self, step: type[object], text: str) -> None:
        """A process is sent a message, and dies right after its first step of this kind; its claim lapses."""
        process, cut = self.mortal(after=step)
        sending = asyncio.create_task(process.do(process.runner.send(self.ann, "t", text)))
        await cut.wait()
        await self.kill(process)
        await asyncio.gather(sending, return_exceptions=True)  # sent before that, or never heard of

    async def kill(self, process: Process) -> None:
        """The process dies, and its claim lapses."""
        await process.die()
        await self.lapse()

    async def lapse(self) -> None:
        """Let the thread's claim lapse, if somebody holds it."""
        if await self.ann.storage.transact(self.scope, lambda tx: tx.holder(lease_name("t"))) is not None:
            await self.lapse_lease(self.scope, lease_name("t"))

    async def recover(self) -> None:
        """A process starts, and sweeps; wait until all is done."""
        await self.runner().recover(self.ann)
        await self.settle()

    async def sent(self, runner: Runner, text: str) -> Sent:
        """Send a message, and let all that is ready be done."""
        sent = await runner.send(self.ann, "t", text)
        await asyncio.sleep(0.001)
        return sent

    async def settle(self) -> None:
        """Wait until no living process has a run or a hand-over."""
        await asyncio.sleep(0.001)
        while running := self._running():
            for run in running:
                await run.wait()
            for runner in self.runners:
                await runner.drain()
        for runner in self.runners:
            await runner.drain()
        if self._running():
            await self.settle()

    def _running(self) -> list[RunHandle]:
        """The runs that go on in living processes."""
        return [run for runner in self.runners if (run := runner.running(self.ann, "t")) is not None]

    async def entries(self, kind: type[T]) -> list[T]:
        """The log's events of a kind."""
        return [entry.event for entry in await self.ann.read() if isinstance(entry.event, kind)]

    async def ends(self) -> list[str]:
        """How runs ended, by their reasons or outcomes."""
        return [end.reason or end.outcome for end in await self.entries(RunEnded)]

    async def expect_once(self) -> None:
        """Expect every message of the log to be consumed, each once, and nothing to be left to do."""
        await self.settle()
        entries = await self.ann.read()
        consumed = Counter(seq for entry in entries for seq in consumed_by(entry))
        assert consumed == {entry.seq: 1 for entry in entries if entry.is_message}
        assert (await self.ann.storage.stranded(self.scope)).left == ()


@pytest.fixture
async def world(
    storage: Storage, scope: Scope, ann: Workspace, lapse: Callable[[Scope, str], Awaitable[None]]
) -> AsyncGenerator[World]:
    """A world with thread `t`; at the end everything is let go, and every runner closed."""
    await ann.create_thread("t")
    world = World(FaultyStorage(storage), scope, ann, lapse)
    yield world
    for gate in (*world.faulty.gates, *world.desk.held):
        gate.open.set()
    world.faulty.heal()
    for runner in world.runners:
        await runner.aclose()
