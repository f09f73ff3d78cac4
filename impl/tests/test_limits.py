"""The limits: each bound, from both sides, and a sentence for each refusal."""

import math
from collections.abc import Callable
from functools import partial

import pytest

from threadclaim.errors import LimitError, RequestError, WrongType, kind_of
from threadclaim.events import (
    RUNNER,
    AgentActor,
    Custom,
    Event,
    FormValues,
    JsonValue,
    MessagePosted,
    PersonActor,
    Reply,
    RequestAnswered,
    RunPaused,
)
from threadclaim.limits import (
    LIMITS,
    MAX_SEQ,
    MAX_TEXT_BYTES,
    check_actor,
    check_claim_ttl,
    check_id,
    check_position,
    check_seconds,
    check_text,
    check_title,
    event_json,
    event_of,
    table,
)

MIB = 1024 * 1024


@pytest.mark.parametrize(
    "text", ["a", "é" * (MIB // 2), "🎉" * (MIB // 4), " a\n", "a" * MIB, "\u200b", "\ufffe", "\x01\x7f"]
)
def test_text_that_is_accepted(text: str) -> None:
    """Text of up to 1 MiB in UTF-8, with something in it."""
    check_text(text)


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("", "text"),
        (" \t\n\u2003", "text"),
        ("a" * (MIB + 1), "text"),
        ("é" * (MIB // 2) + "a", "text"),
        ("a\0b", "characters"),
        ("\ud83c", "characters"),
        ("a\udfffb", "characters"),
    ],
)
def test_text_that_is_refused(text: str, limit: str) -> None:
    """Text that is blank, too long, or that not every storage can hold."""
    with pytest.raises(LimitError) as refused:
        check_text(text)
    assert refused.value.limit == limit
    assert LIMITS[limit].accepted in str(refused.value)
    assert LIMITS[limit].why in str(refused.value)


@pytest.mark.parametrize("value", ["a", "é" * 1000, " ", "a/b", "a" * 1000])
def test_id_that_is_accepted(value: str) -> None:
    """An id of 1 to 1,000 characters, whatever their size in bytes."""
    check_id("thread", value)
    check_actor(PersonActor(value))
    check_actor(AgentActor(value))
    check_title(value)


@pytest.mark.parametrize("value", ["a" * 1001, "a\0", "\ud800"])
def test_id_that_is_refused(value: str) -> None:
    """An id that is too long, or not for every storage: it is named. A title too."""
    with pytest.raises(LimitError, match="The thread's id"):
        check_id("thread", value)
    with pytest.raises(LimitError, match="The cursor's name"):
        check_id("cursor", value)
    for actor in (PersonActor(value), AgentActor(value)):
        with pytest.raises(LimitError, match="The actor's id"):
            check_actor(actor)
    with pytest.raises(LimitError, match="The thread's title"):
        check_title(value)


def test_empty_id_and_title() -> None:
    """An id has at least one character; a title may be empty."""
    with pytest.raises(LimitError, match="0 characters"):
        check_id("message", "")
    check_title("")
    check_actor(RUNNER)


@pytest.mark.parametrize("ttl", [0.05, 1, 30.0, 86_400])
def test_claim_ttl_that_is_accepted(ttl: float) -> None:
    """A number of seconds from 50 ms to a day, an integer or not."""
    check_claim_ttl(ttl)


@pytest.mark.parametrize(
    "ttl",
    [0, 0.0, -1, -0.05, 0.0499, 86_401, 1e300, math.nan, math.inf, -math.inf, 10**400],
)
def test_claim_ttl_that_is_refused(ttl: float) -> None:
    """0, below 0, under 50 ms, more than a day, NaN, or infinite."""
    with pytest.raises(LimitError, match="time to live") as refused:
        check_claim_ttl(ttl)
    assert refused.value.limit == "claim_ttl"


def test_positions() -> None:
    """A position is an integer of 0 to 2**63 - 1."""
    check_position("after_seq", 0)
    check_position("after_seq", MAX_SEQ)
    for seq in (-1, MAX_SEQ + 1):
        with pytest.raises(LimitError, match="after_seq is"):
            check_position("after_seq", seq)


@pytest.mark.parametrize(
    ("check", "values", "gives"),
    [
        (check_text, (b"bytes", None, 5, str), "str"),
        (partial(check_id, "thread"), (b"a", None, 5, str), "str"),
        (check_title, (b"a", None, 5), "str"),
        (check_actor, ("ann", None, 5, PersonActor), r"PersonActor\('ann'\)"),
        (check_claim_ttl, (True, "30", None, 1j, float), "seconds"),
        (partial(check_seconds, "close_within"), (True, "30", None, 1j), "seconds"),
        (partial(check_position, "after_seq"), (True, 1.0, "1", None), "int"),
    ],
)
def test_what_is_of_a_wrong_type(
    check: Callable[[object], None], values: tuple[object, ...], gives: str
) -> None:
    """It is told what to give, and nothing of a limit; a TypeError, and a RequestError like the others."""
    for value in values:
        with pytest.raises(WrongType, match=f"Give .*{gives}") as refused:
            check(value)
        assert isinstance(refused.value, TypeError)
        assert isinstance(refused.value, RequestError)
        assert not isinstance(refused.value, LimitError)
        assert "limit" not in str(refused.value)
        assert kind_of(value) in str(refused.value)


@pytest.mark.parametrize("value", [5, b"a", None])
def test_an_actors_id_is_text(value: str) -> None:
    """Its type is told."""
    for actor in (PersonActor(value), AgentActor(value)):
        with pytest.raises(WrongType, match="The actor's id is of type"):
            check_actor(actor)


@pytest.mark.parametrize("text", ["\\u0000", "\\\\u0000", "u0000", "\\", "\u2028", 'a"b'])
def test_event_that_looks_like_nul(text: str) -> None:
    """Text that only looks like an escaped NUL is given back as it is."""
    for event in (Custom(text, {text: [text]}), MessagePosted(text, text)):
        assert event_of(event_json(event)) == event


@pytest.mark.parametrize("text", ["\0", "\\\0", "\\\\\0", "a\0\\u0000"])
def test_event_with_nul(text: str) -> None:
    """A NUL is found wherever it stands, behind any number of backslashes."""
    with pytest.raises(LimitError, match="NUL"):
        event_json(Custom("x", [text]))


def circle() -> list[object]:
    """A list that has itself in it."""
    found: list[object] = []
    found.append(found)
    return found


@pytest.mark.parametrize(
    "event",
    [
        Custom("x", object()),
        Custom("x", circle()),
        Custom("x", "\ud800"),
        Custom("x", b"\xff"),
        Custom(5),  # type: ignore[arg-type]  # what callers without types give
        RunPaused("r", ("no request",)),  # type: ignore[arg-type]  # as above
        "no event",
    ],
)
def test_event_that_is_refused(event: Event) -> None:
    """An event that JSON cannot say, or that is none of those declared."""
    with pytest.raises(LimitError) as refused:
        event_json(event)
    assert refused.value.limit == "event"


def circular() -> list[object]:
    """A list that is in itself."""
    found: list[object] = []
    found.append(found)
    return found


@pytest.mark.parametrize("value", [math.nan, math.inf, {1: 2}, {"a": [-math.inf]}, (1,), {1}, circular()])
def test_value_that_json_has_not(value: object) -> None:
    """It is refused wherever a caller can say it: it would be read back as something else."""
    said: list[Event] = [
        Custom("x", value),
        RequestAnswered("r", "q", Reply(value)),
        RequestAnswered("r", "q", FormValues({"field": value})),
    ]
    for event in said:
        with pytest.raises(LimitError, match=r"JSON|nested"):
            event_json(event)


def test_value_that_json_has() -> None:
    """It is read back as it was."""
    value: JsonValue = {"a": [None, True, 1, 1.5, "text", {"b": []}]}
    assert event_of(event_json(Custom("x", value))) == Custom("x", value)


def test_text_that_is_no_event() -> None:
    """What is no event, as an older release may have written, is refused with a reason."""
    for text in (b"", b"{}", b'{"type": "unknown"}', b'{"type": "custom", "name": null}'):
        with pytest.raises(LimitError, match="read back"):
            event_of(text)


def test_refusals_are_the_callers() -> None:
    """A LimitError is a RequestError: the caller's fault, refused at the door."""
    assert issubclass(LimitError, RequestError)


def test_table_has_every_limit() -> None:
    """The README's table has a row for each limit, with its figures as the code has them."""
    header, rule, *rows = table().splitlines()
    assert header.count("|") == rule.count("|") == 4
    assert len(rows) == len(LIMITS)
    for row, limit in zip(rows, LIMITS.values(), strict=True):
        assert row == f"| {limit.what} | {limit.accepted} | {limit.why} |"
        assert limit.why.endswith(".")
    assert f"{MAX_TEXT_BYTES:,} bytes" in table()
    assert "1,000 characters" in table()
    assert "0.05 to 86,400" in table()
