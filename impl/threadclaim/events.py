"""What a workspace's log holds: actors, events, and the envelope that an event is committed in."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

JsonValue = Any
"""Anything that JSON has: None, a bool, a number, a string, a list, or a dict with string keys."""


@dataclass(frozen=True, slots=True)
class PersonActor:
    """A person, by the id that the application knows them by."""

    id: str
    kind: Literal["person"] = "person"


@dataclass(frozen=True, slots=True)
class AgentActor:
    """An agent of the application, by its name."""

    name: str
    kind: Literal["agent"] = "agent"


@dataclass(frozen=True, slots=True)
class ExternalAgentActor:
    """An agent that is not the application's own, by its name."""

    name: str
    kind: Literal["external_agent"] = "external_agent"


@dataclass(frozen=True, slots=True)
class SystemActor:
    """A part of the system, by its name."""

    name: str
    kind: Literal["system"] = "system"


Actor = Annotated[PersonActor | AgentActor | ExternalAgentActor | SystemActor, Field(discriminator="kind")]

RUNNER = SystemActor("runner")
"""Who a hand-over, a look and a sweep act as (ADR-0070)."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a paused run waits for: a question (an external call), an approval, or a form (`ask_form`).

    `id` is the tool call's, or one of its own if the model has used that id before in the thread: `call_id`
    is the call's then. `args` are the call's arguments; `schema`, of a form, the JSON schema of its values.
    """

    id: str
    kind: Literal["question", "approval", "form"]
    tool_name: str
    args: Mapping[str, JsonValue] = field(default_factory=dict)
    schema: Mapping[str, JsonValue] | None = None
    call_id: str | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a question: the value that its call returns, a text say."""

    value: JsonValue
    kind: Literal["reply"] = "reply"


@dataclass(frozen=True, slots=True)
class Approve:
    """The answer that lets an approval's call go on."""

    kind: Literal["approve"] = "approve"


@dataclass(frozen=True, slots=True)
class Deny:
    """The answer that declines an approval's call, with what the model is told."""

    message: str
    kind: Literal["deny"] = "deny"


@dataclass(frozen=True, slots=True)
class FormValues:
    """The answer to a form: its values, which its schema must allow."""

    values: Mapping[str, JsonValue]
    kind: Literal["form_values"] = "form_values"


AnyAnswer = Annotated[Reply | Approve | Deny | FormValues, Field(discriminator="kind")]

ANSWERS: Mapping[str, frozenset[str]] = {
    "question": frozenset({"reply"}),
    "approval": frozenset({"approve", "deny"}),
    "form": frozenset({"form_values"}),
}
"""Which kinds of answer each kind of request takes."""


@dataclass(frozen=True, slots=True)
class ThreadCreated:
    """A thread begins."""

    title: str = ""
    type: Literal["thread_created"] = "thread_created"


@dataclass(frozen=True, slots=True)
class MessagePosted:
    """A message, or a notice, which starts no run, steers none and answers nothing (ADR-0051)."""

    message_id: str
    text: str
    kind: Literal["message", "notice"] = "message"
    type: Literal["message_posted"] = "message_posted"


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A segment of a run begins; a resumed run keeps its id.

    `segment` is the holder of the claim that it runs under, or of a direct run an id of its own; `consumes`
    the seqs of the messages that are its prompt.
    """

    run_id: str
    segment: str
    consumes: tuple[int, ...] = ()
    resumed: bool = False
    type: Literal["run_started"] = "run_started"


@dataclass(frozen=True, slots=True)
class RunPaused:
    """A segment ends with requests open; `delivered` are the seqs of the messages that steered it."""

    run_id: str
    requests: tuple[Request, ...]
    delivered: tuple[int, ...] = ()
    type: Literal["run_paused"] = "run_paused"


@dataclass(frozen=True, slots=True)
class RunEnded:
    """A run ends. `output` is what it came to; `error` what it failed of, `reason` a stable word for that."""

    run_id: str
    outcome: Literal["completed", "stopped", "failed"]
    output: str | None = None
    error: str | None = None
    reason: str | None = None
    delivered: tuple[int, ...] = ()
    type: Literal["run_ended"] = "run_ended"


@dataclass(frozen=True, slots=True)
class RequestAnswered:
    """A request is answered; `message_seq` is the message that answered it, if a message did."""

    run_id: str
    request_id: str
    answer: AnyAnswer
    message_seq: int | None = None
    type: Literal["request_answered"] = "request_answered"


@dataclass(frozen=True, slots=True)
class ToolCalled:
    """A run calls a tool; `args` as the model gave them."""

    run_id: str
    call_id: str
    tool_name: str
    args: str
    type: Literal["tool_called"] = "tool_called"


@dataclass(frozen=True, slots=True)
class ToolReturned:
    """A tool's call ends, well or not."""

    run_id: str
    call_id: str
    tool_name: str
    ok: bool
    type: Literal["tool_returned"] = "tool_returned"


@dataclass(frozen=True, slots=True)
class Custom:
    """An event of the application's own, which the runner does not read; `name` says what it is."""

    name: str
    data: JsonValue = None
    type: Literal["custom"] = "custom"


Event = Annotated[
    ThreadCreated
    | MessagePosted
    | RunStarted
    | RunPaused
    | RunEnded
    | RequestAnswered
    | ToolCalled
    | ToolReturned
    | Custom,
    Field(discriminator="type"),
]


@dataclass(frozen=True, slots=True)
class Envelope:
    """An event as it was committed.

    `seq` is its place in the workspace's log, from 1 and without gaps; `at` the storage's time; `traceparent`
    the W3C trace context that was current when it was committed, or None.
    """

    seq: int
    id: str
    at: datetime
    actor: Actor
    event: Event
    thread_id: str | None = None
    run_id: str | None = None
    traceparent: str | None = None

    @property
    def is_message(self) -> bool:
        """Whether it is a message to carry out: no notice."""
        return isinstance(self.event, MessagePosted) and self.event.kind == "message"

    @property
    def is_notice(self) -> bool:
        """Whether it is a notice, which agents may be told of and which asks for nothing (ADR-0051)."""
        return isinstance(self.event, MessagePosted) and self.event.kind == "notice"


ENVELOPE: TypeAdapter[Envelope] = TypeAdapter(Envelope)
"""Writes envelopes as JSON, and reads and checks them."""
