"""How envelopes and threads are written as columns, and read from rows. Nothing here waits."""

from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from pydantic import TypeAdapter

from threadclaim.events import Actor, Envelope, MessagePosted
from threadclaim.limits import event_of
from threadclaim.storage.sql.keys import key_of
from threadclaim.storage.sql.session import Row

_ACTOR: TypeAdapter[Actor] = TypeAdapter(Actor)


def entry_columns(entry: Envelope, text: str) -> tuple[Any, ...]:
    """An entry's columns, as `texts.ADD_ENTRY` has them.

    Its event is kept as the `text` that says it: a database's own JSON would give back another.
    """
    event = entry.event
    message = event if isinstance(event, MessagePosted) else None
    return (
        entry.seq,
        entry.id,
        entry.at.astimezone(UTC).isoformat(timespec="microseconds"),
        _ACTOR.dump_json(entry.actor).decode(),
        text,
        entry.thread_id,
        entry.run_id,
        entry.traceparent,
        None if entry.thread_id is None else key_of(entry.thread_id),
        None if message is None else key_of(message.message_id),
        None if message is None else message.kind,
    )


def entry_of(row: Row) -> Envelope:
    """The entry that a row of `texts.ENTRY` has."""
    seq, id_, at, actor, event, thread_id, run_id, traceparent = row
    return Envelope(
        seq=seq,
        id=id_,
        at=datetime.fromisoformat(at),
        actor=_actor_of(actor),
        event=event_of(event.encode()),
        thread_id=thread_id,
        run_id=run_id,
        traceparent=traceparent,
    )


@lru_cache(maxsize=1024)
def _actor_of(text: str) -> Actor:
    """The actor that a text says; a log has many entries of few actors."""
    return _ACTOR.validate_json(text)
