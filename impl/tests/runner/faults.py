"""A storage that goes wrong as a test tells it."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import ClassVar, TypeVar

from threadclaim.events import Envelope
from threadclaim.storage import Scope, Step, Storage, Stranded
from threadclaim.storage.common import to_its_end
from threadclaim.storage.protocol import Released
from threadclaim.testing import Wait

T = TypeVar("T")

CALLER: ContextVar[str] = ContextVar("caller", default="nobody")
"""Whose context it is: a test sets it, and a turn set up in a copy of the context has it."""


class StorageDownError(OSError):
    """The storage is down."""


@dataclass(frozen=True, slots=True)
class Gate:
    """Where something stands (`reached`) until the test lets it go on (`open`)."""

    reached: asyncio.Event = field(default_factory=asyncio.Event)
    open: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def wait(self) -> Wait:
        """A turn's action that stands here."""
        return Wait(self.open, self.reached)

    @property
    def stubborn(self) -> Wait:
        """A turn's action that stands here, cancelled or not."""
        return Wait(self.open, self.reached, stubborn=True)


@dataclass(slots=True)
class Fault:
    """What goes wrong in the calls of `step` (None for any) from the `nth` on, as often as `times`.

    With `effect` it comes after the transaction, whose answer is lost or late; else before it.
    """

    step: type[object] | None
    effect: bool
    nth: int = 1
    times: int = 1
    error: type[BaseException] | None = None
    gate: Gate | None = None

    def takes(self, step: object) -> bool:
        """Whether it comes to this call."""
        if self.step is not None and not isinstance(step, self.step):
            return False
        self.nth -= 1
        return -self.times < self.nth <= 0

    async def come(self) -> None:
        """Stand at the gate, and raise."""
        if self.gate is not None:
            self.gate.reached.set()
            await self.gate.open.wait()
        if self.error is not None:
            raise self.error


class FaultyStorage:
    """A storage over another that notes its calls, and blocks, fails or is cancelled where a test says."""

    down: ClassVar[type[Exception]] = StorageDownError

    def __init__(self, inner: Storage) -> None:
        """Nothing goes wrong yet."""
        self.inner = inner
        self.steps: list[object] = []
        self.gates: list[Gate] = []
        self.deaf = False
        self.unlisted: set[Scope] = set()
        self.unlisted_by: type[BaseException] = StorageDownError
        self._faults: list[Fault] = []

    def count(self, step: type[object]) -> int:
        """How often a step was called."""
        return sum(isinstance(called, step) for called in self.steps)

    def fail(
        self,
        step: type[object] | None,
        *,
        effect: bool = False,
        nth: int = 1,
        times: int = 1,
        error: type[BaseException] = StorageDownError,
    ) -> None:
        """Have calls of a step raise."""
        self._faults.append(Fault(step, effect, nth, times, error))

    def block(
        self,
        step: type[object] | None,
        *,
        effect: bool = False,
        nth: int = 1,
        error: type[BaseException] | None = None,
    ) -> Gate:
        """Have one call of a step stand at the gate that is returned; then raise, if `error` is given."""
        gate = Gate()
        self.gates.append(gate)
        self._faults.append(Fault(step, effect, nth, 1, error, gate))
        return gate

    def heal(self) -> None:
        """Let nothing more go wrong."""
        self._faults.clear()

    async def transact(self, scope: Scope, step: Step[T]) -> T:
        """Run a step; a cancelled call runs to its end first, as `Storage.transact` says."""
        self.steps.append(step)
        faults = [fault for fault in list(self._faults) if fault.takes(step)]
        return await to_its_end(self._transact(scope, step, faults))

    async def _transact(self, scope: Scope, step: Step[T], faults: list[Fault]) -> T:
        """Run a step between what goes wrong before it and after it."""
        for fault in faults:
            if not fault.effect:
                await fault.come()
        result = await self.inner.transact(scope, step)
        for fault in faults:
            if fault.effect:
                await fault.come()
        return result

    def subscribe(self, scope: Scope, after_seq: int) -> AsyncIterator[Envelope]:
        """Follow the log, or fail at once while it is `deaf`."""
        return self._deaf() if self.deaf else self.inner.subscribe(scope, after_seq)

    async def _deaf(self) -> AsyncGenerator[Envelope]:
        """A log that cannot be followed."""
        await asyncio.sleep(0)
        none: Sequence[Envelope] = ()
        for entry in none:
            yield entry
        raise StorageDownError

    async def stranded(self, scope: Scope) -> Stranded:
        """List what is stranded, unless the scope is not to be listed."""
        if scope in self.unlisted:
            raise self.unlisted_by
        return await self.inner.stranded(scope)

    def on_release(self, told: Released) -> Callable[[], None]:
        """Tell of releases."""
        return self.inner.on_release(told)

    async def aclose(self) -> None:
        """Close the storage below."""
        await self.inner.aclose()
