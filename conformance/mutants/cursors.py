"""Twins whose cursors are saved apart, or elsewhere, than with the write that they belong to."""

from collections.abc import Sequence
from typing import Any

import threadclaim.carrying
import threadclaim.claimant
import threadclaim.runner
import threadclaim.storage.sql.texts
from conformance.mutants.stopping import AT_ITS_WRITE
from conformance.mutants.transactions import WRITTEN_BACK, going_back, held_by, not_saving
from conformance.mutants.twin import Put, Twin
from conformance.state import Reader
from threadclaim import steps
from threadclaim.events import Envelope
from threadclaim.steps.loads import load_thread, save_ask
from threadclaim.storage.protocol import Transaction, asked_cursor, taken_cursor
from threadclaim.thread import Run


class StartOnly(steps.StartRun):
    """A start that leaves `taken` to a later write, which never comes."""

    async def __call__(self, tx: Transaction) -> tuple[Any, ...]:
        """As the library's, but for the cursor."""
        return await super().__call__(not_saving(tx, taken_cursor(self.thread_id)))


class StartPastTheHead(steps.StartRun):
    """A start that takes one position more than the log has."""

    async def __call__(self, tx: Transaction) -> tuple[Any, ...]:
        """As the library's, and then take on."""
        notices = await super().__call__(tx)
        await tx.save_cursor(taken_cursor(self.thread_id), await tx.head() + 1)
        return notices


class ResumeFromTheHead(steps.StartRun):
    """A start whose resume takes all that the log has by then."""

    async def __call__(self, tx: Transaction) -> tuple[Any, ...]:
        """As the library's, and of a resume take on; after a reply of its own it resumes with that."""
        run = (await load_thread(tx, self.thread_id)).run
        answer = None if run is None or not self.resumed else run.last_answer
        notices = await super().__call__(tx)
        if answer is not None and self.input_seq >= answer.seq:
            await tx.save_cursor(taken_cursor(self.thread_id), await tx.head())
        return notices


class CountToTheHead(steps.CountTaken):
    """A count of all that the log has by then."""

    async def __call__(self, tx: Transaction) -> None:
        """As the library's, and then count on."""
        await super().__call__(tx)
        await tx.save_cursor(taken_cursor(self.thread_id), await tx.head())


class CountBack(steps.CountTaken):
    """A count that is saved as it was read, whoever has counted further meanwhile."""

    async def __call__(self, tx: Transaction) -> None:
        """As the library's, without its fence, into a cursor that goes back."""
        await super().__call__(going_back(held_by(tx, self.holder)))


class SendOnly(steps.Send):
    """A message, without its ask."""

    async def __call__(self, tx: Transaction) -> Envelope:
        """As the library's, but for the cursor."""
        return await super().__call__(not_saving(tx, asked_cursor(self.thread_id)))


class AnswerOnly(steps.Answer):
    """Answers, without their ask."""

    async def __call__(self, tx: Transaction) -> Sequence[Envelope]:
        """As the library's, but for the cursor."""
        return await super().__call__(not_saving(tx, asked_cursor(self.thread_id)))


class ReplyAndAsk(steps.Reply):
    """A reply that asks up to its own answers."""

    async def __call__(self, tx: Transaction) -> Run | None:
        """As the library's, and then ask."""
        run = await super().__call__(tx)
        if run is not None:
            await save_ask(tx, self.thread_id, await tx.head())
        return run


def _start_only(put: Put) -> None:
    put(threadclaim.carrying, "StartRun", StartOnly)


def _reply_and_ask(put: Put) -> None:
    put(threadclaim.claimant, "Reply", ReplyAndAsk)


_position = Reader.position


def _past_the_head(reader: Reader, seq: int) -> int:
    """A position, which may be past what the log has."""
    return _position(reader, seq) + (seq > reader.head)


_STARTS = "A run's start leaves taken where it was."
_ASKS = "A reply asks, up to its own answers, past messages that nobody asked for."


def _count_back(put: Put) -> None:
    put(threadclaim.claimant, "CountTaken", CountBack)
    put(threadclaim.storage.sql.texts, "SAVE_CURSOR", WRITTEN_BACK)


TWINS = (
    Twin("TakenApart", _STARTS, _start_only),
    Twin("TakenApartTwice", _STARTS, _start_only),
    Twin(
        "TakenPastTheHead",
        "A run's start saves taken at the position after the log's last.",
        lambda put: put(threadclaim.carrying, "StartRun", StartPastTheHead),
        reads=lambda put: put(Reader, "position", _past_the_head),
    ),
    Twin(
        "ResumeTakesHead",
        "A resume takes up to the log's head as it starts, and not as it read.",
        lambda put: put(threadclaim.carrying, "StartRun", ResumeFromTheHead),
    ),
    Twin(
        "CountTakesUnread",
        "A count takes up to the log's head as it is recorded, and not as it was read.",
        lambda put: put(threadclaim.claimant, "CountTaken", CountToTheHead),
    ),
    Twin(
        "CursorGoesBack",
        "A count saves what it read over whatever was saved meanwhile.",
        _count_back,
        actions=AT_ITS_WRITE,
    ),
    Twin(
        "SendWithoutAsk",
        "A send commits its message, and asks for nothing.",
        lambda put: put(threadclaim.runner, "Send", SendOnly),
    ),
    Twin(
        "AnswerWithoutAsk",
        "An answer commits its answers, and asks for nothing.",
        lambda put: put(threadclaim.runner, "Answer", AnswerOnly),
    ),
    Twin("ReplyAsksPastMessages", _ASKS, _reply_and_ask),
    Twin("ReplyCostsACount", _ASKS, _reply_and_ask),
)
"""These twins."""
