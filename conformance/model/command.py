"""The command `search`: go through every state of the model in Python, and compare with what TLC found."""

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from rich.console import Console

from conformance.model.cfgs import constants_of, never_of
from conformance.model.mutants import MutationError, spec_of
from conformance.model.search import Found, search
from conformance.models.cfg import Config, parse_cfg
from conformance.models.command import (
    AS_EXPECTED,
    COULD_NOT_RUN,
    NOT_AS_EXPECTED,
    SelectionError,
    matches,
)
from conformance.models.manifest import Case, ManifestError, Model, Tier, load_manifest
from conformance.properties import PROPERTIES, Kind
from conformance.report import Column, Failure, Outcome, Row, make_table, print_failures

LARGEST = 300_000
"""The most states, as TLC found them, that are searched unasked: more take minutes, and gigabytes."""

_COLUMNS = (
    Column("cfg"),
    Column("distinct states", number=True),
    Column("of TLC", number=True),
    Column("generated", number=True),
    Column("depth", number=True),
    Column("idle as TLC's"),
    Column("broken"),
    Column("seconds", number=True),
)


@dataclass(frozen=True, slots=True)
class Searched:
    """What was found of a model's cfg, and what the manifest says that TLC found."""

    case: Case
    entry: Model
    found: Found
    idle: frozenset[str]
    seconds: float

    @property
    def depth_ok(self) -> bool:
        """Whether the depth is TLC's, which the manifest has where one worker found it."""
        return self.entry.depth in {None, self.found.depth}

    @property
    def idle_ok(self) -> bool:
        """Whether the actions that never fire are those that TLC saw never fire."""
        # What a cfg replaces by Never, TLC reports by no name of an action.
        known = frozenset(self.entry.idle) - {"Action"}
        return self.idle == known

    @property
    def ok(self) -> bool:
        """Whether it is as TLC found it, and nothing breaks."""
        same = self.found.distinct == self.entry.distinct_states and self.depth_ok and self.idle_ok
        return same and not self.found.broken

    @property
    def row(self) -> Row:
        """It, as a row of the table and of the JSON."""
        return {
            "cfg": self.case.name,
            "distinct_states": self.found.distinct,
            "expected_states": self.entry.distinct_states,
            "generated": self.found.generated,
            "depth": self.found.depth,
            "idle_ok": self.idle_ok,
            "broken": ", ".join(self.found.broken),
            "seconds": round(self.seconds, 1),
            "ok": self.ok,
        }

    @property
    def failure(self) -> Failure:
        """Why it is not as expected."""
        return Failure(
            self.case.name,
            list(self._why()),
            f".venv/bin/python -m conformance search --only {self.case.name}",
        )

    def _why(self) -> Sequence[str]:
        """Each reason in a sentence."""
        found, entry = self.found, self.entry
        if found.broken:
            way = " ".join(f"{step.action}({step.who or ''})" for step in found.behaviour[1:])
            return [f"The model in Python breaks {', '.join(found.broken)}, by {way}."]
        why = []
        if found.distinct != entry.distinct_states:
            why.append(f"It has {found.distinct:,} states, and TLC found {entry.distinct_states:,}.")
        if not self.depth_ok:
            why.append(f"Its depth is {found.depth}, and TLC's {entry.depth}.")
        if not self.idle_ok:
            other = ", ".join(sorted(self.idle ^ (frozenset(entry.idle) - {"Action"})))
            why.append(f"These actions fire in one of the two only: {other}.")
        return [*why, "conformance/model and spec/ThreadClaim.tla differ: one was edited, and not the other."]


def add_search_options(parser: argparse.ArgumentParser) -> None:
    """Give the parser the command's options."""
    parser.add_argument(
        "--only", action="append", default=[], metavar="NAME", help="only this model; * and ? match"
    )
    parser.add_argument(
        "--tier",
        choices=[*get_args(Tier), "all"],
        help=f"pull-request unless a NAME is given; up to {LARGEST:,} states",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all of it to FILE as JSON")


def names_of(expects: Sequence[str]) -> tuple[str, ...]:
    """Return those properties that a search can check: a temporal one by its form of every step."""
    return tuple(
        name for name in expects if PROPERTIES[name].kind is not Kind.TEMPORAL or PROPERTIES[name].step
    )


def search_case(case: Case, entry: Model) -> Searched:
    """Search the model of a cfg of the manifest.

    Raises:
        MutationError: The cfg's SPECIFICATION is none that the model in Python has.
        OSError: The cfg cannot be read.
    """
    began = time.monotonic()
    config: Config = parse_cfg(case.cfg.read_text(encoding="utf-8"))
    base, _ = spec_of(case.name, config)
    model = base(constants_of(config), never_of(config))
    found = search(model, names_of(case.expects), symmetric="SYMMETRY" in config.sections)
    fired = {action for action, count in found.fired.items() if count}
    return Searched(
        case, entry, found, frozenset(base.ACTIONS) - fired - model.never, time.monotonic() - began
    )


@dataclass(frozen=True, slots=True)
class Search:
    """The command: `root` is the project's folder, `console` what it prints to."""

    root: Path
    console: Console

    def run(self, only: Sequence[str] = (), tier: str | None = None, json: Path | None = None) -> int:
        """Search each model that is selected, print a table and every failure, and write `json`, if given.

        Returns 0 if each has the states, the depth and the idle actions that TLC found, and nothing breaks; 1
        if one has not; 2, with a sentence on standard error, if it could not run.
        """
        try:
            cases = self._select(only, tier)
            return self._report([search_case(case, entry) for case, entry in cases], json)
        except (ManifestError, SelectionError, MutationError, OSError) as error:
            print(f"Could not run: {error}", file=sys.stderr)
            return COULD_NOT_RUN

    def _select(self, only: Sequence[str], tier: str | None) -> list[tuple[Case, Model]]:
        """The models that the options select."""
        wanted = tier or ("all" if only else "pull-request")
        cases = [
            (case, case.entry)
            for case in load_manifest(self.root / "spec").cases
            if isinstance(case.entry, Model)
            and wanted in {"all", case.entry.tier}
            and (matches(case.name, only) if only else (case.entry.distinct_states or 0) <= LARGEST)
        ]
        if not cases:
            raise SelectionError(
                f"No model of the manifest is called {' or '.join(only)}, in the tier {wanted}."
            )
        return cases

    def _report(self, searched: Sequence[Searched], json: Path | None) -> int:
        """Print and write all that was found."""
        rows = [each.row for each in searched]
        cells = [
            (each.ok, [str(row[key]) for key in row if key != "ok"])
            for each, row in zip(searched, rows, strict=True)
        ]
        self.console.print(make_table(_COLUMNS, cells))
        failures = [each.failure for each in searched if not each.ok]
        print_failures(self.console, failures, len(searched))
        seconds = sum(each.seconds for each in searched)
        figures = {"models": len(searched), "failures": len(failures), "seconds": round(seconds, 1)}
        outcome = Outcome(not failures, "search", figures, rows)
        if outcome.ok:
            self.console.print(f"As expected: {len(searched)} models are TLC's, in {seconds:.0f} s.")
        if json:
            outcome.save(json)
        return AS_EXPECTED if outcome.ok else NOT_AS_EXPECTED
