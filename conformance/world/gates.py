"""Gates: every storage call of a process waits until the world lets it take effect, and hear of it."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

from conformance.world.loop import SteppedLoop
from threadclaim.events import Envelope
from threadclaim.storage import Scope, Step, Storage, Stranded
from threadclaim.storage.protocol import Released

T = TypeVar("T")

_STEPS = "threadclaim.steps."


class StorageDownError(OSError):
    """A storage call that the world let fail."""


class Crashed(BaseException):  # no error: nothing that the library catches
    """The process is dead: nothing of it goes on."""


@dataclass(slots=True, eq=False)
class Call:
    """A call that waits: of which process and task, what it does, and its answer once it has one.

    `step` is the protocol's step; or, of a watcher's read, the entry that it would be given; or "stranded".
    """

    process: str
    task: asyncio.Task[Any] | None
    step: object
    effect: Callable[[], Coroutine[Any, Any, Any]]
    waiter: asyncio.Future[None]
    done: bool = False
    result: Any = None
    error: BaseException | None = None
    heard: bool = field(default=False)
    as_heard: tuple[int, Callable[[], object]] | None = None
    """What is done in the midst of what its answer brings about: after so many callbacks."""

    @property
    def name(self) -> str:
        """What is called, by the step's name: of a twin's step, that of the library's which it is one of."""
        if isinstance(self.step, str):
            return self.step
        kind = type(self.step)
        return next(
            (each.__name__ for each in kind.__mro__ if each.__module__.startswith(_STEPS)), kind.__name__
        )


class GatedStorage:
    """A process's storage: the storage of the world, behind gates. `threadclaim.storage.Storage`."""

    def __init__(self, loop: SteppedLoop, process: str, inner: Storage, scope: Scope, thread_id: str) -> None:
        """Every call waits at a gate, but for what is no step of thread `thread_id`."""
        self._loop, self._process, self._inner = loop, process, inner
        self._scope, self._thread_id = scope, thread_id
        self.calls: list[Call] = []
        self.is_dead = False
        self._failures = 0

    async def transact(self, scope: Scope, step: Step[T]) -> T:
        """Wait at the gate; a cancelled call runs to its end, and raises then."""
        return await self._pass(step, lambda: self._inner.transact(scope, step))

    async def stranded(self, scope: Scope) -> Stranded:
        """Wait at the gate."""
        return await self._pass("stranded", lambda: self._inner.stranded(scope))

    async def subscribe(self, scope: Scope, after_seq: int) -> AsyncGenerator[Envelope]:
        """Follow the log: each message of the thread waits at the gate, everything else comes by itself."""
        entries: AsyncIterator[Envelope] = self._inner.subscribe(scope, after_seq)
        async for entry in entries:
            if entry.thread_id == self._thread_id and entry.is_message:
                await self._pass(entry, _nothing)
            yield entry

    def on_release(self, told: Released) -> Callable[[], None]:
        """Tell of releases, for as long as the process lives."""

        def tell(scope: Scope, name: str) -> None:
            if not self.is_dead:
                with self._loop.acting(self._process):
                    told(scope, name)

        return self._inner.on_release(tell)

    async def aclose(self) -> None:
        """Nothing is open: the storage is the world's."""

    async def _pass(self, step: object, effect: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Wait until the call has its answer, cancelled or not; a dead process's calls never come back."""
        if self.is_dead:
            raise Crashed
        call = Call(self._process, asyncio.current_task(), step, effect, self._loop.create_future())
        self.calls.append(call)
        cancelled: asyncio.CancelledError | None = None
        while not call.heard:
            try:
                await call.waiter
            except asyncio.CancelledError as error:
                cancelled = cancelled or error
                if isinstance(step, Envelope):  # a read in a subscription has no effect to wait for
                    self.calls.remove(call)
                    raise
                call.waiter = self._loop.create_future()
        if isinstance(call.error, Crashed):
            raise call.error
        if cancelled is not None:
            raise cancelled from call.error
        if call.error is not None:
            raise call.error
        result: T = call.result
        return result

    def die(self) -> None:
        """Let no call ever take effect again, and none come back."""
        self.is_dead = True
        for call in list(self.calls):
            call.error = Crashed()
            self.hear(call)

    def take_effect(self, call: Call) -> None:
        """Let a call take effect. Its caller does not hear of it yet."""
        self._loop.tick()
        if call.done:
            raise RuntimeError(f"{call.name} has taken effect already.")
        try:
            call.result = self._loop.run(call.effect())
        except Exception as error:  # noqa: BLE001  # what the step raises is its answer
            call.error = error
        call.done = True

    def hear(self, call: Call, error: BaseException | None = None) -> None:
        """Let a call's answer arrive, or `error` instead of it; then do all that is ready.

        Every second failure is a CancelledError that nobody asked for: it is a failure like any other.
        """
        self._loop.tick()
        if isinstance(error, StorageDownError):
            self._failures += 1
            error = error if self._failures % 2 else asyncio.CancelledError()
        call.error = call.error if error is None else error
        call.heard = True
        self.calls.remove(call)
        if not call.waiter.done():
            call.waiter.set_result(None)
        if call.as_heard is not None:
            self._loop.interject(*call.as_heard)
        self._loop.settle()


async def _nothing() -> None:
    """A read that storage has made already."""
