"""The command `explore`: walk the real runner beside the model, and count what was reached."""

import argparse
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from rich.console import Console
from rich.text import Text

from conformance.actions import ACTIONS
from conformance.beside import Beside
from conformance.explore.again import Walked, as_it_was, shrink
from conformance.explore.keep import kept
from conformance.explore.machine import explore, make_machine
from conformance.explore.profiles import PROFILES, Profile
from conformance.explore.setting import AGENTS, REAL, STEPPED, Setting
from conformance.explore.tally import LEFT_REPLY, PAIRS, Tally
from conformance.explore.walk import Walker
from conformance.properties import AT_EVERY_STEP, PROPERTIES
from conformance.quiet import quiet
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
from conformance.world.durable import MEMORY, storage_of

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
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="begin with the walks of seed N")
    add_json(parser)


@dataclass(slots=True)
class Explore:
    """The command, and what it needs: the project's folder, and the console that it prints to.

    If it is `brief`, it prints its table only if something is not as expected. `storage` is one of
    `STORAGES`; over a durable one there are fewer walks, which need not reach every pair of an action and a
    fault.
    """

    root: Path
    console: Console
    brief: bool = False
    storage: str = MEMORY
    tally: Tally = field(default_factory=Tally)
    speeds: dict[str, int] = field(default_factory=dict)

    def run(self, profile: str, seed: int, json: Path | None) -> int:
        """Explore as the profile says; print what was reached, and every walk that went wrong.

        Returns 0 if nothing broke and every action and pair was reached, 1 if not.
        """
        began = time.perf_counter()
        wrong: Walked | None = None
        try:
            with quiet():
                wrong = self._explore(self._profile(profile), seed)
        except KeyboardInterrupt:
            self.console.print("Stopped; this is what was reached.")
        return self._report(profile, seed, wrong, time.perf_counter() - began, json)

    def _profile(self, name: str) -> Profile:
        """The profile of this name, for the storage."""
        profile = PROFILES[name]
        return profile if self.storage == MEMORY else profile.over_a_database()

    def _explore(self, profile: Profile, seed: int) -> Walked | None:
        """Explore until a walk goes wrong, and give that one, shrunk; None if none does."""
        for number in _rounds(profile, seed):
            for part in (self._stepped, self._real, self._examples):
                if (wrong := part(profile, number)) is not None:
                    return wrong
        return None

    def _stepped(self, profile: Profile, number: int) -> Walked | None:
        """The steered walks, with the agent that only waits for the world."""
        seeds = range(number * profile.walks, (number + 1) * profile.walks)
        return self._walks("stepped agent", "stepped", STEPPED, seeds, profile.steps)

    def _real(self, profile: Profile, number: int) -> Walked | None:
        """The steered walks, with pydantic-ai's agent."""
        seeds = range(number * profile.real, (number + 1) * profile.real)
        return self._walks("pydantic-ai's agent", "real", REAL, seeds, profile.steps)

    def _walks(self, what: str, part: str, agent: str, seeds: range, steps: int) -> Walked | None:
        """Walks that are steered, one for each seed."""
        walker = Walker(self.tally, make_agent=AGENTS[agent], make_storage=storage_of(self.storage))
        with self._part(f"{many(len(seeds), 'walk')} from seed {seeds.start}, {what}", part):
            for seed in seeds:
                walker.beside = None
                try:
                    walker.walk(seed, steps)
                except Exception as error:  # noqa: BLE001  # whatever goes wrong is shrunk, and told
                    return self._shrunk(walker.beside, agent, error)
        return None

    def _examples(self, profile: Profile, number: int) -> Walked | None:
        """The walks that Hypothesis chooses."""
        found: list[Beside] = []
        machine = make_machine(self.tally, found.append, make_storage=storage_of(self.storage))
        with self._part(f"{many(profile.examples, 'walk')} of Hypothesis's, seed {number}", "hypothesis"):
            try:
                explore(machine, examples=profile.examples, steps=profile.steps, number=number)
            except Exception as error:  # noqa: BLE001  # whatever goes wrong is shrunk, and told
                return self._shrunk(found[-1] if found else None, STEPPED, error)
        return None

    def _shrunk(self, beside: Beside | None, agent: str, error: Exception) -> Walked:
        """A walk that went wrong, with as few steps as still do; as it was, if it goes well once more."""
        if beside is None:  # there was no world yet
            raise error
        setting = Setting(beside.model.constants, agent, storage=self.storage)
        shrunk = shrink(setting, beside.tried)
        return as_it_was(setting, beside, error) if shrunk.error is None else shrunk

    @contextmanager
    def _part(self, what: str, part: str) -> Iterator[None]:
        """Say how a part went, as it ends: its steps, and how many a second."""
        began, before = time.perf_counter(), self.tally.steps
        yield
        steps, seconds = self.tally.steps - before, time.perf_counter() - began
        self.speeds[part] = round(steps / seconds)
        told = f"{what}: {many(steps, 'step')}, {steps / seconds:,.0f} a second"
        self.console.print(Text(told), soft_wrap=True)

    # ---- What it says.

    def _report(
        self, profile: str, seed: int, wrong: Walked | None, seconds: float, json: Path | None
    ) -> int:
        """Print and write what was found."""
        tally = self.tally
        # Exploration ends at a walk that goes wrong: what it has not reached by then shows nothing.
        failures = [kept(self.root, wrong)] if wrong else list(self._missed(profile, seed))
        rows = [
            _row(action, tally)
            for action in sorted([*ACTIONS, LEFT_REPLY], key=lambda action: -tally.actions[action])
        ]
        if not wrong and (failures or not self.brief):
            self._print(rows)
        figures = {
            "steps": tally.steps,
            "walks": tally.walks,
            "steps_per_second": round(tally.steps / seconds),
            **{f"steps_per_second_{part}": speed for part, speed in self.speeds.items()},
            "actions": len(ACTIONS),
            "actions_reached": len(ACTIONS) - len(tally.missed_actions),
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
        if tally.missed_actions:
            yield Failure("actions", [f"Never reached: {', '.join(tally.missed_actions)}."], again)
        if tally.missed_pairs and self.storage == MEMORY:
            named = ", ".join(f"{fault} at {action}" for action, fault in tally.missed_pairs)
            yield Failure("pairs of an action and a fault", [f"Never reached: {named}."], again)


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
        f"of that state, and the step forms of {figures['step_forms']} temporal ones. The ghosts that "
        "the world cannot show are the model's own; log and agents were audited against them."
    )
