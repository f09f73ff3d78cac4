"""A thread folded from its events: what its run waits for; what is late, or another's, changes nothing."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from threadclaim.events import (
    RUNNER,
    Actor,
    AnyAnswer,
    Approve,
    Custom,
    Deny,
    Envelope,
    Event,
    FormValues,
    MessagePosted,
    PersonActor,
    Reply,
    Request,
    RequestAnswered,
    RunEnded,
    RunPaused,
    RunStarted,
    ThreadCreated,
    ToolCalled,
    ToolReturned,
)
from threadclaim.thread import THREAD, Answered, Run, RunStatus, Thread

AT = datetime(2026, 10, 17, tzinfo=UTC)
ADA, BEN = PersonActor("ada"), PersonActor("ben")
QUESTION = Request("q", "question", "ask", {"text": "Which?"})
APPROVAL = Request("a", "approval", "delete")
FORM = Request("f", "form", "ask_form", schema={"type": "object"})
NEW = Thread("t", 1)
PAUSE: list[Event] = [RunStarted("r", "h1"), RunPaused("r", (QUESTION, APPROVAL))]


def folded(*events: Event | tuple[Event, Actor]) -> Thread:
    """The thread after these events, by the runner unless another actor is named; the first has seq 2."""
    thread = NEW
    for seq, each in enumerate(events, 2):
        event, actor = each if isinstance(each, tuple) else (each, RUNNER)
        thread = thread.after(Envelope(seq, f"e{seq}", AT, actor, event, "t"))
    return thread


def run_of(*events: Event | tuple[Event, Actor]) -> Run:
    """Its run, which there is."""
    run = folded(*events).run
    assert run is not None
    return run


def answered(request_id: str, answer: AnyAnswer, run_id: str = "r") -> RequestAnswered:
    """An answer to a request of a run, `r` unless named."""
    return RequestAnswered(run_id, request_id, answer)


def test_a_new_thread_has_no_run() -> None:
    """It waits for nothing."""
    assert (NEW.run, NEW.active_run, NEW.has_run_to_see_to) == (None, None, False)


def test_a_thread_waits_for_what_its_paused_run_does() -> None:
    """And for nothing while it has no run."""
    assert NEW.open_requests == ()
    assert folded(*PAUSE).open_requests == (QUESTION, APPROVAL)


def test_a_run_starts() -> None:
    """It is active, and its segment is its holder's."""
    thread = folded(RunStarted("r", "h1"))
    assert thread.run == thread.active_run == Run("r", RunStatus.ACTIVE, "h1", started=2)


def test_a_run_pauses() -> None:
    """Its requests are open, in the model's order, and nobody has answered."""
    run = run_of(*PAUSE)
    assert run.status is RunStatus.PAUSED
    assert run.open_requests == run.requests == (QUESTION, APPROVAL)
    assert run.last_answer is None
    assert folded(*PAUSE).active_run is None


@pytest.mark.parametrize("outcome", ["completed", "stopped", "failed"])
def test_a_run_ends(outcome: str) -> None:
    """However it ends, it is active no more."""
    ended: dict[str, Event] = {
        "completed": RunEnded("r", "completed"),
        "stopped": RunEnded("r", "stopped"),
        "failed": RunEnded("r", "failed", error="It broke."),
    }
    thread = folded(RunStarted("r", "h1"), ended[outcome])
    assert thread.run == Run("r", RunStatus.ENDED, "h1", started=2)
    assert thread.active_run is None


def test_an_answer_leaves_the_others_open() -> None:
    """Partly answered, the run stays paused."""
    run = run_of(*PAUSE, (answered("a", Approve()), ADA))
    assert run.status is RunStatus.PAUSED
    assert run.open_requests == (QUESTION,)
    assert run.answers == {"a": Answered(Approve(), ADA, 4)}


def test_the_last_answer_makes_it_answered() -> None:
    """With every request answered nothing is open, and the requests and answers are kept for the resume."""
    run = run_of(*PAUSE, (answered("a", Approve()), ADA), (answered("q", Reply("so")), BEN))
    assert run.status is RunStatus.ANSWERED
    assert run.open_requests == ()
    assert run.requests == (QUESTION, APPROVAL)
    assert run.last_answer == Answered(Reply("so"), BEN, 5)


def test_the_last_answer_is_the_last_in_the_log() -> None:
    """A stored row may have its answers in any order."""
    run = run_of(*PAUSE, (answered("a", Approve()), ADA), (answered("q", Reply("so")), BEN))
    turned = replace(run, answers=dict(reversed(list(run.answers.items()))))
    assert turned.last_answer == Answered(Reply("so"), BEN, 5)


def test_the_first_answer_stands() -> None:
    """A second answer to one request changes nothing, not even whom the run acts for."""
    thread = folded(*PAUSE, (answered("a", Approve()), ADA))
    assert thread.after(Envelope(9, "e9", AT, BEN, answered("a", Deny("no")), "t")) is thread


ANSWERED: list[Event] = [*PAUSE, answered("q", Reply("so")), answered("a", Approve())]
RESUMED: list[Event] = [*ANSWERED, RunStarted("r", "h2", resumed=True)]
SETTLED = {
    "answered": ANSWERED,
    "resumed": RESUMED,
    "ended": [*RESUMED, RunEnded("r", "completed")],
    "abandoned": [*RESUMED, RunEnded("r", "failed", reason="abandoned")],
}


@pytest.mark.parametrize(
    ("state", "is_seen_to"),
    [("answered", True), ("resumed", True), ("ended", False), ("abandoned", False)],
)
def test_a_run_to_see_to(state: str, is_seen_to: bool) -> None:
    """One that is answered, or active, is (repairs b and f); one that has ended is not."""
    assert folded(*SETTLED[state]).has_run_to_see_to is is_seen_to


def test_a_paused_run_is_not_seen_to() -> None:
    """It waits for its answers, all of them."""
    assert not folded(*PAUSE).has_run_to_see_to
    assert not folded(*PAUSE, answered("q", Reply("so"))).has_run_to_see_to


@pytest.mark.parametrize(
    "late",
    [
        answered("q", Reply("late")),
        answered("unknown", Reply("so")),
        answered("q", Reply("so"), run_id="another"),
        RunPaused("another", (FORM,)),
        RunEnded("another", "completed"),
    ],
    ids=["late answer", "unknown request", "another's answer", "another's pause", "another's end"],
)
@pytest.mark.parametrize("state", SETTLED)
def test_what_is_late_or_anothers_changes_nothing(state: str, late: Event) -> None:
    """Once a pause is answered, none of these reopens or moves the run."""
    thread = folded(*SETTLED[state])
    assert thread.after(Envelope(99, "e99", AT, ADA, late, "t")) is thread


@pytest.mark.parametrize("state", ["answered", "ended", "abandoned"])
def test_a_late_pause_changes_nothing(state: str) -> None:
    """A run that is not active does not pause (repair d, regression 32)."""
    thread = folded(*SETTLED[state])
    assert thread.after(Envelope(99, "e99", AT, ADA, RunPaused("r", (FORM,)), "t")) is thread


@pytest.mark.parametrize(
    "event",
    [
        answered("another", Reply("so")),
        answered("q", Reply("so"), run_id="another"),
        RunPaused("another", (FORM,)),
        RunPaused("r", (FORM,)),
        RunEnded("another", "stopped"),
    ],
    ids=["unknown request", "another's answer", "another's pause", "its pause again", "another's end"],
)
def test_a_paused_run_waits_for_its_own_alone(event: Event) -> None:
    """What names another run or request, or pauses it again, leaves it open as it is."""
    thread = folded(*PAUSE)
    assert thread.after(Envelope(99, "e99", AT, ADA, event, "t")) is thread


def test_an_answer_after_the_end_revives_nothing() -> None:
    """A run that ended while its requests were open stays ended, and nothing is open."""
    thread = folded(*PAUSE, RunEnded("r", "stopped"))
    assert thread.run is not None
    assert thread.run.open_requests == ()
    assert thread.after(Envelope(9, "e9", AT, ADA, answered("q", Reply("so")), "t")) is thread


def test_its_own_end_is_all_that_ends_it() -> None:
    """A run that was active as another's end came is active still."""
    thread = folded(RunStarted("r", "h1"))
    assert thread.after(Envelope(9, "e9", AT, RUNNER, RunEnded("s", "completed"), "t")) is thread
    assert thread.after(Envelope(9, "e9", AT, RUNNER, RunPaused("s", (FORM,)), "t")) is thread


@pytest.mark.parametrize(
    "event",
    [RunPaused("r", (FORM,)), RunEnded("r", "stopped"), answered("q", Reply("so"))],
    ids=lambda e: e.type,
)
def test_without_a_run_nothing_is_folded(event: Event) -> None:
    """An end, a pause or an answer of a run whose start the thread does not have."""
    assert folded(event) is NEW


def test_a_resumed_run_keeps_its_id() -> None:
    """Its segment is the new holder's; what was asked and answered is settled, and stays known."""
    run = run_of(*RESUMED)
    assert (run.run_id, run.segment, run.status) == ("r", "h2", RunStatus.ACTIVE)
    assert {request.id for request in run.requests} == set(run.answers) == {"q", "a"}
    assert run.open_requests == ()


def test_an_ended_run_knows_what_it_asked() -> None:
    """So that a late answer is told that its request is settled, not that there is none."""
    run = run_of(*PAUSE, answered("q", Reply("so")), RunEnded("r", "stopped"))
    assert run.requests == (QUESTION, APPROVAL)


def test_a_second_pause_waits_anew() -> None:
    """Even for a request of the same id: no answer of the first pause counts."""
    run = run_of(*RESUMED, RunPaused("r", (QUESTION,)))
    assert run == Run("r", RunStatus.PAUSED, "h2", (QUESTION,), started=6)
    again = run_of(*RESUMED, RunPaused("r", (QUESTION,)), (answered("q", Reply("again")), BEN))
    assert again.status is RunStatus.ANSWERED
    assert again.last_answer == Answered(Reply("again"), BEN, 8)


@pytest.mark.parametrize("before", [PAUSE, [*PAUSE, RunEnded("r", "stopped")], [RunStarted("r", "h1")]])
def test_a_second_run_starts_with_nothing(before: list[Event]) -> None:
    """Whatever the one before waited for."""
    second = Run("s", RunStatus.ACTIVE, "h2", started=len(before) + 2, started_by=BEN)
    assert run_of(*before, (RunStarted("s", "h2"), BEN)) == second


def test_a_run_stays_its_starters() -> None:
    """Whoever answers it, and as whoever it resumes."""
    run = run_of((RunStarted("r", "h1"), ADA), PAUSE[1], (answered("q", Reply("so")), BEN))
    assert run.started_by == ADA
    resumed = (RunStarted("r", "h2", resumed=True), BEN)
    assert run_of((RunStarted("r", "h1"), ADA), PAUSE[1], resumed).started_by == ADA


def test_the_first_runs_answers_are_not_the_seconds() -> None:
    """An answer to the run before leaves the one that is paused now, though they ask under one id."""
    thread = folded(*PAUSE, RunEnded("r", "stopped"), RunStarted("s", "h2"), RunPaused("s", (QUESTION,)))
    assert thread.after(Envelope(9, "e9", AT, ADA, answered("q", Reply("so")), "t")) is thread


@pytest.mark.parametrize(
    "event",
    [
        ThreadCreated("A plan"),
        MessagePosted("m", "hello"),
        MessagePosted("n", "to know", "notice"),
        ToolCalled("r", "c", "ask", "{}"),
        ToolReturned("r", "c", "ask", ok=True),
        Custom("ours", {"run_id": "r"}),
    ],
    ids=["created", "message", "notice", "called", "returned", "custom"],
)
@pytest.mark.parametrize("before", [[], PAUSE], ids=["new", "paused"])
def test_what_it_does_not_read_leaves_the_thread(before: list[Event], event: Event) -> None:
    """The thread is the very same."""
    thread = folded(*before)
    assert thread.after(Envelope(9, "e9", AT, ADA, event, "t")) is thread


# ---- As JSON, in a storage's row.

REQUESTS = st.lists(st.sampled_from([QUESTION, APPROVAL, FORM]), unique_by=lambda each: each.id).map(tuple)
EVENTS: st.SearchStrategy[Event] = st.one_of(
    st.builds(RunStarted, st.sampled_from(["r", "r", "s"]), st.sampled_from(["h1", "h2"])),
    st.builds(RunPaused, st.just("r"), REQUESTS),
    st.builds(RunEnded, st.just("r"), st.just("completed")),
    st.sampled_from(
        [answered("q", Reply("so")), answered("a", Deny("no")), answered("f", FormValues({"n": [1]}))]
    ),
)
LOGS = st.lists(EVENTS, max_size=8).map(lambda events: [*PAUSE, *events]) | st.lists(EVENTS, max_size=4)


@given(LOGS)
def test_a_thread_reads_as_it_was_written(log: list[Event]) -> None:
    """Through JSON it is equal, and folds on as it would have."""
    thread = folded(*log)
    read = THREAD.validate_json(THREAD.dump_json(thread))
    assert read == thread
    next_event = Envelope(99, "e99", AT, ADA, answered("q", Reply("so")), "t")
    assert read.after(next_event) == thread.after(next_event)


@given(LOGS)
def test_a_fold_keeps_its_promises(log: list[Event]) -> None:
    """Only a paused run has open requests; an answered one has every answer; an active one is active."""
    thread = folded(*log)
    run = thread.run
    if run is None:
        return
    assert (run.status is RunStatus.ACTIVE) == (thread.active_run is run)
    assert not run.open_requests or run.status is RunStatus.PAUSED
    assert set(run.answers) <= {request.id for request in run.requests}
    if run.status is RunStatus.ANSWERED:
        assert run.answers.keys() == {request.id for request in run.requests} != set()


def test_a_row_of_a_newer_process_is_read() -> None:
    """A field that this process does not know is passed over; what it does not find has its default."""
    row = (
        b'{"thread_id":"t","created":1,"new":1,"run":{"run_id":"r","status":"active","segment":"h","new":1}}'
    )
    assert THREAD.validate_json(row) == Thread("t", 1, Run("r", RunStatus.ACTIVE, "h"))
