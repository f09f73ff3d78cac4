"""What a transaction has read and what it has written, so that nothing is read twice. Nothing here waits."""

from dataclasses import dataclass, field

from threadclaim.events import Envelope
from threadclaim.plan import View, effective_taken
from threadclaim.storage.protocol import UPGRADED, asked_cursor, lease_name, taken_cursor
from threadclaim.storage.sql.session import Row
from threadclaim.thread import THREAD, Thread


@dataclass(frozen=True, slots=True)
class Lease:
    """A lease: whose it is, and until when, in seconds since 1970 by the database's clock."""

    holder: str
    until: float


@dataclass(frozen=True, slots=True)
class Told:
    """A thread's last chunk of history: its number, and the log's head as it was committed; 0 for none."""

    number: int = 0
    head: int = 0


@dataclass(slots=True)
class Loaded:
    """What is known of a scope: what was read, and over it what this transaction has written.

    A key that is not there was not read; one whose value is None is not in the database. `now` is the
    database's time as a lease was last read, which its expiry is judged by.
    """

    threads: dict[str, Thread | None] = field(default_factory=dict)
    told: dict[str, Told] = field(default_factory=dict)
    cursors: dict[str, int | None] = field(default_factory=dict)
    leases: dict[str, Lease | None] = field(default_factory=dict)
    now: float = 0.0

    def keep(self, thread_id: str, row: Row) -> None:
        """Keep what a row of `Texts.thread` says, but for what was read, or written, before."""
        body, asked, taken, upgraded, holder, until, self.now, number, head = row
        self.threads.setdefault(thread_id, None if body is None else THREAD.validate_json(body))
        self.told.setdefault(thread_id, Told(number or 0, head or 0))
        self.cursors.setdefault(asked_cursor(thread_id), asked)
        self.cursors.setdefault(taken_cursor(thread_id), taken)
        self.cursors.setdefault(UPGRADED, upgraded)
        self.leases.setdefault(lease_name(thread_id), None if holder is None else Lease(holder, until))

    def holder(self, name: str) -> str | None:
        """Who holds a lease, if it has not lapsed."""
        lease = self.leases[name]
        return lease.holder if lease is not None and lease.until > self.now else None

    def view(self, thread: Thread, head: int) -> View:
        """What tells where a thread stands, but for its messages."""
        taken = effective_taken(
            saved=self.cursors[taken_cursor(thread.thread_id)],
            upgraded=self.cursors[UPGRADED],
            told=self.told[thread.thread_id].head,
        )
        return View(thread, self.cursors[asked_cursor(thread.thread_id)] or 0, taken, head)


@dataclass(slots=True)
class Written:
    """What a transaction has written and not committed; `events` are those of its entries, as texts."""

    entries: list[Envelope] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    threads: set[str] = field(default_factory=set)
    cursors: set[str] = field(default_factory=set)
    leases: dict[str, None] = field(default_factory=dict)
    chunks: list[tuple[str, bytes]] = field(default_factory=list)
    released: list[str] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to commit."""
        return not (self.entries or self.cursors or self.leases or self.chunks)
