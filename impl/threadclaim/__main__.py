"""The library's command line: `python -m threadclaim`, and what it can show."""

import argparse
import os
import sys
from collections.abc import Sequence

from threadclaim import __version__


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out a command.

    Args:
        arguments: Those of the command line, unless given.

    Returns:
        The exit code: 0, or 2 if nobody reads what is printed.

    Raises:
        SystemExit: with 2, and a sentence, if there is no such command; with 0 after --help or --version.
    """
    parser = argparse.ArgumentParser(
        prog="python -m threadclaim",
        description="One process at a time runs an agent's thread, and each message is consumed once.",
    )
    parser.add_argument("--version", action="version", version=f"threadclaim {__version__}")
    commands = parser.add_subparsers(title="commands", dest="command", metavar="COMMAND")
    told = "two processes serve a thread: one dies in the middle of its turn, the other takes over"
    commands.add_parser("demo", help=told, description=f"In virtual time, {told}. It needs no key.")
    command = parser.parse_args(arguments).command
    try:
        _demo() if command == "demo" else parser.print_help()
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush as Python ends
        sys.stderr.write("Nobody reads what is printed, so the rest is left out.\n")
        return 2
    return 0


def _demo() -> None:
    """Tell the story, a line for each step."""
    # Only this command needs pydantic-ai, and a loop for tests.
    from threadclaim.demo import take_over  # noqa: PLC0415
    from threadclaim.testing import VirtualTimeLoop  # noqa: PLC0415

    VirtualTimeLoop.run(take_over(print))


if __name__ == "__main__":
    sys.exit(main())
