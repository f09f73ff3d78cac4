"""What these tests share: a spec to edit, a stand-in for TLC, and the command over both."""

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from io import StringIO
from pathlib import Path

from rich.console import Console

from conformance.models.command import Models, Options
from conformance.models.run import Check
from conformance.tlc.output import Coverage, Progress, PropertyKind, Result, State, Trace, Verdict
from conformance.tlc.run import Job
from conformance.tlc.tools import Jar, Java, Tools

COUNTER = Path(__file__).with_name("counter")
TOOLS = Tools(Java(Path("java"), "17"), Jar(Path("tla2tools.jar"), "0" * 64, "TLC"))

HOLDS = Result(
    verdict=Verdict.HOLDS,
    kind=None,
    property=None,
    message="TLC found no error.",
    trace=None,
    generated=5,
    distinct=4,
    queue=0,
    depth=4,
    coverage={"Up": Coverage(3, 3), "Wrap": Coverage(0, 1), "Leap": Coverage(0, 0)},
    warnings=(),
    version="2.15",
    exit_code=0,
    seconds=1.0,
)


def violated(name: str | None, length: int) -> Result:
    """What TLC finds when the property `name`, or for None a temporal one, breaks in `length` states."""
    states = tuple(State("Up" if x else "Init", "", {"x": x}) for x in range(length))
    kind = PropertyKind.INVARIANT if name else PropertyKind.TEMPORAL
    return replace(
        HOLDS, verdict=Verdict.VIOLATED, kind=kind, property=name, trace=Trace(states), coverage={}
    )


AS_EXPECTED: Mapping[str, Result] = {
    "Counter": HOLDS,
    "NoRoom": violated("TypeOK", 5),
    "NoUp": violated(None, 1),
    "MaxIsReached": violated("NeverMax", 4),
}


@dataclass
class FakeTlc:
    """A stand-in for TLC: what it finds of each cfg, by the file's stem, and the jobs it was given."""

    results: dict[str, Result] = field(default_factory=lambda: dict(AS_EXPECTED))
    jobs: list[Job] = field(default_factory=list)
    timeouts: list[float | None] = field(default_factory=list)

    async def check(
        self,
        job: Job,
        tools: Tools,
        *,
        on_progress: Callable[[Progress], None] | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - as the check that it stands in for
    ) -> Result:
        """Say what it was told to find, and that it got there."""
        assert tools is TOOLS
        self.jobs.append(job)
        self.timeouts.append(timeout)
        if on_progress is not None:
            on_progress(Progress(2, 5, 4, 1, 300))
        return self.results[job.cfg.stem]


@dataclass
class Bench:
    """A copy of the counter's spec in a folder of its own, and the command over it."""

    folder: Path
    tlc: FakeTlc = field(default_factory=FakeTlc)
    check: Check | None = None
    find_tools: Callable[[Path], Tools] = lambda _root: TOOLS
    searched: int = 0
    printed: str = ""

    @property
    def spec(self) -> Path:
        """The folder of the manifest."""
        return self.folder / "spec"

    @property
    def manifest(self) -> str:
        """The text of models.yaml."""
        return self.read("models.yaml")

    def read(self, name: str) -> str:
        """The text of a file of the spec."""
        return (self.spec / name).read_text(encoding="utf-8")

    def edit(self, name: str, old: str, new: str) -> None:
        """Replace `old`, which must stand once in a file of the spec, by `new`."""
        text = self.read(name)
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {name}"
        (self.spec / name).write_text(text.replace(old, new), encoding="utf-8")

    def run(self, options: Options | None = None, *, terminal: bool = False) -> int:
        """Run the command, keep what it printed, and return its exit code."""
        out = StringIO()
        console = Console(file=out, width=160, force_terminal=terminal, highlight=False)
        check = self.check or self.tlc.check
        models = Models(self.folder, console, self.find_tools, check, searched=self.searched)
        code = models.run(options or Options(tier="all"))
        self.printed = out.getvalue()
        return code


def make_bench(folder: Path) -> Bench:
    """A bench in an empty folder, where everything is as expected."""
    shutil.copytree(COUNTER, folder / "spec")
    return Bench(folder)
