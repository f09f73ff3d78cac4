"""The command `controls`: each mutant's cfg, with the design's own rules put back, must keep its property.

Else the property would break within these bounds whatever the rule, and the mutant would show nothing.
"""

import argparse
import asyncio
import os
import re
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from conformance.models.cfg import parse_cfg
from conformance.models.command import FindTools
from conformance.models.manifest import Case, ManifestError, Mutant, load_manifest
from conformance.models.progress import Watch, watching
from conformance.models.run import Check, job_of
from conformance.models.schedule import Work, share_out
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
from conformance.tlc.output import Result, Verdict
from conformance.tlc.run import TlcStartError
from conformance.tlc.tools import ToolError, Tools

# What a cfg replaces by this operator of MC.tla is a bound on the world, no rule of the design.
BOUND = "Never"

_COLUMNS = (
    Column("mutant"),
    Column("property"),
    Column("verdict"),
    Column("distinct states", number=True),
    Column("seconds", number=True),
)


@dataclass(frozen=True, slots=True)
class Control:
    """A mutant's case, and what TLC found of its cfg without the mutation."""

    case: Case
    result: Result

    @property
    def ok(self) -> bool:
        """Whether the property holds, of at least one state."""
        return self.result.verdict is Verdict.HOLDS and self.result.distinct > 0

    @property
    def row(self) -> Row:
        """It, as a row of the JSON."""
        result = self.result
        return {
            "mutant": self.case.slug,
            "property": self.case.expects[0],
            "verdict": result.verdict.value,
            "distinct_states": result.distinct,
            "seconds": round(result.seconds, 1),
            "ok": self.ok,
        }

    @property
    def failure(self) -> Failure:
        """Why it is not as expected."""
        why = f"{self.case.expects[0]} does not hold within these bounds though no rule is taken out, or TLC"
        message = f"{why} could not tell; choose other bounds for the mutant. {self.result.message}"
        return Failure(self.case.slug, [message], command("controls", "--only", self.case.slug))

    @property
    def cells(self) -> list[str]:
        """It, as a row of the table."""
        return cells_of(self.row)


def control_cfg(text: str, constants: Sequence[str]) -> str:
    """A mutant's cfg with the design's own rules: without the operators that it replaces, and with its Spec.

    Kept are what gives `constants`, and what `BOUND` replaces. A Spec of the mutant's own, which adds steps
    that the design has not, gives way to the module's. Raises CfgError if `text` is no cfg.
    """
    mutated = {name for name, by in parse_cfg(text).replaces.items() if name not in constants and by != BOUND}
    kept = [line for line in text.splitlines() if line.split("<-")[0].strip() not in mutated]
    design = re.sub(
        r"^SPECIFICATION (?!DirectSpec)\w+$", "SPECIFICATION Spec", "\n".join(kept), flags=re.MULTILINE
    )
    return design + "\n"


def add_control_options(parser: argparse.ArgumentParser) -> None:
    """Give the parser the command's options."""
    add_only(parser, "only the mutant")
    add_json(parser)


@dataclass(frozen=True, slots=True)
class Controls:
    """The command, and what it needs, as `Models` does."""

    root: Path
    console: Console
    find_tools: FindTools
    check: Check

    def run(self, only: Sequence[str], json: Path | None, spec: Path | None = None) -> int:
        """Check the control of each mutant whose name matches one of `only`, of every one if there is none.

        Prints a table and every failure, and writes `json`, if given. Returns 0 if each property holds, 1 if
        one does not, 2, with a sentence on standard error, if it could not run.
        """
        try:
            return self._run(only, json, spec or self.root / "spec")
        except (ManifestError, SelectionError, ToolError, TlcStartError, OSError) as error:
            return could_not_run(error)

    def _run(self, only: Sequence[str], json: Path | None, spec: Path) -> int:
        """As `run`, but what makes it impossible is raised."""
        began = time.monotonic()
        manifest = load_manifest(spec)
        mutants = {case.name: case for case in manifest.cases if isinstance(case.entry, Mutant)}
        cases = [mutants[name] for name in select(mutants, only, "mutant of the manifest")]
        with watching(self.console, len(cases)) as watch:
            controls = asyncio.run(self._all(cases, manifest.constants, watch))
        seconds = time.monotonic() - began
        figures = {
            "controls": len(controls),
            "failures": sum(not control.ok for control in controls),
            "seconds": round(seconds, 1),
        }
        hold = f"{many(len(controls), 'control holds', 'controls hold')}, in {seconds:.0f} s."
        return Listing(self.console, "controls", _COLUMNS).show(controls, figures, hold, json)

    async def _all(self, cases: Sequence[Case], constants: Sequence[str], watch: Watch) -> list[Control]:
        """Check the controls of the cases, in the order of their names."""
        tools, cores = self.find_tools(self.root), os.cpu_count() or 1

        def work(case: Case) -> Work[Control]:
            """The case as work to share out."""
            return Work(1, case.entry.seconds, lambda: self._one(case, constants, tools, watch))

        controls = await share_out(map(work, cases), cores=cores, at_once=cores)
        return sorted(controls, key=lambda control: control.case.name)

    async def _one(self, case: Case, constants: Sequence[str], tools: Tools, watch: Watch) -> Control:
        """Check one control."""
        watch.began(case.slug)
        with tempfile.TemporaryDirectory(prefix="control-") as folder:
            cfg = Path(folder) / case.cfg.name
            cfg.write_text(control_cfg(case.cfg.read_text(encoding="utf-8"), constants), encoding="utf-8")
            control = Control(case, await self.check(replace(job_of(case), cfg=cfg, quick=False), tools))
        result = control.result
        watch.ended(case.slug, f"{result.verdict.value}, {result.distinct:,} states", ok=control.ok)
        return control
