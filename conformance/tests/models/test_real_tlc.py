"""The command `models` with the real TLC: each way to check nothing and go green makes it fail."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from conformance.__main__ import ROOT, main
from conformance.models.command import Options
from conformance.report import AS_EXPECTED, COULD_NOT_RUN, NOT_AS_EXPECTED
from conformance.tests.models.bench import Bench
from conformance.tlc.itf import load_trace
from conformance.tlc.output import Progress, Result
from conformance.tlc.run import Job, check
from conformance.tlc.tools import JAR_PATH, JAR_VARIABLE, Tools, find_java, find_tools

TOOLS = find_tools(ROOT)


@pytest.fixture
def real(bench: Bench) -> Bench:
    """The counter's spec, checked by TLC."""
    bench.check = check
    bench.find_tools = lambda _root: TOOLS
    return bench


def test_the_counter_is_as_expected(real: Bench, tmp_path: Path) -> None:
    """TLC finds what the manifest says of the model, its mutants and its witness; the traces are saved."""
    assert real.run(Options(tier="all", traces=tmp_path / "traces")) == AS_EXPECTED, real.printed
    trace, meta = load_trace(tmp_path / "traces" / "NoUp.itf.json")
    assert (len(trace.states), trace.stuttering) == (1, True)
    assert meta["property"] == "ReachesMax"


@dataclass(frozen=True)
class Edit:
    """An edit of the spec, the cfg that it makes fail, and what must be said of it."""

    file: str
    old: str
    new: str
    name: str
    why: tuple[str, ...]


EDITS = {
    "an INVARIANT line deleted": Edit(
        "Counter.cfg", "  TypeOK\n", "", "Counter", ("does not check TypeOK", "hash is stale")
    ),
    "a bound made smaller": Edit(
        "Counter.cfg", "Max = 3", "Max = 2", "Counter", ("expected 4, found 3", "hash is stale")
    ),
    "a guard made FALSE": Edit(
        "Counter.tla", "Wrap == x = Max", "Wrap == FALSE", "Counter", ("The action Wrap never fired",)
    ),
    "a guard made FALSE, without which nothing moves": Edit(
        "Counter.tla", "x < Max", "FALSE", "Counter", ("a temporal property (ReachesMax) is violated",)
    ),
    "an idle action that fires": Edit(
        "Counter.tla",
        "> 9 /\\ x' = Max",
        "> 2 /\\ x' = x",
        "Counter",
        ("lists Leap as `idle`, but it fired",),
    ),
    "a harmless mutant": Edit(
        "mutants/Mutants.tla", "TRUE", "x < Max", "mutants/NoRoom", ("The mutant is harmless: TypeOK holds",)
    ),
    "a harmless mutant of a temporal property": Edit(
        "mutants/Mutants.tla",
        "FALSE",
        "x < Max",
        "mutants/NoUp",
        ("The mutant is harmless: ReachesMax holds",),
    ),
    "a witness out of reach": Edit(
        "witnesses/Witnesses.tla",
        "# Max",
        "<= Max",
        "witnesses/MaxIsReached",
        ("The situation is not reached",),
    ),
    "another property broken": Edit(
        "models.yaml", "violates: TypeOK", "violates: OneByOne", "mutants/NoRoom", ("but TypeOK is violated",)
    ),
    "a module that does not parse": Edit(
        "Counter.tla", "VARIABLE x", "VARIABLE x ==", "Counter", ("TLC cannot read the module",)
    ),
    "a cfg that does not fit": Edit(
        "Counter.cfg", "SPECIFICATION Spec", "SPECIFICATION Other", "Counter", ("TLC cannot read the cfg",)
    ),
    "an expression without a value": Edit(
        "Counter.tla", "x = Least /", 'x = "none" /', "Counter", ("TLC could not evaluate",)
    ),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_an_edit_makes_it_fail_and_say_why(real: Bench, edit: Edit) -> None:
    """It exits 1, names the cfg, says why, and gives the command that shows it again."""
    real.edit(edit.file, edit.old, edit.new)
    assert real.run(Options(only=(edit.name,))) == NOT_AS_EXPECTED, real.printed
    _, _, failures = real.printed.partition("1 of 1 not as expected:")
    assert failures.strip().startswith(edit.name)
    for why in edit.why:
        assert why in failures
    assert f"python -m conformance models --only {edit.name}" in failures


def test_tlc_killed_half_way(real: Bench) -> None:
    """A run that is stopped by a time limit shows nothing, and says so."""

    async def hasty(
        job: Job,
        tools: Tools,
        *,
        on_progress: Callable[[Progress], None] | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - as the check that it stands in for
    ) -> Result:
        """Run TLC for less time than it needs."""
        assert timeout == 300
        return await check(job, tools, on_progress=on_progress, timeout=0.1)

    real.check = hasty
    assert real.run(Options(only=("Counter",))) == NOT_AS_EXPECTED
    assert "TLC was stopped before it had finished" in real.printed


def test_a_heap_that_is_too_small(real: Bench) -> None:
    """A run that does not fit into the memory it may take fails, and says what to raise."""
    real.edit("models.yaml", "    kind: model\n", "    kind: model\n    memory_mb: 3\n")
    assert real.run(Options(only=("Counter",))) == NOT_AS_EXPECTED
    assert "TLC ran out of memory; raise its `memory_mb`" in real.printed


def test_symmetry_beside_liveness(real: Bench) -> None:
    """It is refused by our rule and by TLC's own warning, though everything seems to hold."""
    real.edit("Counter.tla", "EXTENDS Naturals", "EXTENDS Naturals, TLC")
    real.edit("Properties.tla", "Zero       == 0", "CONSTANT Ids\nZero == 0\nSym == Permutations(Ids)")
    real.edit("Counter.cfg", "  Max = 3", "  Ids = {a, b}\n  Max = 3")
    real.edit("Counter.cfg", "INVARIANTS", "SYMMETRY Sym\nINVARIANTS")
    assert real.run(Options(only=("Counter",))) == NOT_AS_EXPECTED
    assert "beside SYMMETRY: TLC's answer may be wrong, silently" in real.printed
    assert "TLC printed a warning: " in real.printed


def test_a_cfg_that_nobody_listed(real: Bench) -> None:
    """A new cfg beside the others fails, though all others are as expected."""
    (real.spec / "New.cfg").write_text(real.read("Counter.cfg"), encoding="utf-8")
    assert real.run(Options(only=("Counter", "New"))) == NOT_AS_EXPECTED
    assert "The cfg is not in the manifest" in real.printed


def test_a_jar_with_one_byte_changed(
    real: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The jar that set-up fetched is refused if it is not what was pinned, and nothing is run."""
    monkeypatch.delenv(JAR_VARIABLE, raising=False)
    jar = bytearray(TOOLS.jar.path.read_bytes())
    jar[len(jar) // 2] ^= 1
    place = real.folder / JAR_PATH
    place.parent.mkdir()
    place.write_bytes(jar)
    real.find_tools = find_tools
    assert real.run() == COULD_NOT_RUN
    assert "is not a TLC jar that this project pins" in capsys.readouterr().err


def test_no_java(real: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a Java it says where it looked."""

    def find(_root: Path) -> Tools:
        """Look in an empty environment where pip brought no Java."""
        return Tools(find_java({}, lambda: None), TOOLS.jar)

    real.find_tools = find
    assert real.run() == COULD_NOT_RUN
    assert "Could not run: No Java 11 or newer was found" in capsys.readouterr().err


def test_a_java_that_does_not_start(real: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    """A Java that is gone when TLC is to start could not be run, and is no failure of the model."""
    java = replace(TOOLS.java, path=real.folder / "java")
    real.find_tools = lambda _root: replace(TOOLS, java=java)
    assert real.run(Options(only=("Counter",))) == COULD_NOT_RUN
    assert "could not be started" in capsys.readouterr().err


def test_the_command_line(bench: Bench, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """`python -m conformance models` does all of it, with its options, and exits as the command does."""
    out = tmp_path / "out.json"
    line = ["models", "--spec", str(bench.spec), "--only", "NoRoom", "--json", str(out)]
    assert main(line) == AS_EXPECTED
    assert "As expected: 0 models, 1 mutant, 0 witnesses; 5 distinct states" in capfd.readouterr().out
    assert out.is_file()
    bench.edit("models.yaml", "trace_length: 5", "trace_length: 6")
    assert main(line) == NOT_AS_EXPECTED


def test_an_interrupt_could_not_run(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An interrupt from the keyboard ends with a sentence, and is no success."""

    async def interrupted(*_: object, **__: object) -> None:
        """Be interrupted at once."""
        raise KeyboardInterrupt

    monkeypatch.setattr("conformance.__main__.check", interrupted)
    assert main(["models", "--spec", str(bench.spec), "--only", "NoRoom"]) == COULD_NOT_RUN
    assert capsys.readouterr().err == "Could not run: it was interrupted, so not everything was checked.\n"
