"""The steps of the protocol, each one transaction; a class has the name of the model's action.

Nothing waits here but for the transaction's own loads. DESIGN.md, section 2, has the steps in a table.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from threadclaim.answers import check_answer
from threadclaim.errors import (
    ClaimLost,
    RequestError,
    SettledRequest,
    UnknownRequest,
    UnknownThread,
    UsedMessageId,
)
from threadclaim.events import (
    RUNNER,
    Actor,
    AnyAnswer,
    Envelope,
    Event,
    MessagePosted,
    Request,
    RequestAnswered,
    RunEnded,
    RunPaused,
    RunStarted,
)
from threadclaim.handover import Left
from threadclaim.plan import View, effective_taken
from threadclaim.storage.protocol import UPGRADED, Transaction, asked_cursor, lease_name, taken_cursor
from threadclaim.thread import Run, RunStatus, Thread


async def load_thread(tx: Transaction, thread_id: str) -> Thread:
    """The thread; raises UnknownThread if the workspace has none of this id."""
    thread = await tx.thread(thread_id)
    if thread is None:
        raise UnknownThread(thread_id)
    return thread


async def load_taken(tx: Transaction, thread_id: str) -> int:
    """How far the thread is taken: the effective position, I7's."""
    saved, upgraded = await tx.cursor(taken_cursor(thread_id)), await tx.cursor(UPGRADED)
    return effective_taken(saved=saved, upgraded=upgraded, told=await tx.told(thread_id))


async def load_view(tx: Transaction, thread_id: str) -> View:
    """What a holder plans from."""
    thread, head = await load_thread(tx, thread_id), await tx.head()
    asked, taken = await tx.cursor(asked_cursor(thread_id)) or 0, await load_taken(tx, thread_id)
    entries = await tx.read(after_seq=taken, before_seq=head + 1, threads=[thread_id])
    return View(thread, asked, taken, head, entries)


async def hold_fast(tx: Transaction, thread_id: str, holder: str) -> None:
    """The fence (ADR-0069): raises ClaimLost, which rolls all back, unless `holder` holds the claim."""
    if await tx.holder(lease_name(thread_id)) != holder:
        raise ClaimLost(thread_id, holder)


async def save_ask(tx: Transaction, thread_id: str, seq: int) -> None:
    """Ask for the thread up to `seq`. A first ask saves `taken` too, where it is (DESIGN.md, repair p)."""
    if await tx.cursor(taken_cursor(thread_id)) is None:
        await tx.save_cursor(taken_cursor(thread_id), await load_taken(tx, thread_id))
    await tx.save_cursor(asked_cursor(thread_id), seq)


async def load_left(tx: Transaction, thread_id: str) -> Left:
    """What is left in the thread."""
    thread, asked = await load_thread(tx, thread_id), await tx.cursor(asked_cursor(thread_id)) or 0
    taken = await load_taken(tx, thread_id)
    return Left(asked, taken, asked > taken or thread.has_run_to_see_to)


@dataclass(frozen=True, slots=True)
class Send:
    """ThreadClaim!Send: commit a message, and ask for it. Gives its envelope."""

    thread_id: str
    message: MessagePosted
    actor: Actor

    async def __call__(self, tx: Transaction) -> Envelope:
        """Raises UnknownThread, or UsedMessageId."""
        posted = await Post(self.thread_id, self.message, self.actor)(tx)
        await save_ask(tx, self.thread_id, posted.seq)
        return posted


@dataclass(frozen=True, slots=True)
class Post:
    """ThreadClaim!Post, and of a notice ThreadClaim!Note: commit it, and ask for nothing (I5)."""

    thread_id: str
    message: MessagePosted
    actor: Actor

    async def __call__(self, tx: Transaction) -> Envelope:
        """Raises UnknownThread, or UsedMessageId, as of a message that was committed before."""
        await load_thread(tx, self.thread_id)
        if await tx.is_used(self.message.message_id):
            raise UsedMessageId(self.message.message_id)
        return await tx.append(self.message, actor=self.actor, thread_id=self.thread_id)


@dataclass(frozen=True, slots=True)
class Answer:
    """ThreadClaim!Answer: commit answers to open requests, without the claim, and ask up to them.

    Gives the envelopes.
    """

    thread_id: str
    answers: Mapping[str, AnyAnswer]
    actor: Actor

    async def __call__(self, tx: Transaction) -> Sequence[Envelope]:
        """Raises UnknownThread, UnknownRequest, SettledRequest, WrongAnswer, or RequestError for no answers.

        It commits nothing then.
        """
        thread = await load_thread(tx, self.thread_id)
        if not self.answers:
            raise RequestError("There is no answer among those given. Give one for an open request at least.")
        run = thread.run
        known = {request.id for request in run.requests} if run else set()
        if unknown := sorted(set(self.answers) - known):
            raise UnknownRequest(self.thread_id, unknown)
        open_ids = {request.id for request in run.open_requests} if run else set()
        if settled := sorted(set(self.answers) - open_ids):
            raise SettledRequest(self.thread_id, settled)
        assert run is not None  # noqa: S101  # for the types: else each of its requests was unknown
        for request in run.open_requests:
            if request.id in self.answers:
                check_answer(request, self.answers[request.id])
        committed = await commit_answers(tx, self.thread_id, run, self.answers, self.actor)
        await save_ask(tx, self.thread_id, committed[-1].seq)
        return committed


async def commit_answers(  # noqa: PLR0913, PLR0917  # what each answer's envelope says
    tx: Transaction,
    thread_id: str,
    run: Run,
    answers: Mapping[str, AnyAnswer],
    actor: Actor,
    message_seq: int | None = None,
) -> Sequence[Envelope]:
    """Commit answers to a run's requests, in the order given."""
    return [
        await tx.append(
            RequestAnswered(run.run_id, request_id, answer, message_seq),
            actor=actor,
            thread_id=thread_id,
            run_id=run.run_id,
        )
        for request_id, answer in answers.items()
    ]


@dataclass(frozen=True, slots=True)
class Ask:
    """ThreadClaim!Ask: ask up to the log's head, as `resume` does."""

    thread_id: str

    async def __call__(self, tx: Transaction) -> int:
        """Gives the position asked for. Raises UnknownThread."""
        await load_thread(tx, self.thread_id)
        head = await tx.head()
        await save_ask(tx, self.thread_id, head)
        return head


@dataclass(frozen=True, slots=True)
class Claimed:
    """The claim was granted; this is what its holder plans from."""

    view: View


@dataclass(frozen=True, slots=True)
class Refused:
    """ThreadClaim!Refused: another holds the claim."""


@dataclass(frozen=True, slots=True)
class NothingAsked:
    """ThreadClaim!NothingAsked: nothing is left to do, and no claim was made."""


@dataclass(frozen=True, slots=True)
class Claim:
    """ThreadClaim!Claim: take the thread's claim, if it is free and anything is left to do, and read.

    `ttl` is the claim's time to live in seconds.
    """

    thread_id: str
    holder: str
    ttl: float

    async def __call__(self, tx: Transaction) -> Claimed | Refused | NothingAsked:
        """Raises UnknownThread."""
        view = await load_view(tx, self.thread_id)
        if not view.is_left:
            return NothingAsked()
        if not await tx.acquire_lease(lease_name(self.thread_id), self.holder, self.ttl):
            return Refused()
        return Claimed(view)


@dataclass(frozen=True, slots=True)
class Replan:
    """ThreadClaim!Replan: read again, under the claim."""

    thread_id: str

    async def __call__(self, tx: Transaction) -> View:
        """Raises UnknownThread."""
        return await load_view(tx, self.thread_id)


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

    async def __call__(self, tx: Transaction) -> None:
        """Raises ClaimLost."""
        await hold_fast(tx, self.thread_id, self.holder)
        started = RunStarted(self.run_id, self.holder, self.consumes, self.resumed)
        await tx.append(started, actor=self.actor, thread_id=self.thread_id, run_id=self.run_id)
        await tx.save_cursor(taken_cursor(self.thread_id), self.input_seq)


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
class CountTaken:
    """ThreadClaim!CountTaken: with no message to consume, what was read counts as taken, and no more."""

    thread_id: str
    holder: str
    position: int

    async def __call__(self, tx: Transaction) -> None:
        """Raises ClaimLost."""
        await hold_fast(tx, self.thread_id, self.holder)
        await tx.save_cursor(taken_cursor(self.thread_id), self.position)


@dataclass(frozen=True, slots=True)
class Renew:
    """ThreadClaim!Renew: renew the claim for `ttl` seconds; False if it is gone (ThreadClaim!LoseClaim)."""

    thread_id: str
    holder: str
    ttl: float

    async def __call__(self, tx: Transaction) -> bool:
        """It takes nothing: a claim that has lapsed stays so."""
        return await tx.renew_lease(lease_name(self.thread_id), self.holder, self.ttl)


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
class LoadHistory:
    """The thread's history, oldest first. No action of the model: it changes nothing."""

    thread_id: str

    async def __call__(self, tx: Transaction) -> Sequence[bytes]:
        """It raises nothing of its own."""
        return await tx.history(self.thread_id)


@dataclass(frozen=True, slots=True)
class Release:
    """ThreadClaim!Release: give up the claim, if it is this holder's, and read what is left to hand over."""

    thread_id: str
    holder: str

    async def __call__(self, tx: Transaction) -> Left:
        """Raises UnknownThread."""
        await tx.release_lease(lease_name(self.thread_id), self.holder)
        return await load_left(tx, self.thread_id)


@dataclass(frozen=True, slots=True)
class Looked:
    """What a look read: what is left, and whether the claim is held."""

    left: Left
    is_held: bool


@dataclass(frozen=True, slots=True)
class LookAgain:
    """ThreadClaim!LookAgain: read the positions and the claim, before claiming."""

    thread_id: str

    async def __call__(self, tx: Transaction) -> Looked:
        """Raises UnknownThread."""
        left = await load_left(tx, self.thread_id)
        return Looked(left, await tx.holder(lease_name(self.thread_id)) is not None)


__all__ = [
    "Abandon",
    "Answer",
    "Ask",
    "Claim",
    "Claimed",
    "CountTaken",
    "EndRun",
    "LoadHistory",
    "LookAgain",
    "Looked",
    "NothingAsked",
    "Post",
    "RecordFact",
    "Refused",
    "Release",
    "Renew",
    "Replan",
    "Reply",
    "RunStatus",
    "Send",
    "StartRun",
]
