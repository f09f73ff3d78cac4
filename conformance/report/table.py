"""Tables in the terminal."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

_WIDTH_OF_NO_TERMINAL = 160


@dataclass(frozen=True, slots=True)
class Column:
    """A column's heading, and whether it holds numbers, which are set to the right."""

    heading: str
    number: bool = False


def make_console() -> Console:
    """The console of a command: standard output.

    It is as wide as `COLUMNS` says, else as its terminal; and wide enough for every table where it is none.
    """
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) > 0:
        return Console(highlight=False, width=int(columns))
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=_WIDTH_OF_NO_TERMINAL)


def make_table(columns: Sequence[Column], rows: Iterable[tuple[bool, Sequence[str]]]) -> Table:
    """A table of `rows`, each with whether it is as expected: one that is not stands out, in red.

    Raises ValueError when a row has another number of cells than there are columns.
    """
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for column in columns:
        table.add_column(column.heading, justify="right" if column.number else "left", overflow="fold")
    for ok, cells in rows:
        if len(cells) != len(columns):
            raise ValueError(f"A row has {len(cells)} cells for {len(columns)} columns: {', '.join(cells)}.")
        table.add_row(*map(Text, cells), style=None if ok else "bold red")
    return table
