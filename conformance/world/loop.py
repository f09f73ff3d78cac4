"""An event loop that only ever does what is ready: only moments pass, and a timer comes when told to.

It has no selector to wait in, no threads and no sockets, so it is the same on each run.
"""

import asyncio
import contextvars
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn, TypeVar, TypeVarTuple

from typing_extensions import override

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

TICK = 2.0**-30
"""A moment, in seconds: a power of 2, so that times can be added and compared to the last bit."""

MOST_STEPS = 100_000
"""After so many callbacks without a rest, the loop is taken to spin."""


class WorldError(RuntimeError):
    """The world is in a state that nothing explains: something in it is wrong, of the runner's or its own."""


class SpinError(WorldError):
    """What runs in the loop never comes to rest."""


class OwnedTask(asyncio.Task[Any]):
    """A task, and whose it is: a process's name, or None for the world's own."""

    owner: str | None = None


class Timer(asyncio.TimerHandle):
    """A timer that comes when the world says: whose it is, and the task that set it, if one did."""

    def __init__(  # noqa: PLR0913, PLR0917  # a TimerHandle's arguments, and whose it is
        self,
        when: float,
        callback: Callable[..., object],
        args: tuple[Any, ...],
        loop: "SteppedLoop",
        context: contextvars.Context | None,
        owner: str | None,
    ) -> None:
        super().__init__(when, callback, args, loop, context)
        self.owner = owner
        self.task = asyncio.current_task(loop)


class SteppedLoop(asyncio.BaseEventLoop):
    """An event loop at rest, until the world lets something happen and then `settle`s it."""

    _ready: deque[asyncio.Handle]  # asyncio's own queue of what is ready

    def __init__(self) -> None:
        """At rest, at time 0."""
        super().__init__()
        self.timers: list[Timer] = []
        self.made: list[OwnedTask] = []
        """Every task that was made."""
        self.failures: list[dict[str, Any]] = []
        self.is_stepping = False
        self._now = 0
        self._interjection: tuple[int, Callable[[], object]] | None = None
        self._owner: str | None = None
        self.set_task_factory(self._make_task)
        self.set_exception_handler(lambda _, context: self.failures.append(context))

    # ---- What asyncio asks of a loop.

    @override
    def time(self) -> float:
        """It stands still, but for the ticks between an effect and its answer: no timer is due by them."""
        return self._now * TICK

    def tick(self) -> None:
        """Let a moment pass: a call takes effect later than it is made, and is heard of later still."""
        self._now += 1

    @override
    def call_at(
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        """Set a timer, which comes when `fire` is called with it."""
        timer = Timer(when, callback, args, self, context, self.owner)
        self.timers.append(timer)
        return timer

    @override
    def run_in_executor(self, executor: object, func: object, *args: object) -> NoReturn:
        """Raises RuntimeError: a thread would have a time, and an order, of its own."""
        raise RuntimeError(f"The world has no threads, so {func!r} cannot run in one.")

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Drop a timer that was cancelled."""
        if isinstance(handle, Timer) and handle in self.timers:
            self.timers.remove(handle)

    def _make_task(
        self,
        _loop: asyncio.AbstractEventLoop,
        coro: Coroutine[Any, Any, T] | Generator[Any, None, T],
        **options: Any,  # noqa: ANN401  # a name and a context, as asyncio gives them
    ) -> asyncio.Task[T]:
        """A task of whoever makes it."""
        task = OwnedTask(coro, loop=self, **options)
        task.owner = self.owner
        self.made.append(task)
        return task

    def unheard(self) -> list[OwnedTask]:
        """The tasks that failed, and whose failure nobody has asked for: garbage would tell, at any time."""
        return [task for task in self.made if task.done() and getattr(task, "_log_traceback", False)]

    @property
    def owner(self) -> str | None:
        """Whose what happens now is: the current task's, or whoever `acting` is."""
        task = asyncio.current_task(self)
        return task.owner if isinstance(task, OwnedTask) else self._owner

    # ---- What the world asks of it.

    @contextmanager
    def acting(self, owner: str | None) -> Iterator[None]:
        """Let what is made within be `owner`'s."""
        before, self._owner = self._owner, owner
        try:
            yield
        finally:
            self._owner = before

    def begin(self) -> None:
        """Be the loop of this thread, until `close`: asyncio calls it the running one, as it is."""
        asyncio._set_running_loop(self)

    @override
    def close(self) -> None:
        """Be it no more."""
        asyncio._set_running_loop(None)
        super().close()

    def interject(self, callbacks: int, what: Callable[[], object]) -> None:
        """Do something in the middle of the next `settle`: once it has made so many callbacks, or all."""
        self._interjection = callbacks, what

    def settle(self) -> None:
        """Do all that is ready, and what becomes ready by that, in asyncio's order; raises SpinError."""
        self.is_stepping = True
        try:
            if self._interjection is not None:
                (callbacks, what), self._interjection = self._interjection, None
                self._make(callbacks)
                what()
            if self._make(MOST_STEPS):
                return
        finally:
            self.is_stepping = False
        raise SpinError(f"After {MOST_STEPS:,} callbacks something is still ready: what runs here spins.")

    def _make(self, most: int) -> bool:
        """Make so many callbacks that are ready at most; whether none is left."""
        ready = self._ready
        for _ in range(most):
            if not ready:
                return True
            handle = ready.popleft()
            if not handle._cancelled:
                handle._run()
        return not ready

    def fire(self, timer: asyncio.TimerHandle | None) -> None:
        """Let a timer come; it need not be the next by its time."""
        if not isinstance(timer, Timer) or timer not in self.timers:
            raise LookupError("There is no such timer, so it cannot come.")
        self.timers.remove(timer)
        with self.acting(timer.owner):
            timer._run()
        self.settle()

    def timer_of(
        self, task: asyncio.Task[Any] | None, *, besides: asyncio.TimerHandle | None = None
    ) -> Timer | None:
        """The timer that a task has set, `besides` another of its."""
        if task is None:
            return None
        return next((t for t in self.timers if t.task is task and t is not besides), None)

    def start(self, coro: Coroutine[Any, Any, T], owner: str | None) -> asyncio.Task[T]:
        """Start a task, and let all that is ready be done."""
        with self.acting(owner):
            task = self.create_task(coro)
        self.settle()
        return task

    def run(self, coro: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine of the world's own to its end, which nothing may keep it from."""
        self.is_stepping = True
        try:
            coro.send(None)
        except StopIteration as stop:
            result: T = stop.value
        else:
            coro.close()
            raise WorldError("What the world does itself waits for something that does not come.")
        finally:
            self.is_stepping = False
        self.settle()
        return result
