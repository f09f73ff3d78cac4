"""The holder's decision, as a pure function: what it read, in; what to do, out. No I/O and no clock here."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from threadclaim.events import Actor, AnyAnswer, Deny, Envelope, MessagePosted, Reply, Request
from threadclaim.thread import Run, RunStatus, Thread

FORM_TOOL = "ask_form"
"""The deferred tool whose answer is a form's values, which no message can give (RFC-0005)."""


@dataclass(frozen=True, slots=True)
class View:
    """What a claimant reads in one transaction.

    `asked` and `taken` are the two positions, `taken` the effective one (see `effective_taken`); `head` is
    the log's; `entries` are the thread's past `taken`, up to the head, oldest first.
    """

    thread: Thread
    asked: int
    taken: int
    head: int
    entries: Sequence[Envelope] = ()

    @property
    def is_left(self) -> bool:
        """Whether anything is left to do: more asked than taken, or a run to see to. ThreadClaim!Left."""
        return self.asked > self.taken or self.thread.has_run_to_see_to

    @property
    def messages(self) -> tuple[Envelope, ...]:
        """The messages not taken, oldest first, however they were committed and whoever posted them."""
        return tuple(entry for entry in self.entries if entry.is_message)


@dataclass(frozen=True, slots=True)
class AbandonPlan:
    """A run was left active by a holder that died, or lost its claim: record its end, and read again."""

    run_id: str


@dataclass(frozen=True, slots=True)
class StartPlan:
    """Start a run with this message as its prompt, for its author."""

    prompt: Envelope


@dataclass(frozen=True, slots=True)
class ReplyPlan:
    """Answer the paused run's open questions with this message and decline its approvals, as its author.

    `answers` has the answer to each such request. `resumes` is whether no request stays open after it.
    """

    run_id: str
    message: Envelope
    answers: tuple[tuple[Request, AnyAnswer], ...]
    resumes: bool


@dataclass(frozen=True, slots=True)
class ResumePlan:
    """Resume the answered run, for whoever answered last, with these messages beside the answers.

    `through` is the position that its start takes: the head, or just before the first message of another.
    """

    run: Run
    actor: Actor
    messages: tuple[Envelope, ...]
    through: int


@dataclass(frozen=True, slots=True)
class CountPlan:
    """There is no message to carry out: count what was read as taken, through this position."""

    through: int


@dataclass(frozen=True, slots=True)
class LeavePlan:
    """Nothing is to be done: nothing is asked that is not taken, or it waits for a form's own answer."""


Plan = AbandonPlan | StartPlan | ReplyPlan | ResumePlan | CountPlan | LeavePlan


def effective_taken(*, saved: int | None, upgraded: int | None, told: int) -> int:
    """How far a thread is taken: never before the upgrade point, whatever it has saved (ADR-0055 I7).

    Without a position of its own it starts from the later of the upgrade point and `told`, the head as its
    agent was last told. All are seqs; `upgraded` is None for a workspace without an upgrade point.
    """
    return max(upgraded or 0, told if saved is None else saved)


def plan(view: View) -> Plan:
    """Decide what the holder does (ADR-0055, How; ThreadClaim!Plan)."""
    run = view.thread.run
    if view.thread.active_run is not None:
        return AbandonPlan(view.thread.active_run.run_id)
    if run is not None and run.status is RunStatus.ANSWERED:
        return _resume(run, view)
    if view.asked <= view.taken:
        return LeavePlan()
    if run is not None and run.open_requests:
        return _reply(run, view)
    return StartPlan(view.messages[0]) if view.messages else CountPlan(view.head)


def _resume(run: Run, view: View) -> ResumePlan:
    """Resume an answered run, with the messages up to the first of somebody it does not act for."""
    last = run.last_answer
    if last is None:
        raise AssertionError(f"Run {run.run_id} is answered without an answer: its thread's fold is wrong.")
    mine = same_author(last.actor, view.messages)
    others = view.messages[len(mine) :]
    return ResumePlan(run, last.actor, mine, others[0].seq - 1 if others else view.head)


def _reply(run: Run, view: View) -> ReplyPlan | CountPlan | LeavePlan:
    """Answer what a message can answer; with only forms open, a message waits and is not counted."""
    if not view.messages:
        return CountPlan(view.head)
    message = view.messages[0]
    answerable = [request for request in run.open_requests if not _is_form(request)]
    if answerable:
        answers = tuple((request, _answer(request, message)) for request in answerable)
        return ReplyPlan(run.run_id, message, answers, resumes=len(answerable) == len(run.open_requests))
    return CountPlan(message.seq - 1) if message.seq - 1 > view.taken else LeavePlan()


def _is_form(request: Request) -> bool:
    """Whether only a form's values answer it: by its tool (RFC-0005), or by the kind of another tool's."""
    return request.tool_name == FORM_TOOL or request.kind == "form"


def _answer(request: Request, message: Envelope) -> AnyAnswer:
    """What a message answers a request with: a question with its text; an approval is declined with it."""
    text = message.event.text if isinstance(message.event, MessagePosted) else ""
    return Deny(text) if request.kind == "approval" else Reply(text)


def same_author(actor: Actor, messages: Iterable[Envelope]) -> tuple[Envelope, ...]:
    """The messages up to the first from another author (ADR-0057)."""
    taken: list[Envelope] = []
    for message in messages:
        if message.actor != actor:
            break
        taken.append(message)
    return tuple(taken)
