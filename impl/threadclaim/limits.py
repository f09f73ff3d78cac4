"""The limits on what is accepted, in one table, and the checks of them at the door. Nothing here waits.

What is of a wrong type is against no limit: it is a WrongType, and not a LimitError.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import TypeAdapter

from threadclaim.errors import LimitError, RequestError, WrongType, kind_of
from threadclaim.events import (
    Actor,
    AgentActor,
    Custom,
    Event,
    ExternalAgentActor,
    FormValues,
    PersonActor,
    Reply,
    RequestAnswered,
    SystemActor,
)

MAX_TEXT_BYTES = 1024 * 1024
"""How long a message's text may be: 1 MiB, in UTF-8."""

MAX_ID_LENGTH = 1000
"""How long an id may be, in characters; a thread's title and a cursor's name too."""

MAX_SEQ = 2**63 - 1
"""The highest position that a cursor may be saved at: what a signed 64-bit integer holds."""

MIN_CLAIM_TTL = 0.05
"""The shortest time to live of a claim, in seconds."""

MAX_CLAIM_TTL = 24 * 60 * 60
"""The longest time to live of a claim, in seconds: a day."""


@dataclass(frozen=True, slots=True)
class Limit:
    """A row of the table: what is limited, what is accepted, and why."""

    what: str
    accepted: str
    why: str


LIMITS: Mapping[str, Limit] = {
    "text": Limit(
        "a message's text",
        f"1 to {MAX_TEXT_BYTES:,} bytes (1 MiB) in UTF-8, with more in it than white space",
        "A blank message asks for nothing, and models refuse it. A longer one is better named than sent.",
    ),
    "characters": Limit(
        "all text: messages, ids, titles, events",
        "no NUL, no lone surrogate",
        "Not every storage can hold them: PostgreSQL has no NUL, and UTF-8 no half of a surrogate pair.",
    ),
    "id": Limit(
        "the id of a tenant, workspace, thread, message or actor; the name of a cursor",
        f"1 to {MAX_ID_LENGTH:,} characters",
        "Ids are keys, which storages index.",
    ),
    "title": Limit(
        "a thread's title",
        f"at most {MAX_ID_LENGTH:,} characters",
        "A title is a line, for lists of threads.",
    ),
    "event": Limit(
        "an event",
        "what JSON can say, of the types that it declares",
        "Storages keep events as JSON, and must give back what was committed.",
    ),
    "position": Limit(
        "a position in the log",
        f"an integer from 0 to {MAX_SEQ:,}",
        "Positions count entries, and storages keep them in 64 bits.",
    ),
    "claim_ttl": Limit(
        "a claim's time to live",
        f"a number of seconds from {MIN_CLAIM_TTL} to {MAX_CLAIM_TTL:,} (a day)",
        "A claim is renewed every third of it: a shorter one lapses while its holder is well, and a dead "
        "holder's thread waits for as long.",
    ),
    "seconds": Limit(
        "another time, such as `close_within`",
        f"a number of seconds from 0 to {MAX_CLAIM_TTL:,} (a day); not 0 for a storage's `poll_interval`, "
        "`command_timeout` and `acquire_timeout`",
        "Whoever waits wants to know that it ends; and without any time nothing comes, or a loop spins.",
    ),
}
"""Every limit, by a short name."""


def table() -> str:
    """The limits as a table in Markdown, for the README."""
    rows = [f"| {limit.what} | {limit.accepted} | {limit.why} |" for limit in LIMITS.values()]
    return "\n".join(["| What | Accepted | Why |", "|---|---|---|", *rows])


_EVENT: TypeAdapter[Event] = TypeAdapter(Event)
_ESCAPED_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")


def check_text(text: str) -> None:
    """Accept a message's text; else raise LimitError or WrongType."""
    size = len(_check_characters("The message's text", text))
    if size > MAX_TEXT_BYTES:
        raise _error("text", f"The message's text has {size:,} bytes in UTF-8. Send less, or name a file.")
    if not text.strip():
        raise _error("text", "The message's text is empty, or only white space. Send something to carry out.")


def check_id(what: str, value: str) -> None:
    """Accept an id, or a name, of `what`: "thread", say; else raise LimitError or WrongType."""
    name = f"The {what}'s {'name' if what == 'cursor' else 'id'}"
    _check_characters(name, value)
    if not 1 <= len(value) <= MAX_ID_LENGTH:
        raise _error("id", f"{name} has {len(value):,} characters. Choose another.")


def check_title(title: str) -> None:
    """Accept a thread's title, which may be empty; else raise LimitError or WrongType."""
    _check_characters("The thread's title", title)
    if len(title) > MAX_ID_LENGTH:
        raise _error("title", f"The thread's title has {len(title):,} characters. Shorten it.")


def check_actor(actor: Actor) -> None:
    """Accept an actor, whose id or name is an id; else raise LimitError or WrongType."""
    if not isinstance(actor, PersonActor | AgentActor | ExternalAgentActor | SystemActor):
        raise WrongType(
            f"The actor is {kind_of(actor)}. Give who acts: PersonActor('ann'), say, or an AgentActor, an "
            "ExternalAgentActor or a SystemActor."
        )
    check_id("actor", actor.id if isinstance(actor, PersonActor) else actor.name)


def check_claim_ttl(ttl: float) -> None:
    """Accept a claim's time to live, in seconds; else raise LimitError or WrongType."""
    _check_number("The claim's time to live", ttl, "seconds, 30.0 say")
    if not _is_finite(ttl) or not MIN_CLAIM_TTL <= ttl <= MAX_CLAIM_TTL:
        raise _error("claim_ttl", f"The claim's time to live is {ttl!r}. Give seconds, 30.0 say.")


def check_seconds(what: str, seconds: float, *, more_than_none: bool = False) -> None:
    """Accept a time in seconds, `what` for: "close_within", say; else raise LimitError or WrongType."""
    _check_number(what, seconds, "seconds, 10.0 say")
    is_too_short = seconds < 0 or (more_than_none and seconds == 0)
    if not _is_finite(seconds) or is_too_short or seconds > MAX_CLAIM_TTL:
        raise _error("seconds", f"{what} is {seconds!r}. Give seconds, 10.0 say.")


def check_connections(connections: int) -> None:
    """Accept how many connections a storage may have; else raise RequestError or WrongType."""
    if not _is_integer(connections):
        raise WrongType(f"connections is {kind_of(connections)}. Give an int, 1 at least.")
    if connections < 1:
        raise RequestError(f"connections is {connections!r}. Give 1 at least.")


def check_flag(what: str, given: object) -> None:
    """Accept True or False, `what` for: "create_schema", say; else raise WrongType."""
    if not isinstance(given, bool):
        raise WrongType(f"{what} is {kind_of(given)}. Give True or False.")


def check_position(what: str, seq: int) -> None:
    """Accept a position in the log, `what` for: "after_seq", say; else raise LimitError or WrongType."""
    if not _is_integer(seq):
        raise WrongType(
            f"{what} is {kind_of(seq)}. Give an int: a seq of the log, or 0 for before its first."
        )
    if not 0 <= seq <= MAX_SEQ:
        raise _error(
            "position", f"{what} is {seq!r}. Give a seq of the log, or 0 for before its first entry."
        )


def event_json(event: Event) -> bytes:
    """The event as JSON, as storages keep it; raises LimitError for one that not every storage can hold.

    What an answer, or an event of the application's, says must be what JSON can say: else it would be read
    back as something else.
    """
    try:
        _check_said(event)
    except RecursionError as error:
        raise _error("event", "The event is nested too deeply, or in itself.") from error
    try:
        text = _EVENT.dump_json(event, warnings="error")
    except ValueError as error:
        raise _error(
            "event", f"The event is none of those declared, or its text cannot be stored: {error}."
        ) from error
    if _ESCAPED_NUL.search(text):
        raise _error("characters", "The event has a NUL character. Leave it out.")
    return text


def event_of(text: bytes) -> Event:
    """The event that `event_json` wrote; raises LimitError for what is none."""
    try:
        return _EVENT.validate_json(text)
    except ValueError as error:
        raise _error("event", f"The event would not be read back: {error}.") from error


def _check_said(event: Event) -> None:
    """Accept what an answer, or an event of the application's, says; else raise LimitError."""
    match event:
        case Custom(data=data):
            _check_json("The event's data", data)
        case RequestAnswered(answer=Reply(value=value)):
            _check_json("The answer's value", value)
        case RequestAnswered(answer=FormValues(values=values)):
            _check_json("The form's values", dict(values))
        case _:
            pass


def _check_json(what: str, value: object) -> None:
    """Accept what JSON can say; else raise LimitError."""
    match value:
        case None | bool() | int() | str():
            return
        case float() if math.isfinite(value):
            return
        case list():
            for item in value:
                _check_json(what, item)
        case dict():
            for key, item in value.items():
                if not isinstance(key, str):
                    raise _error("event", f"{what} has the key {key!r}. JSON's keys are strings.")
                _check_json(what, item)
        case _:
            raise _error(
                "event",
                f"{what} has {value!r}. JSON has no such value; give text, a number, a list or a dict.",
            )


def escaped(text: str) -> str:
    """A text that every storage can hold: with escapes in place of what they cannot."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\u0000")


def _check_characters(what: str, text: object) -> bytes:
    """The text in UTF-8; raises LimitError for one that not every storage can hold, WrongType for no text."""
    if not isinstance(text, str):
        raise WrongType(f"{what} is {kind_of(text)}. Give a str.")
    if "\0" in text:
        raise _error("characters", f"{what} has a NUL character. Leave it out.")
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        told = f"{what} has a lone surrogate at index {error.start}. Decode it anew, or leave it out."
        raise _error("characters", told) from error


def _is_integer(value: object) -> bool:
    """Whether it is an integer; True and False are none."""
    return isinstance(value, int) and not isinstance(value, bool)


def _check_number(what: str, value: object, give: str) -> None:
    """Accept a number; else raise WrongType, which says what to give."""
    if not (isinstance(value, float) or _is_integer(value)):
        raise WrongType(f"{what} is {kind_of(value)}. Give {give}.")


def _is_finite(value: float) -> bool:
    """Whether it is a number of seconds that a clock can reach."""
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer that no float can hold
        return False


def _error(name: str, found: str) -> LimitError:
    """What was found, and the limit that it is against."""
    limit = LIMITS[name]
    return LimitError(name, f"{found} The limit on {limit.what}: {limit.accepted}. {limit.why}")
