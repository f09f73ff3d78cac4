"""What the tests of the holder's decision share: requests of every sort, a fold, and what a plan consumes."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from threadclaim.events import AnyAnswer, Approve, Envelope, FormValues, Reply, Request
from threadclaim.plan import (
    FORM_TOOL,
    AbandonPlan,
    CountPlan,
    LeavePlan,
    Plan,
    ReplyPlan,
    ResumePlan,
    StartPlan,
    View,
)
from threadclaim.thread import Thread

AT = datetime(2026, 10, 17, tzinfo=UTC)
HERE, ELSEWHERE = "t", "another thread"

REQUESTS: Mapping[str, Request] = {
    "q": Request("q", "question", "ask"),
    "a": Request("a", "approval", "delete"),
    "f": Request("f", "form", FORM_TOOL),
    "g": Request("g", "form", "a form of another tool"),
    "h": Request("h", "question", FORM_TOOL),
}
"""Of every sort, by id: `g` is a form by its kind alone, and `h` by its tool alone."""

FORMS = {"f", "g", "h"}
"""The ids of those that no message answers."""

_OWN_ANSWERS: Mapping[str, AnyAnswer] = {
    "question": Reply("so"),
    "approval": Approve(),
    "form": FormValues({"n": 1}),
}


def own_answer(request: Request) -> AnyAnswer:
    """An answer that is given without a message."""
    return _OWN_ANSWERS[request.kind]


def here(entries: Iterable[Envelope]) -> list[Envelope]:
    """The entries of the thread that is decided about."""
    return [entry for entry in entries if entry.thread_id == HERE]


def folded(entries: Iterable[Envelope]) -> Thread:
    """That thread, folded from a log."""
    thread = Thread(HERE, 0)
    for entry in here(entries):
        thread = thread.after(entry)
    return thread


def carried_out(decided: Plan) -> Sequence[Envelope]:
    """The messages that a plan consumes."""
    match decided:
        case StartPlan(prompt=message) | ReplyPlan(message=message):
            return (message,)
        case ResumePlan(messages=messages):
            return messages
        case AbandonPlan() | CountPlan() | LeavePlan():
            return ()


def reaches(decided: Plan, view: View) -> int:
    """The position that a plan takes; where it takes none, the one that is taken."""
    match decided:
        case StartPlan(prompt=message) | ReplyPlan(message=message):
            return message.seq
        case ResumePlan(through=through) | CountPlan(through=through):
            return through
        case AbandonPlan() | LeavePlan():
            return view.taken
