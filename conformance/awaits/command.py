"""The command `awaits`: every await of a turn, times every fault, times every storage, in one table."""

import argparse
import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from conformance.awaits.case import FAULTS, Came, Scenario, applies, list_awaits, try_fault
from conformance.awaits.numbering import Await, Numbering
from conformance.awaits.scenarios import SCENARIOS
from conformance.awaits.under_test import KINDS, UnderTest, under_test
from conformance.quiet import quiet
from conformance.report import Column, Failure, Outcome, Row, make_table, print_failures

AS_EXPECTED, NOT_AS_EXPECTED = 0, 1

TRIES = 5
"""How often a case is run until its await is met: a server may have one more, or less, at another try."""

_COLUMNS = (
    Column("storage"),
    Column("scenario"),
    Column("awaits", number=True),
    *(Column(fault, number=True) for fault in FAULTS),
    Column("seconds", number=True),
)


def add_await_options(parser: argparse.ArgumentParser) -> None:
    """Give the parser the command's options."""
    parser.add_argument("--storage", choices=(*KINDS, "all"), default="all", help="over which storage")
    parser.add_argument("--scenario", choices=[each.name for each in SCENARIOS], help="only this one")
    parser.add_argument("--dsn", help="the DSN of a PostgreSQL to use, else one is started")
    parser.add_argument("--verbose", action="store_true", help="print each await, and what came of it")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all of it to FILE as JSON")


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of the table: an await, a fault and a storage, and what came of them."""

    storage: str
    scenario: str
    at: Await
    fault: str
    came: Came

    @property
    def is_well(self) -> bool:
        """Whether the fault came, and all was well after it."""
        return self.came.was_met and not self.came.wrong


@dataclass(frozen=True, slots=True)
class Awaits:
    """The command, and the console that it prints to."""

    console: Console

    def run(  # the command's options
        self,
        storage: str,
        scenario: str | None = None,
        dsn: str | None = None,
        path: Path | None = None,
        *,
        verbose: bool = False,
    ) -> int:
        """Try every case, and print the table; returns 0 if every cell is well, 1 if one is not."""
        kinds = KINDS if storage == "all" else (storage,)
        scenarios = [each for each in SCENARIOS if scenario in {None, each.name}]
        cells: list[Cell] = []
        rows: list[tuple[bool, Sequence[str]]] = []
        for kind in kinds:
            with quiet():
                for found, row in asyncio.run(self._over(kind, scenarios, dsn)):
                    cells += found
                    rows.append(row)
        self.console.print(make_table(_COLUMNS, rows))
        if verbose:
            self._tell(cells)
        failures = [_failure(cell) for cell in cells if not cell.is_well]
        print_failures(self.console, failures, len(cells))
        if not failures:
            self.console.print(f"As expected: {len(cells):,} of {len(cells):,} cells.")
        if path:
            _outcome(cells).save(path)
        return NOT_AS_EXPECTED if failures else AS_EXPECTED

    async def _over(
        self, kind: str, scenarios: Sequence[Scenario], dsn: str | None
    ) -> list[tuple[list[Cell], tuple[bool, Sequence[str]]]]:
        """Try every case over one storage."""
        numbering = Numbering()
        numbering.install(asyncio.get_running_loop())
        came = []
        async with under_test(kind, dsn) as tested:
            for scenario in scenarios:
                began = time.perf_counter()
                cells = [cell async for cell in _cells(kind, scenario, tested, numbering)]
                came.append((cells, _row(kind, scenario, cells, time.perf_counter() - began)))
                self.console.print(f"{kind}, {scenario.name}: {len(cells)} cells")
        return came

    def _tell(self, cells: Sequence[Cell]) -> None:
        """Print each cell."""
        for cell in cells:
            said = "well" if cell.is_well else " ".join(cell.came.wrong) or "never met"
            self.console.print(Text(f"{cell.storage}, {cell.scenario}, {cell.at}, {cell.fault}: {said}"))


async def _cells(
    kind: str, scenario: Scenario, tested: UnderTest, numbering: Numbering
) -> AsyncIterator[Cell]:
    """The cells of a scenario over a storage."""
    await list_awaits(scenario, tested, numbering)  # it opens what the storage needs
    for at in await list_awaits(scenario, tested, numbering):
        for fault in FAULTS:
            if applies(fault, at):
                came = await _until_met(scenario, at, fault, tested, numbering)
                yield Cell(kind, scenario.name, at, fault, came)


async def _until_met(
    scenario: Scenario, at: Await, fault: str, tested: UnderTest, numbering: Numbering
) -> Came:
    """Try a case until its await is met."""
    came = Came(was_met=False)
    for _ in range(TRIES):
        came = await try_fault(scenario, at, fault, tested, numbering)
        if came.was_met or came.wrong:
            break
    return came


def _row(kind: str, scenario: Scenario, cells: Sequence[Cell], seconds: float) -> tuple[bool, Sequence[str]]:
    """A scenario's row: of each fault, how many cells are well, of how many."""
    tried, well = Counter(cell.fault for cell in cells), Counter(cell.fault for cell in cells if cell.is_well)
    counts = [f"{well[fault]}/{tried[fault]}" for fault in FAULTS]
    awaits = len({cell.at for cell in cells})
    return well == tried, [kind, scenario.name, str(awaits), *counts, f"{seconds:.1f}"]


def _failure(cell: Cell) -> Failure:
    """A cell that is not well."""
    why = cell.came.wrong or ("This await was not met again.",)
    command = f"python -m conformance awaits --storage {cell.storage} --scenario {cell.scenario}"
    return Failure(f"{cell.storage}, {cell.scenario}, {cell.at}: {cell.fault}", why, command)


def _outcome(cells: Sequence[Cell]) -> Outcome:
    """The command's outcome."""
    passed = sum(cell.is_well for cell in cells)
    figures = {
        "awaits": len({(cell.storage, cell.scenario, cell.at) for cell in cells}),
        "faults": len({cell.fault for cell in cells}),
        "storages": len({cell.storage for cell in cells}),
        "scenarios": len({cell.scenario for cell in cells}),
        "cases": len(cells),
        "passed": passed,
    }
    rows: list[Row] = [
        {
            "await": str(cell.at),
            "action": cell.at.step,
            "scenario": cell.scenario,
            "fault": cell.fault,
            "storage": cell.storage,
            "ok": cell.is_well,
        }
        for cell in cells
    ]
    return Outcome(passed == len(cells), "awaits", figures, rows)
