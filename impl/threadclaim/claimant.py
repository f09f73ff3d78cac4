"""One claimant: the task that claims a thread, carries out its turn, and releases it.

It is the model's task, from `claim` to `release`.

Nobody cancels this task: whoever wants it to end asks it to (`halt`), and it ends in order. So a claim is
held by a task from before anything can cancel it, and is released by that task however its turn ends
(ADR-0055 I3).
"""

import asyncio
import logging
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from threadclaim.claim import HeldClaim, is_cancelled
from threadclaim.errors import ClaimLost, RunLeft, said
from threadclaim.events import RUNNER, Actor, Envelope, Event
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
    RunHandle,
    RunInput,
    end_event,
    failed_after,
    outcome_of,
    without_gaps,
)
from threadclaim.steering import Watcher
from threadclaim.steps import (
    Abandon,
    Claim,
    Claimed,
    CountTaken,
    EndRun,
    LoadHistory,
    RecordFact,
    Refused,
    Release,
    Replan,
    Reply,
    StartRun,
)
from threadclaim.storage.protocol import Scope, Step
from threadclaim.telemetry import came_from, log_for, turn_span
from threadclaim.thread import Run, RunStatus
from threadclaim.turn import Failed, Outcome, Stopped, TurnInput

T = TypeVar("T")

TRIES_IN_A_TTL = 10
"""How often what failed is tried again in a claim_ttl: recording a run's end, and following the log."""


class HaltedError(Exception):
    """The claimant was stopped, or lost its claim, before its turn started. It never leaves the claimant."""


@dataclass(frozen=True, slots=True)
class _Go:
    """What a turn is told as its start is recorded: its watcher, and the notices since the last."""

    watcher: Watcher
    notices: tuple[Envelope, ...]


class Claimant:
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
        loop = asyncio.get_running_loop()
        self.scope, self.thread_id, self.seen = scope, thread_id, seen
        self.holder = means.new_id()
        self.started: asyncio.Future[RunHandle | None] = loop.create_future()
        self.leaving: Leaving | None = None
        self.looks: Leaving | None = None
        self.run: RunHandle | None = None
        self.halted = False
        self._abandoned, self._is_starting, self._is_left = False, False, False
        self._means = means
        self._broken_off, self._command, self._input_seq = broken_off, command, 0
        self._turn: asyncio.Task[Outcome] | None = None
        self._claim = HeldClaim(means.storage, scope, thread_id, self.holder, means.ttl, self._stop_turn)

    @property
    def is_running(self) -> bool:
        """Whether its run goes on."""
        return self.run is not None and not self.run.ended.done()

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

    def _stop_turn(self) -> None:
        """Cancel the turn, if there is one; as its start is being recorded, once it has its input.

        What that write consumes is given to the agent (I1_ConsumedIsGiven).
        """
        if self._turn is not None and not self._is_starting:
            self._turn.cancel()

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

    def _check(self) -> None:
        """Raise HaltedError if it is to end, or its claim is lost. ThreadClaim!LoseClaim."""
        if self.halted or self._abandoned or self._claim.lost:
            raise HaltedError

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
        turn = await self._turn_input(self._means.new_id(), message.actor, (message,), None)
        return RunInput(turn, message.seq, (message.seq,), False, linked)

    async def _input_of_resume(self, resume: ResumePlan, linked: str | None) -> RunInput:
        """What a run resumes with."""
        turn = await self._turn_input(resume.run.run_id, resume.actor, resume.messages, resume.run)
        consumes = tuple(message.seq for message in resume.messages)
        return RunInput(turn, resume.through, consumes, True, linked)

    async def _turn_input(
        self, run_id: str, actor: Actor, prompt: tuple[Envelope, ...], run: Run | None
    ) -> TurnInput:
        """The agent's input, its history loaded."""
        history = await self._do(LoadHistory(self.thread_id))
        requests, answers = (run.requests, run.answers) if run is not None else ((), {})
        return TurnInput(self.thread_id, run_id, actor, prompt, requests, answers, history)

    async def _start(self, given: RunInput) -> Leaving:
        """Carry out a turn, all of it in the turn's trace."""
        self._check()
        run_id = given.turn.run_id
        with turn_span(
            thread_id=self.thread_id, run_id=run_id, holder=self.holder, linked=given.linked
        ) as span:
            try:
                outcome = await self._run(given)
            except (HaltedError, ClaimLost):
                span.over(Stopped())
                raise
            span.over(outcome)
            await self._record_end(given, outcome)
        return ALL

    async def _run(self, given: RunInput) -> Outcome:
        """Set up the turn under the claim, record its start, and let it go on to its end."""
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[None] = loop.create_future()
        go: asyncio.Future[_Go] = loop.create_future()
        self._turn = loop.create_task(
            self._agent_turn(given.turn, ready, go), name=f"turn of {self.thread_id}"
        )
        until: list[asyncio.Future[Any]] = [self._turn, ready]
        await asyncio.wait(until, return_when=asyncio.FIRST_COMPLETED)
        try:
            started = await self._record_start(given, ready)
        except BaseException:
            await self._end_turn()
            raise
        go.set_result(started)
        try:
            await asyncio.wait([self._turn])
        finally:
            await started.watcher.stop()
        outcome = outcome_of(self._turn, stopped=self.halted or self._claim.lost)
        counts = without_gaps(outcome, started.watcher.given)
        if set(counts.delivered) != set(outcome.delivered):
            self._log.warning(
                "The turn says that it delivered %s of %s; what comes before the first gap counts.",
                list(outcome.delivered),
                started.watcher.given,
            )
        return counts

    async def _record_start(self, given: RunInput, ready: asyncio.Future[None]) -> "_Go":
        """ThreadClaim!StartRun, once the turn is set up; raises what setting it up failed of."""
        self._check()
        if not ready.done():
            assert self._turn is not None  # noqa: S101  # for the types: `_run` made it
            self._turn.result()  # raises: setting up failed
            raise RuntimeError("The turn ended before it was set up, and said nothing of why.")
        turn, seq = given.turn, given.position
        step = StartRun(
            self.thread_id, self.holder, turn.run_id, turn.actor, seq, given.consumes, given.resumed
        )
        self._input_seq, self._is_starting = seq, True
        notices = await self._do(step)
        retry = self._means.ttl / TRIES_IN_A_TTL
        watcher = Watcher(self._means.storage, self.scope, self.thread_id, turn.actor, seq, retry)
        self.run = RunHandle(self.thread_id, turn.run_id)
        self.started.set_result(self.run)
        watcher.start()
        return _Go(watcher, notices)

    async def _agent_turn(
        self, turn: TurnInput, ready: asyncio.Future[None], go: "asyncio.Future[_Go]"
    ) -> Outcome:
        """The turn's own task: the application's context around the agent's run."""
        outcome: Outcome | None = None
        try:
            async with self._set_up(turn) as context:
                ready.set_result(None)
                started = await asyncio.shield(go)  # a timeout of the context's own must not cancel that
                self._is_starting = False
                if self.halted or self._claim.lost:  # asked for as the start was recorded
                    asyncio.get_running_loop().call_soon(self._stop_turn)
                told = replace(turn, context=context, notices=started.notices)
                outcome = await self._means.agent.run(told, started.watcher, self)
        except (Exception, asyncio.CancelledError) as error:
            if outcome is None:
                raise
            return outcome if is_cancelled() else failed_after(outcome, error)
        if outcome is None:
            raise RuntimeError(
                "The application's turn_context swallowed what the turn raised. Let it through."
            )
        return outcome

    def _set_up(self, turn: TurnInput) -> AbstractAsyncContextManager[Any]:
        """What the application sets up around a turn."""
        make = self._means.turn_context
        return nullcontext() if make is None else make(turn)

    async def _end_turn(self) -> None:
        """Cancel the turn before it started, and wait until nothing of it is alive."""
        assert self._turn is not None  # noqa: S101  # for the types: `_start` made it
        self._turn.cancel()
        await asyncio.wait([self._turn])
        if not self._turn.cancelled():
            self._turn.exception()

    async def record(self, event: Event) -> None:
        """Commit what the run does, as the turn's `Facts`; of an abandoned run it is dropped, and logged."""
        assert self.run is not None  # noqa: S101  # for the types: only a started run has facts
        step = RecordFact(self.thread_id, self.holder, self.run.run_id, event, RUNNER)
        if not await self._do(step):
            self._log.warning("A fact of a run that has ended is dropped.")

    async def _record_end(self, given: RunInput, outcome: Outcome) -> None:
        """ThreadClaim!EndRun or ThreadClaim!Pause, tried again as long as the claim is held (repair m)."""
        position, event = max((given.position, *outcome.delivered)), end_event(given.turn.run_id, outcome)
        step = EndRun(self.thread_id, self.holder, event, given.turn.actor, position, outcome.history)
        loop = asyncio.get_running_loop()
        until = loop.time() + self._means.ttl
        while not await self._recorded(step) and loop.time() < until:
            if await self._claim.lost_within(self._means.ttl / TRIES_IN_A_TTL):
                break
        assert self.run is not None  # noqa: S101  # for the types: only a started run ends
        if not self.run.ended.done():
            self.run.ended.set_result(outcome)

    async def _recorded(self, step: EndRun) -> bool:
        """Whether the end is in the log, or is not this run's to record any more."""
        try:
            if not await self._do(step):
                self._log.info("The run had ended already, or was abandoned.")
        except (Exception, asyncio.CancelledError):  # noqa: BLE001  # whatever it is, it is tried again
            self._log.warning("Recording the run's end failed.", exc_info=True)
            return False
        return True

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

    async def _do(self, step: Step[T]) -> T:
        """One step of the protocol."""
        return await self._means.storage.transact(self.scope, step)

    @property
    def _log(self) -> logging.LoggerAdapter[logging.Logger]:
        """The log, with the claimant's ids on each record and no message's text."""
        return log_for(self.thread_id, self.run.run_id if self.run is not None else None, self.holder)


def as_failure(error: BaseException) -> BaseException:
    """What a caller is told: a CancelledError would look like its own."""
    if isinstance(error, asyncio.CancelledError):
        failure = RuntimeError("A call was cancelled, and nobody asked for it; the command failed.")
        failure.__cause__ = error
        return failure
    return error
