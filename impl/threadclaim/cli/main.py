"""The command line: which command, and what to say if it goes wrong."""

import argparse
import asyncio
import os
import shutil
import sys
from collections.abc import Sequence

from threadclaim import __version__
from threadclaim.cli import check, demo, migrate, prune, recover, show, threads
from threadclaim.cli.report import Report, failure_as_json
from threadclaim.cli.tables import printable
from threadclaim.errors import ThreadClaimError, said

COMMANDS = (migrate, check, threads, show, recover, prune)
"""Those that are about a database."""

INTERRUPTED = 130
"""The exit code of a command that was interrupted at the keyboard."""


def parser() -> argparse.ArgumentParser:
    """What reads the command line."""
    made = argparse.ArgumentParser(
        prog="threadclaim",
        description="One process at a time runs an agent's thread, and each message is consumed once.",
        epilog="docs/operating.md says what to watch, and what to do when.",
        allow_abbrev=False,
    )
    made.add_argument("--version", action="version", version=f"threadclaim {__version__}")
    commands = made.add_subparsers(title="commands", dest="command", metavar="COMMAND")
    for command in COMMANDS:
        command.add(commands)
    for added in commands.choices.values():
        added.add_argument("--json", action="store_true", help="print one JSON object, for programs")
    demo.add(commands)
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out a command.

    Args:
        arguments: Those of the command line, unless given.

    Returns:
        The exit code: 0 if all is as it should be; 1 if the answer is no, or something did not go well; 2 if
        the command could not be carried out, or nobody reads what is printed; 130 if it was interrupted.

    Raises:
        SystemExit: with 2, and a sentence, if there is no such command; with 0 after --help or --version.
    """
    reader = parser()
    given = reader.parse_args(arguments)
    try:
        code = _carry_out(reader, given)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush as Python ends
        sys.stderr.write("Nobody reads what is printed, so the rest is left out.\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted. What was committed stays.\n")
        return INTERRUPTED
    return code


def _carry_out(reader: argparse.ArgumentParser, given: argparse.Namespace) -> int:
    """Carry out what the command line says; gives the exit code."""
    if given.command is None:
        reader.print_help()
        return 0
    if given.command == "demo":
        given.show(given)
        return 0
    try:
        report: Report = asyncio.run(given.run(given))
    except BrokenPipeError:
        raise
    except ThreadClaimError as error:
        return _refuse(given, str(error))
    except ImportError as error:  # a driver that is not installed, which is said in a sentence
        return _refuse(given, str(error))
    except Exception as error:  # noqa: BLE001  # no operator is helped by a traceback at night
        return _refuse(given, f"An error that is threadclaim's own: {type(error).__name__}, {said(error)}.")
    print(report.as_json() if given.json else report.as_text(_width()))
    return report.code


def _refuse(given: argparse.Namespace, sentence: str) -> int:
    """Say why a command was not carried out."""
    sys.stderr.write(f"threadclaim {given.command}: {printable(sentence)}\n")
    if given.json:
        print(failure_as_json(given.command, sentence))
    return 2


def _width() -> int | None:
    """How many columns there are, or None if no person looks."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None
