"""`threadclaim migrate`: bring a database's schema to a version."""

from argparse import Namespace

from threadclaim.cli.commands import Commands
from threadclaim.cli.databases import add_dsn, target_of
from threadclaim.cli.report import Report
from threadclaim.storage.schema import migrate


def add(commands: Commands) -> None:
    """Add the command."""
    told = "bring the schema to the newest version, or another; on every start, if you like"
    parser = commands.add_parser("migrate", help=told, description=f"{told[0].upper()}{told[1:]}.")
    add_dsn(parser)
    older = "the version to go to; an older one drops tables with what is in them, 0 all"
    parser.add_argument("--to", type=int, metavar="N", help=older)
    parser.set_defaults(run=run)


async def run(arguments: Namespace) -> Report:
    """Migrate, and say what was done."""
    done = await migrate(target_of(arguments.dsn), arguments.to)
    ways = "up" if done.after >= done.before else "down"
    said = (
        f"The schema is of version {done.after} already: nothing was to be done."
        if not done.ran
        else f"The schema went {ways} from version {done.before} to {done.after}: {', '.join(done.ran)}."
    )
    return Report(
        "migrate",
        {"before": done.before, "after": done.after},
        [{"migration": name} for name in done.ran],
        [said],
    )
