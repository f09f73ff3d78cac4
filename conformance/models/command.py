"""The command `models`: check every cfg of the manifest with TLC, and compare with what is expected."""

import argparse
import asyncio
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from rich.console import Console
from rich.text import Text

from conformance.models.findings import COLUMNS, Finding, cells_of, failure_of, gather, outcome_of
from conformance.models.gallery import write_index
from conformance.models.manifest import Case, Kind, Manifest, ManifestError, Tier, load_manifest
from conformance.models.progress import watching
from conformance.models.rules import Problem, find_problems
from conformance.models.run import Check, Checked, Means, changes_of, run_cases, save_traces
from conformance.models.update import write_manifest
from conformance.report import (
    AS_EXPECTED,
    NOT_AS_EXPECTED,
    add_json,
    could_not_run,
    make_table,
    many,
    print_failures,
)
from conformance.selecting import SelectionError, matches, select
from conformance.tlc.run import TlcStartError
from conformance.tlc.tools import ToolError, Tools

FindTools = Callable[[Path], Tools]


@dataclass(frozen=True, slots=True)
class Options:
    """What the command is asked to do; the fields are its options, as `add_options` describes them."""

    only: tuple[str, ...] = ()
    tier: str | None = None
    kind: str | None = None
    update: bool = False
    json: Path | None = None
    traces: Path | None = None
    show: tuple[str, ...] = ()
    spec: Path | None = None
    jobs: int | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names asked for, to be checked or to be shown; none means every name."""
        return self.only + self.show


def add_options(parser: argparse.ArgumentParser) -> None:
    """Give the parser the command's options."""
    name = "a cfg's path below spec/ without .cfg, or its last part; * and ? match; may be repeated"
    parser.add_argument(
        "--only", action="append", default=[], metavar="NAME", help=f"check only NAME: {name}"
    )
    parser.add_argument(
        "--tier", choices=[*get_args(Tier), "all"], help="pull-request unless a NAME is given, then all"
    )
    parser.add_argument("--kind", choices=get_args(Kind), help="check only cfgs of this kind")
    parser.add_argument(
        "--update", action="store_true", help="write new counts and hashes into models.yaml, for review"
    )
    add_json(parser)
    parser.add_argument(
        "--traces",
        type=Path,
        metavar="DIR",
        help="save each counterexample in DIR as ITF, and an index of them",
    )
    parser.add_argument(
        "--show", action="append", default=[], metavar="NAME", help="check NAME, tell its counterexample"
    )
    parser.add_argument(
        "--spec", type=Path, metavar="DIR", help="the folder of the manifest, spec/ unless given"
    )
    parser.add_argument("--jobs", type=_positive, metavar="N", help="run at most N checks at once")


def _positive(text: str) -> int:
    """The number that an option is given, which must be at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a number from 1 up.")
    return int(text)


def options_from(arguments: argparse.Namespace) -> Options:
    """The options, from what the parser of `add_options` read."""
    given = {name: getattr(arguments, name) for name in Options.__dataclass_fields__}
    return Options(**given | {"only": tuple(arguments.only), "show": tuple(arguments.show)})


@dataclass(frozen=True, slots=True)
class Models:
    """The command, and what it needs.

    `root` is the project's folder, `console` what it prints to; `find_tools` finds Java and the jar, and
    `check` runs TLC. If it is `brief`, it prints its table only if something is not as expected. Of models
    of at most `searched` states the command `search` is run beside it, which tells what their actions do.
    """

    root: Path
    console: Console
    find_tools: FindTools
    check: Check
    brief: bool = False
    searched: int = 0

    def run(self, options: Options) -> int:
        """Check what the options select, print the table and every failure, and write the files asked for.

        Returns 0 if all is as expected, 1 if something is not, and 2, with a sentence on standard error, if
        it could not run: the manifest cannot be read, Java or the jar is missing or wrong, or nothing is
        selected.
        """
        try:
            return self._run(options)
        except (ManifestError, SelectionError, ToolError, TlcStartError, OSError) as error:
            return could_not_run(error)

    def _run(self, options: Options) -> int:
        """As `run`, but what makes it impossible is raised."""
        began = time.monotonic()
        spec_dir = options.spec or self.root / "spec"
        manifest = load_manifest(spec_dir)
        problems = _named(find_problems(manifest, spec_dir), options.names)
        known = [*(case.name for case in manifest.cases), *(problem.name for problem in problems)]
        select(known, options.names, "cfg of the manifest")
        cases = _selected(manifest, problems, options)
        checked = self._checked(
            [case for case in cases if case.cfg.is_file() and case.module.is_file()], options
        )
        updated = self._update(manifest, checked, problems) if options.update else frozenset()
        if options.traces:
            save_traces(options.traces, checked)
            write_index(options.traces, manifest.cases)
        listed = {case.name: case for case in manifest.cases}
        return self._report(gather(listed, checked, problems, updated), options, time.monotonic() - began)

    def _checked(self, cases: Sequence[Case], options: Options) -> list[Checked]:
        """Run TLC on the cases."""
        if not cases:
            return []
        cores = os.cpu_count() or 1
        tools, at_once = self.find_tools(self.root), options.jobs or cores
        means = Means(tools, self.check, cores, at_once, options.update, self.searched)
        with watching(self.console, len(cases)) as watch:
            return asyncio.run(run_cases(cases, means, watch))

    def _update(
        self, manifest: Manifest, checked: Iterable[Checked], problems: Iterable[Problem]
    ) -> frozenset[str]:
        """Write what is new into the manifest; return the names of the cases that it may be written for."""
        changes = changes_of(checked, {problem.name for problem in problems if not problem.stale})
        written = write_manifest(manifest.path, changes)
        self.console.print(f"{manifest.path.name}: {'new counts, for review' if written else 'nothing new'}.")
        return frozenset(changes)

    def _report(self, findings: Sequence[Finding], options: Options, seconds: float) -> int:
        """Print and write all that was found."""
        outcome = outcome_of(findings, seconds)
        if not (self.brief and outcome.ok):
            rows = [(finding.ok, cells_of(finding)) for finding in findings]
            self.console.print(make_table(COLUMNS, rows))
        for finding in findings:
            if matches(finding.name, options.show):
                self._show(finding)
        beside = ["--spec", str(options.spec)] if options.spec else []
        failures = [failure_of(finding, beside) for finding in findings if not finding.ok]
        print_failures(self.console, failures, len(findings))
        if not failures:
            figures = outcome.figures
            self.console.print(
                f"As expected: {kinds(outcome.figures)}; "
                f"{many(int(figures['distinct_states']), 'distinct state')} in {seconds:.0f} s."
            )
        if options.json:
            outcome.save(options.json)
        return AS_EXPECTED if outcome.ok else NOT_AS_EXPECTED

    def _show(self, finding: Finding) -> None:
        """Tell a counterexample, or say that there is none."""
        story = finding.story or "There is no counterexample to show."
        self.console.print(Text(finding.name, style="bold"))
        self.console.print(Text(story), soft_wrap=True)


def kinds(figures: Mapping[str, int | float]) -> str:
    """How many of each kind were checked."""
    kinds = (("models", "model", ""), ("mutants", "mutant", ""), ("witnesses", "witness", "witnesses"))
    return ", ".join(many(int(figures[name]), one, plural) for name, one, plural in kinds)


def _selected(manifest: Manifest, problems: Sequence[Problem], options: Options) -> list[Case]:
    """The cases that the options ask for; raises SelectionError when nothing is left to look at."""
    tier = options.tier or ("all" if options.names else "pull-request")
    cases = [
        case
        for case in manifest.cases
        if (tier in ("all", case.entry.tier))
        and (options.kind in (None, case.entry.kind))
        and (not options.names or matches(case.name, options.names))
    ]
    if not cases and not problems:
        asked = [f"--tier {tier}", *([f"--kind {options.kind}"] if options.kind else [])]
        asked += [f"--only {name}" for name in options.names]
        raise SelectionError(f"No cfg of the manifest is selected by {' '.join(asked)}.")
    return cases


def _named(problems: Iterable[Problem], names: Sequence[str]) -> list[Problem]:
    """The problems of the cfgs asked for: all of them, unless names are given."""
    return [problem for problem in problems if not names or matches(problem.name, names)]
