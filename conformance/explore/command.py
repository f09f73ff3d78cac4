"""The command `explore`: walk the real runner beside the model, and count what was reached."""

import argparse
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from rich.console import Console
from rich.text import Text

from conformance.actions import ACTIONS
from conformance.explore.again import Walked
from conformance.explore.check import OF_DIRECT_RUNS
from conformance.explore.keep import kept
from conformance.explore.profiles import PROFILES, Profile
from conformance.explore.shard import SHARDS, Explored, Shard, Speed, all_explored
from conformance.explore.tally import LEFT_REPLY, PAIRS, Tally
from conformance.mutants.direct import DIRECT_RUNS
from conformance.properties import AT_EVERY_STEP, PROPERTIES
from conformance.report import (
    AS_EXPECTED,
    NOT_AS_EXPECTED,
    Column,
    Failure,
    Outcome,
    Row,
    add_json,
    add_storage,
    command,
    make_table,
    many,
    print_failures,
)
from conformance.world.durable import MEMORY

_KINDS = {
    "stepped": "with the stepped agent",
    "real": "with pydantic-ai's agent",
    "direct": "with callers who make runs of their own",
    "hypothesis": "of Hypothesis's",
}

_COLUMNS = (
    Column("action"),
    Column("times", number=True),
    Column("with a fault", number=True),
    Column("which faults came to who was about to take it"),
)


def add_explore_options(parser: argparse.ArgumentParser) -> None:
    """Give the parser the command's options."""
    parser.add_argument(
        "--profile",
        choices=PROFILES,
        default="pull-request",
        help="how much to explore: pull-request unless given",
    )
    add_storage(parser)
    parser.add_argument(
        "--jobs",
        type=int,
        choices=range(1, SHARDS + 1),
        default=min(SHARDS, os.cpu_count() or 1),
        help="how many processes explore side by side; the walks are the same",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="begin with the walks of seed N")
    add_json(parser)


@dataclass(slots=True)
class Explore:
    """The command, and what it needs: the project's folder, and the console that it prints to.

    If it is `brief`, it prints its table only if something is not as expected. `storage` is one of
    `STORAGES`; over a durable one there are fewer walks, which need not reach every pair of an action and a
    fault. `jobs` is how many processes explore side by side; over a durable storage this one does.
    """

    root: Path
    console: Console
    brief: bool = False
    storage: str = MEMORY
    tally: Tally = field(default_factory=Tally)
    jobs: int | None = None
    speeds: dict[str, int] = field(default_factory=dict)

    def run(self, profile: str, seed: int, json: Path | None) -> int:
        """Explore as the profile says; print what was reached, and every walk that went wrong.

        Returns 0 if nothing broke and every action and pair was reached, 1 if not.
        """
        began = time.perf_counter()
        wrong: Walked | None = None
        try:
            wrong = self._explore(self._profile(profile), seed)
        except KeyboardInterrupt:
            self.console.print("Stopped; this is what was reached.")
        return self._report(profile, seed, wrong, time.perf_counter() - began, json)

    def _profile(self, name: str) -> Profile:
        """The profile of this name, for the storage."""
        profile = PROFILES[name]
        return profile if self.storage == MEMORY else profile.over_a_database()

    def _explore(self, profile: Profile, seed: int) -> Walked | None:
        """Explore until a walk goes wrong, and give the first that does, shrunk; None if none does."""
        shards = [profile.part(SHARDS, place) for place in range(SHARDS)]
        jobs = self.jobs if self.storage == MEMORY else None  # a server of one's own ends with its process
        for number in _rounds(profile, seed):
            found = [Shard(part, number * SHARDS + place, self.storage) for place, part in enumerate(shards)]
            try:
                round_ = all_explored(found, jobs)
            except KeyboardInterrupt as stopped:
                self._add(stopped.args[0] if stopped.args else [])
                raise
            self._add(round_)
            if wrong := next((each.wrong for each in round_ if each.wrong is not None), None):
                return wrong
        return None

    def _add(self, round_: Sequence[Explored]) -> None:
        """Add what a round reached, and say how fast it was: side by side, all jobs together."""
        speeds: dict[str, Speed] = {}
        for each in round_:
            self.tally.add(each.tally)
            for part, speed in each.speeds.items():
                speeds.setdefault(part, Speed()).add(speed)
        for part, speed in speeds.items():
            self.speeds[part] = round(speed.steps * (self.jobs or 1) / max(speed.seconds, 1e-9))
            told = f"{many(speed.walks, 'walk')} {_KINDS[part]}: {many(speed.steps, 'step')}"
            self.console.print(Text(f"{told}, {self.speeds[part]:,} a second"), soft_wrap=True)

    # ---- What it says.

    def _report(
        self, profile: str, seed: int, wrong: Walked | None, seconds: float, json: Path | None
    ) -> int:
        """Print and write what was found."""
        tally, actions = self.tally, _actions(profile)
        # Exploration ends at a walk that goes wrong: what it has not reached by then shows nothing.
        failures = [kept(self.root, wrong)] if wrong else list(self._missed(profile, seed))
        rows = [
            _row(action, tally)
            for action in sorted([*actions, LEFT_REPLY], key=lambda action: -tally.actions[action])
        ]
        if not wrong and (failures or not self.brief):
            self._print(rows)
        figures = {
            "steps": tally.steps,
            "walks": tally.walks,
            "steps_per_second": round(tally.steps / seconds),
            **{f"steps_per_second_{part}": speed for part, speed in self.speeds.items()},
            "actions": len(actions),
            "actions_reached": len(actions) - len(tally.missed(actions)),
            "pairs": len(PAIRS),
            "pairs_reached": len(PAIRS) - len(tally.missed_pairs),
            "apart": tally.apart,
            "properties": len(AT_EVERY_STEP) - _STEP_FORMS,
            "step_forms": _STEP_FORMS,
            "violations": 0 if wrong is None else 1,
            "seconds": round(seconds, 1),
        }
        print_failures(self.console, failures, tally.walks + (wrong is not None))
        if not failures:
            self.console.print(_said(figures), soft_wrap=True)
        if json:
            Outcome(not failures, "explore", figures, rows).save(json)
        return NOT_AS_EXPECTED if failures else AS_EXPECTED

    def _print(self, rows: Sequence[Row]) -> None:
        """Print the table."""
        cells = [(bool(row["count"]), [str(cell) for cell in row.values()]) for row in rows]
        self.console.print(make_table(_COLUMNS, cells))

    def _missed(self, profile: str, seed: int) -> Iterator[Failure]:
        """What was never reached."""
        over = () if self.storage == MEMORY else ("--storage", self.storage)
        again = command("explore", "--profile", profile, "--seed", seed, *over)
        tally = self.tally
        if missed := tally.missed(_actions(profile)):
            yield Failure("actions", [f"Never reached: {', '.join(missed)}."], again)
        if tally.missed_pairs and self.storage == MEMORY:
            named = ", ".join(f"{fault} at {action}" for action, fault in tally.missed_pairs)
            yield Failure("pairs of an action and a fault", [f"Never reached: {named}."], again)


def _actions(profile: str) -> list[str]:
    """The actions that walks of this profile must reach, those of direct runs among them."""
    return [*ACTIONS, *(DIRECT_RUNS if PROFILES[profile].direct else ())]


def _rounds(profile: Profile, seed: int) -> Iterator[int]:
    """The numbers of a profile's rounds."""
    return iter(range(seed, seed + profile.rounds)) if profile.rounds else count(seed)


def _row(action: str, tally: Tally) -> Row:
    """An action's row."""
    faults = sorted((fault, times) for (due, fault), times in tally.pairs.items() if due == action)
    return {
        "action": action,
        "count": tally.actions[action],
        "with_fault": sum(times for _, times in faults),
        "faults": ", ".join(f"{fault} {times}" for fault, times in faults),
    }


_STEP_FORMS = sum(PROPERTIES[name].step is not None for name in AT_EVERY_STEP)
"""How many of what is checked at every step are temporal properties, by the form that says so."""


def _said(figures: Mapping[str, int | float]) -> str:
    """The figures in a sentence, and what was checked."""
    steps, walks = many(int(figures["steps"]), "step"), many(int(figures["walks"]), "walk")
    return (
        f"As expected: {steps} in {walks}, {figures['steps_per_second']:,} a second; "
        f"{figures['actions_reached']} of {figures['actions']} actions, "
        f"{figures['pairs_reached']} of {figures['pairs']} pairs of an action and a fault, "
        f"{figures['apart']:,} times another step between an effect and its answer. After each step "
        f"the world, as it was read, was in a state of the model's; {figures['properties']} properties held "
        f"of that state, and the step forms of {figures['step_forms']} temporal ones (where callers made "
        f"runs of their own, the {len(OF_DIRECT_RUNS)} of a step that spec/DirectRuns.cfg names). The ghosts "
        "that the world cannot show are the model's own; log and agents were audited against them."
    )
