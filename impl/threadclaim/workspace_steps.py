"""A workspace's own transactions, beside the protocol's in `threadclaim.steps`: one to a class."""

from collections.abc import Sequence
from dataclasses import dataclass

from threadclaim.errors import ThreadBusy, UsedThreadId
from threadclaim.events import Actor, Envelope, Event, ThreadCreated, ToolCalled, ToolReturned
from threadclaim.steps.loads import hold_fast, load_thread
from threadclaim.storage.protocol import Reading, Transaction, lease_name
from threadclaim.thread import Thread


@dataclass(frozen=True, slots=True)
class CreateThread:
    """Begin a thread, and give it."""

    thread_id: str
    title: str
    actor: Actor

    async def __call__(self, tx: Transaction) -> Thread:
        """Raises UsedThreadId."""
        if await tx.thread(self.thread_id) is not None:
            raise UsedThreadId(self.thread_id)
        await tx.append(ThreadCreated(self.title), actor=self.actor, thread_id=self.thread_id)
        return await load_thread(tx, self.thread_id)


@dataclass(frozen=True, slots=True)
class Record:
    """Commit events, and save a cursor with them; with `claim`, only while that holder holds the thread.

    Gives their envelopes, in order.
    """

    events: Sequence[Event]
    actor: Actor
    thread_id: str | None
    cursor: tuple[str, int] | None
    claim: str | None

    async def __call__(self, tx: Transaction) -> Sequence[Envelope]:
        """Raises UnknownThread, or ClaimLost."""
        if self.thread_id is not None:
            await load_thread(tx, self.thread_id)
            if self.claim is not None:
                await hold_fast(tx, self.thread_id, self.claim)
        committed = [
            await tx.append(event, actor=self.actor, thread_id=self.thread_id, run_id=run_of(event))
            for event in self.events
        ]
        if self.cursor is not None:
            await tx.save_cursor(*self.cursor)
        return committed


def run_of(event: Event) -> str | None:
    """The run that an application's event is of, if it is of one."""
    return event.run_id if isinstance(event, ToolCalled | ToolReturned) else None


@dataclass(frozen=True, slots=True)
class Read(Reading):
    """Read a window of the log."""

    after_seq: int
    before_seq: int | None
    threads: Sequence[str] | None
    limit: int | None
    last: bool

    async def __call__(self, tx: Transaction) -> Sequence[Envelope]:
        """It raises nothing of its own."""
        return await tx.read(
            after_seq=self.after_seq,
            before_seq=self.before_seq,
            threads=self.threads,
            limit=self.limit,
            last=self.last,
        )


@dataclass(frozen=True, slots=True)
class ReadThread(Reading):
    """Read a thread."""

    thread_id: str

    async def __call__(self, tx: Transaction) -> Thread:
        """Raises UnknownThread."""
        return await load_thread(tx, self.thread_id)


@dataclass(frozen=True, slots=True)
class ReadHead(Reading):
    """Read the log's head."""

    async def __call__(self, tx: Transaction) -> int:
        """It raises nothing of its own."""
        return await tx.head()


@dataclass(frozen=True, slots=True)
class ReadCursor(Reading):
    """Read a cursor."""

    name: str

    async def __call__(self, tx: Transaction) -> int | None:
        """It raises nothing of its own."""
        return await tx.cursor(self.name)


@dataclass(frozen=True, slots=True)
class HoldThread:
    """DirectRuns!HoldThread: take a thread's claim for a caller, for `ttl` seconds, whatever is to do."""

    thread_id: str
    holder: str
    ttl: float

    async def __call__(self, tx: Transaction) -> None:
        """Raises UnknownThread, or ThreadBusy."""
        await load_thread(tx, self.thread_id)
        if not await tx.acquire_lease(lease_name(self.thread_id), self.holder, self.ttl):
            raise ThreadBusy(self.thread_id)


@dataclass(frozen=True, slots=True)
class LetThread:
    """DirectRuns!LetThread: give a thread's claim up, if it is this holder's; whether it was."""

    thread_id: str
    holder: str

    async def __call__(self, tx: Transaction) -> bool:
        """It raises nothing of its own."""
        return await tx.release_lease(lease_name(self.thread_id), self.holder)
