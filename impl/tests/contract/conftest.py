"""A thread, and what the tests of the steps do to it."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import pytest

from tests.contract.cast import ANN, TTL
from threadclaim.events import (
    Actor,
    Custom,
    Envelope,
    Event,
    MessagePosted,
    Request,
    RunEnded,
    RunPaused,
    RunStarted,
)
from threadclaim.plan import View
from threadclaim.steps import (
    Claim,
    Claimed,
    EndRun,
    LookAgain,
    Looked,
    Post,
    Release,
    Replan,
    Send,
    StartRun,
)
from threadclaim.storage import Scope, Step, Storage, Transaction
from threadclaim.storage.protocol import asked_cursor, lease_name, taken_cursor
from threadclaim.thread import RunStatus, Thread
from threadclaim.workspace import Workspace


@dataclass(frozen=True)
class World:
    """Thread `t` of a workspace, which is created at seq 1, and what its tests do to it."""

    storage: Storage
    scope: Scope

    async def do(self, step: Step[object]) -> object:
        """Carry out a step."""
        return await self.storage.transact(self.scope, step)

    async def send(self, message_id: str, thread_id: str = "t") -> Envelope:
        """Send a message."""
        step = Send(thread_id, MessagePosted(message_id, f"Text of {message_id}"), ANN)
        return await self.storage.transact(self.scope, step)

    async def note(self, thread_id: str = "t") -> None:
        """Commit an event that is no message."""
        await Workspace(self.storage, self.scope, ANN).commit(Custom("note"), thread_id=thread_id)

    async def post(self, message_id: str, actor: Actor = ANN) -> Envelope:
        """Commit a message directly, which asks for nothing."""
        step = Post("t", MessagePosted(message_id, f"Text of {message_id}"), actor)
        return await self.storage.transact(self.scope, step)

    async def claim(self, holder: str) -> View:
        """Take the claim, which must be free, and what there is to do."""
        claimed = await self.storage.transact(self.scope, Claim("t", holder, TTL))
        assert isinstance(claimed, Claimed)
        return claimed.view

    async def start(self, holder: str, run_id: str, prompt: Envelope) -> None:
        """Start a run with a message, under the holder's claim."""
        step = StartRun("t", holder, run_id, prompt.actor, prompt.seq, (prompt.seq,), resumed=False)
        await self.storage.transact(self.scope, step)

    async def start_direct(self, run_id: str) -> None:
        """Record the start of a run without the runner, whose segment is `direct`."""
        event = RunStarted(run_id, "direct")
        await self.do(lambda tx: tx.append(event, actor=ANN, thread_id="t", run_id=run_id))

    async def end_direct(self, event: RunEnded | RunPaused) -> bool:
        """Record the end, or the pause, of such a run, with a history."""
        return await self.storage.transact(self.scope, EndRun("t", "direct", event, ANN, None, b"direct"))

    async def pause(self, holder: str, run_id: str, position: int, *requests: Request) -> bool:
        """Record a pause."""
        step = EndRun("t", holder, RunPaused(run_id, requests), ANN, position, b"paused")
        return await self.storage.transact(self.scope, step)

    async def paused(self, *requests: Request) -> None:
        """A run `r-1` that `h-1` started with message `m-1` and that is paused, its claim released."""
        prompt = await self.send("m-1")
        await self.claim("h-1")
        await self.start("h-1", "r-1", prompt)
        assert await self.pause("h-1", "r-1", prompt.seq, *requests)
        await self.do(Release("t", "h-1"))

    async def asked(self, thread_id: str = "t") -> int | None:
        """How far the thread is asked for."""
        return await self.storage.transact(self.scope, lambda tx: tx.cursor(asked_cursor(thread_id)))

    async def taken(self, thread_id: str = "t") -> int | None:
        """How far the thread is taken, as saved."""
        return await self.storage.transact(self.scope, lambda tx: tx.cursor(taken_cursor(thread_id)))

    async def read(self) -> View:
        """What a holder would plan from."""
        return await self.storage.transact(self.scope, Replan("t"))

    async def look(self) -> Looked:
        """What a look would read."""
        return await self.storage.transact(self.scope, LookAgain("t"))

    async def holder(self) -> str | None:
        """Who holds the thread."""
        return await self.storage.transact(self.scope, lambda tx: tx.holder(lease_name("t")))

    async def thread(self) -> Thread:
        """The thread."""
        return await Workspace(self.storage, self.scope, ANN).thread("t")

    async def status(self) -> RunStatus | None:
        """How the thread's run is."""
        run = (await self.thread()).run
        return None if run is None else run.status

    async def events(self, after_seq: int = 0) -> Sequence[Event]:
        """What the log holds past a position."""
        return [
            entry.event for entry in await Workspace(self.storage, self.scope, ANN).read(after_seq=after_seq)
        ]

    async def everything(self) -> list[object]:
        """All that a step could change."""
        history = await self.storage.transact(self.scope, lambda tx: tx.history("t"))
        state = [await self.events(), await self.asked(), await self.taken(), await self.holder()]
        return [*state, list(history), await self.storage.stranded(self.scope)]

    async def refuses(self, error: type[Exception], step: Step[object]) -> None:
        """Expect a step to raise and to change nothing."""
        before = await self.everything()
        with pytest.raises(error):
            await self.do(step)
        assert await self.everything() == before

    async def broken_off(self, step: Step[object]) -> int:
        """Break a step off at each write, which must keep nothing, then carry it out; gives how many."""
        before = await self.everything()
        writes = 0
        while True:
            writes += 1

            async def stopping(tx: Transaction, at: int = writes) -> object:
                return await step(Stopping(tx, at))  # type: ignore[arg-type]  # it has the same methods

            try:
                await self.do(stopping)
            except StopsHalfWayError:
                assert await self.everything() == before
                continue
            assert await self.everything() != before
            return writes - 1


class StopsHalfWayError(Exception):
    """Raised as a step makes its last write."""


class Stopping:
    """A transaction that raises at its n-th write, so that a step is broken off half way."""

    WRITES = frozenset(
        {"append", "save_cursor", "save_history", "acquire_lease", "renew_lease", "release_lease"}
    )

    def __init__(self, tx: Transaction, at: int) -> None:
        """Raise at the `at`-th write, which is made before."""
        self._tx, self._left = tx, at

    def __getattr__(self, name: str) -> object:
        """The transaction's own method, counted if it writes."""
        method = getattr(self._tx, name)
        return self._counted(method) if name in self.WRITES else method

    def _counted(self, method: Callable[..., Awaitable[object]]) -> Callable[..., Awaitable[object]]:
        """The same method; it raises after the last write that is let through."""

        async def write(*args: object, **kwargs: object) -> object:
            result = await method(*args, **kwargs)
            self._left -= 1
            if self._left == 0:
                raise StopsHalfWayError
            return result

        return write


@pytest.fixture
async def world(storage: Storage, scope: Scope, ann: Workspace) -> World:
    """A workspace with threads `t` and `u`."""
    await ann.create_thread("t")
    await ann.create_thread("u")
    return World(storage, scope)
