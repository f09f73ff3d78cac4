"""One claimant: the task that claims a thread, carries out its turn, and releases it.

It is the model's task, from `claim` to `release`.

Nobody cancels this task: whoever wants it to end asks it to (`halt`), and it ends in order. So a claim is
held by a task from before anything can cancel it, and is released by that task however its turn ends
(ADR-0055 I3).
"""

import asyncio

from threadclaim.carrying import HaltedError, TurnCarrier
from threadclaim.errors import ClaimLost, RunLeft, said
from threadclaim.events import Actor, Envelope
from threadclaim.handover import ALL, Leaving, Left
from threadclaim.plan import (
    AbandonPlan,
    CountPlan,
    LeavePlan,
    ReplyPlan,
    ResumePlan,
    StartPlan,
    View,
    plan,
)
from threadclaim.run import (
    Means,
    RunInput,
)
from threadclaim.steps import (
    Abandon,
    Claim,
    Claimed,
    CountTaken,
    LoadHistory,
    Refused,
    Release,
    Replan,
    Reply,
)
from threadclaim.storage.protocol import Scope
from threadclaim.telemetry import came_from
from threadclaim.thread import Run, RunStatus
from threadclaim.turn import Failed, TurnInput


class Claimant(TurnCarrier):
    """Claims one thread once, for a command, a sweep, a hand-over or a look.

    `seen` is how far was asked as it was last read: 0 for a caller's, which has read nothing. `broken_off` is
    how it leaves where its command's own write was cancelled or failed: it only releases, and hands over.
    `started` is its run, or None if it came to start none; or what it failed of. `halted` is whether it was
    stopped; `leaving` how it leaves, once it gives its claim up.
    """

    def __init__(  # noqa: PLR0913  # three are by keyword
        self,
        means: Means,
        scope: Scope,
        thread_id: str,
        *,
        seen: int = 0,
        broken_off: Leaving | None = None,
        command: str | None = None,
    ) -> None:
        """A claimant of a holder of its own, never the run's id (ADR-0055).

        `command` is the traceparent of the command that it is for, if it is for one and a span was current
        there.
        """
        super().__init__(means, scope, thread_id)
        self.seen = seen
        self.leaving: Leaving | None = None
        self.looks: Leaving | None = None
        self._broken_off, self._command = broken_off, command

    # ---- What others ask of it.

    def halt(self) -> None:
        """End before the turn starts, or stop the run, and hand over what is left (I4)."""
        self.halted = True
        self._stop_turn()

    def abandon_caller(self) -> None:
        """Its caller was cancelled: as `halt`, but a run that has started, or is being started, goes on."""
        if self.run is None:
            self._abandoned = True
            self._stop_turn()

    def give_up(self) -> None:
        """Leave all as by a crash: its runner is closed, and has waited long enough.

        While its turn is alive, a tool of it at work, nothing is released: its claim lapses by itself.
        """
        self._is_left = True
        self._claim.let_go()
        if not self.started.done():
            self.started.set_result(None)  # what its command committed is the next holder's
        if self.run is not None and not self.run.ended.done():
            self.run.ended.set_exception(RunLeft())
            self.run.ended.exception()  # whether anybody waits for it or not

    # ---- What it does.

    async def carry_out(self) -> Left | None:
        """Claim the thread, carry out its turn, release it; return what is left to hand over, or None.

        It raises nothing: what it failed of is in `started`, or in the run's result. `looks` is set if its
        process is to look again: it was refused, or its release failed.
        """
        leaving = self.leaving = await self._hold()
        self._claim.let_go()
        is_alive = self._is_left and self._turn is not None and not self._turn.done()
        left = None if leaving is None or is_alive else await self._release(leaving)
        if not self.started.done():
            self.started.set_result(None)
        return left

    async def _hold(self) -> Leaving | None:
        """Claim, and carry out what is to be done; return how it leaves, and None where no claim was made."""
        try:
            return await self._claim_and_turn()
        except HaltedError:
            return self._leaving_unstarted()
        except ClaimLost as error:
            if error.holder == self.holder:
                return self._leaving_unstarted()
            return self._failed(error)  # another's claim, that the application's set-up relied on
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001  # the claim is released
            # Nobody cancels this task: a CancelledError that comes up all the same is a failure
            # (ADR-0055 I4).
            return self._failed(error)

    def _leaving_unstarted(self) -> Leaving:
        """As whoever was stopped, or lost its claim, leaves; the latter is logged, as it may go on so."""
        if self._claim.lost or not (self.halted or self._abandoned):
            self._log.warning(
                "The claim was lost before its turn started, and the thread is handed over. If this goes on, "
                "storage, or the turn_context, takes longer than the claim_ttl of %s s.",
                self._means.ttl,
            )
        return ALL

    def _failed(self, error: BaseException) -> Leaving:
        """As whoever failed leaves; whoever waits for the start, or the run, is told what it failed of."""
        at = "before its turn started" if self.run is None else "after its turn had started"
        if not self._is_left:
            self._log.warning("A claimant failed %s.", at, exc_info=error)
        if not self.started.done():
            self.started.set_exception(as_failure(error))
            self.started.exception()  # whether anybody waits for it or not, it is logged
        if self.run is not None and not self.run.ended.done():
            self.run.ended.set_result(Failed(said(as_failure(error)), exception=error))
        consumed = self.run is not None or self.halted or self._abandoned
        return ALL if consumed else Leaving("newer", self.seen, self._input_seq)

    async def _claim_and_turn(self) -> Leaving | None:
        """As `_hold`, but what goes wrong is raised."""
        if self._broken_off is not None:
            return self._broken_off
        asked_at = asyncio.get_running_loop().time()
        claimed = await self._do(Claim(self.thread_id, self.holder, self._means.ttl))
        if not isinstance(claimed, Claimed):
            self.looks = ALL if isinstance(claimed, Refused) else None
            return None
        self._claim.keep(asked_at)
        return await self._plan_and_turn(claimed.view)

    async def _plan_and_turn(self, view: View) -> Leaving:  # noqa: C901  # a case for each plan, as they are
        """Decide, and do it, until a turn has ended or there is nothing to do."""
        while True:
            self._check()
            self.seen = view.asked
            match plan(view):
                case AbandonPlan(run_id=run_id):
                    await self._do(Abandon(self.thread_id, self.holder, run_id))
                case LeavePlan():
                    # With more asked than taken, a form is waited for: this round moved neither position, so
                    # only newer asks are a reason to look again.
                    return Leaving("newer", self.seen) if view.is_left else ALL
                case CountPlan(through=position):
                    await self._do(CountTaken(self.thread_id, self.holder, position))
                    return ALL
                case StartPlan() as start:
                    return await self._start(await self._input_of(start, self._linked(start, view)))
                case ResumePlan() as resume:
                    return await self._start(await self._input_of_resume(resume, self._linked(resume, view)))
                case ReplyPlan() as reply:
                    if (run := await self._reply(reply)) is not None:
                        return await self._after_reply(reply, run, self._linked(reply, view))
            view = await self._do(Replan(self.thread_id))

    def _linked(self, decided: StartPlan | ReplyPlan | ResumePlan, view: View) -> str | None:
        """Where the turn came from: the span of the command, or the one that its input was committed in."""
        return self._command if self._command is not None else came_from(decided, view)

    async def _reply(self, reply: ReplyPlan) -> Run | None:
        """Answer the paused run; the run with its answers, or None if the message was left."""
        step = Reply(self.thread_id, self.holder, reply.run_id, reply.message, reply.answers)
        self._input_seq = reply.message.seq
        run = await self._do(step)
        if run is None:
            self._input_seq = 0  # it has consumed nothing, and its next input is another
        return run

    async def _after_reply(self, reply: ReplyPlan, run: Run, linked: str | None) -> Leaving:
        """Resume the run that a reply has answered; with a form still open, it stays paused."""
        if run.status is not RunStatus.ANSWERED:
            return ALL
        self._check()
        turn = await self._turn_input(run.run_id, reply.message.actor, (), run)
        return await self._start(RunInput(turn, reply.message.seq, (), True, linked))

    # ---- A run.

    async def _input_of(self, start: StartPlan, linked: str | None) -> RunInput:
        """What a run starts with that a message prompts."""
        message = start.prompt
        self._input_seq = message.seq
        turn = await self._turn_input(self._means.new_id(), message.actor, (message,), None)
        return RunInput(turn, message.seq, (message.seq,), False, linked)

    async def _input_of_resume(self, resume: ResumePlan, linked: str | None) -> RunInput:
        """What a run resumes with."""
        self._input_seq = resume.through
        turn = await self._turn_input(resume.run.run_id, resume.actor, resume.messages, resume.run)
        consumes = tuple(message.seq for message in resume.messages)
        return RunInput(turn, resume.through, consumes, True, linked)

    async def _turn_input(
        self, run_id: str, actor: Actor, prompt: tuple[Envelope, ...], run: Run | None
    ) -> TurnInput:
        """The agent's input, its history loaded."""
        history = await self._do(LoadHistory(self.thread_id))
        requests, answers, by = (
            (run.requests, run.answers, run.started_by) if run is not None else ((), {}, actor)
        )
        return TurnInput(self.thread_id, run_id, actor, prompt, requests, answers, history, started_by=by)

    # ---- After it.

    async def _release(self, leaving: Leaving) -> Left | None:
        """ThreadClaim!Release: what is left to hand over. ThreadClaim!ReleaseFails: it is looked at again."""
        try:
            left = await self._do(Release(self.thread_id, self.holder))
        except (Exception, asyncio.CancelledError):  # noqa: BLE001  # whatever it is, a look comes
            self._log.warning("Releasing the claim failed; the thread is looked at again.", exc_info=True)
            self.looks = leaving
            return None
        return left if leaving.goes(left) else None


def as_failure(error: BaseException) -> BaseException:
    """What a caller is told: a CancelledError would look like its own."""
    if isinstance(error, asyncio.CancelledError):
        failure = RuntimeError("A call was cancelled, and nobody asked for it; the command failed.")
        failure.__cause__ = error
        return failure
    return error
