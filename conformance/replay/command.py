"""The command `replay`: carry counterexamples of TLC's out on the runner, or walk a recorded walk again."""

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from conformance.explore.again import again
from conformance.explore.keep import story
from conformance.explore.record import RECORDED, load_walk
from conformance.model.model import Model
from conformance.mutants import TWINS
from conformance.quiet import quiet
from conformance.replay.recorded import recorded
from conformance.replay.run import RefusedAt, Reproduced, on_library, on_twin
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
    could_not_run,
    make_table,
    many,
    print_failures,
)
from conformance.selecting import suggestion
from conformance.tlc.reading import SUFFIX, UnreadableError, read_trace
from conformance.world.durable import MEMORY

_COLUMNS = (
    Column("trace"),
    Column("property"),
    Column("states", number=True),
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
    add_storage(parser)
    add_json(parser)


@dataclass(frozen=True, slots=True)
class Replayed:
    """What a counterexample came to, on its mutant's twin and on the library.

    `path` is its file, and `model` the model that its mutant spoils: as it is, or with direct runs.
    """

    path: Path
    name: str
    broken: str
    model: type[Model]
    twin: Reproduced
    library: RefusedAt

    @property
    def ok(self) -> bool:
        """Whether the twin breaks the property as the trace does, and the library does not."""
        return not self.why

    @property
    def why(self) -> list[str]:
        """How it is not as it should be, in sentences."""
        told = (("On its twin", self.twin.why), ("On the library", self.library.why))
        return [f"{where}: {why}" for where, why in told if why]

    @property
    def row(self) -> Row:
        """Its row."""
        return {
            "trace": self.path.name,
            "mutant": self.name,
            "property": self.broken,
            "states": self.twin.states,
            "reproduced": not self.twin.why,
            "refused_at": None if self.library.why else f"{self.library.step}. {self.library.action}",
            "taken_instead": self.library.instead,
            "ok": self.ok,
        }

    @property
    def cells(self) -> list[str]:
        """Its row, as text."""
        return [
            self.name,
            self.broken,
            str(self.twin.states),
            "NOT reproduced" if self.twin.why else "breaks it as the trace does",
            "NOT left" if self.library.why else f"{self.library.step}. {self.library.action}",
            self.library.instead,
        ]

    @property
    def failure(self) -> Failure:
        """What is wrong with it."""
        return Failure(self.name, self.why, command("replay", self.path))


def replay(path: Path, spec: Path, storage: str = MEMORY) -> Replayed:
    """Carry a counterexample out.

    Raises:
        UnreadableError: It is no counterexample of a mutant that has a twin.
        OSError: Its cfg under `spec` cannot be read.
    """
    trace = recorded(path, spec)
    if (twin := TWINS.get(trace.mutant)) is None:
        raise UnreadableError(f"{path} is of {trace.mutant}, and that has no twin in conformance.mutants.")
    reproduced = on_twin(trace, twin, trace.model, storage)
    left = on_library(trace, trace.design, storage)
    return Replayed(path, trace.mutant, trace.broken, trace.design, reproduced, left)


@dataclass(frozen=True, slots=True)
class Replay:
    """The command, and what it needs: the project's folder, and the console that it prints to.

    If it is `brief`, it prints its table only if something is not as expected.
    """

    root: Path
    console: Console
    brief: bool = False
    storage: str = MEMORY

    def run(self, traces: Sequence[Path], json: Path | None) -> int:
        """Replay the traces, all of traces/ if none is given.

        Returns 0 if each counterexample breaks its property on its twin, and is left by the library at a step
        with no property broken, and each recorded walk goes well now; 1 if not; 2 if a file is no trace.
        """
        try:
            return self._run(self._paths(traces), json)
        except (UnreadableError, OSError) as error:
            return could_not_run(error)

    def _paths(self, traces: Sequence[Path]) -> list[Path]:
        """The files to replay; raises UnreadableError for one that there is not, with those much like it."""
        own = sorted((self.root / "traces").glob(f"*{SUFFIX}"))
        words = {word: str(_shown(path, self.root)) for path in own for word in _words(path)}
        for path in traces:
            if not path.exists():
                near = suggestion(path.name.removesuffix(SUFFIX), words)
                raise UnreadableError(f"There is no file {path}.{near or ' Name one of traces/.'}")
        return list(traces) or [_shown(path, self.root) for path in own]

    def _run(self, paths: Sequence[Path], json: Path | None) -> int:
        """As `run`, of these files; what makes it impossible is raised."""
        began = time.perf_counter()
        with quiet():
            walks = [path for path in paths if read_trace(path)[1].get("kind") == RECORDED]
            found = [replay(path, self.root / "spec", self.storage) for path in paths if path not in walks]
            failures = [failure for path in walks for failure in self._walk(path)]
        failures += [each.failure for each in found if not each.ok]
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
        walk = load_walk(path)
        walked = again(walk.setting, walk.steps)
        if walked.error is None:
            self.console.print(Text(f"{path}: the walk goes well now, to its end."), soft_wrap=True)
            return []
        return [Failure(str(path), [walked.why], command("replay", path), story(walked))]

    def _report(self, found: Sequence[Replayed], failures: Sequence[Failure], paths: int) -> None:
        """Print what was found."""
        if found and not (self.brief and not failures):
            self.console.print(make_table(_COLUMNS, [(each.ok, each.cells) for each in found]))
        print_failures(self.console, failures, paths)
        if found and not failures:
            told = f"{many(len(found), 'counterexample')} reproduced on the mutant's twin, and left by the"
            self.console.print(
                f"As expected: {told} library at the step named, with no property broken.", soft_wrap=True
            )


def _shown(path: Path, root: Path) -> Path:
    """A path as it is typed in the project's folder, where that is the current one."""
    return path.relative_to(root) if root == Path.cwd() else path


def _words(path: Path) -> tuple[str, ...]:
    """What somebody may call a trace's file."""
    return path.name, path.name.removesuffix(SUFFIX)
