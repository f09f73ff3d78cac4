"""The command `guards`: take each guard out of the model, and compare what breaks with guards.yaml."""

import argparse
import asyncio
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path

from rich.console import Console

from conformance.models.command import FindTools
from conformance.models.guards import Guard, SanyError, find_guards
from conformance.models.guards_file import (
    GUARDS,
    GuardList,
    GuardsError,
    Listed,
    compare,
    load_guards,
    say,
    write_findings,
)
from conformance.models.guards_run import Probe, Prober
from conformance.models.manifest import Case, ManifestError, load_manifest
from conformance.models.progress import watching
from conformance.models.run import Check
from conformance.models.schedule import Work, share_out
from conformance.report import (
    AS_EXPECTED,
    NOT_AS_EXPECTED,
    Cell,
    Column,
    Failure,
    Outcome,
    add_json,
    command,
    could_not_run,
    make_table,
    many,
    print_failures,
)
from conformance.selecting import SelectionError
from conformance.tlc.run import TlcStartError
from conformance.tlc.tools import ToolError

MODULE = "ThreadClaim.tla"

_COLUMNS = (
    Column("action"),
    Column("guard"),
    Column("becomes"),
    Column("breaks"),
    Column("cfg"),
    Column("states", number=True),
    Column("seconds", number=True),
)
_ERRORS = (GuardsError, ManifestError, SanyError, SelectionError, TlcStartError, ToolError, OSError)


@dataclass(frozen=True, slots=True)
class GuardOptions:
    """What the command is asked to do; the fields are its options, as `add_guard_options` describes them."""

    only: tuple[str, ...] = ()
    update: bool = False
    json: Path | None = None
    spec: Path | None = None
    jobs: int | None = None


def add_guard_options(parser: argparse.ArgumentParser) -> None:
    """Give the parser the command's options."""
    only = "take out only the guards of the action, or with the name, NAME; * and ? match; may be repeated"
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help=only)
    parser.add_argument(
        "--update", action="store_true", help=f"write what breaks into {GUARDS}, for review; never a sentence"
    )
    add_json(parser)
    parser.add_argument("--spec", type=Path, metavar="DIR", help="the model's folder, spec/ unless given")
    parser.add_argument("--jobs", type=int, metavar="N", help="run at most N checks at once")


def guard_options_from(arguments: argparse.Namespace) -> GuardOptions:
    """The options, from what the parser of `add_guard_options` read."""
    given = {name: getattr(arguments, name) for name in GuardOptions.__dataclass_fields__}
    return GuardOptions(**given | {"only": tuple(arguments.only)})


@dataclass(frozen=True, slots=True)
class _Finding:
    """All that is known of a guard: its probe, if it was taken out, and why it is not as expected."""

    name: str
    action: str
    text: str
    becomes: str
    probe: Probe | None
    why: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Guards:
    """The command, and what it needs.

    `root` is the project's folder, `console` what it prints to; `find_tools` finds Java and the jar, and
    `check` runs TLC.
    """

    root: Path
    console: Console
    find_tools: FindTools
    check: Check
    module: str = MODULE

    def run(self, options: GuardOptions) -> int:
        """Take out each guard that the options select, print a table and every failure, write the files.

        Returns 0 if all is as expected, 1 if something is not, and 2, with a sentence on standard error, if
        it could not run: a file cannot be read, Java or the jar is missing or wrong, nothing is selected.
        """
        try:
            return self._run(options)
        except _ERRORS as error:
            return could_not_run(error)

    def _run(self, options: GuardOptions) -> int:
        """As `run`, but what makes it impossible is raised."""
        began = time.monotonic()
        spec_dir = options.spec or self.root / "spec"
        listed, tools = load_guards(spec_dir), self.find_tools(self.root)
        models = _models(listed, spec_dir)
        cases = [models[name] for name in listed.models]
        prober = Prober(spec_dir / self.module, cases, tools, self.check)
        found = find_guards(prober.module, tools)
        works = [(guard, listed.guards.get(guard.name)) for guard in _selected(found, listed, options.only)]
        probes = self._probed(works, prober, models, options.jobs)
        if options.update:
            written = write_findings(listed, found, probes)
            self.console.print(f"{GUARDS}: {'new findings, for review' if written else 'nothing new'}.")
            listed = load_guards(spec_dir)
        findings = _gather(found, probes, listed, options.only)
        return self._report(findings, options, time.monotonic() - began)

    def _probed(
        self,
        guards: Sequence[tuple[Guard, Listed | None]],
        prober: Prober,
        models: Mapping[str, Case],
        jobs: int | None,
    ) -> dict[str, Probe]:
        """Take the guards out, as many at once as the cores allow; what came of it, by name."""
        cores = os.cpu_count() or 1
        with watching(self.console, len(guards)) as watch:

            async def probe(guard: Guard, entry: Listed | None) -> Probe:
                """Take one guard out, in the model that shows what breaks first, and tell the watch."""
                watch.began(guard.name)
                probe = await prober.probe(guard, models[entry.cfg] if entry and entry.cfg else None)
                summary = f"{say(probe)}, {probe.seconds:.1f} s"
                watch.ended(guard.name, summary, ok=not compare(entry, probe))
                return probe

            works = [Work(1, 0, partial(probe, *each)) for each in guards]
            done = asyncio.run(share_out(works, cores=cores, at_once=jobs or cores))
        return {probe.guard.name: probe for probe in done}

    def _report(self, findings: Sequence[_Finding], options: GuardOptions, seconds: float) -> int:
        """Print and write all that was found."""
        self.console.print(make_table(_COLUMNS, [(not each.why, _cells(each)) for each in findings]))
        beside = ["--spec", str(options.spec)] if options.spec else []
        failures = [_failure(each, beside) for each in findings if each.why]
        print_failures(self.console, failures, len(findings))
        outcome = _outcome(findings, seconds)
        if outcome.ok:
            figures = outcome.figures
            self.console.print(
                f"As expected: {many(int(figures['guards']), 'guard')}; without {figures['breaking']} a "
                f"property breaks, and for {figures['harmless']} a sentence says why none does; "
                f"in {seconds:.0f} s."
            )
        if options.json:
            outcome.save(options.json)
        return AS_EXPECTED if outcome.ok else NOT_AS_EXPECTED


def _models(listed: GuardList, spec_dir: Path) -> dict[str, Case]:
    """The manifest's models by name: guards.yaml tries each that a pull request runs, and names no other."""
    models = {case.name: case for case in load_manifest(spec_dir).cases if case.entry.kind == "model"}
    named = [*listed.models, *(entry.cfg for entry in listed.guards.values() if entry.cfg)]
    if unknown := [name for name in named if name not in models]:
        raise GuardsError(f"{GUARDS} names {unknown[0]}, which is no model of the manifest; correct it.")
    roots = {models[name].module for name in listed.models}
    for name, case in models.items():
        if case.entry.tier == "pull-request" and case.module in roots and name not in listed.models:
            raise GuardsError(f"{GUARDS} does not name the model {name}; put it into `models`.")
    return models


def _selected(found: Iterable[Guard], listed: GuardList, only: Sequence[str]) -> list[Guard]:
    """The guards that the options ask for, but for bounds; raises SelectionError when there are none."""
    guards = [
        each for each in found if each.name not in listed.bounds and _asked(each.name, each.action, only)
    ]
    if not guards:
        raise SelectionError(
            f"No guard is selected by {' '.join(f'--only {each}' for each in only)}.".strip()
        )
    return guards


def _asked(name: str, action: str, only: Sequence[str]) -> bool:
    """Whether a guard is asked for: each is, unless names or actions are given."""
    return not only or any(
        name == each or fnmatchcase(name, each) or fnmatchcase(action, each) for each in only
    )


def _gather(
    found: Sequence[Guard], probes: Mapping[str, Probe], listed: GuardList, only: Sequence[str]
) -> list[_Finding]:
    """A finding for each guard that was taken out, in their order, then for each that is listed and gone."""
    findings = [
        _Finding(
            guard.name,
            guard.action,
            guard.text,
            guard.becomes,
            probe,
            compare(listed.guards.get(guard.name), probe),
        )
        for guard in found
        if (probe := probes.get(guard.name)) is not None
    ]
    there = {guard.name for guard in found}
    for name, entry in [*listed.bounds.items(), *listed.guards.items()]:
        action = name.split("/", 1)[0]
        if name not in there and _asked(name, action, only):
            why = f"{GUARDS} lists it, but the model has no such guard; correct or delete the entry."
            findings.append(_Finding(name, action, entry.guard, entry.becomes, None, (why,)))
    return findings


def _outcome(findings: Sequence[_Finding], seconds: float) -> Outcome:
    """The findings in the shape of every command; `seconds` is what all of it took."""
    probes = [each.probe for each in findings if each.probe and not each.probe.trouble]
    figures: dict[str, int | float] = {
        "guards": len(probes),
        "breaking": sum(probe.breaks is not None for probe in probes),
        "harmless": sum(probe.breaks is None for probe in probes),
        "seconds": round(seconds, 1),
        "failures": sum(bool(each.why) for each in findings),
    }
    return Outcome(figures["failures"] == 0, "guards", figures, [_row(each) for each in findings])


def _row(finding: _Finding) -> dict[str, Cell]:
    """A finding as a row of the JSON."""
    probe = finding.probe
    breaks = probe.breaks if probe else None
    row: dict[str, Cell] = {
        "action": finding.action,
        "guard": finding.text,
        "becomes": finding.becomes,
        "property": breaks.property if breaks else None,
        "cfg": breaks.cfg if breaks else None,
        "states": breaks.states if breaks else None,
        "seconds": round(probe.seconds, 1) if probe else None,
        "ok": not finding.why,
    }
    return row | {"why": " ".join(finding.why)} if finding.why else row


def _cells(finding: _Finding) -> list[str]:
    """A finding as a row of the table."""
    row = _row(finding)
    names = ("action", "guard", "becomes", "property", "cfg", "states", "seconds")
    return [str(row[name] if row[name] is not None else "") for name in names]


def _failure(finding: _Finding, beside: Sequence[str]) -> Failure:
    """A finding that is not as expected, with the command that shows it again."""
    return Failure(finding.name, finding.why, command("guards", "--only", finding.name, *beside))
