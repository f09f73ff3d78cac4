"""`threadclaim threads`: the threads of each workspace, and where each stands."""

from argparse import Namespace
from collections import Counter
from collections.abc import Sequence
from typing import Any

from threadclaim.cli.commands import Commands, count_of
from threadclaim.cli.databases import add_dsn, add_workspace, chosen, opened
from threadclaim.cli.report import Report, counted, iso, moment, seconds
from threadclaim.cli.tables import Table, cell
from threadclaim.storage.protocol import Scope
from threadclaim.storage.sql import operating
from threadclaim.storage.sql.operating import STATES, Seen, SeenClaim

COLUMNS = ("thread", "state", "not taken", "since (UTC)", "asked", "taken", "claim", "last entry (UTC)")


def add(commands: Commands) -> None:
    """Add the command."""
    told = "list threads: what is asked and not taken, where each stands, who holds it"
    parser = commands.add_parser("threads", help=told, description=f"{told[0].upper()}{told[1:]}.")
    add_dsn(parser)
    add_workspace(parser)
    parser.add_argument(
        "--limit",
        type=count_of,
        default=100,
        metavar="N",
        help="how many idle threads of a workspace to list, the newest (100); all others are listed",
    )
    parser.set_defaults(run=run)


async def run(arguments: Namespace) -> Report:
    """List them, workspace by workspace, those first that somebody should look at."""
    async with opened(arguments.dsn) as storage:
        seen = {scope: await operating.threads(storage, scope) for scope in await chosen(storage, arguments)}
    counts = Counter(each.state for threads in seen.values() for each in threads)
    listed = {scope: _listed(threads, arguments.limit) for scope, threads in seen.items()}
    parts = [part for scope, threads in listed.items() for part in _parts(scope, threads, len(seen[scope]))]
    total = ", ".join(f"{counts[state]:,} {state}" for state in STATES if counts[state])
    return Report(
        "threads",
        {"workspaces": len(seen), "threads": counts.total(), **{state: counts[state] for state in STATES}},
        [row_of(scope, each) for scope, threads in listed.items() for each in threads],
        [
            *parts,
            f"{counted(counts.total(), 'thread')} in {counted(len(seen), 'workspace')}"
            + (f": {total}." if total else "."),
        ],
    )


def _listed(threads: Sequence[Seen], limit: int) -> Sequence[Seen]:
    """The threads to list, in the order of their states, and at most so many idle ones, the newest first."""
    idle = [each for each in threads if each.state == "idle"]
    others = sorted(
        (each for each in threads if each.state != "idle"), key=lambda each: STATES.index(each.state)
    )
    return [*others, *sorted(idle, key=lambda each: each.last, reverse=True)[:limit]]


def _parts(scope: Scope, threads: Sequence[Seen], total: int) -> Sequence[str | Table]:
    """A workspace's heading, its table, and how many are not in it."""
    heading = cell(f"tenant {scope.tenant}, workspace {scope.workspace}")  # an id is no line of ours
    more = f"and {counted(total - len(threads), 'idle thread')} more: see --limit"
    table = [Table(COLUMNS, [_cells(each) for each in threads])] if threads else []
    return [heading, *table, *([more] if total > len(threads) else []), ""]


def _cells(seen: Seen) -> Sequence[str]:
    """A thread's cells."""
    return (
        seen.thread.thread_id,
        seen.state,
        _not_taken(seen),
        moment(seen.since),
        str(seen.asked),
        str(seen.taken),
        claim_told(seen.claim),
        moment(seen.last),
    )


def _not_taken(seen: Seen) -> str:
    """What is asked and not taken, in words; empty if nothing is."""
    if seen.asked <= seen.taken:
        return ""
    return counted(seen.messages, "message") if seen.messages else "an answer"


def claim_told(claim: SeenClaim | None) -> str:
    """A claim in words: whose, how old, how long it lasts unless it is renewed."""
    if claim is None:
        return ""
    if not claim.is_live:
        return f"{claim.holder}, lapsed {seconds(-claim.left)} ago"
    age = "" if claim.age is None else f"for {seconds(claim.age)}, "
    return f"{claim.holder}, {age}{seconds(claim.left)} left"


def claim_row(claim: SeenClaim | None) -> dict[str, Any] | None:
    """A claim for programs; times are in seconds."""
    if claim is None:
        return None
    return {"holder": claim.holder, "age": claim.age, "left": claim.left, "live": claim.is_live}


def row_of(scope: Scope, seen: Seen) -> dict[str, Any]:
    """A thread for programs."""
    run = seen.thread.run
    return {
        "tenant": scope.tenant,
        "workspace": scope.workspace,
        "thread": seen.thread.thread_id,
        "state": seen.state,
        "asked": seen.asked,
        "taken": seen.taken,
        "messages_not_taken": seen.messages,
        "since": iso(seen.since),
        "run": None if run is None else {"id": run.run_id, "status": run.status.value},
        "open_requests": [] if run is None else [request.id for request in run.open_requests],
        "claim": claim_row(seen.claim),
        "last_entry": iso(seen.last),
    }
