"""A run of this process: its means, its handle, what it starts with, and how the log tells its end."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

from threadclaim.errors import LimitError
from threadclaim.events import RunEnded, RunPaused
from threadclaim.limits import escaped, event_json
from threadclaim.storage.protocol import Storage
from threadclaim.turn import Completed, Failed, Outcome, Paused, Stopped, Turn, TurnInput

_ASKS_NOTHING = "The turn paused and asked for nothing, so nothing could resume it. Pause with a request."
_UNASKED = "The turn was cancelled, and nobody asked for it."


TurnContext = Callable[[TurnInput], AbstractAsyncContextManager[Any]]
"""The application's: what it sets up around a turn, under the claim; its value is the turn's `context`."""


@dataclass(frozen=True, slots=True)
class Means:
    """What claimants of a runner share: the storage, the agent, the claims' time to live, in seconds.

    `new_id` gives the ids of holders and runs.
    """

    storage: Storage
    agent: Turn
    ttl: float
    turn_context: TurnContext | None
    new_id: Callable[[], str]


class RunHandle:
    """A run of this process: `wait` for its result."""

    def __init__(self, thread_id: str, run_id: str) -> None:
        """A run that has started."""
        self.thread_id, self.run_id = thread_id, run_id
        self.ended: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()

    async def wait(self) -> Outcome:
        """Wait until the run's end is recorded, and return the run's result. It waits for no hand-over.

        Raises RunnerClosed if its runner was closed and storage did not answer in time: the run's end may not
        be recorded then, as if its process had died.
        """
        return await asyncio.shield(self.ended)


@dataclass(frozen=True, slots=True)
class RunInput:
    """What a run is to start with: its turn's input, and the position and the messages its start consumes.

    `linked` is the traceparent that its span links to.
    """

    turn: TurnInput
    position: int
    consumes: tuple[int, ...]
    resumed: bool
    linked: str | None


def outcome_of(turn: asyncio.Task[Outcome], *, stopped: bool) -> Outcome:
    """What came of a turn whose task is done; `stopped` is whether somebody asked it to end.

    A cancellation that nobody asked for is a failure (ADR-0055 I4), and so is a pause that asks for nothing.
    """
    if turn.cancelled():
        return Stopped() if stopped else Failed(_UNASKED)
    if (error := turn.exception()) is not None:
        return Failed(str(error) or type(error).__name__, exception=error)
    outcome = turn.result()
    if isinstance(outcome, Paused) and not outcome.requests:
        return Failed(_ASKS_NOTHING, history=outcome.history, delivered=outcome.delivered)
    return outcome


def failed_after(outcome: Outcome, error: BaseException) -> Failed:
    """What came of a turn whose agent came to `outcome`, and whose `turn_context` then raised as it was left.

    What the agent was given, and said, is kept.
    """
    told = f"What was set up around the turn failed as it was left: {str(error) or type(error).__name__}"
    return Failed(told, history=outcome.history, delivered=outcome.delivered, exception=error)


def end_event(run_id: str, outcome: Outcome) -> RunEnded | RunPaused:
    """How the log tells an outcome: as failed, if no log can hold what it came to."""
    event = _told(run_id, outcome)
    try:
        event_json(event)
    except LimitError as error:
        return RunEnded(run_id, "failed", error=escaped(str(error)), delivered=outcome.delivered)
    return event


def _told(run_id: str, outcome: Outcome) -> RunEnded | RunPaused:
    """An outcome as an event."""
    match outcome:
        case Completed(output=output, delivered=delivered):
            return RunEnded(run_id, "completed", output=output, delivered=delivered)
        case Paused(requests=requests, delivered=delivered):
            return RunPaused(run_id, requests, delivered)
        case Failed(error=error, reason=reason, delivered=delivered):
            told = None if reason is None else escaped(reason)
            return RunEnded(run_id, "failed", error=escaped(error), reason=told, delivered=delivered)
        case Stopped(delivered=delivered):
            return RunEnded(run_id, "stopped", delivered=delivered)
