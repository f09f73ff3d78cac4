"""A process's storage, and its agent, with a named await before and after each call and each request."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import TypeVar

from conformance.awaits.numbering import STEP, point
from threadclaim.claim import is_cancelled
from threadclaim.errors import StorageUnavailable
from threadclaim.events import Envelope, MessagePosted, Request
from threadclaim.storage import Scope, Step, Storage, Stranded
from threadclaim.storage.protocol import Released
from threadclaim.turn import Completed, Facts, Outcome, Paused, Steering, Stopped, TurnInput

T = TypeVar("T")

WAITS, PAUSES = "waits", "pauses"
"""Texts of messages: whose run goes on until it is told, and whose run pauses."""


class Crashed(BaseException):  # no error: nothing that the library catches
    """The process is dead: nothing of it goes on."""


class Fate:
    """What the harness has in store for one process: whether it is dead, and whether an answer is lost."""

    def __init__(self) -> None:
        """Nothing."""
        self.is_dead = False
        self.loses_answer = False

    async def pass_point(self, label: str) -> None:
        """Wait in a named await; raises what the harness has in store."""
        await point(label)
        if self.is_dead:
            raise Crashed
        if self.loses_answer:
            self.loses_answer = False
            raise StorageUnavailable("The answer was lost.")


class FatedStorage:
    """A process's storage: the storage under test, between two points. `threadclaim.storage.Storage`."""

    def __init__(self, inner: Storage, fate: Fate) -> None:
        """Over a storage that outlives the process."""
        self.inner, self._fate = inner, fate

    async def transact(self, scope: Scope, step: Step[T]) -> T:
        """Run a step; a cancelled call runs to its end, as the storage says."""
        return await self._between(type(step).__name__, lambda: self.inner.transact(scope, step))

    async def stranded(self, scope: Scope) -> Stranded:
        """List what is stranded."""
        return await self._between("stranded", lambda: self.inner.stranded(scope))

    async def _between(self, name: str, call: Callable[[], "asyncio.Future[T] | object"]) -> T:
        """Make a call between its two points; dead, nothing takes effect, and nothing is heard."""
        token = STEP.set(name)
        try:
            await self._fate.pass_point("before the call")
            result: T = await call()  # type: ignore[misc]  # a coroutine
            await self._fate.pass_point("after the call")
        finally:
            STEP.reset(token)
        return result

    def subscribe(self, scope: Scope, after_seq: int) -> AsyncIterator[Envelope]:
        """Follow the log."""
        return self.inner.subscribe(scope, after_seq)

    def on_release(self, told: Released) -> Callable[[], None]:
        """Tell of releases."""
        return self.inner.on_release(told)

    async def aclose(self) -> None:
        """Nothing is open: the storage is the harness's."""


class FatedTurn:
    """An agent whose run makes two requests; one prompted by `WAITS` stands between them until `go_on`."""

    def __init__(self, fate: Fate) -> None:
        """Nothing runs yet."""
        self._fate = fate
        self.go_on, self.stands = asyncio.Event(), asyncio.Event()

    async def run(self, turn: TurnInput, steering: Steering, facts: Facts) -> Outcome:  # noqa: ARG002  # it calls no tool
        """Make the requests, each of which carries what has arrived."""
        delivered: list[int] = []
        texts = [m.event.text for m in turn.prompt if isinstance(m.event, MessagePosted)]
        try:
            await self._fate.pass_point("the model's first request")
            delivered += [message.seq for message in steering.take()]
            if WAITS in texts:
                self.stands.set()
                await self.go_on.wait()
            await self._fate.pass_point("the model's last request")
            delivered += [message.seq for message in steering.take()]
        except asyncio.CancelledError:
            if not is_cancelled():
                raise
            return Stopped(None, tuple(delivered))
        if PAUSES in texts:
            request = Request(f"q-{turn.run_id}", "question", "ask")
            return Paused((request,), None, tuple(delivered))
        return Completed("done", None, tuple(delivered))
