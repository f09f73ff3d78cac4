"""Every SQL text of the two storages but their migrations. Both run the same; the clock alone differs.

Parameters are numbered, `$1` as PostgreSQL has them; `SqliteStorage` reads them as `?1`. In all texts about
what a scope holds, `$1` is the scope's number. Nothing here waits.
"""

from dataclasses import dataclass

SCOPE = "SELECT id, head, version FROM threadclaim_scopes WHERE tenant_key = $1 AND workspace_key = $2"
"""A scope's number, the head of its log, and how often it was written."""

LOCK_SCOPE = f"{SCOPE} FOR UPDATE"
"""The same, locked; what is read in later statements is as the last transaction left it."""

ADD_SCOPE = """
INSERT INTO threadclaim_scopes (tenant_key, workspace_key, tenant, workspace, head, version)
VALUES ($1, $2, $3, $4, 0, 0)
ON CONFLICT (tenant_key, workspace_key) DO UPDATE SET version = threadclaim_scopes.version
RETURNING id, head, version
"""
"""A scope's row, made if it is not there, and locked: a row that is not there locks nothing."""

ADVANCE_SCOPE = "UPDATE threadclaim_scopes SET head = $2, version = version + 1 WHERE id = $1"

SCOPE_NAMES = "SELECT tenant, workspace FROM threadclaim_scopes WHERE id = $1"

ENTRY = "seq, id, at, actor, event, thread_id, run_id, traceparent"
"""What an entry is read from."""

LOG = f"SELECT {ENTRY} FROM threadclaim_log WHERE scope_id = $1 AND seq > $2 AND seq < $3"  # noqa: S608  # a constant

FOLLOW = f"""
SELECT {ENTRY} FROM threadclaim_log
WHERE scope_id = (SELECT id FROM threadclaim_scopes WHERE tenant_key = $1 AND workspace_key = $2)
AND seq > $3 ORDER BY seq LIMIT $4
"""  # noqa: S608  # a constant

IS_USED = "SELECT 1 FROM threadclaim_log WHERE scope_id = $1 AND message_key = $2"

NEXT_MESSAGE = f"""
SELECT {ENTRY} FROM threadclaim_log
WHERE scope_id = $1 AND thread_key = $2 AND seq > $3 AND message_kind = 'message' ORDER BY seq LIMIT 1
"""  # noqa: S608  # a constant
"""A thread's first message past a position: all that tells whether it is left or waits."""

ADD_ENTRY = """
INSERT INTO threadclaim_log (scope_id, seq, id, at, actor, event, thread_id, run_id, traceparent,
                             thread_key, message_key, message_kind)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
"""

SAVE_THREAD = """
INSERT INTO threadclaim_threads (scope_id, thread_key, thread_id, body, created, standing)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (scope_id, thread_key) DO UPDATE SET body = excluded.body, standing = excluded.standing
"""

STRANDED = """
SELECT thread_id, standing FROM threadclaim_threads
WHERE scope_id = (SELECT id FROM threadclaim_scopes WHERE tenant_key = $1 AND workspace_key = $2)
AND standing IS NOT NULL ORDER BY created
"""
"""Read by a partial index that has the stranded threads alone."""

STRANDED_OF = "SELECT thread_id FROM threadclaim_threads WHERE scope_id = $1 AND standing IS NOT NULL"

CURSOR = "SELECT seq FROM threadclaim_cursors WHERE scope_id = $1 AND name_key = $2"

SAVE_CURSOR = """
INSERT INTO threadclaim_cursors (scope_id, name_key, name, seq) VALUES ($1, $2, $3, $4)
ON CONFLICT (scope_id, name_key) DO UPDATE SET seq = excluded.seq
WHERE excluded.seq > threadclaim_cursors.seq
"""

HISTORY = "SELECT data FROM threadclaim_history WHERE scope_id = $1 AND thread_key = $2 ORDER BY number"

ADD_HISTORY = """
INSERT INTO threadclaim_history (scope_id, thread_key, number, thread_id, head, data)
VALUES ($1, $2, $3, $4, $5, $6)
"""

SAVE_LEASE = """
INSERT INTO threadclaim_leases (scope_id, name_key, name, holder, until) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (scope_id, name_key) DO UPDATE SET holder = excluded.holder, until = excluded.until
"""

DROP_LEASE = "DELETE FROM threadclaim_leases WHERE scope_id = $1 AND name_key = $2"

_LEASES = """
SELECT name, holder, until - {now} FROM threadclaim_leases
WHERE scope_id = (SELECT id FROM threadclaim_scopes WHERE tenant_key = $1 AND workspace_key = $2)
ORDER BY name
"""

_LEASE = """
SELECT lease.holder, lease.until, {now} FROM (SELECT 1 AS one) AS one
LEFT JOIN threadclaim_leases AS lease ON lease.scope_id = $1 AND lease.name_key = $2
"""

_THREAD = """
SELECT thread.body, asked.seq, taken.seq, upgraded.seq, lease.holder, lease.until, {now},
       (SELECT number FROM threadclaim_history
        WHERE scope_id = $1 AND thread_key = $2 ORDER BY number DESC LIMIT 1),
       (SELECT head FROM threadclaim_history
        WHERE scope_id = $1 AND thread_key = $2 ORDER BY number DESC LIMIT 1)
FROM (SELECT 1 AS one) AS one
LEFT JOIN threadclaim_threads AS thread ON thread.scope_id = $1 AND thread.thread_key = $2
LEFT JOIN threadclaim_cursors AS asked ON asked.scope_id = $1 AND asked.name_key = $3
LEFT JOIN threadclaim_cursors AS taken ON taken.scope_id = $1 AND taken.name_key = $4
LEFT JOIN threadclaim_cursors AS upgraded ON upgraded.scope_id = $1 AND upgraded.name_key = $5
LEFT JOIN threadclaim_leases AS lease ON lease.scope_id = $1 AND lease.name_key = $6
"""


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts that read the database's clock, in seconds since 1970.

    `thread` reads all that the protocol asks of a thread at once; `lease` a lease and the time; `leases`
    those of a scope, each with the seconds that it has left. `save_thread` is what a release writes of a
    thread, which is all that releases differ in so far.
    """

    thread: str
    lease: str
    leases: str
    save_thread: str = SAVE_THREAD


def with_clock(now: str) -> Texts:
    """The texts of a database whose clock is this expression."""
    return Texts(_THREAD.format(now=now), _LEASE.format(now=now), _LEASES.format(now=now))
