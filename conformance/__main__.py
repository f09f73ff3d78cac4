"""`python -m conformance COMMAND`: what shows that the runner does what the model does.

A command exits 0 if everything is as expected, 1 if a check failed, and 2 if it could not run.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from conformance.models.command import COULD_NOT_RUN, Models, add_options, options_from
from conformance.report import make_console
from conformance.tlc.run import check
from conformance.tlc.tools import find_tools

ROOT = Path(__file__).resolve().parents[1]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that `arguments` name, the process's own unless given, and return its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m conformance", description="Check threadclaim against its model."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    about = "check every cfg of the manifest with TLC: models, mutants and witnesses"
    add_options(commands.add_parser("models", help=about, description=f"{about[0].upper()}{about[1:]}."))
    options = options_from(parser.parse_args(arguments))
    try:
        return Models(ROOT, make_console(), find_tools, check).run(options)
    except KeyboardInterrupt:
        print("Could not run: it was interrupted, so not everything was checked.", file=sys.stderr)
        return COULD_NOT_RUN


if __name__ == "__main__":
    sys.exit(main())
