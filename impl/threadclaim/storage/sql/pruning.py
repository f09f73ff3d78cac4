"""Dropping what retention allows: whole threads that are idle, and old. What is not taken is never touched.

A thread goes whole or not at all: its agent's history and its log tell the same, or neither is there. Of each
entry of its log a stone stays, in its place: the log has no gaps, and a message's id stays used for ever.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from pydantic import TypeAdapter

from threadclaim.events import Custom, SystemActor
from threadclaim.limits import event_json
from threadclaim.plan import View
from threadclaim.storage.protocol import Scope, Transaction, asked_cursor, lease_name, taken_cursor
from threadclaim.storage.sql.base import SqlStorage
from threadclaim.storage.sql.keys import key_of, scope_keys
from threadclaim.storage.sql.session import Write
from threadclaim.storage.sql.texts import DROP_LEASE
from threadclaim.storage.sql.transaction import SqlTransaction
from threadclaim.thread import RunStatus

PRUNED = "threadclaim.pruned"
"""The name of the `Custom` event that stands where an entry was."""

AT_ONCE = 20
"""How many threads one transaction drops: its workspace waits for no more."""

_STONE = event_json(Custom(PRUNED)).decode()
_ACTOR = TypeAdapter(SystemActor).dump_json(SystemActor("prune")).decode()

CANDIDATES = """
SELECT thread.thread_id,
       (SELECT count(*) FROM threadclaim_log AS log
        WHERE log.scope_id = thread.scope_id AND log.thread_key = thread.thread_key),
       (SELECT coalesce(sum(length(log.event)), 0) FROM threadclaim_log AS log
        WHERE log.scope_id = thread.scope_id AND log.thread_key = thread.thread_key)
       + (SELECT coalesce(sum(length(history.data)), 0) FROM threadclaim_history AS history
          WHERE history.scope_id = thread.scope_id AND history.thread_key = thread.thread_key)
FROM threadclaim_threads AS thread
WHERE thread.scope_id = (SELECT id FROM threadclaim_scopes WHERE tenant_key = $1 AND workspace_key = $2)
AND thread.standing IS NULL
AND (SELECT at FROM threadclaim_log AS log WHERE log.scope_id = thread.scope_id
     AND log.thread_key = thread.thread_key ORDER BY seq DESC LIMIT 1) < $3
ORDER BY thread.created
"""
"""Threads that may be old enough, and idle, with how much they hold; each is looked at again as it goes."""

SET_STONES = """
UPDATE threadclaim_log SET event = $3, actor = $4, thread_id = NULL, thread_key = NULL, run_id = NULL,
                           traceparent = NULL, message_kind = NULL
WHERE scope_id = $1 AND thread_key = $2
"""
"""`message_key` stays: a message's id is used for ever. Without a kind it is no message any more."""

DROP_HISTORY = "DELETE FROM threadclaim_history WHERE scope_id = $1 AND thread_key = $2"
DROP_CURSOR = "DELETE FROM threadclaim_cursors WHERE scope_id = $1 AND name_key = $2"
DROP_THREAD = "DELETE FROM threadclaim_threads WHERE scope_id = $1 AND thread_key = $2"


@dataclass(frozen=True, slots=True)
class Old:
    """A thread that retention allows to drop: how many entries it has, and how many characters and bytes."""

    thread_id: str
    entries: int
    size: int


async def old_threads(storage: SqlStorage, scope: Scope, before: datetime) -> Sequence[Old]:
    """The threads of a workspace that are idle, and whose last entry is from before a time."""
    rows = await storage.look(CANDIDATES, *scope_keys(scope), _text(before))
    found = [Old(thread_id, int(count), int(size)) for thread_id, count, size in rows]
    kept: list[Old] = []
    for start in range(0, len(found), AT_ONCE):
        batch = found[start : start + AT_ONCE]
        idle = await storage.transact(
            scope, Prune(tuple(old.thread_id for old in batch), before, drops=False)
        )
        kept += [old for old in batch if old.thread_id in idle]
    return kept


async def prune(storage: SqlStorage, scope: Scope, old: Sequence[Old], before: datetime) -> Sequence[Old]:
    """Drop these threads, but for those that are not idle any more; gives those dropped."""
    dropped: list[Old] = []
    for start in range(0, len(old), AT_ONCE):
        batch = old[start : start + AT_ONCE]
        gone = await storage.transact(scope, Prune(tuple(each.thread_id for each in batch), before))
        dropped += [each for each in batch if each.thread_id in gone]
    return dropped


@dataclass(frozen=True, slots=True)
class Prune:
    """Drop threads, each if it is idle and its last entry is from before a time; gives the ids of those.

    It is no step of the protocol: an operator runs it. Without `drops` it only tells which would go.
    """

    thread_ids: tuple[str, ...]
    before: datetime
    drops: bool = True

    async def __call__(self, tx: Transaction) -> frozenset[str]:
        """Look, and drop, under the workspace's lock: nothing can be asked meanwhile."""
        if not isinstance(tx, SqlTransaction):
            raise TypeError("Only a durable storage can be pruned, and this transaction is of another.")
        gone = [thread_id for thread_id in self.thread_ids if await self._may_go(tx, thread_id)]
        if self.drops and gone:
            tx.write(_writes(gone))
        return frozenset(gone)

    async def _may_go(self, tx: SqlTransaction, thread_id: str) -> bool:
        """Whether a thread is there, idle, unclaimed, and old, and has no message that a turn would take."""
        view = await tx.view(thread_id)
        if view is None or not is_idle(view) or await tx.holder(lease_name(thread_id)) is not None:
            return False
        (last,) = await tx.read(threads=[thread_id], limit=1, last=True)
        if last.at.astimezone(UTC) >= self.before:
            return False
        past = await tx.read(after_seq=view.taken, threads=[thread_id])
        return not any(entry.is_message for entry in past)


def is_idle(view: View) -> bool:
    """Whether nothing is left to do in a thread, and no run of it waits for anybody."""
    run = view.thread.run
    return not view.is_left and (run is None or run.status is RunStatus.ENDED)


def _writes(thread_ids: Sequence[str]) -> Sequence[Write]:
    """What drops threads: their contents, and every row that is theirs alone."""
    keys = [(key_of(thread_id),) for thread_id in thread_ids]
    cursors = [cursor(thread_id) for thread_id in thread_ids for cursor in (asked_cursor, taken_cursor)]
    return [
        Write(SET_STONES, [(key, _STONE, _ACTOR) for (key,) in keys]),
        Write(DROP_HISTORY, keys),
        Write(DROP_CURSOR, [(key_of(name),) for name in cursors]),
        Write(DROP_LEASE, [(key_of(lease_name(thread_id)),) for thread_id in thread_ids]),
        Write(DROP_THREAD, keys),
    ]


def _text(time: datetime) -> str:
    """A time as the log keeps it: such texts are in the order of their times."""
    return time.astimezone(UTC).isoformat(timespec="microseconds")
