"""The command `soak`: kill workers for a while, over a real database, and see what the log says after."""

import argparse
import asyncio
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from conformance.databases import KINDS, database, kinds_of
from conformance.report import Column, Failure, Outcome, Row, make_table, print_failures
from conformance.soak.checker import REASONS, Verdict, judge
from conformance.soak.soak import Plan, run
from conformance.soak.story import Story
from conformance.soak.waits import longest, waits
from threadclaim.events import RunStarted

AS_EXPECTED, NOT_AS_EXPECTED = 0, 1

TTLS = 2
"""How many `claim_ttl`s a message waits at most, as ADR-0070 promises."""

CALLS = 6
"""How many storage calls come beside: the refusal, two looks, the claim, the history, the start.

How long storage takes to answer is no part of the promise, so each may take as long as the slowest did.
"""

MOST_TOLD = 20
"""How many findings are printed."""

_COLUMNS = (
    Column("storage"),
    Column("worker"),
    Column("starts", number=True),
    Column("kills", number=True),
    Column("turns", number=True),
)


def add_soak_options(parser: argparse.ArgumentParser) -> None:
    """Give the parser the command's options."""
    parser.add_argument(
        "--seconds", type=float, default=60.0, metavar="N", help="for how long: 60 unless given"
    )
    parser.add_argument("--storage", choices=(*KINDS, "both"), default="both", help="over which storage")
    parser.add_argument("--dsn", help="the DSN of a PostgreSQL to use, else one is started")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="leave to chance what seed N does")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all of it to FILE as JSON")


@dataclass(frozen=True, slots=True)
class Soaked:
    """What a soak over one storage came to."""

    storage: str
    plan: Plan
    story: Story
    verdict: Verdict
    longest_wait: float
    waits: int
    seconds: float

    @property
    def is_well(self) -> bool:
        """Whether nothing is wrong, and nobody waited for too long."""
        return self.verdict.is_well and self.is_soon

    @property
    def is_soon(self) -> bool:
        """Whether the longest wait is within what the record promises."""
        return self.longest_wait <= TTLS * self.plan.claim_ttl + CALLS * self.story.slowest_call

    @property
    def figures(self) -> Mapping[str, int | float]:
        """Its figures."""
        verdict = self.verdict
        return {
            "kills": len(self.story.kills),
            "messages": verdict.messages,
            "acknowledged": verdict.acknowledged,
            "consumed": verdict.consumed,
            "lost": verdict.count("lost"),
            "twice": verdict.count("twice"),
            "wrong": len(verdict.findings),
            "excused": len(verdict.excuses),
            "stuck": verdict.count("stuck") + verdict.count("held"),
            "waits": self.waits,
            "longest_wait_s": round(self.longest_wait, 2),
            "slowest_call_s": round(self.story.slowest_call, 2),
            "seconds": round(self.seconds, 1),
        }


@dataclass(frozen=True, slots=True)
class Soaking:
    """The command, and the console that it prints to."""

    console: Console

    def run(self, plan: Plan, storage: str, dsn: str | None, path: Path | None) -> int:
        """Soak over each storage; print what was seen, and all that is wrong.

        Returns 0 if all is as expected, 1 if not.
        """
        soaked = [asyncio.run(self._soak(plan, kind, dsn)) for kind in kinds_of(storage)]
        rows = [row for each in soaked for row in _rows(each)]
        cells = [(True, [str(cell) for cell in row.values()]) for row in rows]
        self.console.print(make_table(_COLUMNS, cells))
        for each in soaked:
            self._tell(each)
        failures = [failure for each in soaked for failure in failures_of(each)]
        print_failures(self.console, failures, len(soaked))
        if path:
            figures = {f"{name}_{each.storage}": n for each in soaked for name, n in each.figures.items()}
            Outcome(not failures, "soak", {**_together(soaked), **figures}, rows).save(path)
        return NOT_AS_EXPECTED if failures else AS_EXPECTED

    async def _soak(self, plan: Plan, kind: str, dsn: str | None) -> Soaked:
        """Soak over one storage."""
        self.console.print(Text(f"== {kind}: {plan.seconds:g} s, seed {plan.seed}", style="bold"))
        began = time.perf_counter()
        async with database(kind, dsn) as target:
            story = await run(plan, target)
        found = waits(story, plan.claim_ttl)
        seconds = time.perf_counter() - began
        return Soaked(kind, plan, story, judge(story), longest(found), len(found), seconds)

    def _tell(self, soaked: Soaked) -> None:
        """Say what came of one, in sentences."""
        told, ttl = soaked.figures, soaked.plan.claim_ttl
        self.console.print(
            f"{soaked.storage}: {told['kills']} kills, {told['messages']:,} messages, {told['lost']} lost, "
            f"{told['twice']} taken twice, {told['stuck']} stuck. "
            f"{told['waits']} threads waited after a kill, {told['longest_wait_s']} s at most; the record "
            f"promises {TTLS * ttl:g} s, {TTLS} times the claim_ttl of {ttl:g} s. The slowest storage call "
            f"took {told['slowest_call_s']} s.",
            soft_wrap=True,
        )
        reasons = Counter(excuse.reason for excuse in soaked.verdict.excuses)
        for reason, times in reasons.items():
            self.console.print(Text(f"  excused, {times} times: {REASONS[reason]}"), soft_wrap=True)


def _rows(soaked: Soaked) -> list[Row]:
    """A row for each worker."""
    story = soaked.story
    kills = Counter(kill.life.partition(".")[0] for kill in story.kills)
    starts = Counter(life.worker for life in story.lives)
    segments = [
        entry.event.segment
        for workspace in story.workspaces.values()
        for entry in workspace.entries
        if isinstance(entry.event, RunStarted)
    ]
    turns = Counter(segment.partition(".")[0] for segment in segments)
    return [
        {
            "storage": soaked.storage,
            "worker": worker,
            "starts": starts[worker],
            "kills": kills[worker],
            "turns": turns[worker],
        }
        for worker in sorted(starts)
    ]


def failures_of(soaked: Soaked) -> list[Failure]:
    """What is wrong."""
    plan = soaked.plan
    why = [finding.sentence for finding in soaked.verdict.findings]
    if not soaked.is_soon:
        why.append(f"A thread waited {soaked.longest_wait:.2f} s after a kill.")
    if not why:
        return []
    more = [f"And {len(why) - MOST_TOLD} more."] if len(why) > MOST_TOLD else []
    command = (
        f"python -m conformance soak --seconds {plan.seconds:g} --seed {plan.seed} --storage {soaked.storage}"
    )
    return [Failure(soaked.storage, [*why[:MOST_TOLD], *more], command)]


def _together(soaked: Sequence[Soaked]) -> Mapping[str, int | float]:
    """The figures of all of them: added up, but for the longest wait."""
    names = soaked[0].figures
    return {
        name: max(each.figures[name] for each in soaked)
        if name in {"longest_wait_s", "slowest_call_s"}
        else round(sum(each.figures[name] for each in soaked), 1)
        for name in names
    }
