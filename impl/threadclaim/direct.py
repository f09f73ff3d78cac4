"""A run made without the runner: it consumes no message, and its history is the thread's (repair j)."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from threadclaim.claim import is_cancelled
from threadclaim.door import check_turn
from threadclaim.errors import RequestError, WrongType, kind_of
from threadclaim.events import RUNNER, Envelope, Event, MessagePosted
from threadclaim.limits import check_text
from threadclaim.run import end_event, outcome_of
from threadclaim.steps import DirectStart, EndRun, LoadHistory, RecordFact
from threadclaim.storage.common import to_its_end
from threadclaim.telemetry import current_traceparent, log_for, turn_span
from threadclaim.turn import Outcome, Turn, TurnInput
from threadclaim.workspace import HeldThread, Workspace


async def run_directly(
    workspace: Workspace, thread_id: str, agent: Turn, text: str, *, held: HeldThread | None = None
) -> Outcome:
    """Run an agent in a thread without a runner, for a batch job or a test, say, and record the run.

    The run is prompted with `text`, which is in no log; it is given no message of the thread's and takes no
    position, so what is sent meanwhile is the next turn's. Its history is the thread's.

    **Hold the thread around it**: `async with workspace.claim_thread(thread_id) as held`, and give `held`.
    Then no runner starts a run beside it, and none takes it for a dead one; if the claim is lost, the run is
    stopped. Without a claim it cannot be told from a dead run: the thread's next claimant records it as
    abandoned while it lives, and its end is then refused (DESIGN.md, repair j).

    Args:
        workspace: The workspace, as the actor that the run acts for.
        thread_id: The thread.
        agent: What carries the turn out: `PydanticAITurn(agent)` for an agent of pydantic-ai's.
        text: The prompt; the limits of a message's text hold for it.
        held: The thread's claim, which its start relies on.

    Returns:
        What came of it. A run that pauses waits for its answers, and a runner resumes it.

    Raises:
        UnknownThread: if there is no such thread.
        LimitError: for a text that is against the limits.
        WrongType: for an agent, or a claim, that is something else: a bare agent of pydantic-ai's, say.
        RequestError: if the thread's run waits for answers or a resume, or goes on and no claim is given; or
            if `held` is another thread's.
        ClaimLost: if the claim has lapsed before the run started. Nothing was recorded then.
    """
    check_turn(agent)
    workspace.check(thread_id=thread_id)
    check_text(text)
    if held is not None and not isinstance(held, HeldThread):
        raise WrongType(f"held is {kind_of(held)}. Give what `async with workspace.claim_thread(…)` gave.")
    if held is not None and held.thread_id != thread_id:
        raise RequestError(
            f"The claim is to thread {held.thread_id!r}, and the run is of {thread_id!r}. "
            "Hold the run's own thread."
        )
    segment = workspace.new_id() if held is None else held.holder
    run = _DirectRun(workspace, agent, thread_id, workspace.new_id(), segment)
    return await run.carry_out(text, held)


TRIES, TRY_AGAIN = 10, 3.0
"""How often recording an end is tried, and after how many seconds again."""


class _NoSteering:
    """Steering of a run that no message reaches."""

    def take(self) -> Sequence[Envelope]:
        """None."""
        return ()


@dataclass(frozen=True, slots=True)
class _DirectRun:
    """One direct run; its `record` makes it the turn's `Facts`."""

    workspace: Workspace
    agent: Turn
    thread_id: str
    run_id: str
    segment: str

    async def carry_out(self, text: str, held: HeldThread | None) -> Outcome:
        """Carry it out; if the caller is cancelled, stop it, record its end, and raise that then."""
        stop = asyncio.Event() if held is None else held.lost
        cancelled = asyncio.Event()
        task = asyncio.get_running_loop().create_task(self._whole(text, stop, cancelled, held is not None))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if is_cancelled():
                cancelled.set()
                await to_its_end(_settled(task))
            raise

    async def _whole(
        self, text: str, lost: asyncio.Event, cancelled: asyncio.Event, is_held: bool
    ) -> Outcome:
        """Record its start, let it go on, and record its end, all of it in the turn's trace."""
        scope, transact, actor = self.workspace.scope, self.workspace.storage.transact, self.workspace.actor
        with turn_span(
            thread_id=self.thread_id, run_id=self.run_id, holder=self.segment, linked=current_traceparent()
        ) as span:
            history = await transact(scope, LoadHistory(self.thread_id))
            start = DirectStart(self.thread_id, self.segment, self.run_id, actor, is_held)
            notices = await transact(scope, start)
            message = MessagePosted(self.run_id, text)
            prompt = Envelope(0, self.run_id, datetime.now(UTC), actor, message, self.thread_id)
            turn = TurnInput(
                self.thread_id,
                self.run_id,
                actor,
                (prompt,),
                history=history,
                notices=notices,
                started_by=actor,
            )
            outcome = await self._turn(turn, lost, cancelled)
            span.over(outcome)
            event = end_event(self.run_id, outcome)
            await self._record_end(
                EndRun(self.thread_id, self.segment, event, actor, None, outcome.history), lost
            )
            return outcome

    async def _record_end(self, step: EndRun, lost: asyncio.Event) -> None:
        """Record its end; tried again for a while, as a runner does (repair m), then raised."""
        for tries_left in reversed(range(TRIES)):
            try:
                if not await self.workspace.storage.transact(self.workspace.scope, step):
                    self._log.warning(
                        "A direct run was recorded as abandoned while it lived. Hold its thread."
                    )
            except Exception:
                if lost.is_set() or not tries_left:
                    raise
                self._log.warning("Recording a direct run's end failed; it is tried again.", exc_info=True)
                await asyncio.sleep(TRY_AGAIN)
            else:
                return

    async def _turn(self, turn: TurnInput, *stops: asyncio.Event) -> Outcome:
        """Let the turn go on to its end; stop it if its caller is cancelled, or its claim is lost."""
        loop = asyncio.get_running_loop()
        task = loop.create_task(self.agent.run(turn, _NoSteering(), self), name=f"turn of {self.thread_id}")
        waits = [loop.create_task(stop.wait()) for stop in stops]
        await asyncio.wait([task, *waits], return_when=asyncio.FIRST_COMPLETED)
        stopped = not task.done()
        for wait in waits:
            wait.cancel()
        if stopped:
            task.cancel()
            await asyncio.wait([task])
        return outcome_of(task, stopped=stopped)

    async def record(self, event: Event) -> None:
        """Commit what the run does; of a run that was abandoned it is dropped, and logged."""
        step = RecordFact(self.thread_id, self.segment, self.run_id, event, RUNNER)
        if not await self.workspace.storage.transact(self.workspace.scope, step):
            self._log.warning("A fact of a run that has ended is dropped.")

    @property
    def _log(self) -> logging.LoggerAdapter[logging.Logger]:
        """The log, with the run's ids on each record and no message's text."""
        return log_for(self.thread_id, self.run_id, self.segment)


async def _settled(task: asyncio.Task[Outcome]) -> None:
    """Wait until a task is done, whatever it comes to; that is logged if nobody else hears of it."""
    await asyncio.wait([task])
    if not task.cancelled():
        task.exception()
