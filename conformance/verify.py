"""The command `verify`: all that a pull request must keep, in one table."""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from conformance.explore.command import Explore
from conformance.explore.shard import SHARDS
from conformance.matrix import Mutants
from conformance.model.command import LARGEST, Search
from conformance.models.command import Models, Options, kinds
from conformance.replay.command import Replay
from conformance.report import AS_EXPECTED, Column, Outcome, Row, add_json, make_table, many
from conformance.tlc.run import check
from conformance.tlc.tools import find_tools
from conformance.world.durable import DURABLE

_COLUMNS = (
    Column("part"),
    Column("what it shows"),
    Column("how much"),
    Column("seconds", number=True),
    Column("result"),
)

_NAMES = {"sqlite": "a SQLite file", "postgres": "PostgreSQL"}

SIDE_BY_SIDE = 2
"""How many parts run at once, each in a process of its own: what two cores do. TLC runs as many jobs."""

_PROJECT = Path(__file__).resolve().parents[1]
"""Where `conformance` is found."""

Run = Callable[[Path], int]
"""Runs a part, given where it is to write its JSON; returns its exit code."""

Figures = Mapping[str, int]
"""The figures that a part writes."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part: its name, what it shows, how it is run, and how much it looked at, by its figures."""

    name: str
    shows: str
    run: Run
    told: Callable[[Figures], str]


Ran = tuple[int, str]
"""What a part came to, in a process of its own: its exit code, and what it printed."""


def in_a_process(part: Part, folder: Path, columns: int) -> Ran:
    """Run a part in a process of its own, which prints lines of so many columns."""
    command = [sys.executable, "-m", "conformance", "verify", "--only", part.name, "--build", str(folder)]
    environ = os.environ | {"COLUMNS": str(columns)}
    ran = subprocess.run(
        command, cwd=_PROJECT, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    return ran.returncode, ran.stdout.decode(errors="replace").rstrip()


def add_verify_options(parser: argparse.ArgumentParser) -> None:
    """Give the parser the command's options."""
    names = [part.name for part in Verify(Path(), Console()).parts()]
    parser.add_argument("--only", choices=names, help="run this part alone, and print no table")
    parser.add_argument(
        "--build", type=Path, metavar="DIR", help="where each part writes its JSON; build/ unless given"
    )
    add_json(parser)


@dataclass(frozen=True, slots=True)
class Verify:
    """The command, and what it needs: the project's folder, and the console that it prints to."""

    root: Path
    console: Console
    apart: Callable[[Part, Path, int], Ran] = in_a_process

    def parts(self) -> list[Part]:
        """What is run, in this order."""
        root, console = self.root, self.console
        models = Models(root, console, find_tools, check, brief=True, searched=LARGEST)
        return [
            Part(
                "explore",
                "the real runner does what the model does, at random",
                lambda path: Explore(root, console, brief=True, jobs=SHARDS).run("pull-request", 0, path),
                lambda figures: (
                    f"{many(figures['steps'], 'step')}, {figures['actions_reached']} of {figures['actions']} "
                    f"actions, {figures['pairs_reached']} of {figures['pairs']} pairs"
                ),
            ),
            Part(
                "replay",
                "TLC's counterexamples, on the runner: only without the rule",
                lambda path: Replay(root, console, brief=True).run([], path),
                lambda figures: many(figures["traces"], "counterexample"),
            ),
            Part(
                "mutants",
                "a runner without a rule is caught, by all of them",
                lambda path: Mutants(root, console, brief=True).run([], path),
                lambda figures: (
                    f"{many(figures['mutants'], 'mutant')}, within {many(figures['most_steps'], 'step')}"
                ),
            ),
            Part(
                "search",
                "the model beside which the runner is stepped is TLC's",
                lambda path: Search(root, console, brief=True).run(json=path),
                lambda figures: (
                    f"{many(figures['models'], 'model')} of {many(figures['distinct_states'], 'state')}"
                ),
            ),
            *(part for storage in DURABLE for part in self._over(storage)),
            Part(
                "models",
                "the model has its properties, and loses one with each rule",
                lambda path: models.run(Options(tier="pull-request", json=path)),
                lambda figures: f"{many(figures['distinct_states'], 'state')}; {kinds(figures)}",
            ),
        ]

    def _over(self, storage: str) -> Iterator[Part]:
        """What is run over a durable storage: a part of the walks, and every replay."""
        root, console = self.root, self.console
        yield Part(
            f"explore {storage}",
            f"it does so over {_NAMES[storage]}",
            lambda path: Explore(root, console, brief=True, storage=storage).run("pull-request", 0, path),
            lambda figures: (
                f"{many(figures['steps'], 'step')}, {figures['actions_reached']} of {figures['actions']} "
                "actions"
            ),
        )
        yield Part(
            f"replay {storage}",
            f"TLC's counterexamples, over {_NAMES[storage]}",
            lambda path: Replay(root, console, brief=True, storage=storage).run([], path),
            lambda figures: many(figures["traces"], "counterexample"),
        )

    def run(self, build: Path | None, path: Path | None, only: str | None = None) -> int:
        """Run every part, though one before it failed, and print the table.

        Returns 0 if all is as expected, else the highest exit code of a part.
        """
        folder = (build or self.root / "build").resolve()
        if only is not None:
            return next(self._here(part, folder) for part in self.parts() if part.name == only)
        began = time.perf_counter()
        ran = {part.name: (code, seconds) for part, code, seconds in self._ran(folder)}
        codes = [ran[part.name][0] for part in self.parts()]
        rows = [_row(part, _file(part, folder), *ran[part.name]) for part in self.parts()]
        cells = [
            (not code, [str(cell) for cell in row.values()]) for row, code in zip(rows, codes, strict=True)
        ]
        self.console.print(make_table(_COLUMNS, cells))
        seconds = round(time.perf_counter() - began, 1)
        self.console.print(f"It took {seconds:.0f} seconds, {SIDE_BY_SIDE} parts side by side.")
        if path:
            figures = {"parts": len(rows), "ok": codes.count(AS_EXPECTED), "seconds": seconds}
            Outcome(not any(codes), "verify", figures, rows).save(path)
        return max(codes)

    def _ran(self, folder: Path) -> Iterator[tuple[Part, int, float]]:
        """Run every part: those of Python side by side, and then TLC, which has as many jobs itself."""
        *small, models = self.parts()
        # The shortest come last, so that both lanes end at about the same time: replays, and of them those
        # that wait for no server.
        small.sort(key=lambda part: (part.name.startswith("replay"), not part.name.endswith("postgres")))
        with ThreadPoolExecutor(SIDE_BY_SIDE) as lanes:
            for ran in as_completed([lanes.submit(self._apart, part, folder) for part in small]):
                part, code, told, seconds = ran.result()
                self._head(part)
                if told:
                    self.console.print(Text.from_ansi(told), soft_wrap=True)
                yield part, code, seconds
        self._head(models)
        began = time.perf_counter()
        code = self._here(models, folder)
        yield models, code, time.perf_counter() - began

    def _head(self, part: Part) -> None:
        """Say whose words follow."""
        self.console.print(Text(f"== {part.name}", style="bold"))

    def _apart(self, part: Part, folder: Path) -> tuple[Part, int, str, float]:
        """Run a part in a process of its own; its code, what it printed, and how long it took."""
        began = time.perf_counter()
        _file(part, folder).unlink(missing_ok=True)
        code, told = self.apart(part, folder, self.console.width)
        return part, code, told, time.perf_counter() - began

    def _here(self, part: Part, folder: Path) -> int:
        """Run a part in this process."""
        file = _file(part, folder)
        file.unlink(missing_ok=True)
        return part.run(file)


def _file(part: Part, folder: Path) -> Path:
    """Where a part writes its JSON."""
    return folder / f"{part.name.replace(' ', '-')}.json"


_RESULTS = {0: "as expected", 1: "NOT as expected", 2: "could NOT run"}


def _row(part: Part, file: Path, code: int, seconds: float) -> Row:
    """A part's row."""
    figures: Figures = json.loads(file.read_text())["figures"] if file.is_file() else {}
    return {
        "part": part.name,
        "shows": part.shows,
        "told": part.told(figures) if figures else "",
        "seconds": round(seconds, 1),
        "result": _RESULTS.get(code, str(code)),
    }
