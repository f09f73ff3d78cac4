"""A pydantic-ai agent as the runner's turn: one run of it, from the thread's history to its outcome."""

import asyncio
import contextlib
import inspect
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Executor
from contextvars import ContextVar
from typing import Any, Generic, TypeVar, cast

import anyio
from pydantic_ai import (
    AgentRunResult,
    DeferredToolRequests,
    ModelMessage,
    UsageLimitExceeded,
    UsageLimits,
    capture_run_messages,
)
from pydantic_ai.agent import AbstractAgent, EventStreamHandler
from pydantic_core import to_json

from threadclaim.door import check_function, check_kind
from threadclaim.errors import RunFailure, WrongType, kind_of, said
from threadclaim.events import RunEnded, RunPaused
from threadclaim.limits import escaped, event_json
from threadclaim.pydantic_ai.capability import TurnCapability
from threadclaim.pydantic_ai.messages import (
    FAILED,
    STOPPED,
    broken_off,
    closing,
    dump,
    fresh_id,
    has_prompt,
    held_prompt,
    load,
    prompt_of,
    prompt_texts,
    requests_of,
    results_of,
    storable,
    without_unanswered,
)
from threadclaim.pydantic_ai.threads import Threads
from threadclaim.turn import Completed, Facts, Failed, Outcome, Paused, Steering, Stopped, TurnInput

DepsT = TypeVar("DepsT")

_UNASKED = (
    "The agent's run was cancelled, and nobody stopped it: a tool, or a call that it made, raised the "
    "cancellation. Look for a CancelledError that is let through there."
)
_TURN: ContextVar[TurnInput] = ContextVar("threadclaim.turn")


def current_turn() -> TurnInput:
    """The turn that is being carried out: for a tool, or whatever it calls.

    Its `key` is the same for all that a tool may see of the turn (ADR-0055). A tool that passes it on, with
    the id of its own call if the agent may call it more than once, makes its effects idempotent.

    Returns:
        The turn's input: whose run it is (`started_by`), who it acts for (`actor`), its thread, its `key`.

    Raises:
        LookupError: if no turn is being carried out where it is called.
    """
    turn = _TURN.get(None)
    if turn is None:
        raise LookupError("No turn is being carried out here. Call current_turn() from an agent's tool.")
    return turn


class PydanticAITurn(Generic[DepsT]):
    """A pydantic-ai agent as the runner's turn.

    The agent can pause if its `output_type` has `DeferredToolRequests` beside its own outputs. Calls that
    wait for a result become questions, calls that wait for approval approvals, calls of `ask_form` forms.
    The schema of a form is the `schema` of the metadata that the call was deferred with, or the call's
    argument `schema`.
    """

    def __init__(  # noqa: PLR0913  # each is an option of its own, by keyword
        self,
        agent: AbstractAgent[DepsT, Any],
        *,
        deps: Callable[[TurnInput], DepsT | Awaitable[DepsT]] | None = None,
        usage_limits: UsageLimits | None = None,
        event_stream_handler: EventStreamHandler[DepsT] | None = None,
        executor: Executor | None = None,
        notices: bool = False,
    ) -> None:
        """Carry out turns with an agent.

        Args:
            agent: The agent; one serves any number of turns at once.
            deps: Makes a turn's dependencies from its input, and is awaited if it is async; None for an agent
                that has none. If it raises, the run fails.
            usage_limits: What each segment of a run may use, a segment being what comes before a pause, after
                one, or between two. One that would use more fails.
            event_stream_handler: Called with the events of each run, as pydantic-ai calls it.
            executor: Runs the agent's synchronous tools; None for one of each run's own. Threads cannot be
                stopped, so a run that is stopped ends when they have returned. Give an executor here, and not
                to the agent, whose own (`UseThreadExecutor`) is not waited for.
            notices: Whether the agent is told of the notices since the thread's last turn, beside its prompt.

        Raises:
            WrongType: if one of these is something else.
        """
        if not isinstance(agent, AbstractAgent):
            raise WrongType(
                f"The agent is {kind_of(agent)}. Give an agent of pydantic-ai's: Agent('test'), say."
            )
        check_function("deps", deps, "a TurnInput, and gives the agent's dependencies")
        check_function("event_stream_handler", event_stream_handler, "a RunContext and the events")
        check_kind("usage_limits", usage_limits, UsageLimits)
        check_kind("executor", executor, Executor)
        self.agent, self.deps, self.usage_limits = agent, deps, usage_limits
        self.event_stream_handler, self.executor, self.notices = event_stream_handler, executor, notices

    async def run(self, turn: TurnInput, steering: Steering, facts: Facts) -> Outcome:
        """Carry out a turn: see `threadclaim.turn.Turn`.

        The agent runs in a task of its own, which is cancelled once, however often the caller's is, so that
        what it has alive ends in order; all of it has ended when this returns. A run that ended before it
        could be stopped has ended.

        Args:
            turn: What to carry out.
            steering: Asked for the messages that have arrived, as each request of the model is prepared.
            facts: Told of each call of a tool, and of its end.

        Returns:
            What came of it. What the agent raises is in a Failed; nothing is raised.
        """
        segment = _Segment(self, turn, steering, facts)
        task = asyncio.get_running_loop().create_task(segment.run(), name=f"agent of {turn.run_id}")
        stopped = await _end_of(task)
        return segment.outcome(task, stopped=stopped)


async def _end_of(task: asyncio.Task[Any]) -> bool:
    """Wait until the agent's task is done, and stop it if the caller's is cancelled; whether it was."""
    stopped = False
    try:
        await asyncio.wait([task])
    except asyncio.CancelledError:
        stopped = task.cancel()
    while not task.done():  # shielded, as anyio cancels a task anew at each of its steps
        with anyio.CancelScope(shield=True), contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait([task])
    return stopped


class _Segment(Generic[DepsT]):
    """One run of the agent, and what came of it."""

    def __init__(
        self, options: PydanticAITurn[DepsT], turn: TurnInput, steering: Steering, facts: Facts
    ) -> None:
        self.options, self.turn = options, turn
        self.capability = TurnCapability(turn.run_id, steering, facts)
        self.loaded: list[ModelMessage] = []
        self.messages: list[ModelMessage] = []

    async def run(self) -> AgentRunResult[Any]:
        """Run the agent, on the thread's history, with the prompt and the answers."""
        _TURN.set(self.turn)
        prompt = self.capability.prompt = prompt_of(self.turn, notices=self.options.notices)
        self.loaded, waiting = load(self.turn)
        prompt[:0] = waiting
        self.capability.agent_run_id = fresh_id(self.turn.run_id, self.loaded)
        deps = await self._deps()
        threads, agent = Threads(self.options.executor), self.options.agent
        try:
            with agent.using_thread_executor(threads), capture_run_messages() as self.messages:
                return await agent.run(
                    prompt[0] if len(prompt) == 1 else prompt or None,
                    message_history=self.loaded,
                    deferred_tool_results=results_of(self.turn),
                    conversation_id=self.turn.thread_id,
                    run_id=self.capability.agent_run_id,
                    deps=deps,
                    usage_limits=self.options.usage_limits,
                    event_stream_handler=self.options.event_stream_handler,
                    capabilities=[self.capability],
                )
        finally:
            await threads.end()

    async def _deps(self) -> DepsT:
        """The turn's dependencies."""
        if self.options.deps is None:
            return cast(DepsT, None)
        made = self.options.deps(self.turn)
        return cast(DepsT, await made) if inspect.isawaitable(made) else made

    def outcome(self, task: asyncio.Task[AgentRunResult[Any]], *, stopped: bool) -> Outcome:
        """What came of the run, once its task is done."""
        error = asyncio.CancelledError(_UNASKED) if task.cancelled() else task.exception()
        if error is None:
            return self._ended(task.result().output)
        # pydantic-ai calls a response that crossed a limit interrupted, though all of it came.
        whole = isinstance(error, UsageLimitExceeded)
        broke = STOPPED if stopped else FAILED
        kept = self._keep(without_unanswered(self._new(), whole=whole), broke=broke)
        return Stopped(kept.history, kept.delivered) if stopped else kept.failed(error)

    def _ended(self, output: object) -> Outcome:
        """The outcome of a run that came to an output: Failed, if that or its messages cannot be stored."""
        kept = self._keep(self._new(), pauses=isinstance(output, DeferredToolRequests))
        if kept.error is not None:
            return kept.failed(_unstorable("messages", kept.error))
        try:
            if isinstance(output, DeferredToolRequests):
                requests = requests_of(output, self.messages)
                event_json(RunPaused(self.turn.run_id, requests))
                return Paused(requests, kept.history, kept.delivered)
            return Completed(self._text(output), kept.history, kept.delivered)
        except (ValueError, TypeError) as error:
            return self._keep(self._new(), broke=FAILED).failed(_unstorable("output", error))

    def _text(self, output: object) -> str | None:
        """An output as text: a str as it is, another as JSON. Raises ValueError if no log can hold it."""
        text = output if output is None or isinstance(output, str) else _json(output)
        event_json(RunEnded(self.turn.run_id, "completed", text))
        return text

    def _new(self) -> list[ModelMessage]:
        """The run's own messages."""
        ours = self.capability.agent_run_id
        own = (index for index, message in enumerate(self.messages) if message.run_id == ours)
        return self.messages[next(own, len(self.messages)) :]

    def _keep(
        self, messages: Sequence[ModelMessage], *, pauses: bool = False, broke: str | None = None
    ) -> "_Kept":
        """What to keep of the run's own messages; of a run that pauses, calls stay open.

        A prompt that nothing answered is closed with what `broke`: else the next would be one with it, and a
        model would carry both out.
        """
        capability = self.capability
        kept, error = storable(messages)
        pauses = pauses and error is None
        if not pauses:
            kept += closing(self.loaded + kept)
        if (error or not capability.requested) and not has_prompt(kept, capability.prompt):
            kept += storable(held_prompt(capability.prompt, waits=pauses))[0]
        broke = broke or (FAILED if error else None)
        if broke and kept and prompt_texts(kept[-1:]):
            kept.append(broken_off(broke))
        delivered = capability.delivered | capability.answered(messages)
        return _Kept(dump(kept), tuple(sorted(delivered)), error)


class _Kept:
    """What is kept of a run: its chunk of history, and the seqs that it delivered.

    `error` says why that is not all, if some of it cannot be stored.
    """

    def __init__(self, history: bytes | None, delivered: tuple[int, ...], error: Exception | None) -> None:
        self.history, self.delivered, self.error = history, delivered, error

    def failed(self, error: BaseException) -> Failed:
        """The failure of a run that raised `error`."""
        cause = _cause(error)
        reason = cause.reason if isinstance(cause, RunFailure) else None
        text = escaped(said(cause))
        return Failed(text, None if reason is None else escaped(reason), self.history, self.delivered, cause)


def _cause(error: BaseException) -> BaseException:
    """What a group of errors is for: a RunFailure in it, or the only one; another error as it is."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    failures = error.subgroup(RunFailure)
    if failures is None and len(error.exceptions) > 1:
        return error
    return _cause((failures or error).exceptions[0])


def _unstorable(what: str, error: Exception) -> Exception:
    """The failure of a run whose output, or messages, cannot be stored."""
    failure = ValueError(f"The run's {what} cannot be stored, so it failed; what can be is kept. {error}")
    failure.__cause__ = error
    return failure


def _json(output: object) -> str:
    """An output as JSON."""
    return to_json(output, bytes_mode="base64", inf_nan_mode="null").decode()
