"""What is measured is measured; no figure of a bench is expected here. What a sweep reads does not grow."""

import asyncio
import io
import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from rich.console import Console

from conformance.bench.command import Benching
from conformance.bench.recover import STRANDED, Sweep, sweep
from conformance.bench.workspaces import share
from conformance.databases import database
from tests.durable import server


def dsn_of(kind: str) -> str | None:
    """The tests' server."""
    return server() if kind == "postgres" else None


async def _sweep(kind: str, threads: int) -> Sweep:
    """What a sweep reads of so many threads."""
    async with database(kind, dsn_of(kind), waits_for_disk=False) as target:
        return await sweep(target, threads)


def rows_read(plan: Sequence[str]) -> list[float]:
    """The rows that each node of PostgreSQL's plan read, those that it threw away too."""
    found = re.findall(r"(?:rows=|Rows Removed by Filter: )([\d.]+)", "\n".join(plan))
    return [float(rows) for rows in found]


def pages_read(plan: Sequence[str]) -> int:
    """The pages that PostgreSQL's plan read in all: the first node's."""
    (first, *_) = re.findall(r"Buffers: shared (?:hit=(\d+))?(?: ?read=(\d+))?", "\n".join(plan))
    return sum(int(pages) for pages in first if pages)


def test_what_a_sweep_reads_on_postgres_does_not_grow() -> None:
    """With 100 threads and with 20 times as many: the same rows, and no more pages than an index's height."""
    few, many = (asyncio.run(_sweep("postgres", threads)) for threads in (100, 2000))
    assert few.listed == many.listed == STRANDED
    assert rows_read(few.plan)
    assert max(rows_read(many.plan)) == STRANDED
    assert "threadclaim_threads_stranded" in "\n".join(many.plan)
    assert pages_read(many.plan) <= pages_read(few.plan) + STRANDED


@pytest.mark.parametrize("threads", [100, 2000])
def test_what_a_sweep_reads_on_sqlite_does_not_grow(threads: int) -> None:
    """It is read by the index which has the stranded threads alone."""
    swept = asyncio.run(_sweep("sqlite", threads))
    assert swept.listed == STRANDED
    (line,) = [line for line in swept.plan if "threadclaim_threads" in line]
    assert "USING INDEX threadclaim_threads_stranded" in line
    assert not any(line.startswith("SCAN") for line in swept.plan)


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_small_bench(kind: str, tmp_path: Path) -> None:
    """Each shape has a row, and their ratio is told."""
    path = tmp_path / "bench.json"
    Benching(Console(file=io.StringIO())).run(kind, dsn_of(kind), 4, 1, path)
    outcome = json.loads(path.read_text())
    assert outcome["figures"][f"ratio_{kind}"] > 0
    assert [row["shape"] for row in outcome["rows"]] == ["1 x 4", "4 x 1"]
    assert all(row["turns_per_second"] > 0 for row in outcome["rows"])


def test_shares() -> None:
    """Of seconds, in milliseconds."""
    assert share([0.003, 0.001, 0.002], 0.5) == 2.0
    assert share([0.003, 0.001, 0.002], 0.99) == 3.0
    assert share([], 0.5) == 0.0
