"""What a log holds, as durable data: each event reads as it was written, also beside another version.

A storage's rows outlive the process that wrote them, and while a deploy goes on an older process reads what
a newer one writes. So a field that a process does not know is passed over, and one that it misses has its
default: a newer version may add fields, each with a default that is right for rows without it. An event, an
actor or an answer whose `type` or `kind` it does not know is refused: who decides without knowing what has
happened may consume a message twice.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from threadclaim.events import (
    ANSWERS,
    ENVELOPE,
    RUNNER,
    Actor,
    AgentActor,
    AnyAnswer,
    Approve,
    Custom,
    Deny,
    Envelope,
    Event,
    ExternalAgentActor,
    FormValues,
    MessagePosted,
    PersonActor,
    Reply,
    Request,
    RequestAnswered,
    RunEnded,
    RunPaused,
    RunStarted,
    SystemActor,
    ThreadCreated,
    ToolCalled,
    ToolReturned,
)

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
SEQS = st.lists(st.integers(1, 2**63), max_size=3).map(tuple)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
OBJECTS = st.dictionaries(TEXT, JSON, max_size=3)
ZONES = st.integers(-12, 14).map(lambda hours: timezone(timedelta(hours=hours)))
TIMES = st.datetimes(timezones=ZONES, min_value=datetime(1971, 1, 2), max_value=datetime(2200, 1, 1))  # noqa: DTZ001
ACTORS: dict[str, st.SearchStrategy[Actor]] = {
    "person": st.builds(PersonActor, TEXT),
    "agent": st.builds(AgentActor, TEXT),
    "external_agent": st.builds(ExternalAgentActor, TEXT),
    "system": st.builds(SystemActor, TEXT),
}
ANSWER_KINDS: dict[str, st.SearchStrategy[AnyAnswer]] = {
    "reply": st.builds(Reply, JSON),
    "approve": st.builds(Approve),
    "deny": st.builds(Deny, TEXT),
    "form_values": st.builds(FormValues, OBJECTS),
}
REQUESTS = st.builds(
    Request, TEXT, st.sampled_from(["question", "approval", "form"]), TEXT, OBJECTS, st.none() | OBJECTS
)
MAYBE = st.none() | TEXT
EVENTS: dict[str, st.SearchStrategy[Event]] = {
    "thread_created": st.builds(ThreadCreated, TEXT),
    "message_posted": st.builds(MessagePosted, TEXT, TEXT, st.sampled_from(["message", "notice"])),
    "run_started": st.builds(RunStarted, TEXT, TEXT, SEQS, st.booleans()),
    "run_paused": st.builds(RunPaused, TEXT, st.lists(REQUESTS, max_size=3).map(tuple), SEQS),
    "run_ended": st.builds(
        RunEnded, TEXT, st.sampled_from(["completed", "stopped", "failed"]), MAYBE, MAYBE, MAYBE, SEQS
    ),
    "request_answered": st.builds(
        RequestAnswered, TEXT, TEXT, st.one_of(*ANSWER_KINDS.values()), st.none() | st.integers(1)
    ),
    "tool_called": st.builds(ToolCalled, TEXT, TEXT, TEXT, TEXT),
    "tool_returned": st.builds(ToolReturned, TEXT, TEXT, TEXT, st.booleans()),
    "custom": st.builds(Custom, TEXT, JSON),
}


def enveloped(event: Event, actor: Actor = RUNNER) -> Envelope:
    """An event, committed."""
    return Envelope(1, "e1", datetime(2026, 10, 17, tzinfo=UTC), actor, event, "t", "r")


def written(envelope: Envelope) -> dict[str, Any]:
    """An envelope's JSON, as its keys and values."""
    return dict(json.loads(ENVELOPE.dump_json(envelope)))


def read(row: Mapping[str, Any]) -> Envelope:
    """The envelope that a row of JSON holds."""
    return ENVELOPE.validate_json(json.dumps(row))


def kinds_of(union: object, field: str) -> set[str]:
    """What tells the members of a union apart."""
    members = get_args(get_args(union)[0])
    return {str(member.__dataclass_fields__[field].default) for member in members}


def test_every_member_of_the_unions_is_tried_here() -> None:
    """No event, actor or answer is left out of these tests."""
    assert kinds_of(Event, "type") == set(EVENTS)
    assert kinds_of(Actor, "kind") == set(ACTORS)
    assert kinds_of(AnyAnswer, "kind") == set(ANSWER_KINDS) == set().union(*ANSWERS.values())


@pytest.mark.parametrize("type_", EVENTS)
@given(data=st.data())
def test_each_event_reads_as_it_was_written(type_: str, data: st.DataObject) -> None:
    """Through JSON it is equal, of the same class, and `type` says which it is."""
    envelope = enveloped(data.draw(EVENTS[type_]))
    assert read(written(envelope)) == envelope
    assert type(read(written(envelope)).event) is type(envelope.event)
    assert written(envelope)["event"]["type"] == envelope.event.type == type_


@pytest.mark.parametrize("kind", ACTORS)
@given(data=st.data())
def test_each_actor_reads_as_it_was_written(kind: str, data: st.DataObject) -> None:
    """Actors of one name and another kind are not the same author."""
    envelope = enveloped(Custom("x"), data.draw(ACTORS[kind]))
    assert read(written(envelope)).actor == envelope.actor
    assert written(envelope)["actor"]["kind"] == envelope.actor.kind == kind


@given(
    st.builds(
        Envelope,
        st.integers(1),
        TEXT,
        TIMES,
        st.one_of(*ACTORS.values()),
        st.one_of(*EVENTS.values()),
        MAYBE,
        MAYBE,
        MAYBE,
    )
)
def test_each_envelope_reads_as_it_was_written(envelope: Envelope) -> None:
    """Its seq, id, time in any zone, thread, run and traceparent, and the bytes as well."""
    bytes_ = ENVELOPE.dump_json(envelope)
    assert ENVELOPE.validate_json(bytes_) == envelope
    assert ENVELOPE.dump_json(ENVELOPE.validate_json(bytes_)) == bytes_


def test_actors_of_one_name_differ_by_kind() -> None:
    """An agent and an external agent of one name are two authors (ADR-0057)."""
    same_named = [AgentActor("x"), ExternalAgentActor("x"), SystemActor("x")]
    assert len({*same_named, PersonActor("x")}) == 4


@pytest.mark.parametrize(
    ("event", "is_message"),
    [
        (MessagePosted("m", "hello"), True),
        (MessagePosted("m", "to know", "notice"), False),
        (Custom("message_posted", {"kind": "message"}), False),
    ],
    ids=["message", "notice", "custom"],
)
def test_only_a_message_is_a_message(event: Event, is_message: bool) -> None:
    """A notice is none (ADR-0051), nor is what an application calls one."""
    assert enveloped(event).is_message is is_message


# ---- Beside another version.


@pytest.mark.parametrize("type_", EVENTS)
@given(data=st.data())
def test_a_field_that_a_newer_version_added_is_passed_over(type_: str, data: st.DataObject) -> None:
    """In the envelope, its actor and its event."""
    envelope = enveloped(data.draw(EVENTS[type_]))
    row = written(envelope)
    newer = {
        **row,
        "new": 1,
        "actor": {**row["actor"], "new": 1},
        "event": {**row["event"], "new": {"a": []}},
    }
    assert read(newer) == envelope


OLDER: list[tuple[dict[str, Any], Event]] = [
    ({"type": "thread_created"}, ThreadCreated()),
    ({"type": "message_posted", "message_id": "m", "text": "hello"}, MessagePosted("m", "hello")),
    ({"type": "run_started", "run_id": "r", "segment": "h"}, RunStarted("r", "h")),
    ({"type": "run_paused", "run_id": "r", "requests": []}, RunPaused("r", ())),
    ({"type": "run_ended", "run_id": "r", "outcome": "failed"}, RunEnded("r", "failed")),
    (
        {"type": "request_answered", "run_id": "r", "request_id": "q", "answer": {"kind": "approve"}},
        RequestAnswered("r", "q", Approve()),
    ),
    ({"type": "custom", "name": "ours"}, Custom("ours")),
]


@pytest.mark.parametrize(("row", "event"), [pytest.param(*each, id=each[1].type) for each in OLDER])
def test_a_field_that_an_older_version_lacks_has_its_default(row: dict[str, Any], event: Event) -> None:
    """The fewest fields that an event was ever written with stay enough; so do an envelope's."""
    least = {
        "seq": 1,
        "id": "e1",
        "at": "2026-10-17T00:00:00Z",
        "actor": {"kind": "system", "name": "runner"},
    }
    assert read({**least, "event": row}).event == event
    assert read({**least, "event": row}).thread_id is None


@pytest.mark.parametrize(
    "change",
    [
        {"event": {"type": "run_split", "run_id": "r"}},
        {"event": {"run_id": "r", "segment": "h"}},
        {"actor": {"kind": "robot", "name": "x"}},
        {"actor": {"name": "x"}},
        {
            "event": {
                "type": "request_answered",
                "run_id": "r",
                "request_id": "q",
                "answer": {"kind": "maybe"},
            }
        },
        {"event": {"type": "run_ended", "run_id": "r", "outcome": "split"}},
        {"event": {"type": "message_posted", "message_id": "m", "text": "x", "kind": "whisper"}},
        {"event": {"type": "run_started", "segment": "h"}},
        {"at": None},
    ],
    ids=[
        "unknown event",
        "event without a type",
        "unknown actor",
        "actor without a kind",
        "unknown answer",
        "unknown outcome",
        "unknown kind of message",
        "no run id",
        "no time",
    ],
)
def test_what_it_cannot_know_is_refused(change: dict[str, Any]) -> None:
    """Nothing is guessed of what is not known, or not there."""
    row = written(enveloped(Custom("x")))
    with pytest.raises(ValidationError):
        read({**row, **change})


# ---- What JSON cannot hold.


@pytest.mark.parametrize(
    "event",
    [MessagePosted("m", "\ud800"), Custom("x", {"a": ["\udfff"]}), RunEnded("r", "completed", "\udc80")],
    ids=["message", "data", "output"],
)
def test_a_lone_surrogate_is_not_written(event: Event) -> None:
    """It raises; nothing else is written in its place."""
    with pytest.raises(PydanticSerializationError):
        ENVELOPE.dump_json(enveloped(event))
