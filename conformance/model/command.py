"""The command `search`: go through every state of the model in Python, and compare with what TLC found."""

import argparse
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
from conformance.models.manifest import Case, ManifestError, Model, Tier, load_manifest
from conformance.properties import PROPERTIES, Kind
from conformance.report import (
    Column,
    Failure,
    Listing,
    Row,
    add_json,
    add_only,
    cells_of,
    command,
    could_not_run,
    many,
)
from conformance.selecting import SelectionError, select

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
            command("search", "--only", self.case.name),
        )

    @property
    def cells(self) -> list[str]:
        """It, as a row of the table."""
        return cells_of(self.row)

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
    add_only(parser, "only the model")
    parser.add_argument(
        "--tier",
        choices=[*get_args(Tier), "all"],
        help=f"pull-request unless a NAME is given; up to {LARGEST:,} states",
    )
    add_json(parser)


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
    """The command: `root` is the project's folder, `console` what it prints to.

    Models of more than `largest` states are searched only by name. If it is `brief`, it prints its table only
    if something is not as expected.
    """

    root: Path
    console: Console
    brief: bool = False
    largest: int = LARGEST

    def run(self, only: Sequence[str] = (), tier: str | None = None, json: Path | None = None) -> int:
        """Search each model that is selected, print a table and every failure, and write `json`, if given.

        Returns 0 if each has the states, the depth and the idle actions that TLC found, and nothing breaks; 1
        if one has not; 2, with a sentence on standard error, if it could not run.
        """
        try:
            cases = self._select(only, tier)
            return self._report([search_case(case, entry) for case, entry in cases], json)
        except (ManifestError, SelectionError, MutationError, OSError) as error:
            return could_not_run(error)

    def _select(self, only: Sequence[str], tier: str | None) -> list[tuple[Case, Model]]:
        """The models that the options select."""
        wanted = tier or ("all" if only else "pull-request")
        models = {
            case.name: (case, case.entry)
            for case in load_manifest(self.root / "spec").cases
            if isinstance(case.entry, Model)
            and wanted in {"all", case.entry.tier}
            and (only or (case.entry.distinct_states or 0) <= self.largest)
        }
        return [models[name] for name in select(models, only, f"model of the tier {wanted}")]

    def _report(self, searched: Sequence[Searched], json: Path | None) -> int:
        """Print and write all that was found."""
        seconds = sum(each.seconds for each in searched)
        figures = {
            "models": len(searched),
            "failures": sum(not each.ok for each in searched),
            "distinct_states": sum(each.found.distinct for each in searched),
            "seconds": round(seconds, 1),
        }
        have = f"{many(len(searched), 'model has', 'models have')} TLC's states, in {seconds:.0f} s."
        return Listing(self.console, "search", _COLUMNS, self.brief).show(searched, figures, have, json)
