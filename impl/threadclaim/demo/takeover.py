"""The story of two processes that serve one thread: one dies in the middle of its turn, the other takes over.

Nothing is told that did not happen: each line comes of a step that took effect in storage, an entry of the
log, or a request of a model, at the loop's time. Run it on a loop whose time is virtual.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

from pydantic_ai import Agent, ModelMessage, ModelResponse, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from threadclaim.demo.process import Process
from threadclaim.demo.telling import consumed_by, told
from threadclaim.events import PersonActor
from threadclaim.pydantic_ai import PydanticAITurn
from threadclaim.steps import (
    Abandon,
    Claim,
    Claimed,
    EndRun,
    LookAgain,
    Looked,
    Refused,
    Release,
    Renew,
    Send,
    StartRun,
)
from threadclaim.storage import InMemoryStorage, Step
from threadclaim.storage.protocol import Transaction, lease_name
from threadclaim.workspace import Workspace, Workspaces

THREAD = "bonn"

CLAIM_TTL = 30.0
"""How long a claim stands without a renewal, in seconds: as of a runner that is not told otherwise."""

THINKS = 5.0
"""How long a model thinks, and a tool searches, in seconds."""


async def take_over(say: Callable[[str], None]) -> None:
    """Have two processes serve a thread, and one of them die; `say` is given each line."""
    storage = InMemoryStorage(clock=asyncio.get_running_loop().time)
    ann = Workspaces(storage).workspace("acme", "trips", PersonActor("ann"))
    await ann.create_thread(THREAD)
    story = _Story(ann, say)
    a, b = story.process("A"), story.process("B")

    await story.types("A", a, "A train to Bonn, please.")
    await asyncio.sleep(7)
    await story.types("B", b, "And a hotel near the station.")
    await asyncio.sleep(5)
    story.tell("A", "dies in the middle of its turn: nothing that it does takes effect any more")
    await a.die()
    await story.lapse()
    await story.release()
    await asyncio.sleep(10)
    again = story.process("A")
    runs = await again.do(again.runner.recover(ann))
    found = f"{len(runs)} run(s) to start" if runs else "nothing is left to do"
    story.tell("A", f"starts again, and sweeps the workspace: {found}")
    await story.count()
    for process in (again, b):
        await process.runner.aclose()


class _Story:
    """Tells what happens, as it happens."""

    def __init__(self, ann: Workspace, say: Callable[[str], None]) -> None:
        """Tell of the workspace that Ann types in, from the beginning of its log."""
        self._ann, self._say = ann, say
        self._told, self._lapses = 0, 0.0

    def tell(self, who: str, what: str) -> None:
        """A line: when, who, and what."""
        self._say(f"{asyncio.get_running_loop().time():5.1f} s  {who:<5} {what}")

    def process(self, name: str) -> Process:
        """A process that has just started, of which the story tells."""

        async def heard(step: Step[Any], result: object) -> None:
            """Tell of a step, and of what it left in the log."""
            sentence = _sentence(step, result)
            if sentence is not None:
                self.tell(name, sentence)
            if isinstance(result, Claimed) or (isinstance(step, Renew) and result):
                self._lapses = asyncio.get_running_loop().time() + CLAIM_TTL
            await self._tell_log()

        turn = PydanticAITurn(_agent(lambda what: self.tell(name, what)))
        return Process(turn, self._ann.storage, claim_ttl=CLAIM_TTL, heard=heard)

    async def _tell_log(self) -> None:
        """Tell what the log has since it was last told."""
        for entry in await self._ann.read(after_seq=self._told):
            if entry.seq > self._told:  # else another has told it while this one read
                self._told = entry.seq
                self.tell("log", f"{entry.seq} {told(entry)}")

    async def types(self, name: str, process: Process, text: str) -> None:
        """Ann sends a message, which comes to one of the processes."""
        self.tell("ann", f"types, and it comes to {name}: {text}")
        await process.do(process.runner.send(self._ann, THREAD, text))

    async def lapse(self) -> None:
        """Wait for the claim to lapse that was last granted or renewed, and say who holds it then."""
        await asyncio.sleep(self._lapses - asyncio.get_running_loop().time())
        holder = await self._ann.storage.transact(self._ann.scope, _holder)
        self.tell("claim", "lapses: nobody has renewed it" if holder is None else "stands")

    async def release(self) -> None:
        """Wait until a claim is given up."""
        released = asyncio.Event()
        stop_telling = self._ann.storage.on_release(lambda _scope, _name: released.set())
        await released.wait()
        stop_telling()

    async def count(self) -> None:
        """Say how often each message was consumed."""
        entries = await self._ann.read()
        times = Counter(seq for entry in entries for seq in consumed_by(entry))
        counted = (
            f"{entry.seq} was consumed {times[entry.seq]} time(s)" for entry in entries if entry.is_message
        )
        self.tell("log", ", ".join(counted))


async def _holder(tx: Transaction) -> str | None:
    """Who holds the thread's claim."""
    return await tx.holder(lease_name(THREAD))


def _sentence(step: Step[Any], result: object) -> str | None:  # noqa: C901, PLR0911  # one for each step
    """What a process did with a step; None for what only reads, or is told by the log."""
    match step, result:
        case Send(), _:
            return "commits the message, and asks for it to be carried out"
        case Claim(ttl=ttl), Claimed():
            return f"claims the thread, for {ttl:.0f} s"
        case Claim(ttl=ttl), Refused():
            return f"is refused the thread, and will look again in {ttl:.0f} s"
        case StartRun(), _:
            return "starts a run"
        case Renew(ttl=ttl), True:
            return f"renews its claim, for {ttl:.0f} s more"
        case Abandon(), True:
            return "finds a run that nobody holds the thread for any more, and records its end"
        case EndRun(), True:
            return "records its run's end"
        case Release(), _:
            return "gives up its claim"
        case LookAgain(), Looked(is_held=True):
            return f"looks again: the thread is still claimed, so it will look again in {CLAIM_TTL:.0f} s"
        case LookAgain(), Looked(left=left) if left.is_left:
            return "looks again: nobody holds the thread, and something is left to do"
        case LookAgain(), _:
            return "looks again: nothing is left to do"
        case _:
            return None


def _agent(tell: Callable[[str], None]) -> Agent[None, str]:
    """An agent that searches and then answers; its model follows that script, and tells what it is given."""

    async def model(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        """Search first; then answer with what was said since the last response that did."""
        given = _given(messages)
        tell("asks its model" + (f": {' '.join(given)}" if given else ""))
        await asyncio.sleep(THINKS)
        if given and not _has_searched(messages):
            return ModelResponse([ToolCallPart("search")])
        return ModelResponse([TextPart("Found.")])

    agent = Agent(FunctionModel(model))

    @agent.tool_plain
    async def search() -> str:
        """Search."""
        await asyncio.sleep(THINKS)
        return "found"

    return agent


def _given(messages: list[ModelMessage]) -> list[str]:
    """What the user said since the model's last response."""
    given: list[str] = []
    for message in messages:
        if isinstance(message, ModelResponse):
            given = []
        else:
            given += [str(part.content) for part in message.parts if isinstance(part, UserPromptPart)]
    return given


def _has_searched(messages: list[ModelMessage]) -> bool:
    """Whether the model has called its tool in this run, and not answered since."""
    return any(isinstance(message, ModelResponse) and message.tool_calls for message in messages)
