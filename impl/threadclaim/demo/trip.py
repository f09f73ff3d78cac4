"""The README's conversation: an agent that books trips, with a model that follows a script, and its user."""

import asyncio
from collections.abc import Sequence
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
from threadclaim.events import RunEnded, RunPaused
from threadclaim.workspace import Workspace

Moment = Literal["searches", "asks", "ends"]
"""When somebody may type: as the agent's tool searches, as it has asked, as its run is about to end."""


class Trip:
    """An agent that books a trip, and the person who types: `typed` waits for the moment to send a message.

    The agent is one of pydantic-ai's. Its model needs no key: it searches for trains, asks for the class,
    books all that it was told, and then does what it is told later. It is slow where the conversation needs
    it to be: its search, and its last answer before the booking, last until somebody has typed.
    """

    def __init__(self, workspace: Workspace) -> None:
        """Book in the threads of `workspace`, which has one conversation at a time."""
        self._workspace = workspace
        self._searches, self._ends = asyncio.Event(), asyncio.Event()
        self.agent: Agent[None, Any] = Agent(
            FunctionModel(self._model),
            tools=[Tool(self._find_trains, name="find_trains"), Tool(_ask, name="ask")],
            output_type=[str, DeferredToolRequests],
        )

    async def typed(self, text: str, *, as_it: Moment) -> str:
        """Wait until the agent searches, has asked, or is about to end its run; give the text."""
        match as_it:
            case "searches":
                await self._searches.wait()
            case "ends":
                await self._ends.wait()
            case "asks":
                async for entry in self._workspace.subscribe():
                    if isinstance(entry.event, RunPaused):
                        break
        return text

    async def conversation(self) -> str:
        """Wait until a run has ended, and every message is consumed; give what the log holds, a line each."""
        lines: list[str] = []
        open_messages: set[int] = set()
        async for entry in self._workspace.subscribe():
            lines.append(f"{entry.seq:>2}  {told(entry)}")
            open_messages |= {entry.seq} if entry.is_message else set()
            open_messages -= set(consumed_by(entry))
            if isinstance(entry.event, RunEnded) and not open_messages:
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
        """Say that it is the moment, and wait for the log's next message."""
        head = await self._workspace.head()
        moment.set()
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
