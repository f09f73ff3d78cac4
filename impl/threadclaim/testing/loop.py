"""Time for tests: a clock moved by hand, and a loop that never waits for real."""

import asyncio
import heapq
import selectors
from collections.abc import Callable, Coroutine, Sequence
from contextvars import Context
from typing import Any, NoReturn, TypeVar, TypeVarTuple

from typing_extensions import override

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class ManualClock:
    """A monotonic clock, in seconds from 0, that only tests move: calling it tells the time."""

    def __init__(self) -> None:
        """Start at 0."""
        self._now = 0.0

    def __call__(self) -> float:
        """The time, in seconds."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Move on by `seconds`; raises ValueError for fewer than 0, and for a number that is not finite."""
        if not 0 <= seconds < float("inf"):
            raise ValueError(f"A clock moves on by 0 seconds or more, and not by {seconds!r}.")
        self._now += seconds


class DeadlockError(RuntimeError):
    """Everything in a virtual-time loop waits for something that nothing will bring about."""


class _Selector(selectors.SelectSelector):
    """A selector that calls `idle` where asyncio would wait for real."""

    def __init__(self, idle: Callable[[], None]) -> None:
        super().__init__()
        self._idle = idle

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """What is ready now. asyncio gives a `timeout` other than 0 exactly when nothing is ready."""
        ready = super().select(0)
        if not ready and timeout != 0:
            self._idle()
        return ready


class _Timer(asyncio.TimerHandle):
    """A timer that comes, among those of the same time, in the order of creation."""

    __slots__ = ("_order",)

    def __init__(
        self,
        when: float,
        callback: Callable[..., object],
        args: Sequence[Any],
        loop: "VirtualTimeLoop",
        context: Context | None,
    ) -> None:
        super().__init__(when, callback, args, loop, context)
        self._order = loop.next_order()
        self._scheduled = True  # as the loop's own call_at says of a timer that is in its heap

    def __lt__(self, other: object) -> bool:
        return isinstance(other, _Timer) and (self.when(), self._order) < (other.when(), other._order)


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """An event loop whose time is virtual: when nothing is ready, it jumps to the next timer.

    So `asyncio.sleep(30)` takes no time, and `loop.time()`, from 0, says exactly how much would have passed.
    It is deterministic as far as its callbacks are: timers of the same time come in the order of creation.
    It waits for nothing outside: there are no threads (`run_in_executor` raises), and no sockets to wait
    for. If everything waits and there is no timer, it raises `DeadlockError`.

    With anyio's pytest plugin, give it as the backend's `loop_factory`; else use `VirtualTimeLoop.run`.
    """

    _scheduled: list[asyncio.TimerHandle]  # asyncio's own heap of timers

    def __init__(self) -> None:
        """Start at time 0."""
        self._now, self._orders = 0.0, 0
        super().__init__(_Selector(self.jump))

    @staticmethod
    def run(main: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to its end on a loop of its own, as `asyncio.run` does; returns its result.

        Raises what it raises, and `DeadlockError` if it waits for what nothing will bring about.
        """
        with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
            return runner.run(main)

    def time(self) -> float:
        """The virtual time, in seconds."""
        return self._now

    def next_order(self) -> int:
        """A number that tells timers of the same time apart."""
        self._orders += 1
        return self._orders

    def jump(self) -> None:
        """Go on to the next timer; raises DeadlockError if there is none."""
        if not self._scheduled:
            raise DeadlockError(
                "Everything waits, and no timer is set, so nothing would ever happen. Look for an event that "
                "nobody sets, or for something outside this loop that is waited for."
            )
        self._now = max(self._now, self._scheduled[0].when())

    def call_at(
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Call `callback` at a time, in seconds, of this loop."""
        if self.is_closed():
            raise RuntimeError("This loop is closed, and calls nothing more.")
        timer = _Timer(when, callback, args, self, context)
        heapq.heappush(self._scheduled, timer)
        return timer

    @override
    def run_in_executor(self, executor: object, func: object, *args: object) -> NoReturn:
        """Raises RuntimeError: a thread would take real time, in an order of its own."""
        raise RuntimeError(
            f"A virtual-time loop runs nothing in threads, so not {func!r} either. Call it directly."
        )
