"""A turn under a claim: set up, recorded as started, carried out by the agent, recorded as ended."""

import asyncio
import logging
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from threadclaim.claim import HeldClaim, is_cancelled
from threadclaim.errors import ClaimLost, kind_of
from threadclaim.events import RUNNER, Envelope, Event
from threadclaim.handover import ALL, Leaving
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
from threadclaim.steps import EndRun, RecordFact, StartRun
from threadclaim.storage.protocol import Scope, Step
from threadclaim.telemetry import log_for, turn_span
from threadclaim.turn import Failed, Outcome, Stopped, TurnInput

T = TypeVar("T")

TRIES_IN_A_TTL = 10
"""How often what failed is tried again in a claim_ttl: recording a run's end, and following the log."""


class HaltedError(Exception):
    """The claimant was stopped, or lost its claim, before its turn started. It never leaves the claimant."""


@dataclass(frozen=True, slots=True)
class Go:
    """What a turn is told as its start is recorded: its watcher, and the notices since the last."""

    watcher: Watcher
    notices: tuple[Envelope, ...]


class TurnCarrier:
    """Carries one turn out under a claim; it is the turn's `Facts`.

    `run` is its run once it has started, and `started` tells of it. `halted` is whether it was stopped.
    """

    def __init__(self, means: Means, scope: Scope, thread_id: str) -> None:
        """Nothing is carried out yet; the claim's holder is nobody else's."""
        self.scope, self.thread_id, self.holder = scope, thread_id, means.new_id()
        self.started: asyncio.Future[RunHandle | None] = asyncio.get_running_loop().create_future()
        self.run: RunHandle | None = None
        self.halted = False
        self._abandoned, self._is_starting, self._input_seq = False, False, 0
        self._is_left = False
        self._means = means
        self._turn: asyncio.Task[Outcome] | None = None
        self._claim = HeldClaim(means.storage, scope, thread_id, self.holder, means.ttl, self._stop_turn)

    @property
    def is_running(self) -> bool:
        """Whether its run goes on."""
        return self.run is not None and not self.run.ended.done()

    def _stop_turn(self) -> None:
        """Cancel the turn, if there is one; as its start is being recorded, once it has its input.

        What that write consumes is given to the agent (I1_ConsumedIsGiven).
        """
        if self._turn is not None and not self._is_starting:
            self._turn.cancel()

    def _check(self) -> None:
        """Raise HaltedError if it is to end, or its claim is lost. ThreadClaim!LoseClaim."""
        if self.halted or self._abandoned or self._claim.lost:
            raise HaltedError

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
            self._warn_of(outcome)
            await self._record_end(given, outcome)
        return ALL

    def _warn_of(self, outcome: Outcome) -> None:
        """Log a run that failed, and one that nobody stopped: its claim was lost."""
        if isinstance(outcome, Failed):
            self._log.warning("The run failed; its user has to be told.", exc_info=outcome.exception)
        elif isinstance(outcome, Stopped) and not self.halted:
            self._log.warning(
                "The claim was lost while its run went on, and the run was stopped. If this goes on, "
                "something blocks the event loop, or storage takes longer than the claim_ttl of %s s.",
                self._means.ttl,
            )

    async def _run(self, given: RunInput) -> Outcome:
        """Set up the turn under the claim, record its start, and let it go on to its end."""
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[None] = loop.create_future()
        go: asyncio.Future[Go] = loop.create_future()
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

    async def _record_start(self, given: RunInput, ready: asyncio.Future[None]) -> Go:
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
        self._is_starting = True
        notices = await self._do(step)
        retry = self._means.ttl / TRIES_IN_A_TTL
        watcher = Watcher(self._means.storage, self.scope, self.thread_id, turn.actor, seq, retry)
        self.run = RunHandle(self.thread_id, turn.run_id)
        self.started.set_result(self.run)
        watcher.start()
        return Go(watcher, notices)

    async def _agent_turn(
        self, turn: TurnInput, ready: asyncio.Future[None], go: asyncio.Future[Go]
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
        made = nullcontext() if make is None else make(turn)
        if not hasattr(made, "__aenter__"):
            raise TypeError(
                f"turn_context gave what is {kind_of(made)}, and no async context manager. Decorate it with "
                "contextlib.asynccontextmanager."
            )
        return made

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
        while not await self._recorded(step) and loop.time() < until and not self._is_left:
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

    async def _do(self, step: Step[T]) -> T:
        """One step of the protocol."""
        return await self._means.storage.transact(self.scope, step)

    @property
    def _log(self) -> logging.LoggerAdapter[logging.Logger]:
        """The log, with the claimant's ids on each record and no message's text."""
        return log_for(self.thread_id, self.run.run_id if self.run is not None else None, self.holder)
