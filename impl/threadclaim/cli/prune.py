"""`threadclaim prune`: drop whole threads that are idle, and older than retention allows."""

from argparse import ArgumentTypeError, Namespace
from datetime import timedelta
from typing import Any

from threadclaim.cli.commands import Commands
from threadclaim.cli.databases import add_dsn, add_workspace, chosen, opened
from threadclaim.cli.report import Report, counted, iso, moment
from threadclaim.cli.tables import Table
from threadclaim.storage.sql import operating
from threadclaim.storage.sql.pruning import old_threads, prune

MAX_DAYS = 36_500
"""A hundred years: what is longer is a slip."""


def add(commands: Commands) -> None:
    """Add the command."""
    told = "drop whole threads that are idle and old; nothing that is not taken, and no message's id"
    parser = commands.add_parser("prune", help=told, description=f"{told[0].upper()}{told[1:]}.")
    add_dsn(parser)
    add_workspace(parser)
    parser.add_argument(
        "--keep-days",
        type=days,
        required=True,
        metavar="N",
        help="keep threads whose last entry is not older than so many days, 1 at least",
    )
    parser.add_argument("--dry-run", action="store_true", help="only say what would go")
    parser.set_defaults(run=run)


def days(text: str) -> int:
    """A number of days; raises ArgumentTypeError for what is none."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if not 1 <= number <= MAX_DAYS:
        raise ArgumentTypeError(f"{text!r} is no number of days. Give one from 1 to {MAX_DAYS}.")
    return number


async def run(arguments: Namespace) -> Report:
    """Drop them, workspace by workspace; the database's clock says how old they are."""
    rows: list[dict[str, Any]] = []
    async with opened(arguments.dsn) as storage:
        before = await operating.clock(storage) - timedelta(days=arguments.keep_days)
        for scope in await chosen(storage, arguments):
            gone = await old_threads(storage, scope, before)
            if not arguments.dry_run:
                gone = await prune(storage, scope, gone, before)
            rows += [
                {
                    "tenant": scope.tenant,
                    "workspace": scope.workspace,
                    "thread": old.thread_id,
                    "entries": old.entries,
                    "size": old.size,
                }
                for old in gone
            ]
    return _report(rows, iso(before), moment(before), arguments)


def _report(rows: list[dict[str, Any]], before: str | None, told: str, arguments: Namespace) -> Report:
    """What went, or would go."""
    figures = {
        "dry_run": arguments.dry_run,
        "before": before,
        "threads": len(rows),
        "entries": sum(row["entries"] for row in rows),
        "size": sum(row["size"] for row in rows),
    }
    went = "would go" if arguments.dry_run else "went"
    said = (
        f"{counted(len(rows), 'thread')} {went}, with {counted(figures['entries'], 'entry', 'entries')} and "
        f"{figures['size']:,} bytes of text and history: idle since before {told} UTC."
    )
    columns = ("tenant", "workspace", "thread", "entries", "size")
    table = [Table(columns, [[str(row[column]) for column in columns] for row in rows])] if rows else []
    return Report("prune", figures, rows, [*table, said])
