"""Taking a guard out of a copy of the spec, and asking TLC which property breaks."""

import shutil
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.models.cfg import Config, parse_cfg
from conformance.models.guards import Guard, without
from conformance.models.manifest import Case
from conformance.models.run import Check
from conformance.tlc.output import PropertyKind, Result, Verdict
from conformance.tlc.run import Job
from conformance.tlc.tools import Tools

# A model without a guard has more states than the model, and may take that many times its seconds.
_PATIENCE = 10
CANNOT_EVALUATE = "evaluation"


@dataclass(frozen=True, slots=True)
class Break:
    """What breaks without a guard.

    `property` is the property, or `evaluation` where TLC comes to an expression that has no value; `cfg` the
    model that shows it; `states` the length of the counterexample, or None for a temporal property, whose
    counterexample need not be the shortest, nor the same each time.
    """

    property: str
    cfg: str
    states: int | None


@dataclass(frozen=True, slots=True)
class Probe:
    """What came of taking a guard out.

    `breaks` is the first thing that broke, None if nothing did; `trouble` says why TLC could not tell, or is
    empty; `seconds` is what all of it took.
    """

    guard: Guard
    breaks: Break | None
    trouble: str
    seconds: float


class TroubleError(Exception):
    """TLC could not tell what breaks; the message says in which model, and why."""


@dataclass(frozen=True, slots=True)
class Prober:
    """Takes guards out of `module`, a file of the spec, and checks the models without them.

    The models are tried in the order of `cases`, up to the first in which something breaks. They are what a
    pull request runs; one that takes longer may be named for a guard that nothing else can show a use of.
    """

    module: Path
    cases: Sequence[Case]
    tools: Tools
    check: Check

    async def probe(self, guard: Guard, first: Case | None = None) -> Probe:
        """Take one guard out, and find what breaks; the model `first`, if there is one, is tried first.

        Raises OSError when the copy cannot be made, and what `check` raises.
        """
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="guard-") as folder:
            try:
                breaks, trouble = await self._search(self._copied(guard, Path(folder)), first), ""
            except TroubleError as error:
                breaks, trouble = None, str(error)
        return Probe(guard, breaks, trouble, time.monotonic() - began)

    def _copied(self, guard: Guard, folder: Path) -> Path:
        """Copy the spec's modules to a folder, the module without the guard; return the folder."""
        for each in self.module.parent.glob("*.tla"):
            shutil.copyfile(each, folder / each.name)
        text = self.module.read_text(encoding="utf-8")
        (folder / self.module.name).write_text(without(guard, text), encoding="utf-8")
        return folder

    async def _search(self, folder: Path, first: Case | None) -> Break | None:
        """The first thing that breaks in the copy."""
        for case in [*([first] if first else []), *(each for each in self.cases if each is not first)]:
            breaks = await self._break_of(case, folder)
            if breaks is not None:
                return breaks
        return None

    async def _break_of(self, case: Case, folder: Path) -> Break | None:
        """What breaks in one model: where a temporal property does, what TLC would name goes before it.

        When TLC looks at temporal properties depends on how fast it is, and it does not say which one broke.
        """
        result = await self._run(case, folder, case.expects)
        if result.verdict is Verdict.VIOLATED and result.kind is PropertyKind.TEMPORAL:
            named = [each for each in case.expects if each not in case.temporal]
            result = await self._run(case, folder, named)
            if result.verdict is Verdict.HOLDS:
                return Break(await self._temporal(case, folder), case.name, None)
        return _break_in(case, result)

    async def _temporal(self, case: Case, folder: Path) -> str:
        """The first of the model's temporal properties that breaks."""
        for each in case.temporal:
            if (await self._run(case, folder, [each])).verdict is Verdict.VIOLATED:
                return each
        raise TroubleError(f"{case.name}: a temporal property breaks, but none of them breaks by itself.")

    async def _run(self, case: Case, folder: Path, checks: Iterable[str]) -> Result:
        """Check some of what a model must hold, in the copy."""
        config = parse_cfg(case.cfg.read_text(encoding="utf-8"))
        cfg = folder / f"{case.name}.cfg"
        cfg.write_text(write_cfg(config, set(checks)), encoding="utf-8")
        # One worker: the counterexample is a shortest one, and the same each time.
        job = Job(module=folder / case.module.name, cfg=cfg, memory_mb=case.entry.memory_mb)
        return await self.check(job, self.tools, timeout=_PATIENCE * case.entry.seconds)


def write_cfg(config: Config, checks: set[str]) -> str:
    """The text of a cfg like `config` that checks only what is in `checks`."""
    constants = [f"{name} = {value}" for name, value in config.values.items()]
    constants += [f"{name} <- {operator}" for name, operator in config.replaces.items()]
    sections: dict[str, Sequence[str]] = {**config.sections, "CONSTANT": constants}
    for name in ("INVARIANT", "PROPERTY"):
        sections[name] = [each for each in config.sections.get(name, ()) if each in checks]
    return "".join(f"{name}\n" + "".join(f"  {each}\n" for each in sections[name]) for name in sections)


def _break_in(case: Case, result: Result) -> Break | None:
    """What a run shows to be broken, if it does; raises TroubleError when the run shows nothing."""
    states = len(result.trace.states) if result.trace else None
    match result.verdict:
        case Verdict.HOLDS:
            return None
        case Verdict.VIOLATED if result.property:
            return Break(result.property, case.name, states)
        case Verdict.EVALUATION_ERROR:
            return Break(CANNOT_EVALUATE, case.name, states)
        case _:
            raise TroubleError(f"{case.name}: {result.verdict.value}. {result.message}".strip())
