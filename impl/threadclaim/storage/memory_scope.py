"""What a storage in memory holds of a scope, with an index of it. Nothing here decides what is written."""

import asyncio
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain

from threadclaim.events import Envelope, MessagePosted
from threadclaim.plan import View, effective_taken
from threadclaim.storage.common import Standing, standing
from threadclaim.storage.protocol import (
    UPGRADED,
    asked_cursor,
    taken_cursor,
)
from threadclaim.thread import Thread


@dataclass(frozen=True, slots=True)
class Lease:
    """A lease: whose it is, and until when, by the storage's clock."""

    holder: str
    until: float


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a thread's history, and the log's head as it was committed."""

    data: bytes
    head: int


@dataclass(slots=True)
class ScopeState:
    """What a scope holds: what is committed, an index of it, and who waits for more."""

    log: list[Envelope] = field(default_factory=list)
    threads: dict[str, Thread] = field(default_factory=dict)
    cursors: dict[str, int] = field(default_factory=dict)
    leases: dict[str, Lease] = field(default_factory=dict)
    histories: defaultdict[str, list[Chunk]] = field(default_factory=lambda: defaultdict(list))
    message_ids: set[str] = field(default_factory=set)
    entries: defaultdict[str, list[Envelope]] = field(default_factory=lambda: defaultdict(list))
    messages: defaultdict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    standings: dict[str, Standing] = field(default_factory=dict)
    waiters: set[asyncio.Future[None]] = field(default_factory=set)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    loop: asyncio.AbstractEventLoop | None = None

    def turn(self) -> asyncio.Lock:
        """The lock that the transactions of this scope take; another loop has a lock of its own."""
        loop = asyncio.get_running_loop()
        if self.loop is not loop:
            self.loop, self.lock = loop, asyncio.Lock()
        return self.lock

    def window(self, after_seq: int, before_seq: int, threads: Sequence[str] | None) -> list[Envelope]:
        """The entries between two positions, of some threads or of all, oldest first."""
        if threads is None:
            return self.log[max(after_seq, 0) : max(before_seq - 1, 0)]
        found = [between(self.entries.get(thread, ()), after_seq, before_seq) for thread in set(threads)]
        return found[0] if len(found) == 1 else sorted(chain(*found), key=seq_of)

    def next_message(self, thread_id: str, after_seq: int) -> int | None:
        """The seq of a thread's first message past a position."""
        seqs = self.messages.get(thread_id, ())
        place = bisect_right(seqs, after_seq)
        return seqs[place] if place < len(seqs) else None

    def keep(self, entry: Envelope) -> None:
        """Add an entry to the log and its index."""
        self.log.append(entry)
        if isinstance(entry.event, MessagePosted):
            self.message_ids.add(entry.event.message_id)
        if entry.thread_id is not None:
            self.entries[entry.thread_id].append(entry)
            if entry.is_message:
                self.messages[entry.thread_id].append(entry.seq)

    def stand(self, thread_ids: Iterable[str]) -> None:
        """Tell anew where these threads stand."""
        for thread_id in thread_ids:
            thread = self.threads.get(thread_id)
            found = standing(self._view(thread)) if thread is not None else None
            if found is None:
                self.standings.pop(thread_id, None)
            else:
                self.standings[thread_id] = found

    def _view(self, thread: Thread) -> View:
        """What tells where a thread stands."""
        chunks = self.histories.get(thread.thread_id)
        taken = effective_taken(
            saved=self.cursors.get(taken_cursor(thread.thread_id)),
            upgraded=self.cursors.get(UPGRADED),
            told=chunks[-1].head if chunks else 0,
        )
        first = self.next_message(thread.thread_id, taken)
        entries = () if first is None else (self.log[first - 1],)
        return View(
            thread, self.cursors.get(asked_cursor(thread.thread_id), 0), taken, len(self.log), entries
        )

    def wake(self) -> None:
        """Tell those who wait that the log has grown."""
        waiters, self.waiters = self.waiters, set()
        for waiter in waiters:
            if not waiter.done() and not waiter.get_loop().is_closed():
                waiter.set_result(None)

    async def grown(self) -> None:
        """Wait until the log grows."""
        waiter = asyncio.get_running_loop().create_future()
        self.waiters.add(waiter)
        try:
            await waiter
        finally:
            self.waiters.discard(waiter)


def seq_of(entry: Envelope) -> int:
    """An entry's place in the log."""
    return entry.seq


def between(entries: Sequence[Envelope], after_seq: int, before_seq: int) -> list[Envelope]:
    """The entries between two positions, of some that are in order."""
    start = bisect_right(entries, after_seq, key=seq_of)
    return list(entries[start : bisect_right(entries, before_seq - 1, key=seq_of)])
