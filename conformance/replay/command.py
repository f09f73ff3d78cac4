"""The command `replay`: carry counterexamples of TLC's out on the runner, or walk a recorded walk again."""

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from conformance.explore.again import again
from conformance.explore.record import RECORDED, load_walk, trace_of
from conformance.model.model import Model
from conformance.model.mutants import MutationError, mutant, spec_of
from conformance.mutants import TWINS
from conformance.quiet import quiet
from conformance.replay.recorded import recorded
from conformance.replay.run import RefusedAt, Reproduced, on_library, on_twin
from conformance.report import Cell, Column, Failure, Outcome, Row, make_table, print_failures
from conformance.tlc.itf import TraceFormatError, load_trace
from conformance.tlc.story import tell

AS_EXPECTED, NOT_AS_EXPECTED, COULD_NOT_RUN = 0, 1, 2

_COLUMNS = (
    Column("trace"),
    Column("property"),
    Column("steps", number=True),
    Column("on the twin"),
    Column("the library leaves it at"),
    Column("and does instead"),
)


def add_replay_options(parser: argparse.ArgumentParser) -> None:
    """Give the parser the command's options."""
    parser.add_argument(
        "traces", nargs="*", type=Path, metavar="TRACE", help="a trace in ITF; traces/*.itf.json unless given"
    )
    parser.add_argument("--all", action="store_true", help="every trace of traces/, which is the default")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all of it to FILE as JSON")


@dataclass(frozen=True, slots=True)
class Replayed:
    """What a counterexample came to, on its mutant's twin and on the library.

    `model` is the model that its mutant spoils: as it is, or with direct runs.
    """

    name: str
    broken: str
    model: type[Model]
    twin: Reproduced
    library: RefusedAt

    @property
    def ok(self) -> bool:
        """Whether the twin breaks the property as the trace does, and the library does not."""
        return not self.twin.why and not self.library.why

    @property
    def row(self) -> Row:
        """Its row."""
        return {
            "trace": f"{self.name}.itf.json",
            "mutant": self.name,
            "property": self.broken,
            "steps": self.twin.steps,
            "reproduced": not self.twin.why,
            "refused_at": None if self.library.why else f"{self.library.step}. {self.library.action}",
            "taken_instead": self.library.instead,
            "ok": self.ok,
        }


def replay(path: Path, spec: Path) -> Replayed:
    """Carry a counterexample out.

    Raises TraceFormatError, OSError, ValueError or MutationError for what is none of a mutant's.
    """
    trace = recorded(path, spec)
    if (twin := TWINS.get(trace.mutant)) is None:
        raise ValueError(f"{path} is of {trace.mutant}, and that has no twin in conformance.mutants.")
    made = mutant(trace.mutant, trace.config)
    model, _ = spec_of(trace.mutant, trace.config)
    return Replayed(trace.mutant, trace.broken, model, on_twin(trace, twin, made), on_library(trace, model))


@dataclass(frozen=True, slots=True)
class Replay:
    """The command, and what it needs: the project's folder, and the console that it prints to.

    If it is `brief`, it prints its table only if something is not as expected.
    """

    root: Path
    console: Console
    brief: bool = False

    def run(self, traces: Sequence[Path], json: Path | None) -> int:
        """Replay the traces, all of traces/ if none is given.

        Returns 0 if each counterexample breaks its property on its twin, and is left by the library at a step
        with no property broken, and each recorded walk goes well now; 1 if not; 2 if a file is no trace.
        """
        began = time.perf_counter()
        paths = list(traces) or sorted((self.root / "traces").glob("*.itf.json"))
        try:
            with quiet():
                walks = [path for path in paths if _is_walk(path)]
                found = [replay(path, self.root / "spec") for path in paths if path not in walks]
                failures = [failure for path in walks for failure in self._walk(path)]
        except (TraceFormatError, OSError, ValueError, MutationError) as error:
            print(f"Could not run: {error}", file=sys.stderr)
            return COULD_NOT_RUN
        failures += [_failure(each) for each in found if not each.ok]
        self._report(found, failures, len(paths))
        if json:
            figures = {
                "traces": len(paths),
                "reproduced": sum(not each.twin.why for each in found),
                "refused": sum(not each.library.why for each in found),
                "seconds": round(time.perf_counter() - began, 1),
            }
            Outcome(not failures, "replay", figures, [each.row for each in found]).save(json)
        return NOT_AS_EXPECTED if failures else AS_EXPECTED

    def _walk(self, path: Path) -> list[Failure]:
        """Walk a recorded walk again on the library: a failure if it still goes wrong."""
        constants, steps, _ = load_walk(path)
        walked = again(constants, steps)
        if walked.error is None:
            self.console.print(Text(f"{path}: the walk goes well now, to its end."))
            return []
        story = tell(trace_of(walked.beside, walked.last), initial=False)
        return [Failure(str(path), [str(walked.error)], f"python -m conformance replay {path}", story)]

    def _report(self, found: Sequence[Replayed], failures: Sequence[Failure], paths: int) -> None:
        """Print what was found."""
        if found and not (self.brief and not failures):
            self.console.print(make_table(_COLUMNS, [(each.ok, _cells(each)) for each in found]))
        print_failures(self.console, failures, paths)
        if found and not failures:
            self.console.print(
                f"As expected: {len(found)} counterexamples, each reproduced on its twin, and left by "
                "the library at the step named, with no property broken.",
                soft_wrap=True,
            )


def _is_walk(path: Path) -> bool:
    """Whether a trace is a walk of the runner's."""
    return load_trace(path)[1].get("kind") == RECORDED


def _cells(each: Replayed) -> list[str]:
    """A row's cells, as text."""
    row: dict[str, Cell] = dict(each.row)
    reproduced = "breaks it as the trace does" if row["reproduced"] else "NOT reproduced"
    return [
        each.name,
        each.broken,
        str(each.twin.steps),
        reproduced,
        str(row["refused_at"] or "NOT left"),
        str(row["taken_instead"]),
    ]


def _failure(each: Replayed) -> Failure:
    """What is wrong with one."""
    why = [f"On its twin: {each.twin.why}"] if each.twin.why else []
    why += [f"On the library: {each.library.why}"] if each.library.why else []
    return Failure(each.name, why, f"python -m conformance replay traces/{each.name}.itf.json")
