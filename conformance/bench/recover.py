"""What a sweep reads: of very many threads, of which a few are stranded. The database itself says so.

`python -m conformance.bench.recover [sqlite|postgres] [THREADS]` prints its plan.
"""

import asyncio
import sqlite3
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

from conformance.databases import database, opened
from threadclaim.events import PersonActor
from threadclaim.storage import Scope
from threadclaim.storage.sql import texts
from threadclaim.storage.sql.keys import scope_keys
from threadclaim.workspace import Workspace

SCOPE = Scope("bench", "recover")

STRANDED = 10
"""How many threads have something left to do."""

_FILL = """
INSERT INTO threadclaim_threads (scope_id, thread_key, thread_id, body, created, standing)
WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {threads})
SELECT (SELECT max(id) FROM threadclaim_scopes), CAST(n AS TEXT), CAST(n AS TEXT), '{{}}', n,
       CASE WHEN n % {every} = 0 THEN 'left' END
FROM numbers
"""


@dataclass(frozen=True, slots=True)
class Sweep:
    """How many threads a sweep lists, and the database's plan, with the rows and the pages that it read."""

    listed: int
    plan: Sequence[str]


async def sweep(target: str, threads: int) -> Sweep:
    """Fill an empty database with threads, of which `STRANDED` are stranded, and list those."""
    storage = opened(target)
    await Workspace(storage, SCOPE, PersonActor("ann")).create_thread("first")
    fill = _FILL.format(threads=threads, every=threads // STRANDED)
    await _run(target, fill)
    await _run(target, "ANALYZE")
    listed = len((await storage.stranded(SCOPE)).left)
    await storage.aclose()
    options = "(ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY OFF)"
    explain = f"EXPLAIN {options}" if target.startswith("postgres") else "EXPLAIN QUERY PLAN"
    plan = await _run(target, f"{explain} {texts.STRANDED}", *scope_keys(SCOPE))
    return Sweep(listed, [str(row[-1]) for row in plan])


async def _run(target: str, sql: str, *args: object) -> Sequence[Sequence[object]]:
    """Run a text beside the storage."""
    if not target.startswith("postgres"):
        with closing(sqlite3.connect(target)) as file, file:
            return file.execute(sql.replace("$", "?"), args).fetchall()
    import asyncpg  # noqa: PLC0415  # an extra

    connection = await asyncpg.connect(target)
    try:
        return [tuple(row) for row in await connection.fetch(sql, *args)]
    finally:
        await connection.close()


async def _show(kind: str, threads: int) -> None:
    """Print the plan."""
    async with database(kind) as target:
        came = await sweep(target, threads)
    print(f"{kind}, {threads:,} threads: {came.listed} listed")
    print("\n".join(came.plan))


if __name__ == "__main__":
    asyncio.run(_show(sys.argv[1], int(sys.argv[2])))
