"""A thread folded from its events: its run, and what that waits for. Nothing here waits, or does any I/O."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from pydantic import TypeAdapter

from threadclaim.events import (
    RUNNER,
    Actor,
    AnyAnswer,
    Envelope,
    Request,
    RequestAnswered,
    RunEnded,
    RunPaused,
    RunStarted,
)


class RunStatus(StrEnum):
    """How a run is, as the log tells it: the model's `run.st`, but that ended is `idle` there."""

    ACTIVE = "active"
    PAUSED = "paused"
    ANSWERED = "answered"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer to a request: what, by whom, and where in the log."""

    answer: AnyAnswer
    actor: Actor
    seq: int


@dataclass(frozen=True, slots=True)
class Run:
    """A thread's run.

    `segment` is the holder that started its last segment: the model's `run.by`. An end of another segment of
    the same run is refused. `requests` are what it last paused for, in the model's order, and `answers` what
    came; both stay as it goes on, so that a late answer is known as one to a settled request. `started` is
    the seq of its last segment's start, `started_by` the actor of its first: the author of its prompt.
    """

    run_id: str
    status: RunStatus
    segment: str
    requests: tuple[Request, ...] = ()
    answers: Mapping[str, Answered] = field(default_factory=dict)
    started: int = 0
    started_by: Actor = RUNNER

    @property
    def open_requests(self) -> tuple[Request, ...]:
        """The requests that are not answered yet, while the run is paused."""
        if self.status is not RunStatus.PAUSED:
            return ()
        return tuple(request for request in self.requests if request.id not in self.answers)

    @property
    def last_answer(self) -> Answered | None:
        """The answer that came last: a resumed run acts for its actor (ADR-0057)."""
        return max(self.answers.values(), key=lambda answered: answered.seq, default=None)


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread: its id, where it began, and its last run, if it had one."""

    thread_id: str
    created: int
    run: Run | None = None

    @property
    def active_run(self) -> Run | None:
        """The run that is active, as the log tells it; whether anybody runs it, the claim tells."""
        return self.run if self.run is not None and self.run.status is RunStatus.ACTIVE else None

    @property
    def open_requests(self) -> tuple[Request, ...]:
        """What the thread waits for: the requests of its paused run that are not answered, in their order."""
        return () if self.run is None else self.run.open_requests

    @property
    def has_run_to_see_to(self) -> bool:
        """Whether its run is active, to be recorded if nobody holds it, or answered, to be resumed."""
        return self.run is not None and self.run.status in (RunStatus.ACTIVE, RunStatus.ANSWERED)

    def after(self, envelope: Envelope) -> "Thread":
        """The thread once `envelope`, an event of its own, is committed; itself if it reads no such event."""
        run = _run_after(self.run, envelope)
        return self if run is self.run else replace(self, run=run)


def _run_after(run: Run | None, envelope: Envelope) -> Run | None:
    """The run once an event is committed."""
    match envelope.event:
        case RunStarted(run_id=run_id, segment=segment) if run is not None and run.run_id == run_id:
            return replace(run, status=RunStatus.ACTIVE, segment=segment, started=envelope.seq)
        case RunStarted(run_id=run_id, segment=segment):
            return Run(run_id, RunStatus.ACTIVE, segment, started=envelope.seq, started_by=envelope.actor)
        case RunPaused(run_id=run_id, requests=requests) if run is not None and run.run_id == run_id:
            return _paused(run, requests)
        case RunEnded(run_id=run_id) if run is not None and run.run_id == run_id:
            return replace(run, status=RunStatus.ENDED)
        case RequestAnswered(run_id=run_id) if run is not None and run.run_id == run_id:
            return _answered(run, envelope.event, envelope)
        case _:
            return run


def _paused(run: Run, requests: tuple[Request, ...]) -> Run:
    """The run as it waits for these requests; one that is not active does not pause (ThreadClaim!EndsRun)."""
    if run.status is not RunStatus.ACTIVE:
        return run
    return replace(run, status=RunStatus.PAUSED, requests=requests, answers={})


def _answered(run: Run, event: RequestAnswered, envelope: Envelope) -> Run:
    """The run with one more answer; answered, once every request is. Only the open ones can be answered."""
    if event.request_id not in {request.id for request in run.open_requests}:
        return run
    answers = {**run.answers, event.request_id: Answered(event.answer, envelope.actor, envelope.seq)}
    done = all(request.id in answers for request in run.requests)
    return replace(run, answers=answers, status=RunStatus.ANSWERED if done else run.status)


THREAD: TypeAdapter[Thread] = TypeAdapter(Thread)
"""Writes threads as JSON, for a storage's row of one, and reads and checks them."""
