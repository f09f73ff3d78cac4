"""What the tests of the runner share: a storage that goes wrong as told, and a world of one thread."""

import asyncio
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable
from collections.abc import Set as AbstractSet
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pytest

from tests.outside import OutsideLoop
from tests.runner.faults import CALLER, FaultyStorage, Gate
from threadclaim.events import (
    Envelope,
    MessagePosted,
    PersonActor,
    Request,
    RequestAnswered,
    RunEnded,
    RunPaused,
    RunStarted,
)
from threadclaim.run import TurnContext
from threadclaim.runner import Runner
from threadclaim.steps import Claim, Claimed, Send, StartRun
from threadclaim.storage import Scope, Step, Storage, Transaction
from threadclaim.storage.protocol import asked_cursor, lease_name, taken_cursor
from threadclaim.testing import Action, Pause, ScriptedTurn
from threadclaim.thread import Run, RunStatus
from threadclaim.turn import TurnInput
from threadclaim.workspace import Workspace

T = TypeVar("T")

TTL = 30.0
QUESTION = Request("q", "question", "ask")
FORM = Request("f", "form", "ask_form")


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, Any]]:
    """Time is virtual: a minute takes no time, and comes once all that is ready is done."""
    return "asyncio", {"loop_factory": OutsideLoop}


@dataclass(slots=True)
class World:
    """Thread `t`, the runners that serve it, and `agent`, which is the agent of all of them."""

    faulty: FaultyStorage
    scope: Scope
    ann: Workspace
    lapse_lease: Callable[[Scope, str], Awaitable[None]]
    agent: ScriptedTurn = field(default_factory=ScriptedTurn)
    runners: list[Runner] = field(default_factory=list)

    @property
    def bob(self) -> Workspace:
        """The workspace as Bob."""
        return self.ann.as_actor(PersonActor("bob"))

    def runner(
        self, *, turn_context: TurnContext | None = None, ttl: float = TTL, close_within: float = 10.0
    ) -> Runner:
        """One more runner, as of another process."""
        runner = Runner(
            self.agent, self.faulty, claim_ttl=ttl, turn_context=turn_context, close_within=close_within
        )
        self.runners.append(runner)
        return runner

    def held(self, *after: Action) -> Gate:
        """Have the next run stand at the gate that is returned, and then do what is `after`."""
        gate = self.gate()
        self.agent.then(gate.wait, *after)
        return gate

    def gate(self) -> Gate:
        """A gate for a turn's action, which is opened at the end of the test."""
        gate = Gate()
        self.faulty.gates.append(gate)
        return gate

    async def ask(self, thread_id: str, text: str = "asked") -> Envelope:
        """A process sends a message and dies before it claims the thread."""
        message = MessagePosted(uuid.uuid4().hex, text)
        return await self.do(Send(thread_id, message, self.ann.actor))

    async def lapse(self) -> None:
        """Let the thread's claim lapse."""
        await self.lapse_lease(self.scope, lease_name("t"))

    async def do(self, step: Step[T]) -> T:
        """Carry out a step where nothing goes wrong."""
        return await self.faulty.inner.transact(self.scope, step)

    async def tick(self) -> None:
        """Let everything that is ready be done."""
        await asyncio.sleep(0.001)

    async def settle(self) -> None:
        """Wait until no runner has a run or a hand-over."""
        await self.tick()
        while running := [run for r in self.runners if (run := r.running(self.ann, "t")) is not None]:
            for run in running:
                await run.wait()
            for runner in self.runners:
                await runner.drain()
        for runner in self.runners:
            await runner.drain()
        if any(runner.running(self.ann, "t") is not None for runner in self.runners):
            await self.settle()

    async def paused(self, runner: Runner, *requests: Request) -> Envelope:
        """Send a message whose run pauses with these requests; gives the message."""
        self.agent.then(Pause(requests or (QUESTION,)))
        sent = await runner.send(self.ann, "t", "pause")
        await self.settle()
        assert await self.status() is RunStatus.PAUSED
        return sent.message

    async def die_holding(self, text: str | None = None, *, started: bool = False) -> Envelope | None:
        """A process sends a message, claims the thread, starts a run if `started`, and dies."""
        posted = None
        if text is not None:
            posted = await self.do(Send("t", MessagePosted(f"of the dead: {text}", text), self.ann.actor))
        claimed = await self.do(Claim("t", "dead", TTL))
        assert isinstance(claimed, Claimed)
        if started:
            assert posted is not None
            seq = posted.seq
            await self.do(StartRun("t", "dead", "dead-run", self.ann.actor, seq, (seq,), resumed=False))
        return posted

    async def end(self) -> None:
        """Let everything go, and close every runner."""
        for gate in self.faulty.gates:
            gate.open.set()
        self.faulty.heal()
        for runner in self.runners:
            await runner.aclose()

    # ---- What came of it.

    async def run_row(self) -> Run | None:
        """The thread's run, as the log tells it."""
        return (await self.ann.thread("t")).run

    async def status(self) -> RunStatus | None:
        """How the thread's run is."""
        run = await self.run_row()
        return None if run is None else run.status

    async def holder(self) -> str | None:
        """Who holds the thread."""
        return await self.do(_Holder())

    async def taken(self) -> int:
        """How far the thread is taken, as saved."""
        return await self.do(_Cursor(taken_cursor("t"))) or 0

    async def asked(self) -> int:
        """How far the thread is asked for."""
        return await self.do(_Cursor(asked_cursor("t"))) or 0

    async def ends(self) -> list[str]:
        """How the thread's runs ended: the reason if there is one, else the outcome."""
        events = [entry.event for entry in await self.ann.read(threads=["t"])]
        return [event.reason or event.outcome for event in events if isinstance(event, RunEnded)]

    async def consumed(self) -> list[int]:
        """The seqs of the messages that the log says were consumed, in order, each as often as it says so."""
        seqs: list[int] = []
        for entry in await self.ann.read(threads=["t"]):
            match entry.event:
                case RunStarted(consumes=consumes):
                    seqs += consumes
                case RunPaused(delivered=delivered) | RunEnded(delivered=delivered):
                    seqs += delivered
                case RequestAnswered(message_seq=int() as seq) if seq not in seqs[-1:]:
                    seqs.append(seq)
                case _:
                    pass
        return sorted(seqs)

    async def is_at_rest(self) -> bool:
        """Whether nothing is left to do, and nobody holds the thread."""
        left = (await self.faulty.inner.stranded(self.scope)).left
        return await self.holder() is None and not left

    async def expect_once(self, *messages: Envelope) -> None:
        """Expect exactly these messages to be consumed, each once, and the thread to be at rest."""
        await self.settle()
        assert await self.consumed() == sorted(message.seq for message in messages)
        assert await self.is_at_rest()


@dataclass(frozen=True)
class _Holder:
    """Read who holds the thread."""

    async def __call__(self, tx: Transaction) -> str | None:
        return await tx.holder(lease_name("t"))


@dataclass(frozen=True)
class _Cursor:
    """Read a cursor."""

    name: str

    async def __call__(self, tx: Transaction) -> int | None:
        return await tx.cursor(self.name)


@dataclass(slots=True)
class Context:
    """A turn_context that notes its turns and their callers, stands at its gate, and fails where it is told.

    `failures` is how many turns it fails for at first; `failing` are the numbers of others, from 1.
    """

    failures: int = 0
    failing: AbstractSet[int] = frozenset()
    gate: Gate | None = None
    turns: list[TurnInput] = field(default_factory=list)
    callers: list[str] = field(default_factory=list)

    @asynccontextmanager
    async def __call__(self, turn: TurnInput) -> AsyncGenerator[str]:
        """Set up, or fail."""
        self.turns.append(turn)
        self.callers.append(CALLER.get())
        if self.gate is not None:
            self.gate.reached.set()
            await self.gate.open.wait()
        if len(self.turns) <= self.failures or len(self.turns) in self.failing:
            raise SetUpError
        yield "context"


class SetUpError(RuntimeError):
    """What a turn needs cannot be set up."""


@pytest.fixture
def broken_context() -> Callable[..., Context]:
    """Makes a turn_context that goes wrong."""
    return Context


Worlds = Callable[[], Awaitable[World]]


@pytest.fixture
async def worlds(storage: Storage, lapse: Callable[[Scope, str], Awaitable[None]]) -> AsyncGenerator[Worlds]:
    """Makes worlds, each a new workspace with a thread `t`; at the end all is let go, all runners closed."""
    made: list[World] = []

    async def make() -> World:
        scope = Scope("tenant", f"workspace {len(made)}")
        ann = Workspace(storage, scope, PersonActor("ann"))
        await ann.create_thread("t")
        made.append(World(FaultyStorage(storage), scope, ann, lapse))
        return made[-1]

    yield make
    for world in made:
        await world.end()


@pytest.fixture
async def world(worlds: Worlds) -> World:
    """A world."""
    return await worlds()
