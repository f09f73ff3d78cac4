"""The holder's decision over any view: what it never does; and where a thread starts from.

`test_plan` has what it does.
"""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.decisions import (
    AT,
    ELSEWHERE,
    FORMS,
    HERE,
    REQUESTS,
    carried_out,
    folded,
    here,
    own_answer,
    reaches,
)
from threadclaim.events import (
    ANSWERS,
    RUNNER,
    Actor,
    Custom,
    Envelope,
    Event,
    MessagePosted,
    PersonActor,
    RequestAnswered,
    RunEnded,
    RunPaused,
    RunStarted,
)
from threadclaim.plan import (
    AbandonPlan,
    CountPlan,
    LeavePlan,
    ReplyPlan,
    ResumePlan,
    View,
    effective_taken,
    plan,
    same_author,
)
from threadclaim.thread import Run, RunStatus, Thread

AUTHORS: st.SearchStrategy[Actor] = st.sampled_from([PersonActor("ada"), PersonActor("ben"), RUNNER])
ANY_REQUEST = st.sampled_from(list(REQUESTS.values()))
SOME_REQUESTS = st.lists(ANY_REQUEST, unique_by=lambda request: request.id).map(tuple)
RUN_IDS = st.sampled_from(["r", "r", "s"])
EVENTS: st.SearchStrategy[Event] = st.one_of(
    st.builds(
        MessagePosted, st.just("m"), st.text(max_size=3), st.sampled_from(["message", "message", "notice"])
    ),
    st.builds(RunStarted, RUN_IDS, st.just("h")),
    st.builds(RunPaused, RUN_IDS, SOME_REQUESTS),
    st.builds(RunEnded, RUN_IDS, st.just("completed")),
    ANY_REQUEST.map(lambda each: RequestAnswered("r", each.id, own_answer(each))),
    st.just(Custom("note")),
)
PAUSED: st.SearchStrategy[list[Event]] = SOME_REQUESTS.map(
    lambda requests: [RunStarted("r", "h"), RunPaused("r", requests)]
)
ANSWERED: st.SearchStrategy[list[Event]] = SOME_REQUESTS.map(
    lambda requests: [
        RunStarted("r", "h"),
        RunPaused("r", requests),
        *[RequestAnswered("r", each.id, own_answer(each)) for each in requests],
    ]
)
ENTRIES = st.lists(st.tuples(EVENTS, AUTHORS, st.sampled_from([HERE, HERE, ELSEWHERE])), max_size=8)


@st.composite
def views(draw: st.DrawFn) -> View:
    """Any log, of this thread and another, or any after a pause, or an answered one; any two positions."""
    beginning = draw(st.just([]) | PAUSED | ANSWERED)
    before: list[tuple[Event, Actor, str]] = [(event, RUNNER, HERE) for event in beginning]
    log = [
        Envelope(seq, f"e{seq}", AT, actor, event, thread_id)
        for seq, (event, actor, thread_id) in enumerate(before + draw(ENTRIES), 1)
    ]
    asked, taken = draw(st.integers(0, len(log))), draw(st.integers(0, len(log)))
    return View(folded(log), asked, taken, len(log), [entry for entry in here(log) if entry.seq > taken])


@given(views())
def test_no_plan_carries_out_a_notice(view: View) -> None:
    """Nor anything else that is no message of this thread's past `taken`."""
    for envelope in carried_out(plan(view)):
        assert isinstance(envelope.event, MessagePosted)
        assert envelope.event.kind == "message"
        assert envelope.thread_id == HERE
        assert envelope.seq > view.taken


@given(views())
def test_no_plan_skips_a_message(view: View) -> None:
    """What it carries out are the oldest messages, and its position passes no other: none is lost."""
    decided = plan(view)
    consumed = tuple(carried_out(decided))
    assert consumed == view.messages[: len(consumed)]
    assert all(message.seq > reaches(decided, view) for message in view.messages[len(consumed) :])
    assert all(message.seq <= reaches(decided, view) for message in consumed)


@given(views())
def test_no_position_moves_back_or_past_what_was_read(view: View) -> None:
    """A plan's position is between what is taken and the head; a count moves it."""
    decided = plan(view)
    assert view.taken <= reaches(decided, view) <= view.head
    assert not isinstance(decided, CountPlan) or decided.through > view.taken


@given(views())
def test_a_reply_answers_what_it_may_and_no_form(view: View) -> None:
    """Each open request but forms, as its kind allows, no approval given; it resumes if no form is open."""
    decided = plan(view)
    if not isinstance(decided, ReplyPlan):
        return
    assert view.thread.run is not None
    still_open = view.thread.run.open_requests
    assert (
        [request for request, _ in decided.answers]
        == [each for each in still_open if each.id not in FORMS]
        != []
    )
    assert all(answer.kind in ANSWERS[request.kind] - {"approve"} for request, answer in decided.answers)
    assert decided.resumes == FORMS.isdisjoint(request.id for request in still_open)


@given(views())
def test_a_turn_has_one_author(view: View) -> None:
    """A resume acts for the last to answer, and each of its messages is that actor's (ADR-0057)."""
    decided = plan(view)
    assert len({message.actor for message in carried_out(decided)}) <= 1
    if isinstance(decided, ResumePlan):
        last = max(decided.run.answers.values(), key=lambda answered: answered.seq)
        assert {message.actor for message in decided.messages} <= {decided.actor} == {last.actor}


@given(views())
def test_nothing_is_carried_out_that_is_not_asked(view: View) -> None:
    """With all that is asked taken, only a run is seen to; with nothing left, nothing is done."""
    decided = plan(view)
    assert view.asked > view.taken or isinstance(decided, AbandonPlan | ResumePlan | LeavePlan)
    assert view.is_left or decided == LeavePlan()


@given(views())
def test_a_run_is_seen_to_whatever_is_asked(view: View) -> None:
    """An active run is abandoned and an answered one resumed, and no other (repairs b and f)."""
    run = view.thread.run
    status = None if run is None else run.status
    decided = plan(view)
    assert isinstance(decided, AbandonPlan) == (status is RunStatus.ACTIVE)
    assert isinstance(decided, ResumePlan) == (status is RunStatus.ANSWERED)
    assert view.thread.has_run_to_see_to == isinstance(decided, AbandonPlan | ResumePlan)


@given(views(), st.integers(1, 5))
def test_the_decision_is_made_of_what_was_read_alone(view: View, more: int) -> None:
    """Equal views give equal plans; and how much more is asked than taken changes nothing."""
    assert plan(view) == plan(replace(view, entries=tuple(view.entries)))
    least = replace(view, asked=view.taken + 1)
    assert plan(least) == plan(replace(view, asked=least.asked + more))


def test_a_fold_that_is_wrong_is_not_hidden() -> None:
    """A run that is answered without an answer is our own mistake, and says so."""
    wrong = Run("r", RunStatus.ANSWERED, "h", (REQUESTS["q"],))
    with pytest.raises(AssertionError, match="Run r is answered without an answer"):
        plan(View(Thread(HERE, 0, wrong), asked=2, taken=1, head=2))


# ---- Where a thread starts from.


@pytest.mark.parametrize(
    ("saved", "upgraded", "told", "expected"),
    [
        (None, None, 0, 0),  # a brand-new thread, from its beginning
        (None, None, 7, 7),  # a run without the runner saved history, and no position
        (None, 5, 0, 5),  # a thread from before the upgrade
        (None, 5, 3, 5),  # the later of the two
        (None, 5, 9, 9),
        (4, None, 9, 4),  # its own position counts, not what its agent was told
        (4, 2, 9, 4),
        (4, 6, 0, 6),  # a second upgrade: never before its point, whatever is saved (regression 27)
        (0, None, 9, 0),  # saved at 0 is a position of its own
        (0, 3, 0, 3),
    ],
)
def test_effective_taken(saved: int | None, upgraded: int | None, told: int, expected: int) -> None:
    """Nothing from before the upgrade point is consumed; without a position, the later of two points (I7)."""
    assert effective_taken(saved=saved, upgraded=upgraded, told=told) == expected


SEQS = st.integers(0, 99)


@given(saved=st.none() | SEQS, upgraded=st.none() | SEQS, told=SEQS)
def test_effective_taken_is_never_before_a_point_that_it_has(
    saved: int | None, upgraded: int | None, told: int
) -> None:
    """Not before the upgrade, nor before what is saved; and it is one of the points that it was given."""
    taken = effective_taken(saved=saved, upgraded=upgraded, told=told)
    assert taken >= max(saved or 0, upgraded or 0)
    assert taken in {saved, upgraded, told}


@given(st.lists(AUTHORS), AUTHORS)
def test_same_author_is_the_longest_beginning_of_one_author(authors: list[Actor], actor: Actor) -> None:
    """All of it is the actor's, and what follows it, if anything does, is another's."""
    messages = [Envelope(1, "e", AT, author, MessagePosted("m", "x")) for author in authors]
    mine = same_author(actor, messages)
    assert list(mine) == messages[: len(mine)]
    assert all(message.actor == actor for message in mine)
    assert len(mine) == len(messages) or messages[len(mine)].actor != actor
