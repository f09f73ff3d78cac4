"""The plain sentence above each property of the model: read from the modules, which alone have it."""

import re
from collections.abc import Iterator
from pathlib import Path

MODULES = ("Properties.tla", "DirectRuns.tla")

_COMMENT = re.compile(r"\\\* ?(?P<text>.*)")
_DEFINITION = re.compile(r"(?P<name>\w+)\s*==")


def read_sentences(spec: Path) -> dict[str, str]:
    """Return each property's sentence by its name, with the record that it comes from.

    A comment is for every definition below it, up to an empty line or the next comment.

    Args:
        spec: The folder of the modules.

    Raises:
        OSError: A module cannot be read.
    """
    return {
        name: sentence
        for module in MODULES
        for name, sentence in _sentences((spec / module).read_text(encoding="utf-8"))
    }


def _sentences(text: str) -> Iterator[tuple[str, str]]:
    """Yield the definitions of a module that have a comment above them, and that comment."""
    comment: list[str] = []
    in_comment = False
    for line in text.splitlines():
        if match := _COMMENT.fullmatch(line):
            comment = [*(comment if in_comment else []), match["text"]]
        elif not line.strip():
            comment = []
        elif comment and (match := _DEFINITION.match(line)):
            yield match["name"], " ".join(" ".join(comment).split())
        in_comment = line.startswith("\\*")
