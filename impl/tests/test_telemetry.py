"""A turn's trace: what it links to, what it says, and that no text of a message is in it."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from opentelemetry import baggage, trace
from opentelemetry.context import attach, detach, get_current

from tests.traced import Traced, context_of, link_ids
from threadclaim.errors import RunFailure
from threadclaim.events import (
    Deny,
    Envelope,
    Event,
    MessagePosted,
    PersonActor,
    Reply,
    Request,
    RequestAnswered,
    RunPaused,
    RunStarted,
)
from threadclaim.plan import ReplyPlan, ResumePlan, StartPlan, View, plan
from threadclaim.telemetry import came_from, current_traceparent, link_from, turn_span
from threadclaim.thread import Thread
from threadclaim.turn import Completed, Failed, Outcome, Paused, Stopped

TEXT = "the text of a message"
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
ADA = PersonActor("ada")


@pytest.fixture(name="traced")
def _traced() -> Iterator[Traced]:
    """A tracer of the test's own."""
    traced = Traced()
    yield traced
    traced.provider.shutdown()


# ---- Traceparents and links.


def test_without_a_span_there_is_no_traceparent() -> None:
    """Nothing is current, so an envelope is committed with None."""
    assert current_traceparent() is None


def test_the_current_span_is_the_traceparent(traced: Traced) -> None:
    """As W3C writes it: version, trace, span, flags."""
    with traced.tracer.start_as_current_span("command") as span:
        context = span.get_span_context()
        trace_id, span_id = trace.format_trace_id(context.trace_id), trace.format_span_id(context.span_id)
        assert current_traceparent() == f"00-{trace_id}-{span_id}-{int(context.trace_flags):02x}"
    assert current_traceparent() is None


def test_a_link_goes_to_the_span_that_was_current(traced: Traced) -> None:
    """There and back: what was written as a traceparent links to that span."""
    with traced.tracer.start_as_current_span("command") as span:
        link = link_from(current_traceparent())
        assert link is not None
        assert link.context.trace_id == span.get_span_context().trace_id
        assert link.context.span_id == span.get_span_context().span_id
        assert link.context.trace_flags == span.get_span_context().trace_flags


@pytest.mark.parametrize(
    "traceparent",
    [
        None,
        "",
        "nonsense",
        PARENT.upper(),
        PARENT[:-3],
        PARENT.replace("0af7651916cd43dd8448eb211c80319c", "0" * 32),
        PARENT.replace("b7ad6b7169203331", "0" * 16),
        PARENT.replace("00-", "ff-", 1),
        TEXT,
    ],
    ids=["none", "empty", "nonsense", "upper case", "cut", "no trace", "no span", "no version", "text"],
)
def test_what_is_no_traceparent_links_to_nothing(traced: Traced, traceparent: str | None) -> None:
    """A stored value that cannot be read costs a link, never a turn; the current span is not taken for it."""
    with traced.tracer.start_as_current_span("command"):
        assert link_from(traceparent) is None
        assert traced.turn(linked=traceparent).links == ()


# ---- A turn's span.


def test_a_turn_is_a_trace_of_its_own(traced: Traced) -> None:
    """It has no parent, whatever span is current, and another trace than that."""
    with traced.tracer.start_as_current_span("command") as command:
        turn = traced.turn()
    assert turn.parent is None
    assert context_of(turn).trace_id != command.get_span_context().trace_id


def test_two_turns_are_two_traces(traced: Traced) -> None:
    """The second is not in the first's trace, even one within the other."""
    with turn_span(thread_id="t", run_id="r", holder="h", tracer=traced.tracer):
        inner = traced.turn()
    outer = traced.named("turn")[-1]
    assert inner.parent is None is outer.parent
    assert context_of(inner).trace_id != context_of(outer).trace_id


def test_a_turn_says_its_thread_run_and_holder(traced: Traced) -> None:
    """The thread is the session, and the conversation; nothing else is said before it is over."""
    assert traced.turn().attributes == {
        "session.id": "t",
        "gen_ai.conversation.id": "t",
        "threadclaim.run.id": "r",
        "threadclaim.holder": "h",
    }


def test_a_commands_turn_links_to_the_commands_span(traced: Traced) -> None:
    """The span that is current in the command, though the turn may carry out an older message."""
    with traced.tracer.start_as_current_span("command") as command:
        linked = current_traceparent()
    turn = traced.turn(linked=linked)
    assert link_ids(turn) == [trace.format_span_id(command.get_span_context().span_id)]


def test_what_happens_in_a_turn_is_of_its_trace(traced: Traced) -> None:
    """Its span is current for the agent's spans and for what is committed; afterwards, what was before."""
    with traced.tracer.start_as_current_span("command") as command:
        with turn_span(thread_id="t", run_id="r", holder="h", tracer=traced.tracer):
            within = current_traceparent()
            traced.tracer.start_span("agent").end()
        assert trace.get_current_span() is command
    (turn,), (agent,) = traced.named("turn"), traced.named("agent")
    assert agent.parent is not None
    assert agent.parent.span_id == context_of(turn).span_id
    assert within is not None
    assert trace.format_trace_id(context_of(turn).trace_id) in within


def test_nothing_else_of_the_commands_context_is_in_the_turn(traced: Traced) -> None:
    """A hand-over's turn has no baggage of the command that came before it; afterwards it is back."""
    token = attach(baggage.set_baggage("user", "ada"))
    try:
        with turn_span(thread_id="t", run_id="r", holder="h", tracer=traced.tracer):
            assert baggage.get_all() == {}
        assert baggage.get_baggage("user") == "ada"
    finally:
        detach(token)


def test_turns_of_concurrent_tasks_do_not_mix(traced: Traced) -> None:
    """Each task has its own current turn."""

    async def turn(name: str, mine: asyncio.Event, others: asyncio.Event) -> None:
        """A turn that goes on while the other does."""
        with turn_span(thread_id=name, run_id=name, holder=name, tracer=traced.tracer):
            mine.set()
            await others.wait()
            traced.tracer.start_span(f"agent of {name}").end()

    async def both() -> None:
        """Two at once."""
        one, two = asyncio.Event(), asyncio.Event()
        await asyncio.gather(turn("a", one, two), turn("b", two, one))

    asyncio.run(both())
    turns = {span.attributes["session.id"]: span for span in traced.named("turn") if span.attributes}
    for name in ("a", "b"):
        (agent,) = traced.named(f"agent of {name}")
        assert context_of(agent).trace_id == context_of(turns[name]).trace_id


def test_without_an_sdk_a_turn_goes_on() -> None:
    """An application that sets up no tracing has no spans, no links and no errors."""
    before = get_current()
    with turn_span(thread_id="t", run_id="r", holder="h", linked=PARENT, tracer=trace.NoOpTracer()) as span:
        assert current_traceparent() is None
        span.over(Completed(None, None))
    assert get_current() == before


def test_the_tracer_is_the_applications_unless_given(traced: Traced, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked for at each turn, under the library's name, so that tracing may be set up later."""
    monkeypatch.setattr(trace, "get_tracer", traced.provider.get_tracer)
    with turn_span(thread_id="t", run_id="r", holder="h"):
        pass
    (turn,) = traced.named("turn")
    assert turn.instrumentation_scope is not None
    assert turn.instrumentation_scope.name == "threadclaim"


# ---- What came of it.


@pytest.mark.parametrize(
    ("outcome", "name"),
    [
        (Completed(TEXT, b""), "completed"),
        (Paused((Request("q", "question", "ask", {"text": TEXT}),), b""), "paused"),
        (Stopped(), "stopped"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_an_outcome_is_an_attribute(traced: Traced, outcome: Outcome, name: str) -> None:
    """By the name that the log has; the status stays unset, as OpenTelemetry asks of libraries."""
    turn = traced.turn(outcome=outcome)
    assert turn.attributes is not None
    assert turn.attributes["threadclaim.outcome"] == name
    assert turn.status.status_code is trace.StatusCode.UNSET
    assert TEXT not in turn.to_json()


def test_a_failure_is_an_error_with_its_reason(traced: Traced) -> None:
    """The reason and the exception's type are told; its text, and the failure's, are not."""
    failure = Failed(TEXT, "quota", exception=RunFailure(TEXT, reason="quota"))
    turn = traced.turn(outcome=failure)
    assert turn.attributes is not None
    assert turn.attributes["threadclaim.outcome"] == "failed"
    assert turn.attributes["threadclaim.reason"] == "quota"
    assert turn.attributes["error.type"] == "threadclaim.errors.RunFailure"
    assert (turn.status.status_code, turn.status.description) == (trace.StatusCode.ERROR, "quota")
    assert TEXT not in turn.to_json()


def test_a_failure_without_a_reason_says_none(traced: Traced) -> None:
    """Only that it failed."""
    turn = traced.turn(outcome=Failed(TEXT))
    assert turn.attributes is not None
    assert turn.attributes.keys() & {"threadclaim.reason", "error.type"} == set()
    assert (turn.status.status_code, turn.status.description) == (trace.StatusCode.ERROR, None)
    assert TEXT not in turn.to_json()


@pytest.mark.parametrize(
    ("error", "type_"),
    [
        (ValueError(TEXT), "ValueError"),
        (asyncio.CancelledError(TEXT), "asyncio.exceptions.CancelledError"),
    ],
    ids=["error", "cancelled"],
)
def test_what_a_turn_raises_is_a_failure_without_its_text(
    traced: Traced, error: BaseException, type_: str
) -> None:
    """It is raised as it is; the span has its type, no event, and no text; and what was current is again."""
    before = get_current()
    with (
        pytest.raises(type(error), match=TEXT),
        turn_span(thread_id="t", run_id="r", holder="h", tracer=traced.tracer),
    ):
        raise error
    (turn,) = traced.named("turn")
    assert turn.attributes is not None
    assert (turn.attributes["threadclaim.outcome"], turn.attributes["error.type"]) == ("failed", type_)
    assert turn.status.status_code is trace.StatusCode.ERROR
    assert turn.events == ()
    assert TEXT not in turn.to_json()
    assert get_current() == before


def test_the_first_outcome_counts(traced: Traced) -> None:
    """What goes wrong after the turn was over is not what came of the turn."""
    with turn_span(thread_id="t", run_id="r", holder="h", tracer=traced.tracer) as span:
        span.over(Completed(None, None))
        span.over(Failed("late"))
    (turn,) = traced.named("turn")
    assert turn.attributes is not None
    assert turn.attributes["threadclaim.outcome"] == "completed"
    assert turn.status.status_code is trace.StatusCode.UNSET


# ---- Where a hand-over's, a look's or a sweep's turn came from.


def committed(*events: tuple[Event, str | None], taken: int = 0) -> View:
    """What a claimant reads of these events, each with the traceparent that it was committed with."""
    at = datetime(2026, 10, 17, tzinfo=UTC)
    log = [
        Envelope(seq, f"e{seq}", at, ADA, event, "t", None, parent)
        for seq, (event, parent) in enumerate(events, 1)
    ]
    thread = Thread("t", 0)
    for entry in log:
        thread = thread.after(entry)
    return View(thread, len(log), taken, len(log), [entry for entry in log if entry.seq > taken])


def origin(view: View) -> str | None:
    """Where the turn of this view's plan came from."""
    decided = plan(view)
    assert isinstance(decided, StartPlan | ReplyPlan | ResumePlan)
    return came_from(decided, view)


MESSAGE = MessagePosted("m", TEXT)
PAUSED: list[tuple[Event, str | None]] = [
    (RunStarted("r", "h"), "start"),
    (RunPaused("r", (Request("q", "question", "ask"), Request("a", "approval", "delete"))), "pause"),
]
ANSWERED: list[tuple[Event, str | None]] = [
    (RequestAnswered("r", "q", Reply(TEXT)), "first answer"),
    (RequestAnswered("r", "a", Deny(TEXT)), "last answer"),
]


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        (committed((MESSAGE, "message"), (MESSAGE, "later")), "message"),
        (committed((MESSAGE, None), (MESSAGE, "later")), None),
        (committed(*PAUSED, (MESSAGE, "message"), taken=2), "message"),
        (committed(*PAUSED, (MESSAGE, "before"), *ANSWERED, (MESSAGE, "after"), taken=2), "last answer"),
        (committed(*PAUSED, *ANSWERED, taken=2), "last answer"),
        (committed(*PAUSED, *ANSWERED, (MESSAGE, "message"), taken=4), "message"),
        (committed(*PAUSED, *ANSWERED, (RunPaused("another", ()), "x"), taken=4), None),
    ],
    ids=[
        "the prompt's",
        "none, where none was current",
        "the reply's",
        "the last answer's, with messages beside it",
        "the last answer's",
        "the message's, where the answer is from before an upgrade",
        "none, with neither",
    ],
)
def test_a_turn_comes_from_what_it_carries_out(view: View, expected: str | None) -> None:
    """The span that was current as its message, or its answer, was committed (ADR-0035)."""
    assert origin(view) == expected
