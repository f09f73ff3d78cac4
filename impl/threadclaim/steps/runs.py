"""The steps of a run: how it is started, answered, ended, or recorded as abandoned."""

from collections.abc import Sequence
from dataclasses import dataclass

from threadclaim.errors import RequestError
from threadclaim.events import (
    RUNNER,
    Actor,
    AnyAnswer,
    Envelope,
    Event,
    Request,
    RunEnded,
    RunPaused,
    RunStarted,
)
from threadclaim.steps.commands import commit_answers
from threadclaim.steps.loads import hold_fast, load_thread
from threadclaim.storage.protocol import UPGRADED, Reading, Transaction, taken_cursor
from threadclaim.thread import Run, RunStatus


@dataclass(frozen=True, slots=True)
class Abandon:
    """ThreadClaim!Abandon: record the end of a run that a dead or lost claim left active.

    Gives whether it did: a run that ended meanwhile is left as it ended.
    """

    thread_id: str
    holder: str
    run_id: str

    async def __call__(self, tx: Transaction) -> bool:
        """Raises ClaimLost."""
        await hold_fast(tx, self.thread_id, self.holder)
        run = (await load_thread(tx, self.thread_id)).active_run
        if run is None or run.run_id != self.run_id:
            return False
        ended = RunEnded(
            run.run_id, "failed", reason="abandoned", error="Its holder died, or lost its claim."
        )
        await tx.append(ended, actor=RUNNER, thread_id=self.thread_id, run_id=run.run_id)
        return True


@dataclass(frozen=True, slots=True)
class DirectStart:
    """DirectRuns!DirectStart: record the start of a run without the runner, where the thread has none.

    DirectRuns!DirectAbandon comes with it, where one is needed.

    It takes no position. With `is_held`, `segment` is the holder of the thread's claim, which the start
    relies on; a run that is active then is a dead one's, and is recorded as abandoned first.
    """

    thread_id: str
    segment: str
    run_id: str
    actor: Actor
    is_held: bool

    async def __call__(self, tx: Transaction) -> tuple[Envelope, ...]:
        """Gives the notices since the thread's last turn began.

        Raises UnknownThread or ClaimLost; RequestError if the thread's run is not over.
        """
        run = (await load_thread(tx, self.thread_id)).run
        if self.is_held:
            await hold_fast(tx, self.thread_id, self.segment)
            if run is not None and run.status is RunStatus.ACTIVE:
                await Abandon(self.thread_id, self.segment, run.run_id)(tx)
                run = (await load_thread(tx, self.thread_id)).run
        if run is not None and run.status is not RunStatus.ENDED:
            raise RequestError(
                f"The run of thread {self.thread_id!r} is {run.status.value}, so no other starts beside it. "
                "Wait until it has ended, and hold the thread; answer it if it waits for answers."
            )
        notices = await _notices(tx, self.thread_id)
        started = RunStarted(self.run_id, self.segment, (), resumed=False)
        await tx.append(started, actor=self.actor, thread_id=self.thread_id, run_id=self.run_id)
        return notices


@dataclass(frozen=True, slots=True)
class StartRun:
    """ThreadClaim!StartRun: record a run's start, and take its input.

    `input_seq` is the position of its input: its prompt's, its reply's, or how far it read to resume; its
    watcher follows from there. The segment is the claim's holder.
    """

    thread_id: str
    holder: str
    run_id: str
    actor: Actor
    input_seq: int
    consumes: tuple[int, ...]
    resumed: bool

    async def __call__(self, tx: Transaction) -> tuple[Envelope, ...]:
        """Gives the notices since the thread's last turn began, oldest first. Raises ClaimLost."""
        await hold_fast(tx, self.thread_id, self.holder)
        notices = await _notices(tx, self.thread_id)
        started = RunStarted(self.run_id, self.holder, self.consumes, self.resumed)
        await tx.append(started, actor=self.actor, thread_id=self.thread_id, run_id=self.run_id)
        await tx.save_cursor(taken_cursor(self.thread_id), self.input_seq)
        return notices


async def _notices(tx: Transaction, thread_id: str) -> tuple[Envelope, ...]:
    """The thread's notices since its last turn began; none from before the upgrade point (ADR-0051, I7)."""
    run = (await load_thread(tx, thread_id)).run
    since = max(0 if run is None else run.started, await tx.cursor(UPGRADED) or 0)
    entries = await tx.read(after_seq=since, threads=[thread_id])
    return tuple(entry for entry in entries if entry.is_notice)


@dataclass(frozen=True, slots=True)
class Reply:
    """ThreadClaim!Reply: the oldest message answers the paused run; take it. It asks for nothing (repair b).

    `answers` has an answer for each request that the plan found open. Those that an answer came to first are
    left as answered; if it came first to all of them, the message is left too. Gives the run with its
    answers, or None if the message answered nothing.
    """

    thread_id: str
    holder: str
    run_id: str
    message: Envelope
    answers: tuple[tuple[Request, AnyAnswer], ...]

    async def __call__(self, tx: Transaction) -> Run | None:
        """Raises ClaimLost."""
        await hold_fast(tx, self.thread_id, self.holder)
        run = (await load_thread(tx, self.thread_id)).run
        if run is None or run.run_id != self.run_id:
            return None
        open_ids = {request.id for request in run.open_requests}
        answers = {request.id: answer for request, answer in self.answers if request.id in open_ids}
        if not answers:
            return None
        seq, actor = self.message.seq, self.message.actor
        await commit_answers(tx, self.thread_id, run, answers, actor, seq)
        await tx.save_cursor(taken_cursor(self.thread_id), seq)
        return (await load_thread(tx, self.thread_id)).run


@dataclass(frozen=True, slots=True)
class EndRun:
    """ThreadClaim!EndRun, of a pause ThreadClaim!Pause: record a segment's end, and take what it delivered.

    `segment` is the holder that started it; `position` how far its watcher came, or None for a direct run,
    which takes nothing; `history` the model's messages of the segment, if there are any to keep. Gives False,
    and keeps nothing, if the run is not active any more, or is another segment's: it was abandoned, or ended
    already.
    """

    thread_id: str
    segment: str
    event: RunEnded | RunPaused
    actor: Actor
    position: int | None
    history: bytes | None = None

    async def __call__(self, tx: Transaction) -> bool:
        """Raises UnknownThread."""
        run = (await load_thread(tx, self.thread_id)).active_run
        if run is None or (run.run_id, run.segment) != (self.event.run_id, self.segment):
            return False
        await tx.append(self.event, actor=self.actor, thread_id=self.thread_id, run_id=run.run_id)
        if self.history is not None:
            await tx.save_history(self.thread_id, self.history)
        if self.position is not None:
            await tx.save_cursor(taken_cursor(self.thread_id), self.position)
        return True


@dataclass(frozen=True, slots=True)
class RecordFact:
    """Commit what a run does as it goes on. Gives False, and commits nothing, if it is another segment's now.

    No action of the model: it changes nothing that the model holds.
    """

    thread_id: str
    segment: str
    run_id: str
    event: Event
    actor: Actor

    async def __call__(self, tx: Transaction) -> bool:
        """Raises UnknownThread."""
        run = (await load_thread(tx, self.thread_id)).active_run
        if run is None or (run.run_id, run.segment) != (self.run_id, self.segment):
            return False
        await tx.append(self.event, actor=self.actor, thread_id=self.thread_id, run_id=self.run_id)
        return True


@dataclass(frozen=True, slots=True)
class LoadHistory(Reading):
    """The thread's history, oldest first. No action of the model: it changes nothing."""

    thread_id: str

    async def __call__(self, tx: Transaction) -> Sequence[bytes]:
        """It raises nothing of its own."""
        return await tx.history(self.thread_id)
