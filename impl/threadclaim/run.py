"""A run of this process: its means, its handle, what it starts with, how the log tells its end."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, fields, replace
from itertools import takewhile
from typing import Any

from threadclaim.errors import LimitError, RunFailure, said
from threadclaim.events import Request, RunEnded, RunPaused
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
    """A run of this process, up to its end or its next pause: `wait` for what comes of it (ADR-0010)."""

    def __init__(self, thread_id: str, run_id: str) -> None:
        """A run that has started: a runner makes it.

        Args:
            thread_id: Its thread.
            run_id: Its id, in the log.
        """
        self.thread_id, self.run_id = thread_id, run_id
        self.ended: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()

    async def wait(self) -> Outcome:
        """Wait until the run's end, or its pause, is recorded. It waits for no hand-over (ADR-0055).

        Any number of callers may wait; one that is cancelled stops nothing.

        Returns:
            What came of it.

        Raises:
            RunLeft: if its runner was closed and the run, or storage, was not done in time: its end may
                not be recorded then, as if its process had died.
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

    A cancellation that nobody asked for is a failure (ADR-0055 I4), and so is what no turn may come to.
    """
    if turn.cancelled():
        return Stopped() if stopped else Failed(_UNASKED)
    if (error := turn.exception()) is not None:
        return Failed(said(error), _reason(error), exception=error)
    outcome = turn.result()
    if wrong := _wrong(outcome):
        return Failed(f"The turn came to what no turn may: {wrong}. That is the turn's fault.")
    kept = {"history": outcome.history, "delivered": outcome.delivered}
    if isinstance(outcome, Stopped) and not stopped:
        return Failed(_UNASKED, **kept)  # type: ignore[arg-type]  # both are of their types: seen above
    if isinstance(outcome, Paused) and not outcome.requests:
        return Failed(_ASKS_NOTHING, **kept)  # type: ignore[arg-type]
    return outcome


def _wrong(outcome: Any) -> str:  # noqa: ANN401  # a turn of any framework's may return anything
    """What is wrong with what a turn returned, in a clause; empty if nothing is."""
    if not isinstance(outcome, Completed | Paused | Failed | Stopped):
        return f"a {type(outcome).__name__}, which is no outcome"
    kept: dict[str, Any] = {each.name: getattr(outcome, each.name) for each in fields(outcome)}
    for name, fits in _FITS.items():
        if name in kept and not fits(kept[name]):
            return f"its {name} is {kept[name]!r:.100}"
    return ""


_FITS: Mapping[str, Callable[[Any], bool]] = {
    "history": lambda value: value is None or isinstance(value, bytes),
    "delivered": lambda value: isinstance(value, tuple | list) and all(type(seq) is int for seq in value),
    "output": lambda value: value is None or isinstance(value, str),
    "error": lambda value: isinstance(value, str),
    "reason": lambda value: value is None or isinstance(value, str),
    "requests": lambda value: isinstance(value, tuple | list) and all(isinstance(r, Request) for r in value),
}
"""What each field of an outcome may be."""


def _reason(error: BaseException) -> str | None:
    """The stable word of a failure, if it gives one."""
    return error.reason if isinstance(error, RunFailure) and isinstance(error.reason, str) else None


def without_gaps(outcome: Outcome, given: Sequence[int]) -> Outcome:
    """An outcome whose `delivered` is what was handed out, up to the first of it that was not delivered.

    `taken` is one position: what comes after a gap would be passed over with it, so it is given again (I1).
    """
    named = set(outcome.delivered)
    return replace(outcome, delivered=tuple(takewhile(named.__contains__, given)))


def failed_after(outcome: Outcome, error: BaseException) -> Failed:
    """What came of a turn whose agent came to `outcome`, and whose `turn_context` then raised as it was left.

    What the agent was given, and said, is kept.
    """
    told = f"What was set up around the turn failed as it was left: {said(error)}"
    return Failed(told, _reason(error), outcome.history, outcome.delivered, error)


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
