"""Choosing by name what a command looks at: names with * and ?, and what to do about one that nothing has."""

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import PurePath


class SelectionError(Exception):
    """The options select nothing at all, or name what there is not: the message says which options."""


def matches(name: str, patterns: Iterable[str]) -> bool:
    """Whether a name that may be a path, or its last part, matches one of the patterns."""
    return any(
        fnmatchcase(name, pattern) or fnmatchcase(PurePath(name).name, pattern) for pattern in patterns
    )


def select(names: Iterable[str], patterns: Sequence[str], what: str) -> list[str]:
    """Return the names that match one of the patterns, in their order; all of them if there is no pattern.

    Raises:
        SelectionError: A pattern matches none: one that is mistyped would else be passed over. It says that
            no `what` is called so, and names what is called much like it.
    """
    known = list(names)
    words = {word: word for name in known for word in (name, PurePath(name).name)}
    for pattern in patterns:
        if not any(matches(name, [pattern]) for name in known):
            raise SelectionError(f"No {what} is called {pattern}.{suggestion(pattern, words)}")
    return [name for name in known if not patterns or matches(name, patterns)]


def suggestion(given: str, words: Mapping[str, str]) -> str:
    """Return ` Did you mean …?` with what is told by a word much like the one given; empty if none is."""
    near = dict.fromkeys(words[word] for word in get_close_matches(given, words, n=3))
    return f" Did you mean {' or '.join(near)}?" if near else ""
