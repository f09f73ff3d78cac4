"""The README's conversation: an agent that books trips, with a model that follows a script, and its user."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Literal

from pydantic_ai import (
    Agent,
    CallDeferred,
    DeferredToolRequests,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    Tool,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from threadclaim.demo.telling import consumed_by, told
from threadclaim.errors import UsedThreadId
from threadclaim.events import RunEnded, RunPaused, RunStarted
from threadclaim.workspace import Workspace

PATIENCE = 2.0
"""How long the agent waits for somebody to type, in seconds: whoever was to type may have died."""

Moment = Literal["searches", "asks", "ends"]
"""When somebody may type: as the agent's tool searches, as it has asked, as its run is about to end."""


class Trip:
    """An agent that books a trip, and the person who types: `typed` waits for the moment to send a message.

    The agent is one of pydantic-ai's. Its model needs no key: it searches for trains, asks for the class,
    books all that it was told, and then does what it is told later. It is slow where the conversation needs
    it to be: its search, and its last answer before the booking, last until somebody has typed.

    A process that was killed may have left the conversation anywhere. So a moment that is past, or does not
    come because a run ended or paused, is waited for no more.
    """

    def __init__(self, workspace: Workspace, head: int = 0) -> None:
        """Book in the threads of `workspace`, one conversation at a time, from a position of its log on."""
        self._workspace, self._head = workspace, head
        self._searches, self._ends = asyncio.Event(), asyncio.Event()
        self.agent: Agent[None, Any] = Agent(
            FunctionModel(self._model),
            tools=[Tool(self._find_trains, name="find_trains"), Tool(_ask, name="ask")],
            output_type=[str, DeferredToolRequests],
        )

    @classmethod
    async def begin(cls, workspace: Workspace, thread_id: str) -> "Trip":
        """Book in a thread, which is created unless it is there: then the conversation goes on in it."""
        with suppress(UsedThreadId):
            await workspace.create_thread(thread_id)
        return cls(workspace, await workspace.head())

    async def typed(self, text: str, *, as_it: Moment) -> str:
        """Wait until the agent searches, has asked, or is about to end its run; give the text."""
        moments = {"searches": [self._searches, self._ends], "asks": [self._ends], "ends": [self._ends]}
        quiet = self._is_quiet(has_paused=as_it != "ends")
        waits = [
            asyncio.ensure_future(each) for each in (quiet, *(moment.wait() for moment in moments[as_it]))
        ]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for each in waits:
            each.cancel()
        await asyncio.wait(waits)
        return text

    async def _is_quiet(self, *, has_paused: bool) -> bool:
        """Wait until a run has ended that this process had a part in, or with `has_paused` has paused."""
        kinds = (RunEnded, RunPaused) if has_paused else (RunEnded,)
        async for entry in self._workspace.subscribe(self._head):
            if isinstance(entry.event, kinds) and getattr(entry.event, "reason", None) != "abandoned":
                break
        return True

    async def conversation(self) -> str:
        """Wait until no run goes on, and every message is consumed; give what the log holds, a line each."""
        lines: list[str] = []
        open_messages: set[int] = set()
        is_quiet, head = False, await self._workspace.head()
        async for entry in self._workspace.subscribe():
            lines.append(f"{entry.seq:>2}  {told(entry)}")
            open_messages |= {entry.seq} if entry.is_message else set()
            open_messages -= set(consumed_by(entry))
            if isinstance(entry.event, RunStarted | RunEnded | RunPaused):
                is_quiet = not isinstance(entry.event, RunStarted)
            if entry.seq >= head and is_quiet and not open_messages:
                break
        return "\n".join(lines)

    async def _find_trains(self) -> str:
        """Find trains."""
        await self._until_somebody_types(self._searches)
        return "9:04, 11:04"

    async def _model(self, messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        """The script: what the model says, from what it was told since its last answer."""
        calls, said = _since_last_answer(messages)
        if calls == [] and not self._ends.is_set():
            return ModelResponse([ToolCallPart("find_trains")])
        if calls == ["find_trains"]:
            return ModelResponse([ToolCallPart("ask", {"question": "First or second class?"})])
        if calls:
            await self._until_somebody_types(self._ends)
        return ModelResponse([TextPart(f"Booked: {', '.join(said)}.")])

    async def _until_somebody_types(self, moment: asyncio.Event) -> None:
        """Say that it is the moment, and wait for the log's next message, though not for long."""
        head = await self._workspace.head()
        moment.set()
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                async for entry in self._workspace.subscribe(head):
                    if entry.is_message:
                        break


async def _ask(question: str) -> str:
    """Ask the user."""
    raise CallDeferred(metadata={"question": question})


def _since_last_answer(messages: Sequence[ModelMessage]) -> tuple[list[str], list[str]]:
    """The tools that were called, and what the user said, since the agent last answered with a text."""
    calls: list[str] = []
    said: list[str] = []
    for message in messages:
        if isinstance(message, ModelResponse):
            calls += [call.tool_name for call in message.tool_calls]
            if message.text is not None:
                calls, said = [], []
        else:
            said += _said(message)
    return calls, said


def _said(request: ModelRequest) -> list[str]:
    """What the user said with a request: prompts, and answers to what was asked."""
    is_said = (
        part
        for part in request.parts
        if isinstance(part, UserPromptPart) or (isinstance(part, ToolReturnPart) and part.tool_name == "ask")
    )
    return [str(part.content) for part in is_said]
