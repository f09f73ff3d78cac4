"""Running TLC: the real one, on the tiny specs of the fixtures."""

import asyncio
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.tests.tlc.fixtures.record import ROOT, SPECS
from conformance.tests.tlc.recordings import read, recorded_lines
from conformance.tlc.output import Progress, Result, Verdict
from conformance.tlc.run import Job, TlcStartError, check, command
from conformance.tlc.tools import Jar, Java, Tools, find_tools

NO_TOOLS = Tools(Java(Path("/java"), "17"), Jar(Path("/tla2tools.jar"), "", ""))


@pytest.fixture(scope="module")
def tools() -> Tools:
    """The Java and the jar that set-up found or fetched."""
    return find_tools(ROOT)


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder where all temporary files are made; each test leaves it empty."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


def job(name: str, module: str = "Counter") -> Job:
    """The run of a case of the fixtures."""
    return Job(SPECS / f"{module}.tla", SPECS / f"{name}.cfg", memory_mb=256)


def program(folder: Path, script: str) -> Tools:
    """Tools whose Java is this shell script."""
    java = folder / "java"
    java.write_text(f"#!/bin/sh\n{script}\n")
    java.chmod(0o755)
    return replace(NO_TOOLS, java=Java(java, "17"))


def without_times(result: Result) -> Result:
    """A result without how long it took."""
    return replace(result, seconds=0)


def is_alive(output: Path) -> bool:
    """Whether the process still runs that said its number in this output."""
    number = re.findall(r"\[pid: (\d+)\]", output.read_text())[-1]
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.usefixtures("scratch")
@pytest.mark.parametrize(
    ("name", "module"), [("holds", "Counter"), ("lock_lasso", "Lock"), ("broken", "Broken")]
)
def test_a_run_comes_to_the_recorded_result(tools: Tools, name: str, module: str) -> None:
    """What TLC says now is what it said when it was recorded, to the last value."""
    result = asyncio.run(check(job(name, module), tools))
    assert replace(without_times(result), version="") == replace(without_times(read(name)), version="")
    assert result.seconds > 0


@pytest.mark.usefixtures("scratch")
def test_a_run_can_be_repeated_to_the_byte(tools: Tools) -> None:
    """Two runs give one result, and nothing of them stays, in the specs' folder neither."""
    before = sorted(SPECS.iterdir())
    first, second = (asyncio.run(check(job("lock_safety", "Lock"), tools)) for _ in range(2))
    assert without_times(first) == without_times(second)
    assert sorted(SPECS.iterdir()) == before


@pytest.mark.usefixtures("scratch")
def test_a_module_elsewhere_is_found_and_everything_asked_for_is_done(tools: Tools, tmp_path: Path) -> None:
    """The root module extends one of the library's, the cfg is elsewhere; graph and coverage are made."""
    mutants, cfgs = tmp_path / "mutants", tmp_path / "cfgs"
    mutants.mkdir()
    cfgs.mkdir()
    (mutants / "Mutant.tla").write_text("---- MODULE Mutant ----\nEXTENDS Lock\n====\n")
    shutil.copy(SPECS / "coverage.cfg", cfgs)
    asked = Job(
        module=mutants / "Mutant.tla",
        cfg=cfgs / "coverage.cfg",
        library=(tmp_path / "empty", SPECS),
        workers=2,
        memory_mb=256,
        coverage=True,
        dump=tmp_path / "graph.dot",
    )
    output = tmp_path / "logs" / "tlc.txt"
    result = asyncio.run(check(asked, tools, output=output))
    assert (result.verdict, result.distinct) == (Verdict.HOLDS, 43)
    assert result.coverage["Fly"].total == 0
    assert result.coverage["Take"].total == 14
    assert "@!@!@STARTMSG 2193:0 @!@!@\n" in output.read_text()
    graph = (tmp_path / "graph.dot").read_text()
    assert graph.startswith("strict digraph DiskGraph {")
    assert 'label="Take"' in graph


@pytest.mark.usefixtures("scratch")
def test_deadlock_is_checked_only_if_asked_for(tools: Tools) -> None:
    """A state without a next one is an error only where the job says so."""
    unchecked = asyncio.run(check(job("deadlock"), tools))
    checked = asyncio.run(check(replace(job("deadlock"), check_deadlock=True), tools))
    assert (unchecked.verdict, checked.verdict) == (Verdict.HOLDS, Verdict.DEADLOCK)


@pytest.mark.usefixtures("scratch")
def test_a_heap_that_is_too_small(tools: Tools) -> None:
    """Java ends at once, and the verdict says why."""
    result = asyncio.run(check(replace(job("memory"), memory_mb=16), tools))
    assert result.verdict is Verdict.OUT_OF_MEMORY


def test_a_cancelled_run_leaves_nothing(tools: Tools, scratch: Path, tmp_path: Path) -> None:
    """Cancelled while TLC works, the process and its files are gone when the cancellation is raised."""
    output = tmp_path / "tlc.txt"

    async def cancel_in_the_middle() -> None:
        """Cancel the run once it has reported progress, twice, as an impatient user does."""
        reported = asyncio.Event()
        running = asyncio.create_task(
            check(job("endless"), tools, on_progress=lambda _: reported.set(), output=output)
        )
        await reported.wait()
        assert os.listdir(scratch) != []  # noqa: PTH208 - an awaiting function may not use paths to look
        running.cancel()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(cancel_in_the_middle())
    assert not is_alive(output)


def test_a_run_that_takes_too_long_is_stopped(tmp_path: Path, scratch: Path) -> None:
    """At its time's end the process is killed; what it said until then is kept, and is no result."""
    assert scratch.exists()
    output = tmp_path / "tlc.txt"
    (begun := tmp_path / "begun.txt").write_text("".join(recorded_lines("endless")))
    java = program(tmp_path, f'cat {begun}; echo "[pid: $$]"; exec tail -f /dev/null')
    result = asyncio.run(check(job("endless"), java, output=output, timeout=1))
    assert (result.verdict, result.exit_code) == (Verdict.STOPPED, None)
    assert result.message == "TLC was stopped after 1 seconds, the time that it was given."
    assert result.distinct == read("endless").distinct > 0
    assert not is_alive(output)


def test_an_error_of_the_listener_ends_the_run(tools: Tools, tmp_path: Path, scratch: Path) -> None:
    """If whoever listens to the progress fails, TLC does not go on by itself."""
    assert scratch.exists()
    output = tmp_path / "tlc.txt"

    def fail(progress: Progress) -> None:
        """Fail at the first report."""
        raise LookupError(progress.distinct)

    with pytest.raises(LookupError):
        asyncio.run(check(job("endless"), tools, on_progress=fail, output=output))
    assert not is_alive(output)


@pytest.mark.usefixtures("scratch")
def test_no_java_is_an_error_with_a_sentence() -> None:
    """Where there is no program, the error names it."""
    with pytest.raises(TlcStartError, match=r"/java could not be started in .*specs: No such file"):
        asyncio.run(check(job("holds"), NO_TOOLS))


def test_what_a_process_prints_last_and_to_its_standard_error_is_read(tmp_path: Path, scratch: Path) -> None:
    """A last line without its end is a line, and the standard error comes after all of it."""
    assert scratch.exists()
    java = program(tmp_path, "echo 'Error: odd' >&2; printf 'one\\ntwo'; exit 1")
    output = tmp_path / "tlc.txt"
    result = asyncio.run(check(job("holds"), java, output=output))
    assert output.read_bytes() == b"one\ntwoError: odd\n"
    assert (result.verdict, result.exit_code) == (Verdict.ERROR, 1)
    assert result.message == "TLC broke off with exit code 1.\none\ntwo\nError: odd"


@pytest.mark.parametrize(
    ("asked", "options", "others"),
    [
        (
            Job(Path("M.tla"), Path("M.cfg")),
            ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-deadlock"],
            ["-dump"],
        ),
        (Job(Path("M.tla"), Path("M.cfg"), workers=2), ["-XX:+UseParallelGC"], ["-XX:TieredStopAtLevel=1"]),
        (Job(Path("M.tla"), Path("M.cfg"), quick=False), ["-XX:+UseSerialGC"], ["-XX:TieredStopAtLevel=1"]),
        (Job(Path("M.tla"), Path("M.cfg"), memory_mb=77), ["-Xmx77m"], ["-coverage"]),
        (Job(Path("M.tla"), Path("M.cfg"), coverage=True, check_deadlock=True), ["-coverage"], ["-deadlock"]),
        (Job(Path("M.tla"), Path("M.cfg"), library=(Path("/a"), Path("/b"))), ["-DTLA-Library=/a:/b"], []),
    ],
)
def test_the_command(asked: Job, options: list[str], others: list[str]) -> None:
    """A job's fields become options, each in its place: Java's before the class, TLC's after."""
    words = command(asked, NO_TOOLS, Path("/scratch"))
    assert set(options) <= set(words)
    assert not set(others) & set(words)
    split = words.index("tlc2.TLC")
    assert words[0] == "/java"
    assert all(word.startswith(("-X", "-D")) for word in words[1 : split - 2])
    assert words[-1] == "M.tla"
    assert "-Djava.io.tmpdir=/scratch" in words[:split]
