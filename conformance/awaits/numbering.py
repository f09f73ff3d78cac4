"""Finding awaits: each coroutine of a process is run through a wrapper that sees it wait, and where.

An await is known by whose task it is of, the step of the protocol that it is for, the place in the library's
source that waits, and how often that has waited before. So the same one is met again when a scenario is run
anew, over whatever storage.
"""

import asyncio
import contextvars
from collections import Counter
from collections.abc import Callable, Coroutine, Generator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

OWNER: contextvars.ContextVar[str | None] = contextvars.ContextVar("owner", default=None)
"""The process that a task is of; None for the harness's own. Whoever makes a task gives it its own."""

STEP: contextvars.ContextVar[str] = contextvars.ContextVar("step", default="")
"""The step of the protocol that is being carried out."""

_LEFT_OUT: contextvars.ContextVar[bool] = contextvars.ContextVar("left out", default=False)
"""Whether a task is of those that are left out, or was made by one, as a storage makes its own."""

_ROLES = ("caller", "claimant", "turn", "renewals", "watcher", "look")
"""What the library's tasks are called, by the first word of their names."""

LEFT_OUT = frozenset({"renewals", "watcher", "look"})
"""Tasks whose awaits are no turn's: they read, or extend a claim, and begin anew."""

_SOURCES = ("/threadclaim/", "/conformance/awaits/")


@dataclass(frozen=True, slots=True, order=True)
class Await:
    """An await: of which task, for which step, where, and the how many-eth of those."""

    role: str
    step: str
    place: str
    nth: int = 1

    def __str__(self) -> str:
        """Say it."""
        times = f" ({self.nth})" if self.nth > 1 else ""
        return " ".join(filter(None, [self.role, self.step, self.place])) + times


async def point(label: str) -> None:  # noqa: ARG001  # it is read from this frame
    """An await that has a name, and is over at once."""
    await asyncio.sleep(0)


@dataclass(slots=True)
class Numbering:
    """What a loop's tasks wait in, while `is_on`: `met` is told of each await as it begins, and may act."""

    met: Callable[[Await], None] = lambda _: None
    is_on: bool = False
    tasks: list[asyncio.Task[Any]] = field(default_factory=list)
    _counts: Counter[tuple[str, str, str]] = field(default_factory=Counter)

    def begin(self, met: Callable[[Await], None]) -> None:
        """Number from 1, and tell `met`."""
        self._counts.clear()
        self.met, self.is_on = met, True

    def install(self, loop: asyncio.AbstractEventLoop) -> None:
        """See every task that the loop makes from now on."""
        loop.set_task_factory(self._make)

    def _make(
        self,
        loop: asyncio.AbstractEventLoop,
        coro: Coroutine[Any, Any, Any] | Generator[Any, None, Any],
        **options: Any,  # noqa: ANN401  # a name and a context, as asyncio gives them
    ) -> asyncio.Task[Any]:
        """A task; one of a process is seen."""
        if OWNER.get() is None or not isinstance(coro, Coroutine):
            return asyncio.Task(coro, loop=loop, **options)
        seen = _Seen(coro, STEP.get(), self)
        if isinstance(context := options.get("context"), contextvars.Context):
            context.run(OWNER.set, OWNER.get())  # the runner's own work is this process's all the same
        task = asyncio.Task(seen, loop=loop, **options)
        self.tasks.append(task)
        return task

    def waits(self, step: str, coro: object) -> None:
        """The current task begins to wait."""
        task = asyncio.current_task()
        if self.is_on and task is not None and not _LEFT_OUT.get():
            role = _role(task)
            where = role, step, _place(coro)
            self._counts[where] += 1
            self.met(Await(*where, self._counts[where]))


def _role(task: asyncio.Task[Any]) -> str:
    """What a task is, by its name; one without a name is a storage call's own."""
    first = task.get_name().partition(" ")[0]
    return first if first in _ROLES else "storage"


class _Seen(Coroutine[Any, Any, Any]):
    """A coroutine that tells of each time it waits."""

    def __init__(self, coro: Coroutine[Any, Any, Any], step: str, numbering: Numbering) -> None:
        self._coro, self._step, self._numbering = coro, step, numbering

    def send(self, value: Any) -> Any:  # noqa: ANN401  # whatever is waited for
        """Go on until it waits again."""
        self._begin()
        waits_for = self._coro.send(value)
        self._numbering.waits(STEP.get() or self._step, self._coro)
        return waits_for

    def _begin(self) -> None:
        """See, in the task's own context, whether it is left out: by its name, else by whose it is."""
        task = asyncio.current_task()
        if task is not None and (role := _role(task)) in _ROLES:
            _LEFT_OUT.set(role in LEFT_OUT)

    def throw(
        self,
        kind: Any,  # noqa: ANN401  # as asyncio gives it
        value: object = None,
        traceback: TracebackType | None = None,
        /,
    ) -> Any:  # noqa: ANN401  # whatever is waited for
        """Raise in it, and go on until it waits again."""
        del value, traceback
        waits_for = self._coro.throw(kind)
        self._numbering.waits(STEP.get() or self._step, self._coro)
        return waits_for

    def close(self) -> None:
        """End it."""
        self._coro.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        """Wait for it, as a coroutine of another's."""
        return self._coro.__await__()


def _place(coro: object) -> str:
    """The deepest place of ours that a coroutine waits in; a point's is its label."""
    place = ""
    while coro is not None:
        frame: FrameType | None = getattr(coro, "cr_frame", None) or getattr(coro, "ag_frame", None)
        if frame is not None and any(part in frame.f_code.co_filename for part in _SOURCES):
            if frame.f_code is point.__code__:
                return str(frame.f_locals["label"])
            place = f"{Path(frame.f_code.co_filename).stem}.{frame.f_code.co_name}:{frame.f_lineno}"
        coro = getattr(coro, "cr_await", None) or getattr(coro, "ag_await", None)
    return place
