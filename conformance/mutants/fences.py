"""Twins without a fence, and those whose runs end, or pause, when they must not."""

from dataclasses import replace
from typing import Any

import threadclaim.carrying
import threadclaim.claim
import threadclaim.claimant
import threadclaim.thread
from conformance.mutants.stopping import AT_ITS_WRITE
from conformance.mutants.transactions import held_by
from conformance.mutants.twin import Put, Twin
from threadclaim import steps
from threadclaim.events import RUNNER, Request, RunEnded, RunPaused
from threadclaim.steps.loads import hold_fast, load_thread
from threadclaim.storage.protocol import Transaction, lease_name, taken_cursor
from threadclaim.thread import Run, RunStatus


class UnfencedStart(steps.StartRun):
    """A start that no fence refuses."""

    async def __call__(self, tx: Transaction) -> tuple[Any, ...]:
        """As the library's, whoever holds the claim."""
        return await super().__call__(held_by(tx, self.holder))


class UnfencedCount(steps.CountTaken):
    """A count that no fence refuses."""

    async def __call__(self, tx: Transaction) -> None:
        """As the library's, whoever holds the claim."""
        await super().__call__(held_by(tx, self.holder))


class UnfencedReply(steps.Reply):
    """A reply that no fence refuses, to whatever is open by then.

    The library's also names the requests that its plan found, which would hold it back from another pause.
    """

    async def __call__(self, tx: Transaction) -> Run | None:
        """As the library's, whoever holds the claim, and whichever requests are open."""
        run = (await load_thread(tx, self.thread_id)).run
        if run is None:
            return None
        _, answer = self.answers[0]
        answers = tuple((request, answer) for request in run.open_requests)
        aimed = replace(self, run_id=run.run_id, answers=answers)
        return await steps.Reply.__call__(aimed, held_by(tx, self.holder))


class AbandonActive(steps.Abandon):
    """An end of whichever run is active by then: to the model a thread has one, and it has no name.

    The library's also names the run that its plan found, which would hold it back from another's.
    """

    async def __call__(self, tx: Transaction) -> bool:
        """As the library's, of the run that is active."""
        run = (await load_thread(tx, self.thread_id)).active_run
        aimed = self if run is None else replace(self, run_id=run.run_id)
        return await steps.Abandon.__call__(aimed, tx)


class UnfencedAbandon(AbandonActive):
    """An end of whichever run is active that no fence refuses."""

    async def __call__(self, tx: Transaction) -> bool:
        """As it is, whoever holds the claim."""
        return await super().__call__(held_by(tx, self.holder))


class AbandonEnded(steps.Abandon):
    """An end of the thread's run, whether it is active by then or not."""

    async def __call__(self, tx: Transaction) -> bool:
        """End it."""
        await hold_fast(tx, self.thread_id, self.holder)
        run = (await load_thread(tx, self.thread_id)).run
        if run is None:
            return False
        ended = RunEnded(run.run_id, "failed", reason="abandoned")
        await tx.append(ended, actor=RUNNER, thread_id=self.thread_id, run_id=run.run_id)
        return True


class AbandonAsPaused(steps.Abandon):
    """A pause of the run that a dead holder left active, in place of its end."""

    async def __call__(self, tx: Transaction) -> bool:
        """Pause it, with a question."""
        await hold_fast(tx, self.thread_id, self.holder)
        run = (await load_thread(tx, self.thread_id)).active_run
        if run is None or run.run_id != self.run_id:
            return False
        question = Request(f"q-{run.run_id}-{await tx.head()}", "question", "ask")
        paused = RunPaused(run.run_id, (question,))
        await tx.append(paused, actor=RUNNER, thread_id=self.thread_id, run_id=run.run_id)
        return True


class EndOfAny(steps.EndRun):
    """An end, or a pause, of whichever run the thread has by then."""

    async def __call__(self, tx: Transaction) -> bool:
        """End it, and take what was delivered."""
        run = (await load_thread(tx, self.thread_id)).run
        if run is None:
            return False
        event = replace(self.event, run_id=run.run_id)
        await tx.append(event, actor=self.actor, thread_id=self.thread_id, run_id=run.run_id)
        if self.position is not None:
            await tx.save_cursor(taken_cursor(self.thread_id), self.position)
        return True


def _paused_anyhow(run: Run, requests: tuple[Request, ...]) -> Run:
    """The run as it waits for these requests, whatever it was."""
    return replace(run, status=RunStatus.PAUSED, requests=requests, answers={})


class EndTakesAnyhow(steps.EndRun):
    """An end that takes what was delivered even where it is refused."""

    async def __call__(self, tx: Transaction) -> bool:
        """As the library's; refused, it takes, and says what it consumed in an event of no run's."""
        if await super().__call__(tx):
            return True
        event = replace(self.event, run_id=f"{self.event.run_id}, late")
        await tx.append(event, actor=self.actor, thread_id=self.thread_id)
        if self.position is not None:
            await tx.save_cursor(taken_cursor(self.thread_id), self.position)
        return False


class RenewOrTake(steps.Renew):
    """A renewal that takes a claim which has lapsed."""

    async def __call__(self, tx: Transaction) -> bool:
        """As the library's, and else as a claim."""
        name = lease_name(self.thread_id)
        return await super().__call__(tx) or await tx.acquire_lease(name, self.holder, self.ttl)


def _unfenced_start(put: Put) -> None:
    put(threadclaim.carrying, "StartRun", UnfencedStart)


def unfenced_abandon(put: Put) -> None:
    """Put the end that no fence refuses."""
    put(threadclaim.claimant, "Abandon", UnfencedAbandon)


def _end_of_any(put: Put) -> None:
    put(threadclaim.carrying, "EndRun", EndOfAny)
    put(threadclaim.thread, "_paused", _paused_anyhow)


def _end_takes_anyhow(put: Put) -> None:
    put(threadclaim.carrying, "EndRun", EndTakesAnyhow)


_STARTS = "A run's start is recorded, whoever holds the claim by then."
_ABANDONS = "A run is recorded as abandoned, whichever is active, and whoever holds the claim by then."
_ENDS = "A run's end, or its pause, ends or pauses whichever run the thread has by then."
_TAKES = "A run's end that is refused takes all the same."

TWINS = (
    Twin("NoFenceOnStart", _STARTS, _unfenced_start, actions=AT_ITS_WRITE),
    Twin("NoFenceOnStartTwoRuns", _STARTS, _unfenced_start, actions=AT_ITS_WRITE),
    Twin(
        "NoFenceOnReply",
        "A reply answers what is open, whoever holds the claim by then.",
        lambda put: put(threadclaim.claimant, "Reply", UnfencedReply),
        actions=AT_ITS_WRITE,
    ),
    Twin(
        "NoFenceOnCount",
        "What was read is counted as taken, whoever holds the claim by then.",
        lambda put: put(threadclaim.claimant, "CountTaken", UnfencedCount),
        actions=AT_ITS_WRITE,
    ),
    Twin("NoFenceOnAbandon", _ABANDONS, unfenced_abandon, actions=AT_ITS_WRITE),
    Twin(
        "AbandonsWhatEnded",
        "A run that was found active is ended, though it ended, or paused, meanwhile.",
        lambda put: put(threadclaim.claimant, "Abandon", AbandonEnded),
    ),
    Twin(
        "AbandonedAsPaused",
        "A run that a dead holder left active is recorded as paused.",
        lambda put: put(threadclaim.claimant, "Abandon", AbandonAsPaused),
    ),
    Twin("LateEndAccepted", _ENDS, _end_of_any),
    Twin("LatePauseAccepted", _ENDS, _end_of_any),
    Twin("LapsedEndTakes", _TAKES, _end_takes_anyhow),
    Twin("EndTakesTwice", _TAKES, _end_takes_anyhow),
    Twin(
        "RenewTakes",
        "A renewal takes the claim again once it has lapsed, if nobody has.",
        lambda put: put(threadclaim.claim, "Renew", RenewOrTake),
    ),
)
"""These twins."""
