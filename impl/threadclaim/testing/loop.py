"""Time for tests: a clock moved by hand, and a loop that never waits for real."""

import asyncio
import heapq
import inspect
import selectors
from collections.abc import Callable, Coroutine, Sequence
from contextvars import Context
from functools import partial
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
        """Move on.

        Args:
            seconds: By how much.

        Raises:
            ValueError: for fewer than 0, and for a number that is not finite.
        """
        if not 0 <= seconds < float("inf"):
            raise ValueError(f"A clock moves on by 0 seconds or more, and not by {seconds!r}.")
        self._now += seconds


WITHIN = 24 * 60 * 60.0
"""How much virtual time a loop lets pass unless it is told otherwise, in seconds: a day."""


NAMED = 8
"""How many of the tasks that wait an error names."""


class DeadlockError(RuntimeError):
    """What a virtual-time loop runs waits for something that nothing will bring about.

    Either everything waits and no timer is set; or timers have come for as long as the loop lets time pass
    (`within`), as while a runner renews its claim for a turn that never ends. The message names the tasks
    that wait.
    """


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
    It waits for nothing outside: there are no sockets to wait for, and no threads, so write tools and
    scripted models as `async def` (`run_in_executor` raises, and says so).

    It raises `DeadlockError` if everything waits and no timer is set, and once more than `within` seconds
    have passed: a runner whose turn never ends renews its claim for ever, so that a timer is always set.

    With anyio's pytest plugin, give it as the backend's `loop_factory`; else use `VirtualTimeLoop.run`.
    """

    _scheduled: list[asyncio.TimerHandle]  # asyncio's own heap of timers

    def __init__(self, *, within: float = WITHIN) -> None:
        """Start at time 0.

        Args:
            within: How much virtual time may pass, in seconds; `float("inf")` for as much as there is. It
                costs what is done in it: a claim of 30 s that is renewed for a day, about a real second.

        Raises:
            ValueError: if it is not above 0.
        """
        self._now, self._orders = 0.0, 0
        self._within = self._until = within
        super().__init__(_Selector(self.jump))
        if not within > 0:
            self.close()
            raise ValueError(f"Time is to pass within more than 0 seconds, and not within {within!r}.")

    @staticmethod
    def run(main: Coroutine[Any, Any, T], *, within: float = WITHIN) -> T:
        """Run a coroutine to its end on a loop of its own, as `asyncio.run` does.

        Args:
            main: The coroutine.
            within: How much virtual time may pass, in seconds.

        Returns:
            Its result.

        Raises:
            DeadlockError: if it waits for what nothing will bring about, or takes longer than `within`; else
                what the coroutine raises.
        """
        with asyncio.Runner(loop_factory=partial(VirtualTimeLoop, within=within)) as runner:
            return runner.run(main)

    def time(self) -> float:
        """The virtual time, in seconds."""
        return self._now

    def next_order(self) -> int:
        """A number that tells timers of the same time apart."""
        self._orders += 1
        return self._orders

    def jump(self) -> None:
        """Go on to the next timer; raises DeadlockError if there is none, or it comes too late."""
        if not self._scheduled:
            raise DeadlockError(
                "Everything waits, and no timer is set, so nothing would ever happen. Look for an event that "
                "nobody sets, or for something outside this loop that is waited for." + self._waiting()
            )
        when = self._scheduled[0].when()
        if when > self._until:
            self._until = when + self._within  # for what ends in order once this is raised
            raise DeadlockError(
                f"More than {self._within:,g} s of virtual time would pass, and it has not ended. Look for a "
                "turn that waits for what never comes: its claim is renewed for ever. If so much time is to "
                "pass, give the loop more of it, as `within`." + self._waiting()
            )
        self._now = max(self._now, when)

    def _waiting(self) -> str:
        """The tasks that wait, in a sentence."""
        names = sorted(task.get_name() for task in asyncio.all_tasks(self))
        more = f", and {len(names) - NAMED} more" if len(names) > NAMED else ""
        return f" These tasks wait: {', '.join(names[:NAMED])}{more}." if names else ""

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
    def run_in_executor(self, executor: object, func: Callable[..., object], *args: object) -> NoReturn:
        """Raises RuntimeError: a thread would take real time, in an order of its own."""
        raise RuntimeError(
            f"A virtual-time loop runs nothing in threads, so not {_named(partial(func, *args))} either. "
            "Is it a tool, or what a FunctionModel calls? Those that are no `async def` are called in "
            "threads: make it `async def`. Anything else, call directly."
        )


def _named(call: Any) -> str:  # noqa: ANN401  # whatever is called
    """What is called in the end, by its own name if it has one.

    A call comes to a thread in wrappers: pydantic-ai's have what they call as `func`, in their closure.
    """
    while (below := _below(call)) is not None:
        call = below
    return str(getattr(call, "__qualname__", repr(call)))


def _below(call: Any) -> Any:  # noqa: ANN401  # whatever is called
    """What a wrapper calls; None if this is none."""
    if isinstance(call, partial):
        runs_in_context = isinstance(getattr(call.func, "__self__", None), Context) and call.args
        return call.args[0] if runs_in_context else call.func
    return inspect.getclosurevars(call).nonlocals.get("func") if inspect.isfunction(call) else None
