"""`threadclaim check`: say whether a database's schema fits this release."""

from argparse import Namespace

from threadclaim.cli.commands import Commands
from threadclaim.cli.databases import add_dsn, existing, is_server
from threadclaim.cli.report import Report
from threadclaim.errors import SchemaMismatch
from threadclaim.storage.schema import check, version
from threadclaim.storage.sql.steps_of_schema import newest


def add(commands: Commands) -> None:
    """Add the command."""
    told = "say whether the schema fits: 0 if it does, 1 if not, 2 if that cannot be told"
    parser = commands.add_parser("check", help=told, description=f"{told[0].upper()}{told[1:]}.")
    add_dsn(parser)
    parser.set_defaults(run=run)


async def run(arguments: Namespace) -> Report:
    """Look at the schema, and say what to do about it."""
    try:
        target = existing(arguments.dsn)
    except SchemaMismatch as error:  # of an empty file, which only a SQLite file can be
        figures = {"version": None, "needed": newest("sqlite")}
        return Report("check", figures, parts=[str(error)], code=1)
    found = await version(target)
    figures = {"version": found, "needed": newest("postgres" if is_server(target) else "sqlite")}
    try:
        await check(target)
    except SchemaMismatch as error:
        return Report("check", figures, parts=[str(error)], code=1)
    return Report("check", figures, parts=[f"The schema fits: it is of version {found}."])
