"""Tables as plain text: columns where there is room for them, and else a line for each cell."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

GAP = 2
"""How many spaces part two columns."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under their columns' names; every cell is text."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


def printable(text: str) -> str:
    """A text on its line: what moves a terminal's cursor, or hides, is written out.

    An id may hold anything but NUL, an escape sequence too. Line ends stay where the text is our own.
    """
    return "\n".join(_on_a_line(line) for line in text.split("\n"))


def cell(text: str) -> str:
    """A text that must not leave its cell: its line ends are written out too."""
    return _on_a_line(text)


def _on_a_line(text: str) -> str:
    """A text in which each character that cannot be seen is written as Python writes it."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def width_of(text: str) -> int:
    """How many columns of a terminal a text takes: two for a wide character, none for a combining one."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text
    )


def rendered(table: Table, width: int | None) -> str:
    """A table in columns, or if they do not fit, its rows one under another, each cell with its name."""
    rows = [[cell(text) for text in row] for row in table.rows]
    widths = [
        max(map(width_of, column)) for column in zip(table.columns, *rows, strict=True)
    ]  # a table has columns
    if width is not None and sum(widths) + GAP * (len(widths) - 1) > width:
        return "\n\n".join(_upright(table.columns, row) for row in rows)
    return "\n".join(_line(row, widths) for row in [list(table.columns), *rows])


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    """One line of columns; nothing trails."""
    padded = (text + " " * (wide - width_of(text)) for text, wide in zip(row, widths, strict=True))
    return (" " * GAP).join(padded).rstrip()


def _upright(columns: Sequence[str], row: Sequence[str]) -> str:
    """One row, a line for each cell that is not empty."""
    wide = max(map(width_of, columns))
    return "\n".join(
        f"{name}{' ' * (wide - width_of(name))}  {text}"
        for name, text in zip(columns, row, strict=True)
        if text
    )
