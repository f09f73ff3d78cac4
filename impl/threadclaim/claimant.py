"""One claimant: the task that claims a thread, carries out its turn, and releases it.

It is the model's task, from `claim` to `release`.

Nobody cancels this task: whoever wants it to end asks it to (`halt`), and it ends in order. So a claim is
held by a task from before anything can cancel it, and is released by that task however its turn ends
(ADR-0055 I3).
"""

import asyncio
import logging
import uuid
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from threadclaim.claim import HeldClaim
from threadclaim.errors import ClaimLost
from threadclaim.events import RUNNER, Actor, Envelope, Event, RunEnded, RunPaused
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
from threadclaim.storage.protocol import Scope, Step, Storage
from threadclaim.telemetry import came_from, log_for, turn_span
from threadclaim.thread import Run, RunStatus
from threadclaim.turn import Completed, Failed, Outcome, Paused, Stopped, Turn, TurnInput

T = TypeVar("T")

TRIES_IN_A_TTL = 10
"""How often recording a run's end is tried again in a claim_ttl; then the claim is given up (repair m)."""

TurnContext = Callable[[TurnInput], AbstractAsyncContextManager[Any]]
"""The application's: what it sets up around a turn, under the claim; its value is the turn's `context`."""


class HaltedError(Exception):
    """The claimant was stopped, or lost its claim, before its turn started. It never leaves the claimant."""


@dataclass(frozen=True, slots=True)
class Means:
    """What claimants of a runner share: the storage, the agent, the claims' time to live, in seconds."""

    storage: Storage
    agent: Turn
    ttl: float
    turn_context: TurnContext | None = None


class RunHandle:
    """A run of this process: `wait` for its result."""

    def __init__(self, thread_id: str, run_id: str) -> None:
        """A run that has started."""
        self.thread_id, self.run_id = thread_id, run_id
        self.ended: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()

    async def wait(self) -> Outcome:
        """Wait until the run's end is recorded, and return the run's result. It waits for no hand-over."""
        return await asyncio.shield(self.ended)


@dataclass(frozen=True, slots=True)
class _Input:
    """What a run is to start with: its input, and the position and the messages that its start consumes.

    `linked` is the traceparent that its span links to.
    """

    turn: TurnInput
    position: int
    consumes: tuple[int, ...]
    resumed: bool
    linked: str | None


class Claimant:
    """Claims one thread once, for a command, a sweep, a hand-over or a look.

    `seen` is how far was asked as it was last read: 0 for a caller's, which has read nothing. `broken_off` is
    how it leaves where its command's own write was cancelled or failed: it only releases, and hands over.
    `started` is its run, or None if it came to start none; or what it failed of. `halted` is whether it was
    stopped.
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
        self.holder = uuid.uuid4().hex
        self.started: asyncio.Future[RunHandle | None] = loop.create_future()
        self.looks: Leaving | None = None
        self.run: RunHandle | None = None
        self.halted = False
        self._abandoned, self._is_starting = False, False
        self._means = means
        self._broken_off, self._command, self._input_seq = broken_off, command, 0
        self._turn: asyncio.Task[Outcome] | None = None
        self._claim = HeldClaim(means.storage, scope, thread_id, self.holder, means.ttl, self._lose)

    @property
    def is_running(self) -> bool:
        """Whether its run goes on."""
        return self.run is not None and not self.run.ended.done()

    # ---- What others ask of it.

    def halt(self) -> None:
        """End before the turn starts, or stop the run, and hand over what is left (I4)."""
        self.halted = True
        self._cancel_turn()

    def abandon_caller(self) -> None:
        """Its caller was cancelled: as `halt`, but a run that has started, or is being started, goes on.

        What such a start's write consumes is given to the agent (I1_ConsumedIsGiven); one that fails hands
        over as cancelled.
        """
        if self.run is None:
            self._abandoned = True
            if not self._is_starting:
                self._cancel_turn()

    def _lose(self) -> None:
        """Its claim is lost: its run is stopped."""
        self._cancel_turn()

    def _cancel_turn(self) -> None:
        """Cancel the turn, if there is one."""
        if self._turn is not None:
            self._turn.cancel()

    # ---- What it does.

    async def carry_out(self) -> Left | None:
        """Claim the thread, carry out its turn, release it; return what is left to hand over, or None.

        It raises nothing: what it failed of is in `started`, or in the run's result. `looks` is set if its
        process is to look again: it was refused, or its release failed.
        """
        leaving = await self._hold()
        self._claim.let_go()
        left = None if leaving is None else await self._release(leaving)
        if not self.started.done():
            self.started.set_result(None)
        return left

    async def _hold(self) -> Leaving | None:
        """Claim, and carry out what is to be done; return how it leaves, and None where no claim was made."""
        try:
            return await self._claim_and_turn()
        except (HaltedError, ClaimLost):
            return ALL
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001  # the claim is released
            # Nobody cancels this task: a CancelledError that comes up all the same is a failure
            # (ADR-0055 I4).
            self._fail(error)
            consumed = self.run is not None or self.halted or self._abandoned
            return ALL if consumed else Leaving("newer", self.seen, self._input_seq)

    def _fail(self, error: BaseException) -> None:
        """Tell whoever waits for the start what it failed of."""
        self._log.warning("A claimant failed before its turn started.", exc_info=error)
        if not self.started.done():
            self.started.set_exception(as_failure(error))
            self.started.exception()  # whether anybody waits for it or not, it is logged

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
                    # A round that moved neither position: only newer asks are a reason to look again.
                    return Leaving("newer", self.seen)
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
        self._input_seq = reply.message.seq
        return await self._do(Reply(self.thread_id, self.holder, reply.run_id, reply.message, reply.answers))

    async def _after_reply(self, reply: ReplyPlan, run: Run, linked: str | None) -> Leaving:
        """Resume the run that a reply has answered; with a form still open, it stays paused."""
        if run.status is not RunStatus.ANSWERED:
            return ALL
        self._check()
        turn = await self._turn_input(run.run_id, reply.message.actor, (), run)
        return await self._start(_Input(turn, reply.message.seq, (), True, linked))

    # ---- A run.

    async def _input_of(self, start: StartPlan, linked: str | None) -> _Input:
        """What a run starts with that a message prompts."""
        message = start.prompt
        turn = await self._turn_input(uuid.uuid4().hex, message.actor, (message,), None)
        return _Input(turn, message.seq, (message.seq,), False, linked)

    async def _input_of_resume(self, resume: ResumePlan, linked: str | None) -> _Input:
        """What a run resumes with."""
        turn = await self._turn_input(resume.run.run_id, resume.actor, resume.messages, resume.run)
        consumes = tuple(message.seq for message in resume.messages)
        return _Input(turn, resume.through, consumes, True, linked)

    async def _turn_input(
        self, run_id: str, actor: Actor, prompt: tuple[Envelope, ...], run: Run | None
    ) -> TurnInput:
        """The agent's input, its history loaded."""
        history = await self._do(LoadHistory(self.thread_id))
        requests, answers = (run.requests, run.answers) if run is not None else ((), {})
        return TurnInput(self.thread_id, run_id, actor, prompt, requests, answers, history)

    async def _start(self, given: _Input) -> Leaving:
        """Set up the turn under the claim, record its start, let it go on, and record its end."""
        self._check()
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        go: asyncio.Future[Watcher] = asyncio.get_running_loop().create_future()
        self._turn = asyncio.get_running_loop().create_task(
            self._agent_turn(given, ready, go), name=f"turn of {self.thread_id}"
        )
        until: list[asyncio.Future[Any]] = [self._turn, ready]
        await asyncio.wait(until, return_when=asyncio.FIRST_COMPLETED)
        try:
            watcher = await self._record_start(given, ready)
        except BaseException:
            await self._end_turn()
            raise
        go.set_result(watcher)
        await asyncio.wait([self._turn])
        await watcher.stop()
        outcome = self._outcome(self._turn)
        await self._record_end(given.turn, given.position, outcome)
        return ALL

    async def _record_start(self, given: _Input, ready: asyncio.Future[None]) -> Watcher:
        """ThreadClaim!StartRun, once the turn is set up; raises what setting it up failed of."""
        self._check()
        if not ready.done():
            assert self._turn is not None  # noqa: S101  # for the types: `_start` made it
            self._turn.result()  # raises: setting up failed
            raise RuntimeError("The turn ended before it was set up, and said nothing of why.")
        turn = given.turn
        step = StartRun(
            self.thread_id,
            self.holder,
            turn.run_id,
            turn.actor,
            given.position,
            given.consumes,
            given.resumed,
        )
        self._input_seq, self._is_starting = given.position, True
        await self._do(step)
        watcher = Watcher(self._means.storage, self.scope, self.thread_id, turn.actor, given.position)
        self.run = RunHandle(self.thread_id, turn.run_id)
        self.started.set_result(self.run)
        watcher.start()
        return watcher

    async def _agent_turn(
        self, given: _Input, ready: asyncio.Future[None], go: asyncio.Future[Watcher]
    ) -> Outcome:
        """The turn's own task: its span, and the application's context, around the agent's run."""
        turn, agent = given.turn, self._means.agent
        with turn_span(
            thread_id=self.thread_id, run_id=turn.run_id, holder=self.holder, linked=given.linked
        ) as span:
            if self._means.turn_context is None:
                ready.set_result(None)
                outcome = await agent.run(turn, await go, self)
            else:
                async with self._means.turn_context(turn) as context:
                    ready.set_result(None)
                    outcome = await agent.run(replace(turn, context=context), await go, self)
            span.over(outcome)
            return outcome

    async def _end_turn(self) -> None:
        """Cancel the turn before it started, and wait until nothing of it is alive."""
        assert self._turn is not None  # noqa: S101  # for the types: `_start` made it
        self._turn.cancel()
        await asyncio.wait([self._turn])
        if not self._turn.cancelled():
            self._turn.exception()

    def _outcome(self, turn: asyncio.Task[Outcome]) -> Outcome:
        """What came of the turn: a cancellation that nobody asked for is a failure (ADR-0055 I4)."""
        asked_for = self.halted or self._claim.lost
        if turn.cancelled():
            return Stopped() if asked_for else Failed("The turn was cancelled, and nobody asked for it.")
        if (error := turn.exception()) is not None:
            return Failed(str(error) or type(error).__name__, exception=error)
        return turn.result()

    async def record(self, event: Event) -> None:
        """Commit what the run does, as the turn's `Facts`; of an abandoned run it is dropped, and logged."""
        assert self.run is not None  # noqa: S101  # for the types: only a started run has facts
        step = RecordFact(self.thread_id, self.holder, self.run.run_id, event, RUNNER)
        if not await self._do(step):
            self._log.warning("A fact of a run that has ended is dropped.")

    async def _record_end(self, turn: TurnInput, position: int, outcome: Outcome) -> None:
        """ThreadClaim!EndRun or ThreadClaim!Pause, tried again as long as the claim is held (repair m)."""
        event = _end_event(turn.run_id, outcome)
        step = EndRun(
            self.thread_id,
            self.holder,
            event,
            turn.actor,
            max((position, *outcome.delivered)),
            outcome.history,
        )
        assert self.run is not None  # noqa: S101  # for the types: only a started run ends
        loop = asyncio.get_running_loop()
        until = loop.time() + self._means.ttl
        # No event tells when storage is there again, so it is tried now and then.
        try:
            while not await self._recorded(step) and not self._claim.lost and loop.time() < until:  # noqa: ASYNC110
                await asyncio.sleep(self._means.ttl / TRIES_IN_A_TTL)
        finally:  # as a runner is closed that has waited long enough: whoever waits for the run is told
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


def _end_event(run_id: str, outcome: Outcome) -> RunEnded | RunPaused:
    """How the log tells an outcome."""
    match outcome:
        case Completed(output=output, delivered=delivered):
            return RunEnded(run_id, "completed", output=output, delivered=delivered)
        case Paused(requests=requests, delivered=delivered):
            return RunPaused(run_id, requests, delivered)
        case Failed(error=error, reason=reason, delivered=delivered):
            return RunEnded(run_id, "failed", error=error, reason=reason, delivered=delivered)
        case Stopped(delivered=delivered):
            return RunEnded(run_id, "stopped", delivered=delivered)
