"""One transaction on a database: what is read is kept, and what is written waits for the commit.

So a step makes few round trips, and the database is written to in one go once the step has returned: no lock
of the file, in SQLite, is ever held while a step waits.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from threadclaim.events import Actor, Envelope, Event, MessagePosted, ThreadCreated
from threadclaim.limits import check_actor, event_json, event_of
from threadclaim.plan import View
from threadclaim.storage.common import standing, thread_of_cursor
from threadclaim.storage.protocol import UPGRADED, thread_of_lease
from threadclaim.storage.sql import texts
from threadclaim.storage.sql.keys import key_of, thread_keys
from threadclaim.storage.sql.loaded import Lease, Loaded, Told, Written
from threadclaim.storage.sql.rows import entry_columns, entry_of
from threadclaim.storage.sql.session import Session, Write
from threadclaim.telemetry import current_traceparent
from threadclaim.thread import THREAD, Thread


@dataclass(frozen=True, slots=True)
class Source:
    """Where a storage takes the times and ids of entries from, and its texts."""

    now: Callable[[], datetime]
    new_id: Callable[[], str]
    texts: texts.Texts


class SqlTransaction:
    """One transaction of a scope (`threadclaim.storage.Transaction`, which says the rest)."""

    def __init__(self, session: Session, source: Source) -> None:
        """Nothing is read yet, and nothing written."""
        self._session, self._source = session, source
        self._loaded, self._written = Loaded(), Written()

    @property
    def wrote_log(self) -> bool:
        """Whether it has appended to the log."""
        return bool(self._written.entries)

    @property
    def has_written(self) -> bool:
        """Whether it has anything to keep."""
        return not self._written.is_empty

    @property
    def released(self) -> Sequence[str]:
        """The leases that it gave up."""
        return self._written.released

    @property
    def _head(self) -> int:
        """The seq of the last entry, of this transaction or before it."""
        return self._session.head + len(self._written.entries)

    async def _load(self, thread_id: str) -> None:
        """Read all that the protocol asks of a thread, unless it was read."""
        if thread_id in self._loaded.threads:
            return
        (row,) = await self._session.fetch(self._source.texts.thread, *thread_keys(thread_id))
        self._loaded.keep(thread_id, row)

    async def head(self) -> int:
        """Count what is committed and what is written here."""
        return self._head

    async def thread(self, thread_id: str) -> Thread | None:
        """Read the thread's row."""
        await self._load(thread_id)
        return self._loaded.threads[thread_id]

    async def cursor(self, name: str) -> int | None:
        """Read the cursor's row; one of a thread's comes with the thread."""
        if name not in self._loaded.cursors:
            thread_id = thread_of_cursor(name)
            if thread_id is not None:
                await self._load(thread_id)
            else:
                rows = await self._session.fetch(texts.CURSOR, key_of(name))
                self._loaded.cursors[name] = rows[0][0] if rows else None
        return self._loaded.cursors[name]

    async def told(self, thread_id: str) -> int:
        """Read the last chunk's head; one that is written here will have at least the head as it is now."""
        if any(thread_id == of for of, _ in self._written.chunks):
            return self._head
        await self._load(thread_id)
        return self._loaded.told[thread_id].head

    async def history(self, thread_id: str) -> Sequence[bytes]:
        """Read the chunks."""
        rows = await self._session.fetch(texts.HISTORY, key_of(thread_id))
        return [row[0] for row in rows] + [data for of, data in self._written.chunks if of == thread_id]

    async def read(
        self,
        *,
        after_seq: int = 0,
        before_seq: int | None = None,
        threads: Sequence[str] | None = None,
        limit: int | None = None,
        last: bool = False,
    ) -> Sequence[Envelope]:
        """Read the window, add what is written here, and cut the limit out of both."""
        before = self._head + 1 if before_seq is None else before_seq
        found = await self._window(after_seq, before, threads, limit, last=last)
        found += [
            entry
            for entry in self._written.entries
            if after_seq < entry.seq < before and (threads is None or entry.thread_id in threads)
        ]
        if limit is None:
            return found
        return found[max(len(found) - limit, 0) :] if last else found[:limit]

    async def _window(
        self, after: int, before: int, threads: Sequence[str] | None, limit: int | None, *, last: bool
    ) -> list[Envelope]:
        """Read the entries of a window that were committed before; past the head there is nothing to read."""
        nowhere = threads is not None and not threads
        if after >= self._session.head or before <= after + 1 or nowhere or limit == 0:
            return []
        sql = texts.LOG
        args: list[int | str] = [after, before]
        if threads is not None:
            keys = sorted({key_of(thread_id) for thread_id in threads})
            numbers = ", ".join(f"${n}" for n in range(4, 4 + len(keys)))
            sql, args = f"{sql} AND thread_key IN ({numbers})", [*args, *keys]
        sql += " ORDER BY seq DESC" if last else " ORDER BY seq"
        if limit is not None:
            sql, args = f"{sql} LIMIT ${len(args) + 2}", [*args, limit]
        found = [entry_of(row) for row in await self._session.fetch(sql, *args)]
        return found[::-1] if last else found

    async def is_used(self, message_id: str) -> bool:
        """Look among what is written here, and in the index of message ids."""
        own = (entry.event for entry in self._written.entries)
        if any(isinstance(event, MessagePosted) and event.message_id == message_id for event in own):
            return True
        return bool(await self._session.fetch(texts.IS_USED, key_of(message_id)))

    async def append(
        self, event: Event, *, actor: Actor, thread_id: str | None = None, run_id: str | None = None
    ) -> Envelope:
        """Write an entry, as it will be read back; LimitError for what could not be kept."""
        check_actor(actor)
        text = event_json(event)
        entry = Envelope(
            seq=self._head + 1,
            id=self._source.new_id(),
            at=self._source.now(),
            actor=actor,
            event=event_of(text),
            thread_id=thread_id,
            run_id=run_id,
            traceparent=current_traceparent(),
        )
        if thread_id is not None:
            await self._fold(thread_id, entry)
        self._written.entries.append(entry)
        self._written.events.append(text.decode())
        return entry

    async def _fold(self, thread_id: str, entry: Envelope) -> None:
        """Fold an entry into its thread."""
        thread = await self.thread(thread_id)
        if thread is not None:
            self._loaded.threads[thread_id] = thread.after(entry)
        elif isinstance(entry.event, ThreadCreated):
            self._loaded.threads[thread_id] = Thread(thread_id, entry.seq)
        self._written.threads.add(thread_id)

    async def save_cursor(self, name: str, seq: int) -> None:
        """Write the cursor, unless it is as far already."""
        saved = await self.cursor(name)
        if saved is not None and seq <= saved:
            return
        self._loaded.cursors[name] = seq
        self._written.cursors.add(name)
        thread_id = thread_of_cursor(name)
        if thread_id is not None:
            self._written.threads.add(thread_id)

    async def save_history(self, thread_id: str, chunk: bytes) -> None:
        """Write the chunk; its head comes with the commit."""
        await self._load(thread_id)
        self._written.chunks.append((thread_id, bytes(chunk)))
        self._written.threads.add(thread_id)

    async def holder(self, name: str) -> str | None:
        """Read the lease, and judge it by the database's time as it was read."""
        if name not in self._loaded.leases:
            thread_id = thread_of_lease(name)
            if thread_id is not None:
                await self._load(thread_id)
            else:
                ((holder, until, self._loaded.now),) = await self._session.fetch(
                    self._source.texts.lease, key_of(name)
                )
                self._loaded.leases[name] = None if holder is None else Lease(holder, until)
        return self._loaded.holder(name)

    def _save_lease(self, name: str, lease: Lease | None) -> None:
        """Write a lease, or that there is none."""
        self._loaded.leases[name] = lease
        self._written.leases[name] = None

    async def acquire_lease(self, name: str, holder: str, ttl: float) -> bool:
        """Write the lease, if nobody holds it.

        It lasts from when the lease was read: by then its scope was locked, so it never begins before it was
        granted, and a transaction that stalls does not make it last longer.
        """
        if await self.holder(name) is not None:
            return False
        self._save_lease(name, Lease(holder, self._loaded.now + ttl))
        return True

    async def renew_lease(self, name: str, holder: str, ttl: float) -> bool:
        """Write the lease, if `holder` holds it."""
        if await self.holder(name) != holder:
            return False
        self._save_lease(name, Lease(holder, self._loaded.now + ttl))
        return True

    async def release_lease(self, name: str, holder: str) -> bool:
        """Take the lease away, if it is `holder`'s."""
        await self.holder(name)
        lease = self._loaded.leases[name]
        if lease is None or lease.holder != holder:
            return False
        self._save_lease(name, None)
        self._written.released.append(name)
        return True

    async def view(self, thread_id: str) -> View | None:
        """What tells where a thread stands, but for its entries; None if there is no such thread."""
        thread = await self.thread(thread_id)
        return None if thread is None else self._loaded.view(thread, self._head)

    def write(self, writes: Sequence[Write]) -> None:
        """Write what no step of the protocol does, last of all: what it concerns is not to be read here."""
        self._written.others.extend(writes)

    async def commit(self) -> bool:
        """Keep what was written, if anything was. False if nothing is kept and the step is to be run anew."""
        written = self._written
        if written.is_empty:
            return True
        history = self._history()
        writes = [
            Write(texts.ADVANCE_SCOPE, [(self._head,)]),
            Write(texts.ADD_ENTRY, list(map(entry_columns, written.entries, written.events))),
            Write(texts.ADD_HISTORY, history),
            Write(self._source.texts.save_thread, await self._threads()),
            Write(texts.SAVE_CURSOR, self._cursors()),
            *self._leases(),
            *written.others,
        ]
        return await self._session.commit([write for write in writes if write.rows])

    def _history(self) -> list[tuple[Any, ...]]:
        """The rows of chunks, which have the head as it will be."""
        rows: list[tuple[Any, ...]] = []
        for thread_id, data in self._written.chunks:
            told = Told(self._loaded.told[thread_id].number + 1, self._head)
            self._loaded.told[thread_id] = told
            rows.append((key_of(thread_id), told.number, thread_id, told.head, data))
        return rows

    def _cursors(self) -> list[tuple[Any, ...]]:
        """The rows of cursors."""
        return [(key_of(name), name, self._loaded.cursors[name]) for name in sorted(self._written.cursors)]

    def _leases(self) -> Iterable[Write]:
        """The rows of leases, and those that are to go."""
        kept: list[tuple[Any, ...]] = []
        gone: list[tuple[Any, ...]] = []
        for name in sorted(self._written.leases):
            lease = self._loaded.leases[name]
            if lease is None:
                gone.append((key_of(name),))
            else:
                kept.append((key_of(name), name, lease.holder, lease.until))
        return Write(texts.SAVE_LEASE, kept), Write(texts.DROP_LEASE, gone)

    async def _threads(self) -> list[tuple[Any, ...]]:
        """The rows of threads that this transaction has touched, and where they stand now.

        The upgrade point only moves what is taken forward, so it concerns only threads that are stranded.
        """
        touched = set(self._written.threads)
        if UPGRADED in self._written.cursors:
            touched |= {row[0] for row in await self._session.fetch(texts.STRANDED_OF)}
        rows = [await self._thread_row(thread_id) for thread_id in sorted(touched)]
        return [row for row in rows if row is not None]

    async def _thread_row(self, thread_id: str) -> tuple[Any, ...] | None:
        """A thread's row; None if there is no such thread."""
        thread = await self.thread(thread_id)
        if thread is None:
            return None
        view = self._loaded.view(thread, self._head)
        if view.asked > view.taken and thread.run is not None and thread.run.open_requests:
            view = replace(view, entries=await self._first_message(thread_id, view.taken))
        body = THREAD.dump_json(thread).decode()
        return key_of(thread_id), thread_id, body, thread.created, standing(view)

    async def _first_message(self, thread_id: str, after: int) -> tuple[Envelope, ...]:
        """A thread's first message past a position: where only requests are open, it decides."""
        own = [
            entry
            for entry in self._written.entries
            if entry.thread_id == thread_id and entry.seq > after and entry.is_message
        ]
        rows = await self._session.fetch(texts.NEXT_MESSAGE, key_of(thread_id), after)
        return tuple([*map(entry_of, rows), *own][:1])
