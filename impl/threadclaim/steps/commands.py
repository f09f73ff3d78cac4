"""The steps of commands: what each commits and its ask are one write (DESIGN.md, section 2)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from threadclaim.answers import check_answer
from threadclaim.errors import RequestError, SettledRequest, UnknownRequest, UsedMessageId
from threadclaim.events import Actor, AnyAnswer, Envelope, MessagePosted, RequestAnswered
from threadclaim.steps.loads import load_thread, save_ask
from threadclaim.storage.protocol import Transaction
from threadclaim.thread import Run

WINDOW, WINDOWS = 100, 10
"""How many of a thread's entries are read at once, and how often, for the message that a used id is of."""


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
            raise UsedMessageId(self.message.message_id, await self._repeated(tx))
        return await tx.append(self.message, actor=self.actor, thread_id=self.thread_id)

    async def _repeated(self, tx: Transaction) -> Envelope | None:
        """The entry that this message repeats to the letter, if it is one of the thread's last.

        Only a refused message costs this: a read of the thread's entries, the newest first, as a retry comes
        soon. It is bounded, so that nobody can have a long log read by sending an old id again and again.
        """
        before: int | None = None
        for _ in range(WINDOWS):
            window = await tx.read(before_seq=before, threads=[self.thread_id], limit=WINDOW, last=True)
            for entry in window:
                event = entry.event
                if isinstance(event, MessagePosted) and event.message_id == self.message.message_id:
                    return entry if (event, entry.actor) == (self.message, self.actor) else None
            if len(window) < WINDOW:
                break
            before = window[0].seq
        return None


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
