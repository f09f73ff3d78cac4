"""A thread's history as pydantic-ai's messages: how it is loaded, and what of a run is kept.

A chunk is the JSON of the messages of one run of the agent. What a run that failed or was stopped leaves can
be gone on from: no call stays open, and its prompt is there, so that the agent knows what it was asked.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import count, takewhile
from typing import Literal

from pydantic_ai import (
    DeferredToolRequests,
    DeferredToolResults,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolApproved,
    ToolCallPart,
    ToolDenied,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.framing import register_tag, wrap
from pydantic_ai.messages import repair_messages

from threadclaim.events import Approve, Deny, Envelope, FormValues, MessagePosted, Reply, Request
from threadclaim.plan import FORM_TOOL
from threadclaim.turn import TurnInput

_STEERS = "threadclaim.steers"
"""The key, in a request's metadata, of the seq of the message that it steers a run with."""

_WAITS = "threadclaim.waits"
"""The key, in a request's metadata, that marks a prompt that no request has carried yet."""

_NOTICE = register_tag("notice")


def prompt_of(turn: TurnInput, *, notices: bool) -> list[str]:
    """The texts that a turn's first request carries, in the log's order, its `notices` among them."""
    told = [*turn.prompt, *(turn.notices if notices else ())]
    return [text_of(envelope) for envelope in sorted(told, key=lambda envelope: envelope.seq)]


def text_of(envelope: Envelope) -> str:
    """What the agent is told of a message, or of a notice, which is framed; TypeError for anything else."""
    event = envelope.event
    if not isinstance(event, MessagePosted):
        raise TypeError(f"Entry {envelope.seq} of the log is no message, so no agent can be told of it.")
    return event.text if event.kind == "message" else wrap(_NOTICE, event.text)


def load(turn: TurnInput) -> tuple[list[ModelMessage], list[str]]:
    """The thread's messages so far, and the texts of a resumed run's earlier prompt that still wait.

    A turn that resumes nothing closes the calls that are open, of a resumed run whose process died, say, and
    leaves out a last response that its provider would go on with, which no prompt may follow.
    Raises ValueError if a chunk is none of pydantic-ai's.
    """
    messages = [m for chunk in turn.history for m in ModelMessagesTypeAdapter.validate_json(chunk)]
    if not turn.requests:
        return repair_messages(_without_last(messages, "suspended")), []
    pause = _last_response(messages)
    waiting = [m for m in messages[pause:] if _WAITS in (m.metadata or {})]
    return [m for m in messages if not any(m is w for w in waiting)], prompt_texts(waiting)


def fresh_id(run_id: str, messages: Sequence[ModelMessage]) -> str:
    """An id for pydantic-ai that is not in the history, as it wants: a resumed run of ours keeps its own."""
    seen = {message.run_id for message in messages}
    return next(fresh for segment in count() if (fresh := f"{run_id}/{segment}") not in seen)


def results_of(turn: TurnInput) -> DeferredToolResults | None:
    """The answers, one to each call that the run paused for; None of a turn that resumes nothing."""
    if not turn.requests:
        return None
    results = DeferredToolResults()
    for request in turn.requests:
        call_id = request.call_id or request.id
        match turn.answers[request.id].answer:
            case Reply(value=value):
                results.calls[call_id] = value
            case FormValues(values=values):  # a result, even of a call that needs approval: it is not run
                results.calls[call_id] = dict(values)
            case Approve():
                results.approvals[call_id] = ToolApproved()
            case Deny(message=message):
                results.approvals[call_id] = ToolDenied(message)
    return results


def requests_of(deferred: DeferredToolRequests, messages: Sequence[ModelMessage]) -> tuple[Request, ...]:
    """What a run waits for, in the model's order; `messages` are all of the thread's.

    A model may number its calls anew, so an id that the thread has seen gets a number: a late answer to the
    call before is then one to a settled request, and never to this.
    """
    asked = {call.tool_call_id: _request(call, "question", deferred) for call in deferred.calls}
    asked |= {call.tool_call_id: _request(call, "approval", deferred) for call in deferred.approvals}
    last = _last_response(messages)
    response = messages[last]
    calls = response.tool_calls if isinstance(response, ModelResponse) else []
    seen = Counter(
        call.tool_call_id
        for message in messages[:last]
        if isinstance(message, ModelResponse)
        for call in message.tool_calls
    )
    requests = (asked[call.tool_call_id] for call in calls if call.tool_call_id in asked)
    return tuple(
        replace(request, id=f"{request.id}.{seen[request.id] + 1}", call_id=request.id)
        if seen[request.id]
        else request
        for request in requests
    )


def _request(
    call: ToolCallPart, kind: Literal["question", "approval"], deferred: DeferredToolRequests
) -> Request:
    """A deferred call as a request; one of `ask_form` as a form."""
    args = call.args_as_dict()
    if call.tool_name != FORM_TOOL:
        return Request(call.tool_call_id, kind, call.tool_name, args)
    schema = deferred.metadata.get(call.tool_call_id, {}).get("schema", args.get("schema"))
    return Request(call.tool_call_id, "form", call.tool_name, args, schema)


def steering_request(text: str, seq: int) -> ModelRequest:
    """A message that steers a run, marked with its seq."""
    return ModelRequest([UserPromptPart(text)], metadata={_STEERS: seq})


def answered_seqs(messages: Sequence[ModelMessage], agent_run_id: str) -> set[int]:
    """The seqs of the steering of a run that a response follows."""
    own = (m for m in messages[: max(_last_response(messages), 0)] if m.run_id == agent_run_id)
    return {m.metadata[_STEERS] for m in own if m.metadata is not None and _STEERS in m.metadata}


def without_unanswered(messages: Sequence[ModelMessage], *, whole: bool) -> list[ModelMessage]:
    """A broken run's messages, without steering that was not answered, and a response that broke off.

    `whole` says that a last response is whole, though pydantic-ai calls it interrupted: the run ended there.
    """
    if not whole:
        messages = _without_last(messages, "suspended", "interrupted")
    answered = _last_response(messages)
    return [m for i, m in enumerate(messages) if i < answered or _STEERS not in (m.metadata or {})]


def _without_last(messages: Sequence[ModelMessage], *states: str) -> Sequence[ModelMessage]:
    """Messages without a last response that is in one of these states."""
    last = messages[-1] if messages else None
    return messages[:-1] if isinstance(last, ModelResponse) and last.state in states else messages


def closing(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """What closes the calls that are open at the end, so that a prompt may follow: one request, or none."""
    known = {id(part) for message in messages for part in message.parts}
    last = _last_response(messages)
    repaired = repair_messages(messages[last:]) if last >= 0 else []
    returns = [part for m in repaired for part in m.parts if isinstance(part, ToolReturnPart)]
    parts = [part for part in returns if part.outcome == "interrupted" and id(part) not in known]
    return [ModelRequest(parts)] if parts else []


def held_prompt(texts: Sequence[str], *, waits: bool) -> list[ModelMessage]:
    """A prompt that no request carried: for the agent to know of, or, if it `waits`, for the next request."""
    parts = [UserPromptPart(text) for text in texts]
    return [ModelRequest(parts, metadata={_WAITS: True} if waits else None)] if parts else []


STOPPED = "[This run was stopped here. What was asked for is not carried out any more.]"
FAILED = "[This run failed here. What was asked for is carried out only if it is asked for again.]"


def broken_off(why: str) -> ModelResponse:
    """What closes a run that broke off, in the model's place: so that the next prompt stands by itself."""
    return ModelResponse([TextPart(why)])


def has_prompt(messages: Iterable[ModelMessage], texts: Sequence[str]) -> bool:
    """Whether messages carry every text of a prompt."""
    return set(texts) <= set(prompt_texts(messages))


def dump(messages: Sequence[ModelMessage]) -> bytes | None:
    """Messages as a chunk, None if there are none; ValueError, say, for what would not be read back."""
    if not messages:
        return None
    chunk = ModelMessagesTypeAdapter.dump_json(list(messages))
    ModelMessagesTypeAdapter.validate_json(chunk)
    return chunk


def storable(messages: Sequence[ModelMessage]) -> tuple[list[ModelMessage], Exception | None]:
    """The messages up to the first that cannot be stored, and why that cannot."""
    try:
        dump(messages)
    except (ValueError, TypeError, RecursionError) as error:
        return list(takewhile(lambda message: storable([message])[0], messages)) if messages[
            1:
        ] else [], error
    return list(messages), None


def _last_response(messages: Sequence[ModelMessage]) -> int:
    """The index of the last response; -1 if there is none."""
    return max((i for i, m in enumerate(messages) if isinstance(m, ModelResponse)), default=-1)


def prompt_texts(messages: Iterable[ModelMessage]) -> list[str]:
    """The texts of the user prompts in messages."""
    contents = [part.content for m in messages for part in m.parts if isinstance(part, UserPromptPart)]
    items = [item for content in contents for item in ([content] if isinstance(content, str) else content)]
    return [item for item in items if isinstance(item, str)]
