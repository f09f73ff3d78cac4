"""Words that every command's sentences have in common."""

import shlex

PYTHON = ".venv/bin/python"
"""The interpreter, as a clone has it once it is set up: what is printed can be typed as it stands."""


def many(count: int, noun: str, plural: str = "") -> str:
    """Return how many there are: `1 mutant`, `1,200 steps`; with `plural` where an s is not enough."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def command(*words: object) -> str:
    """Return a command of this package as it is typed in the project's folder."""
    return shlex.join([PYTHON, "-m", "conformance", *map(str, words)])
