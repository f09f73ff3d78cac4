"""A real agent of pydantic-ai's, whose model answers when the world says, and what it says."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar

from pydantic_ai import (
    Agent,
    CallDeferred,
    DeferredToolRequests,
    ModelMessage,
    ModelResponse,
    TextPart,
    Tool,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from conformance.world.agent import ASKS_NOTHING, CANCELS_ITSELF, RAISES, AgentRun, Told
from threadclaim.events import Envelope
from threadclaim.pydantic_ai import PydanticAITurn
from threadclaim.pydantic_ai.messages import text_of
from threadclaim.turn import Facts, Outcome, Steering, TurnInput

_RUN: ContextVar["ModelRun"] = ContextVar("conformance.run")


class ModelFailedError(RuntimeError):
    """The model's provider failed, as the world said."""


class ModelRun:
    """A run of a `ModelAgent`: its model waits, in a request, for what to answer."""

    def __init__(self, turn: TurnInput, steering: Steering, told: Told, settle: Callable[[], None]) -> None:
        self.turn, self.steering, self._told, self._settle = turn, steering, told, settle
        self.delivered: list[int] = []
        self.taken: dict[str, int] = {}
        self.is_over = self.has_dropped = False
        self._answer: asyncio.Future[str] | None = None
        self._asked = 0

    async def respond(self, messages: list[ModelMessage]) -> ModelResponse:
        """Answer a request of the model, as the world says."""
        texts = Counter(text for message in messages for text in _texts(message))
        own = {text_of(message) for message in self.turn.prompt} | set(self.taken)
        twice = [text for text in own if texts[text] > 1]
        self._told.wrong += [f"A request of {self.turn.run_id} has {text!r} twice." for text in twice]
        carried = [seq for text, seq in self.taken.items() if text in texts and seq not in self.delivered]
        self._answer = asyncio.get_running_loop().create_future()
        kind = await self._answer
        if kind in {"failed", RAISES, ASKS_NOTHING}:
            raise ModelFailedError("The model's provider failed, as the world said.")
        self.delivered += carried
        self._told.messages += carried
        self._asked += 1
        call_id = f"{self.turn.run_id}-{self.turn.key}-{self._asked}"
        match kind:
            case "completed":
                return ModelResponse([TextPart("done")])
            case "paused":
                tool = "ask" if self._told.asks() == "question" else "act"
                return ModelResponse([ToolCallPart(tool, {}, call_id)])
            case _:
                return ModelResponse([ToolCallPart("look", {}, call_id)])

    def given(self) -> Sequence[Envelope]:
        """What the turn takes of the steering, which is kept by its text: requests carry no seqs."""
        taken = self.steering.take()
        before = {message.seq for message in self.turn.prompt} | set(self.taken.values())
        self._told.steer(self.turn.run_id, taken, before)
        self.taken |= {text_of(message): message.seq for message in taken}
        return taken

    def take(self) -> None:
        """Answer the request that waits with a tool's call; and so the next, which carries what arrived."""
        self._say("look")
        self._say("look")

    def drop(self) -> None:
        """It drops none: what its framework has taken it has kept, or its run fails."""

    def end(self, kind: str) -> None:
        """End so."""
        self.is_over = True
        self._told.end(self.turn, kind)
        if kind == CANCELS_ITSELF and self._answer is not None:
            self._answer.cancel()
            self._settle()
            return
        self._say(kind)

    def _say(self, kind: str) -> None:
        """Answer the request that waits."""
        if self._answer is None or self._answer.done():
            raise RuntimeError("The model is asked for nothing.")
        self._told.looks[self.turn.run_id] += kind == "look"
        self._answer.set_result(kind)
        self._settle()


class _Steering:
    """A run's steering, as its turn takes it."""

    def __init__(self, run: ModelRun) -> None:
        self._run = run

    def take(self) -> Sequence[Envelope]:
        """What has arrived."""
        return self._run.given()


def _texts(message: ModelMessage) -> Iterator[str]:
    """The texts of the user's in a message."""
    for part in message.parts:
        if isinstance(part, UserPromptPart):
            yield from [part.content] if isinstance(part.content, str) else map(str, part.content)


async def _respond(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    """Answer a request of the run that makes it."""
    return await _RUN.get().respond(messages)


async def look() -> str:
    """Look, and see nothing."""
    return "nothing"


async def ask() -> str:
    """Ask the user."""
    raise CallDeferred


async def act() -> str:
    """Do what the user has approved."""
    return "acted"


AGENT = Agent(
    FunctionModel(_respond),
    output_type=[str, DeferredToolRequests],
    tools=[look, ask, Tool(act, requires_approval=True)],
    name="world",
)
"""The agent of every process. Its model is the world's."""


class ModelAgent:
    """pydantic-ai's agent, as the runner's turn has it; its runs wait for the world."""

    def __init__(self, told: Told, settle: Callable[[], None]) -> None:
        """Nothing runs yet."""
        self._told, self._settle = told, settle
        self._turn = PydanticAITurn(AGENT)
        self.runs: dict[str, AgentRun] = {}

    async def run(self, turn: TurnInput, steering: Steering, facts: Facts) -> Outcome:
        """Carry out a turn with the agent."""
        run = ModelRun(turn, steering, self._told, self._settle)
        self.runs[turn.run_id] = run
        self._told.begin(turn)
        _RUN.set(run)
        try:
            return await self._turn.run(turn, _Steering(run), facts)
        finally:
            if self.runs.get(turn.run_id) is run:
                del self.runs[turn.run_id]
