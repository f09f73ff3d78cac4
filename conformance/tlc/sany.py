"""What SANY, TLC's parser, prints: it puts neither its errors nor its warnings in frames."""

import re
from collections.abc import Iterable

_PROGRESS = ("Parsing file ", "Semantic processing of module ")
_SECTION = re.compile(r"^\*\*\* (?P<title>Errors|Warnings|Abort messages): \d+$")
# Headings that say nothing, and what SANY adds for its own authors.
_NOISE = re.compile(
    r"^Semantic errors.*:$|^\*\*\*Parse Error\*\*\*$|^Residual stack trace follows:$"
    r"|^tla2sany\.|^[\w ]+ starting at line \d+, column \d+\.$"
)
_ENTRY = re.compile(r"\n+(?=line \d+, col )")


def parse_errors(lines: Iterable[str]) -> str:
    """Return what SANY says is wrong with a module, without progress and warnings; empty if nothing is."""
    kept = [line for line in _section(lines, warnings=False) if not _NOISE.match(line)]
    return re.sub(r"\n{2,}", "\n", "\n".join(kept)).strip()


def parse_warnings(lines: Iterable[str]) -> list[str]:
    """Return SANY's warnings, each on one line."""
    text = "\n".join(_section(lines, warnings=True)).strip()
    return [" ".join(entry.split()) for entry in _ENTRY.split(text) if entry]


def _section(lines: Iterable[str], *, warnings: bool) -> list[str]:
    """Return the lines of the sections of warnings, or else all other lines; no headings, no progress."""
    kept, within = [], False
    for line in lines:
        heading = _SECTION.match(line)
        if heading is not None:
            within = heading["title"] == "Warnings"
        elif within == warnings and not line.startswith(_PROGRESS):
            kept.append(line)
    return kept
