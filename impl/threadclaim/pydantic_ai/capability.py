"""What a run is followed with, from within: it gives the steering, and records the tools' calls."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from pydantic_ai import (
    ApprovalRequired,
    CallDeferred,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    RunContext,
    ToolCallPart,
    ToolDefinition,
    UserPromptPart,
)
from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering
from pydantic_ai.models import ModelRequestContext
from typing_extensions import override

from threadclaim.events import ToolCalled, ToolReturned
from threadclaim.limits import escaped
from threadclaim.pydantic_ai.messages import answered_seqs, steering_request, text_of
from threadclaim.turn import Facts, Steering


class TurnCapability(AbstractCapability[Any]):
    """Follows one run of an agent.

    Messages that arrive are taken as the run prepares a request of its model, and put into that very request;
    one that arrives later waits for the next request, or the next turn. So a response that only defers calls
    is never followed by a message that would discard its pause, and none is lost as the run ends.

    `agent_run_id` is what pydantic-ai knows the run as, and `prompt` has the texts of its prompt. `delivered`
    are the seqs of the steering whose request was answered; `requested` is whether any request was made.
    """

    def __init__(self, run_id: str, steering: Steering, facts: Facts) -> None:
        """Follow a segment of the run that the log knows as `run_id`."""
        self._run_id, self._steering, self._facts = run_id, steering, facts
        self.agent_run_id = ""
        self.prompt: list[str] = []
        self.delivered: set[int] = set()
        self.requested = False
        self._called: set[str] = set()

    @override
    def get_ordering(self) -> CapabilityOrdering:
        """Innermost: what is taken goes into the request, whatever the other capabilities did before."""
        return CapabilityOrdering(position="innermost")

    @override
    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Put the messages that have arrived into this request. ThreadClaim!Deliver."""
        request = ctx.messages[-1]
        if isinstance(request, ModelRequest) and not self.requested:
            request.parts = [split for part in request.parts for split in self._split(part)]
        self.requested = True
        ctx.enqueue(*(steering_request(text_of(m), m.seq) for m in self._steering.take()))
        return request_context

    def _split(self, part: ModelRequestPart) -> Sequence[ModelRequestPart]:
        """A prompt of several messages as a part for each; another part as it is."""
        if isinstance(part, UserPromptPart) and part.content == self.prompt:
            return [UserPromptPart(text, timestamp=part.timestamp) for text in self.prompt]
        return [part]

    @override
    async def after_node_run(self, ctx: RunContext[Any], *, node: Any, result: Any) -> Any:
        """Note what was answered, before the application can drop it from the history."""
        self.delivered |= self.answered(ctx.messages)
        return result

    def answered(self, messages: Sequence[ModelMessage]) -> set[int]:
        """The seqs of this run's steering that a response follows."""
        return answered_seqs(messages, self.agent_run_id)

    @override
    async def before_tool_execute(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: dict[str, Any]
    ) -> dict[str, Any]:
        """Record that a tool is called, with its arguments as the model gave them."""
        self._called.add(call.tool_call_id)
        raw = call.args if isinstance(call.args, str) else call.args_as_json_str()
        await self._facts.record(ToolCalled(self._run_id, call.tool_call_id, call.tool_name, escaped(raw)))
        return args

    @override
    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: Callable[[dict[str, Any]], Awaitable[Any]],
    ) -> Any:
        """Record how a tool's call ended. One that defers itself, or is cancelled, has not ended."""
        try:
            result = await handler(args)
        except (ApprovalRequired, CallDeferred):
            raise
        except Exception:
            await self._returned(call, ok=False)
            raise
        await self._returned(call, ok=True)
        return result

    async def _returned(self, call: ToolCallPart, *, ok: bool) -> None:
        """Record the end of a call, if its tool was called at all."""
        if call.tool_call_id in self._called:
            await self._facts.record(ToolReturned(self._run_id, call.tool_call_id, call.tool_name, ok))
