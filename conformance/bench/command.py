"""The command `bench`: what a busy workspace costs, as a ratio to many that are not."""

import argparse
import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from conformance.bench.workspaces import Bench, Shape, share, side_by_side
from conformance.databases import KINDS, database, kinds_of
from conformance.quiet import quiet
from conformance.report import Column, Outcome, Row, make_table

AS_EXPECTED, NOT_AS_EXPECTED = 0, 1

LEAST = 0.5
"""How much of many workspaces' turns a second one workspace has at least, on PostgreSQL."""

_COLUMNS = (
    Column("storage"),
    Column("workspaces x threads"),
    Column("turns a second", number=True),
    Column("send p50 ms", number=True),
    Column("send p99 ms", number=True),
    Column("lock wait p50 ms", number=True),
    Column("lock wait p99 ms", number=True),
)


def add_bench_options(parser: argparse.ArgumentParser) -> None:
    """Give the parser the command's options."""
    parser.add_argument("--storage", choices=(*KINDS, "both"), default="both", help="over which storage")
    parser.add_argument("--dsn", help="the DSN of a PostgreSQL to use, else one is started")
    parser.add_argument("--threads", type=int, default=100, metavar="N", help="how many threads")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="how many turns of each")
    parser.add_argument(
        "--prepared", action="store_true", help="have PostgreSQL's statements prepared, once a connection"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all of it to FILE as JSON")


@dataclass(frozen=True, slots=True)
class Benching:
    """The command, and the console that it prints to."""

    console: Console
    prepared: bool = False

    def run(self, storage: str, dsn: str | None, threads: int, rounds: int, path: Path | None) -> int:
        """Measure, and print the table; returns 1 if one workspace is slower than it may be on PostgreSQL."""
        shapes = [Shape(1, threads), Shape(threads, 1)]
        rows: list[Row] = []
        ratios: dict[str, float] = {}
        for kind in kinds_of(storage):
            with quiet():
                one, many = asyncio.run(self._measure(kind, dsn, shapes, rounds))
            rows += [_row(kind, one), _row(kind, many)]
            ratios[kind] = one.measured.turns_per_second / many.measured.turns_per_second
        cells = [(True, [str(cell) for cell in row.values()]) for row in rows]
        self.console.print(make_table(_COLUMNS, cells))
        for kind, ratio in ratios.items():
            self.console.print(f"{kind}: one workspace has {ratio:.2f} of the turns a second of {threads}.")
        is_well = ratios.get("postgres", 1.0) >= LEAST
        if path:
            figures: Mapping[str, float] = {f"ratio_{kind}": round(r, 3) for kind, r in ratios.items()}
            Outcome(is_well, "bench", figures, rows).save(path)
        return AS_EXPECTED if is_well else NOT_AS_EXPECTED

    async def _measure(self, kind: str, dsn: str | None, shapes: list[Shape], rounds: int) -> list[Bench]:
        """Measure over one storage."""
        async with database(kind, dsn) as target:
            return await side_by_side(target, shapes, rounds, connections=4, prepared=self.prepared)


def _row(kind: str, bench: Bench) -> Row:
    """A shape's row."""
    measured = bench.measured
    return {
        "storage": kind,
        "shape": str(bench.shape),
        "turns_per_second": round(measured.turns_per_second, 1),
        "send_p50_ms": round(share(measured.sends, 0.5), 1),
        "send_p99_ms": round(share(measured.sends, 0.99), 1),
        "lock_wait_p50_ms": round(share(measured.waits, 0.5), 1),
        "lock_wait_p99_ms": round(share(measured.waits, 0.99), 1),
    }
