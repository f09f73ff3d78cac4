"""The command `mutants`: each mutant of the model, and by what its twin, the runner so spoilt, is caught."""

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from rich.console import Console

from conformance.beside import DivergedError
from conformance.explore.check import BrokenError
from conformance.explore.finish import LeftOverError
from conformance.explore.tally import Tally
from conformance.explore.walk import Walker
from conformance.model.model import ACTIONS, Model
from conformance.models.manifest import ManifestError, load_manifest
from conformance.models.manifest import Mutant as MutantEntry
from conformance.mutants import TWINS
from conformance.mutants.twin import Twin
from conformance.quiet import quiet
from conformance.replay.command import replay
from conformance.report import Column, Failure, Outcome, Row, make_table, print_failures
from conformance.tlc.itf import TraceFormatError
from conformance.world.loop import SpinError, WorldError
from conformance.world.model_agent import ModelAgent

AS_EXPECTED, NOT_AS_EXPECTED, COULD_NOT_RUN = 0, 1, 2

BUDGET = 50_000
"""Within how many steps exploration must catch a twin: fewer than a pull request explores."""

REAL = 8
"""Of so many walks one is with pydantic-ai's agent."""

STEPS = 60
"""How long a walk is, before all that is fair."""

_COLUMNS = (
    Column("mutant"),
    Column("property"),
    Column("TLC, in states", number=True),
    Column("replay"),
    Column("exploration, by"),
    Column("after steps", number=True),
)


@dataclass(frozen=True, slots=True)
class Caught:
    """What caught a twin, and after how many steps of exploration; with `by` empty, nothing did."""

    by: str
    steps: int


def hunt(twin: Twin, model: type[Model] = Model, budget: int = BUDGET) -> Caught:
    """Explore a twin beside the model as it is, without any trace, until something is wrong.

    `model` is the model, with direct runs where the mutant has them.
    """
    tally = Tally()
    with twin.applied():
        stepped = Walker(tally, twin.make, model)
        real = Walker(tally, twin.make, model, make_agent=ModelAgent)
        for seed in count():
            if tally.steps >= budget:
                break
            try:
                (real if seed % REAL == REAL - 1 else stepped).walk(seed, STEPS)
            except BrokenError as error:
                return Caught(", ".join(error.names), tally.steps + 1)
            except (DivergedError, LeftOverError, WorldError) as error:
                return Caught(_NAMES[type(error)], tally.steps + 1)
    # So many steps of the library's reach every action of the model.
    missed = sorted(set(ACTIONS) - set(tally.actions)) if tally.steps >= BUDGET else []
    return Caught(f"{', '.join(missed)}: never reached" if missed else "", tally.steps)


_NAMES: Mapping[type[Exception], str] = {
    DivergedError: "a state that the model has not",
    LeftOverError: "what is left in the end",
    WorldError: "what nothing explains",
    SpinError: "what never comes to rest",
}


@dataclass(frozen=True, slots=True)
class Mutant:
    """A mutant: the property that it breaks, how long TLC's counterexample is, and what catches its twin."""

    name: str
    broken: str
    states: int | None
    reproduced: bool
    caught: Caught

    @property
    def ok(self) -> bool:
        """Whether all three catch it."""
        return self.states is not None and self.reproduced and bool(self.caught.by)

    @property
    def row(self) -> Row:
        """Its row."""
        return {
            "mutant": self.name,
            "property": self.broken,
            "tlc": self.states,
            "replay": self.reproduced,
            "explore": self.caught.by or None,
            "by": ", ".join(
                name
                for name, catches in (
                    ("tlc", self.states is not None),
                    ("replay", self.reproduced),
                    ("explore", bool(self.caught.by)),
                )
                if catches
            ),
            "steps": self.caught.steps,
            "ok": self.ok,
        }

    @property
    def cells(self) -> list[str]:
        """Its row, as text."""
        return [
            self.name,
            self.broken,
            str(self.states or "NOT found"),
            "reproduced" if self.reproduced else "NOT reproduced",
            self.caught.by or "NOT caught",
            f"{self.caught.steps:,}",
        ]


def add_mutant_options(parser: argparse.ArgumentParser) -> None:
    """Give the parser the command's options."""
    parser.add_argument(
        "--only", action="append", default=[], metavar="NAME", help="only the mutant NAME; may be repeated"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all of it to FILE as JSON")


@dataclass(frozen=True, slots=True)
class Mutants:
    """The command, and what it needs: the project's folder, and the console that it prints to.

    If it is `brief`, it prints its table only if something is not as expected.
    """

    root: Path
    console: Console
    brief: bool = False

    def run(self, only: Sequence[str], json: Path | None) -> int:
        """Spoil the runner in each way, and see what catches it.

        Returns 0 if TLC, replay and exploration all catch every mutant, 1 if not, 2 if it could not run.
        """
        began = time.perf_counter()
        if unknown := set(only) - set(TWINS):
            print(f"Could not run: there is no mutant {', '.join(sorted(unknown))}.", file=sys.stderr)
            return COULD_NOT_RUN
        try:
            with quiet():
                found = [self._mutant(name) for name in sorted(only or TWINS)]
        except (ManifestError, TraceFormatError, OSError, ValueError) as error:
            print(f"Could not run: {error}", file=sys.stderr)
            return COULD_NOT_RUN
        self._report(found)
        figures = {
            "mutants": len(found),
            "caught": sum(mutant.ok for mutant in found),
            "most_steps": max(mutant.caught.steps for mutant in found),
            "seconds": round(time.perf_counter() - began, 1),
        }
        if json:
            rows = [mutant.row for mutant in found]
            Outcome(all(mutant.ok for mutant in found), "mutants", figures, rows).save(json)
        return AS_EXPECTED if all(mutant.ok for mutant in found) else NOT_AS_EXPECTED

    def _mutant(self, name: str) -> Mutant:
        """What catches one mutant."""
        spec = self.root / "spec"
        replayed = replay(self.root / "traces" / f"{name}.itf.json", spec)
        return Mutant(
            name, replayed.broken, self._length(spec, name), replayed.ok, hunt(TWINS[name], replayed.model)
        )

    @staticmethod
    def _length(spec: Path, name: str) -> int | None:
        """How many states TLC's counterexample has, as the manifest pins it; None if it pins none."""
        entries = [case.entry for case in load_manifest(spec).cases if Path(case.name).name == name]
        return next((entry.trace_length for entry in entries if isinstance(entry, MutantEntry)), None)

    def _report(self, found: Sequence[Mutant]) -> None:
        """Print the matrix."""
        if not self.brief or not all(mutant.ok for mutant in found):
            self.console.print(make_table(_COLUMNS, [(mutant.ok, mutant.cells) for mutant in found]))
        failures = [
            Failure(
                mutant.name,
                ["Not all three catch it."],
                f"python -m conformance mutants --only {mutant.name}",
            )
            for mutant in found
            if not mutant.ok
        ]
        print_failures(self.console, failures, len(found))
        if not failures:
            most = max(mutant.caught.steps for mutant in found)
            self.console.print(
                f"As expected: {len(found)} mutants, each caught by TLC, by replay, and by exploration "
                f"within {most:,} steps.",
                soft_wrap=True,
            )
