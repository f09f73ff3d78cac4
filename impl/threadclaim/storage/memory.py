"""A storage in memory, for tests and for applications of one process; what it holds ends with the process."""

import logging
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Self, TypeVar

from threadclaim.events import Actor, Envelope, Event, MessagePosted, ThreadCreated
from threadclaim.limits import check_actor, event_json, event_of
from threadclaim.storage.common import new_id, thread_of_cursor, to_its_end, utc_now
from threadclaim.storage.memory_scope import Chunk, Lease, ScopeState, between
from threadclaim.storage.protocol import (
    UPGRADED,
    Released,
    Scope,
    Step,
    Stranded,
)
from threadclaim.telemetry import current_traceparent
from threadclaim.thread import Thread

_log = logging.getLogger(__name__)
T = TypeVar("T")

_OTHER_LOOP = (
    "Another event loop has used this storage while the transaction was under way; nothing was committed. "
    "Use an InMemoryStorage with one loop at a time."
)


@dataclass(frozen=True, slots=True)
class _Source:
    """Where a storage takes its times and ids from."""

    clock: Callable[[], float]
    now: Callable[[], datetime]
    new_id: Callable[[], str]


class _Transaction:
    """One transaction: what is committed, and beside it what this one writes. `Transaction` says the rest."""

    def __init__(self, scope: ScopeState, source: _Source) -> None:
        """Nothing is written yet."""
        self._scope, self._source = scope, source
        self._entries: list[Envelope] = []
        self._threads: dict[str, Thread] = {}
        self._cursors: dict[str, int] = {}
        self._leases: dict[str, Lease | None] = {}
        self._chunks: list[tuple[str, bytes]] = []
        self.released: list[str] = []

    async def head(self) -> int:
        """Count what is committed and what is written here."""
        return self._head

    @property
    def _head(self) -> int:
        """The seq of the last entry, of this transaction or before it."""
        return len(self._scope.log) + len(self._entries)

    async def thread(self, thread_id: str) -> Thread | None:
        """Look the thread up."""
        return self._threads.get(thread_id) or self._scope.threads.get(thread_id)

    async def cursor(self, name: str) -> int | None:
        """Look the cursor up."""
        return self._cursors.get(name, self._scope.cursors.get(name))

    async def told(self, thread_id: str) -> int:
        """Look at the last chunk; one that is written here will have at least the head as it is now."""
        if any(thread_id == of for of, _ in self._chunks):
            return self._head
        chunks = self._scope.histories.get(thread_id)
        return chunks[-1].head if chunks else 0

    async def history(self, thread_id: str) -> Sequence[bytes]:
        """Give the chunks."""
        kept = [chunk.data for chunk in self._scope.histories.get(thread_id, ())]
        return kept + [data for of, data in self._chunks if of == thread_id]

    async def read(
        self,
        *,
        after_seq: int = 0,
        before_seq: int | None = None,
        threads: Sequence[str] | None = None,
        limit: int | None = None,
        last: bool = False,
    ) -> Sequence[Envelope]:
        """Cut the window out of the log, and the limit out of the window."""
        before = self._head + 1 if before_seq is None else before_seq
        own = [entry for entry in self._entries if threads is None or entry.thread_id in threads]
        found = self._scope.window(after_seq, before, threads) + between(own, after_seq, before)
        if limit is None:
            return found
        return found[max(len(found) - limit, 0) :] if last else found[:limit]

    async def is_used(self, message_id: str) -> bool:
        """Look the id up."""
        own = (entry.event for entry in self._entries)
        return message_id in self._scope.message_ids or any(
            isinstance(event, MessagePosted) and event.message_id == message_id for event in own
        )

    async def append(
        self, event: Event, *, actor: Actor, thread_id: str | None = None, run_id: str | None = None
    ) -> Envelope:
        """Write an entry, as a durable storage would give it back; LimitError for what none could hold."""
        check_actor(actor)
        entry = Envelope(
            seq=self._head + 1,
            id=self._source.new_id(),
            at=self._source.now(),
            actor=actor,
            event=event_of(event_json(event)),
            thread_id=thread_id,
            run_id=run_id,
            traceparent=current_traceparent(),
        )
        self._entries.append(entry)
        if thread_id is not None:
            await self._fold(thread_id, entry)
        return entry

    async def _fold(self, thread_id: str, entry: Envelope) -> None:
        """Fold an entry into its thread."""
        thread = await self.thread(thread_id)
        if thread is not None:
            self._threads[thread_id] = thread.after(entry)
        elif isinstance(entry.event, ThreadCreated):
            self._threads[thread_id] = Thread(thread_id, entry.seq)

    async def save_cursor(self, name: str, seq: int) -> None:
        """Write the cursor, unless it is further already."""
        saved = await self.cursor(name)
        self._cursors[name] = seq if saved is None else max(saved, seq)

    async def save_history(self, thread_id: str, chunk: bytes) -> None:
        """Write the chunk; its head comes with the commit."""
        self._chunks.append((thread_id, bytes(chunk)))

    def _lease(self, name: str) -> Lease | None:
        """The lease as it is kept, lapsed or not."""
        return self._leases[name] if name in self._leases else self._scope.leases.get(name)

    async def holder(self, name: str) -> str | None:
        """Look at the lease and the clock."""
        lease = self._lease(name)
        return lease.holder if lease is not None and lease.until > self._source.clock() else None

    async def acquire_lease(self, name: str, holder: str, ttl: float) -> bool:
        """Write the lease, if nobody holds it."""
        if await self.holder(name) is not None:
            return False
        self._leases[name] = Lease(holder, self._source.clock() + ttl)
        return True

    async def renew_lease(self, name: str, holder: str, ttl: float) -> bool:
        """Write the lease, if `holder` holds it."""
        if await self.holder(name) != holder:
            return False
        self._leases[name] = Lease(holder, self._source.clock() + ttl)
        return True

    async def release_lease(self, name: str, holder: str) -> bool:
        """Take the lease away, if it is `holder`'s."""
        lease = self._lease(name)
        if lease is None or lease.holder != holder:
            return False
        self._leases[name] = None
        self.released.append(name)
        return True

    def commit(self) -> None:
        """Keep what was written. Nothing here waits, so nobody sees a part of it."""
        scope = self._scope
        for entry in self._entries:
            scope.keep(entry)
        scope.threads.update(self._threads)
        for thread_id, data in self._chunks:
            scope.histories[thread_id].append(Chunk(data, len(scope.log)))
        for name, lease in self._leases.items():
            if lease is None:
                scope.leases.pop(name, None)
            else:
                scope.leases[name] = lease
        self._keep_cursors()
        if self._entries:
            scope.wake()

    def _keep_cursors(self) -> None:
        """Keep the cursors, and tell anew where the threads stand that this transaction has touched.

        The upgrade point only moves what is taken forward, so it concerns only threads that are stranded.
        """
        touched = {entry.thread_id for entry in self._entries} | {of for of, _ in self._chunks}
        touched |= {thread_of_cursor(name) for name in self._cursors}
        if UPGRADED in self._cursors:
            touched |= set(self._scope.standings)
        self._scope.cursors.update(self._cursors)
        self._scope.stand(thread_id for thread_id in touched if thread_id is not None)


class _Following:
    """Follows a scope's log. While nobody waits for its next entry, it holds nothing."""

    def __init__(self, scope: ScopeState, position: int) -> None:
        """Begin after `position`."""
        self._scope, self._position = scope, max(position, 0)

    def __aiter__(self) -> Self:
        """Follow from where it is."""
        return self

    async def __anext__(self) -> Envelope:
        """The next entry, once there is one."""
        while self._position >= len(self._scope.log):
            await self._scope.grown()
        self._position += 1
        return self._scope.log[self._position - 1]


class InMemoryStorage:
    """A storage in memory (`threadclaim.storage.Storage`), for one event loop at a time."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = utc_now,
        new_id: Callable[[], str] = new_id,
    ) -> None:
        """Hold nothing yet.

        Args:
            clock: Gives the time by which leases lapse, in seconds from whenever.
            now: Gives the times of entries, with their time zone.
            new_id: Gives the ids of entries.
        """
        self._source = _Source(clock, now, new_id)
        self._scopes: defaultdict[Scope, ScopeState] = defaultdict(ScopeState)
        self._told: dict[object, Released] = {}

    async def transact(self, scope: Scope, step: Step[T]) -> T:
        """Run a step in one transaction, in a task of its own. `Storage.transact` says the rest."""
        return await to_its_end(self._transact(scope, step))

    async def _transact(self, scope: Scope, step: Step[T]) -> T:
        """Run a step, and keep what it wrote if it returns; tell of releases after that."""
        kept = self._scopes[scope]
        lock = kept.turn()
        async with lock:
            tx = _Transaction(kept, self._source)
            result = await step(tx)
            if kept.lock is not lock:
                raise RuntimeError(_OTHER_LOOP)
            tx.commit()
        for name in tx.released:
            self._tell(scope, name)
        return result

    def _tell(self, scope: Scope, name: str) -> None:
        """Tell whoever asked of a lease that was given up; one that raises hinders nobody."""
        for told in list(self._told.values()):
            try:
                told(scope, name)
            except Exception:  # noqa: BLE001  # whatever it raised, the transaction is committed
                _log.exception("A callback of on_release raised; the release stands.")

    def subscribe(self, scope: Scope, after_seq: int) -> AsyncIterator[Envelope]:
        """Follow the log. `Storage.subscribe` says the rest."""
        return _Following(self._scopes[scope], after_seq)

    async def stranded(self, scope: Scope) -> Stranded:
        """List what each commit has told of the threads that it touched; no other thread is read."""
        kept = self._scopes[scope]
        oldest_first = sorted(kept.standings, key=lambda thread_id: kept.threads[thread_id].created)
        return Stranded(
            left=tuple(thread_id for thread_id in oldest_first if kept.standings[thread_id] == "left"),
            waiting=tuple(thread_id for thread_id in oldest_first if kept.standings[thread_id] == "waiting"),
        )

    def on_release(self, told: Released) -> Callable[[], None]:
        """Tell `told` of every lease that is given up, right after the commit."""
        key = object()
        self._told[key] = told
        return lambda: self._told.pop(key, None) and None

    async def aclose(self) -> None:
        """Nothing is held open: what is in memory stays."""
