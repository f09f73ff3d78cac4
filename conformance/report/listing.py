"""What most commands do with what they found: a table, every failure, a sentence if all is well, and JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from rich.console import Console

from conformance.report.codes import AS_EXPECTED, NOT_AS_EXPECTED
from conformance.report.failures import Failure, print_failures
from conformance.report.outcome import Cell, Outcome, Row
from conformance.report.table import Column, make_table


class Listed(Protocol):
    """A thing that a command looked at."""

    @property
    def ok(self) -> bool:
        """Whether it is as expected."""

    @property
    def row(self) -> Row:
        """It, as a row of the JSON."""

    @property
    def cells(self) -> Sequence[str]:
        """It, as a row of the table."""

    @property
    def failure(self) -> Failure:
        """Why it is not as expected."""


@dataclass(frozen=True, slots=True)
class Listing:
    """How a command shows what it found: by its name, in these columns; `brief`, only what is wrong."""

    console: Console
    command: str
    columns: Sequence[Column]
    brief: bool = False

    def show(
        self,
        found: Sequence[Listed],
        figures: Mapping[str, int | float],
        as_expected: str,
        json: Path | None,
    ) -> int:
        """Print and write what was found, and say `as_expected` if all of it is; the command's exit code.

        Raises OSError if the JSON cannot be written.
        """
        failures = [each.failure for each in found if not each.ok]
        if failures or not self.brief:
            self.console.print(make_table(self.columns, [(each.ok, each.cells) for each in found]))
        print_failures(self.console, failures, len(found))
        if not failures:
            self.console.print(f"As expected: {as_expected}", soft_wrap=True)
        if json:
            Outcome(not failures, self.command, figures, [each.row for each in found]).save(json)
        return NOT_AS_EXPECTED if failures else AS_EXPECTED


def cells_of(row: Mapping[str, Cell]) -> list[str]:
    """A row of the JSON as one of the table: all of it, but for whether it is as expected."""
    return [str(cell) for key, cell in row.items() if key != "ok"]
