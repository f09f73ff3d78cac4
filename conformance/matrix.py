"""The command `mutants`: each mutant of the model, and by what its twin, the runner so spoilt, is caught."""

import argparse
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from rich.console import Console

from conformance.beside import DivergedError, UndoneError
from conformance.explore.check import BrokenError
from conformance.explore.finish import LeftOverError
from conformance.explore.tally import Tally
from conformance.explore.walk import Walker
from conformance.model.direct import DirectModel
from conformance.model.model import ACTIONS, Model
from conformance.models.manifest import ManifestError, load_manifest
from conformance.models.manifest import Mutant as MutantEntry
from conformance.mutants import TWINS
from conformance.mutants.twin import Twin
from conformance.quiet import quiet
from conformance.replay.command import replay
from conformance.report import (
    Column,
    Failure,
    Listing,
    Row,
    add_json,
    add_only,
    command,
    could_not_run,
    many,
)
from conformance.selecting import SelectionError, select
from conformance.tlc.reading import UnreadableError
from conformance.world.loop import SpinError, WorldError
from conformance.world.model_agent import ModelAgent

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
        if issubclass(
            model, DirectModel
        ):  # a direct run's history is the world's own, which no real agent reads
            real = stepped
        for seed in count():
            if tally.steps >= budget:
                break
            try:
                (real if seed % REAL == REAL - 1 else stepped).walk(seed, STEPS)
            except BrokenError as error:
                return Caught(", ".join(error.names), tally.steps + 1)
            except (DivergedError, UndoneError, LeftOverError, WorldError) as error:
                return Caught(_told(error), tally.steps + 1)
    # So many steps of the library's reach every action of the model.
    missed = sorted(set(ACTIONS) - set(tally.actions)) if tally.steps >= BUDGET else []
    return Caught(f"{', '.join(missed)}: never reached" if missed else "", tally.steps)


def _told(error: Exception) -> str:
    """What went wrong, in few words."""
    return next(_NAMES[kind] for kind in type(error).__mro__ if kind in _NAMES)


_NAMES: Mapping[type, str] = {
    DivergedError: "a state that the model has not",
    UndoneError: "a step that the world cannot take",
    LeftOverError: "what is left in the end",
    WorldError: "what nothing explains",
    SpinError: "what never comes to rest",
}


@dataclass(frozen=True, slots=True)
class Mutant:
    """A mutant: the property that it breaks, how long TLC's counterexample is, and what catches its twin.

    `unlike` says in sentences how the replay of that counterexample is not as it should be.
    """

    name: str
    broken: str
    states: int | None
    unlike: Sequence[str]
    caught: Caught

    @property
    def reproduced(self) -> bool:
        """Whether replay shows that it breaks its property, and that the library does not."""
        return not self.unlike

    @property
    def ok(self) -> bool:
        """Whether all three catch it."""
        return all(catches for _, catches in self._catches)

    @property
    def row(self) -> Row:
        """Its row."""
        return {
            "mutant": self.name,
            "property": self.broken,
            "tlc": self.states,
            "replay": self.reproduced,
            "explore": self.caught.by or None,
            "by": ", ".join(name for name, catches in self._catches if catches),
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

    @property
    def failure(self) -> Failure:
        """What does not catch it, and why replay does not."""
        missing = [name for name, catches in self._catches if not catches]
        why = f"It is not caught by {' and '.join(missing)}."
        return Failure(self.name, [why, *self.unlike], command("mutants", "--only", self.name))

    @property
    def _catches(self) -> tuple[tuple[str, bool], ...]:
        """Each of the three, and whether it catches the mutant."""
        return (
            ("tlc", self.states is not None),
            ("replay", self.reproduced),
            ("explore", bool(self.caught.by)),
        )


def add_mutant_options(parser: argparse.ArgumentParser) -> None:
    """Give the parser the command's options."""
    add_only(parser, "only the mutant")
    add_json(parser)


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
        try:
            return self._run(select(sorted(TWINS), only, "mutant"), json)
        except (ManifestError, SelectionError, UnreadableError, OSError) as error:
            return could_not_run(error)

    def _run(self, names: Sequence[str], json: Path | None) -> int:
        """As `run`, of these mutants; what makes it impossible is raised."""
        began = time.perf_counter()
        lengths = _lengths(self.root / "spec")
        with quiet():
            found = [self._mutant(name, lengths.get(name)) for name in names]
        most = max(mutant.caught.steps for mutant in found)
        figures = {
            "mutants": len(found),
            "caught": sum(mutant.ok for mutant in found),
            "most_steps": most,
            "seconds": round(time.perf_counter() - began, 1),
        }
        caught = (
            f"{many(len(found), 'mutant')}, each caught by TLC, by replay, and by exploration within "
            f"{many(most, 'step')}."
        )
        return Listing(self.console, "mutants", _COLUMNS, self.brief).show(found, figures, caught, json)

    def _mutant(self, name: str, states: int | None) -> Mutant:
        """What catches one mutant, whose counterexample by TLC has so many states."""
        replayed = replay(self.root / "traces" / f"{name}.itf.json", self.root / "spec")
        return Mutant(name, replayed.broken, states, replayed.why, hunt(TWINS[name], replayed.model))


def _lengths(spec: Path) -> Mapping[str, int | None]:
    """How many states TLC's counterexample to each mutant has, as the manifest pins it."""
    entries = [(case.slug, case.entry) for case in load_manifest(spec).cases]
    return {name: entry.trace_length for name, entry in entries if isinstance(entry, MutantEntry)}
