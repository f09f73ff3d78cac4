"""What a command is: something that adds itself to the command line, and can be run."""

import argparse
from typing import TypeAlias

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001  # it has no other
"""Where commands add themselves."""


def count_of(text: str) -> int:
    """How many, 0 among them; raises ArgumentTypeError for what is no such number."""
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of what is listed. Give 0 or more.")
    return int(text)
