"""What an operator looks at: workspaces, their threads, one thread's entries. It reads, and locks nothing.

It is no part of the protocol of storages: no step, and no runner, reads any of it.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal

from threadclaim.events import Envelope
from threadclaim.plan import effective_taken
from threadclaim.storage.common import Standing
from threadclaim.storage.protocol import Scope, asked_cursor
from threadclaim.storage.sql.base import SqlStorage
from threadclaim.storage.sql.keys import key_of, scope_keys
from threadclaim.storage.sql.rows import entry_of
from threadclaim.storage.sql.session import Row
from threadclaim.storage.sql.texts import ENTRY
from threadclaim.thread import THREAD, RunStatus, Thread

State = Literal["left", "running", "claimed", "waiting", "paused", "idle"]
"""Where a thread stands, as an operator sees it (`Seen.state`)."""

STATES: tuple[State, ...] = ("left", "running", "claimed", "waiting", "paused", "idle")
"""In the order of how soon somebody should look."""

BATCH = 500
"""How many entries of a log are read at once."""

CLOCK = "SELECT {clock}"
SCOPES = "SELECT tenant, workspace FROM threadclaim_scopes ORDER BY id"
SCOPES_WITH = """
SELECT scope.tenant, scope.workspace FROM threadclaim_threads AS thread
JOIN threadclaim_scopes AS scope ON scope.id = thread.scope_id WHERE thread.thread_key = $1 ORDER BY scope.id
"""

# One statement, so that it is one snapshot. The names of a thread's cursors are their own keys, unless its id
# is long: those are read again, by their hashed keys.
THREADS = """
SELECT scope.id, thread.thread_id, thread.body, thread.standing, asked.seq, taken.seq, upgraded.seq,
       (SELECT head FROM threadclaim_history AS history
        WHERE history.scope_id = scope.id AND history.thread_key = thread.thread_key
        ORDER BY number DESC LIMIT 1),
       lease.holder, lease.until - {clock},
       (SELECT at FROM threadclaim_log AS log
        WHERE log.scope_id = scope.id AND log.thread_key = thread.thread_key ORDER BY seq DESC LIMIT 1),
       scope.head
FROM threadclaim_scopes AS scope
JOIN threadclaim_threads AS thread ON thread.scope_id = scope.id
LEFT JOIN threadclaim_cursors AS asked ON asked.scope_id = scope.id
     AND asked.name_key = 'artifactr.runner/' || thread.thread_id || '/asked'
LEFT JOIN threadclaim_cursors AS taken ON taken.scope_id = scope.id
     AND taken.name_key = 'artifactr.runner/' || thread.thread_id || '/taken'
LEFT JOIN threadclaim_cursors AS upgraded ON upgraded.scope_id = scope.id
     AND upgraded.name_key = 'artifactr.runner/upgraded'
LEFT JOIN threadclaim_leases AS lease ON lease.scope_id = scope.id
     AND lease.name_key = 'artifactr.runner/' || thread.thread_id || '/claim'
WHERE scope.tenant_key = $1 AND scope.workspace_key = $2
"""
ONE_THREAD = f"{THREADS} AND thread.thread_key = $3"
ALL_THREADS = f"{THREADS} ORDER BY thread.created"

NEWEST_IDS = """
SELECT thread_id FROM threadclaim_threads
WHERE scope_id = (SELECT id FROM threadclaim_scopes WHERE tenant_key = $1 AND workspace_key = $2)
ORDER BY created DESC LIMIT 50000
"""

NOT_TAKEN = """
SELECT count(*), min(at) FROM threadclaim_log
WHERE scope_id = $1 AND thread_key = $2 AND message_kind = 'message' AND seq > $3 AND seq <= $4
"""

TIME_OF = "SELECT at FROM threadclaim_log WHERE scope_id = $1 AND seq = $2"

ENTRIES = f"""
SELECT {ENTRY} FROM threadclaim_log WHERE scope_id = $1 AND thread_key = $2 AND seq > $3 ORDER BY seq LIMIT $4
"""  # noqa: S608  # a constant


@dataclass(frozen=True, slots=True)
class SeenClaim:
    """A thread's claim: its holder, and the seconds that it has left by the database's clock.

    `left` is below 0 once it has lapsed. `age` is how long ago its holder began the thread's run, in seconds,
    by the time in the log; None if it has begun none, or holds the thread for a direct run.
    """

    holder: str
    left: float
    age: float | None = None

    @property
    def is_live(self) -> bool:
        """Whether it has not lapsed."""
        return self.left > 0


@dataclass(frozen=True, slots=True)
class Seen:
    """A thread as an operator sees it.

    `number` is its scope's. `asked` and `taken` are its positions, `taken` the effective one; `messages` is
    how many messages are asked and not taken, and `since` when the first of them came. `last` is when the
    last entry of its log came, `head` the seq of the workspace's last entry.
    """

    number: int
    thread: Thread
    standing: Standing | None
    asked: int
    taken: int
    claim: SeenClaim | None
    last: datetime
    head: int
    messages: int = 0
    since: datetime | None = None

    @property
    def state(self) -> State:
        """Where it stands.

        `running`, or `claimed` while no run is active, if a claim is live; else `left` if a sweep is for it;
        `waiting` if what is asked waits for a form's answer; `paused` if a run waits and nothing is asked;
        else `idle`.
        """
        run = self.thread.run
        if self.claim is not None and self.claim.is_live:
            return "claimed" if self.thread.active_run is None else "running"
        if self.standing is not None:
            return self.standing
        return "paused" if run is not None and run.status is RunStatus.PAUSED else "idle"


async def clock(storage: SqlStorage) -> datetime:
    """The time, by the database's clock."""
    ((now,),) = await storage.look(CLOCK)
    return datetime.fromtimestamp(float(now), UTC)


async def scopes(storage: SqlStorage) -> Sequence[Scope]:
    """Every workspace, oldest first."""
    return [Scope(*row) for row in await storage.look(SCOPES)]


async def scopes_with(storage: SqlStorage, thread_id: str) -> Sequence[Scope]:
    """The workspaces that have a thread of this id."""
    return [Scope(*row) for row in await storage.look(SCOPES_WITH, key_of(thread_id))]


async def thread_ids(storage: SqlStorage, scope: Scope) -> Sequence[str]:
    """The ids of a workspace's newest threads, to find one that is like another."""
    return [row[0] for row in await storage.look(NEWEST_IDS, *scope_keys(scope))]


async def threads(storage: SqlStorage, scope: Scope) -> Sequence[Seen]:
    """Every thread of a workspace, oldest first."""
    now = await clock(storage)
    rows = await storage.look(ALL_THREADS, *scope_keys(scope))
    return [await _seen(storage, row, now) for row in rows]


async def thread(storage: SqlStorage, scope: Scope, thread_id: str) -> Seen | None:
    """One thread; None if there is none of this id."""
    now = await clock(storage)
    rows = await storage.look(ONE_THREAD, *scope_keys(scope), key_of(thread_id))
    return await _seen(storage, rows[0], now) if rows else None


async def entries(
    storage: SqlStorage, number: int, thread_id: str, after_seq: int = 0
) -> AsyncIterator[Envelope]:
    """A thread's entries past a position, oldest first; `number` is its scope's."""
    while True:
        rows = await storage.look(ENTRIES, number, key_of(thread_id), after_seq, BATCH)
        for row in rows:
            entry = entry_of(row)
            after_seq = entry.seq
            yield entry
        if len(rows) < BATCH:
            return


async def _seen(storage: SqlStorage, row: Row, now: datetime) -> Seen:
    """A thread as its row has it, with what only some threads need read."""
    number, thread_id, body, standing, asked, taken, upgraded, told, holder, left, last, head = row
    if key_of(asked_cursor(thread_id)) != asked_cursor(thread_id):
        long = await storage.look_at(number, thread_id)
        asked, taken, upgraded, holder, left = long[1], long[2], long[3], long[4], (long[5] or 0) - long[6]
    seen = Seen(
        number,
        THREAD.validate_json(body),
        standing,
        asked or 0,
        effective_taken(saved=taken, upgraded=upgraded, told=told or 0),
        None if holder is None else SeenClaim(holder, float(left)),
        datetime.fromisoformat(last),
        head,
    )
    return await _with_age(storage, await _with_messages(storage, seen), now)


async def _with_messages(storage: SqlStorage, seen: Seen) -> Seen:
    """With what is asked and not taken, of the few threads that have any."""
    if seen.asked <= seen.taken:
        return seen
    key = key_of(seen.thread.thread_id)
    ((count, since),) = await storage.look(NOT_TAKEN, seen.number, key, seen.taken, seen.asked)
    return replace(seen, messages=count, since=None if since is None else datetime.fromisoformat(since))


async def _with_age(storage: SqlStorage, seen: Seen, now: datetime) -> Seen:
    """With the age of its claim, if its holder has begun a run: a run's segment is the holder's name."""
    run = seen.thread.run
    if seen.claim is None or run is None or run.segment != seen.claim.holder:
        return seen
    rows = await storage.look(TIME_OF, seen.number, run.started)
    if not rows:
        return seen
    age = max(0.0, (now - datetime.fromisoformat(rows[0][0])).total_seconds())
    return replace(seen, claim=replace(seen.claim, age=age))
