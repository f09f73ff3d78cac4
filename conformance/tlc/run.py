"""Run TLC on a model, and read what it says."""

import asyncio
import contextlib
import os
import signal
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from conformance.tlc.output import Progress, Reader, Result, Verdict
from conformance.tlc.tools import Tools

_CHUNK = 1 << 16


class TlcStartError(Exception):
    """Java could not be started; the message says which, and why."""


@dataclass(frozen=True, slots=True)
class Job:
    """One run of TLC.

    Attributes:
        module: The root module's file.
        cfg: The cfg, in whatever folder it is.
        library: More folders to look for extended modules in, after the root module's own.
        workers: How many threads compute states. With more than one, depth and trace lengths are not exact,
            and liveness is not to be checked.
        memory_mb: The largest Java heap, in megabytes.
        coverage: Whether to count what each action does.
        check_deadlock: Whether a state without a next state is an error.
        dump: The file to write the state graph to, as DOT with the actions' names; its name ends in `.dot`.
        quick: Whether the run is expected to take a few seconds at most; None expects that of one worker. It
            changes the speed alone.
    """

    module: Path
    cfg: Path
    library: tuple[Path, ...] = ()
    workers: int = 1
    memory_mb: int = 2048
    coverage: bool = False
    check_deadlock: bool = False
    dump: Path | None = None
    quick: bool | None = None


async def check(
    job: Job,
    tools: Tools,
    *,
    on_progress: Callable[[Progress], None] | None = None,
    output: Path | None = None,
    timeout: float | None = None,  # noqa: ASYNC109 - TLC is killed, and what it found so far is the result
) -> Result:
    """Run TLC and return what it comes to.

    However it ends, by cancellation too, TLC's process is gone then, and so are its files, but for `dump`.

    Args:
        job: What to run.
        tools: The Java and the jar to run it with.
        on_progress: Called with each report of progress, as it comes.
        output: Where all that TLC prints is written, as it comes. None to not.
        timeout: How many seconds TLC may take; the result is then `STOPPED`. None for any time.

    Raises:
        TlcStartError: Java could not be started.
    """
    started = time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="tlc-") as folder,
        tempfile.TemporaryFile() as errors,
        _opened(output) as copy,
    ):
        run = _Run(on_progress, copy, errors)
        exit_code = await run.process(command(job, tools, Path(folder)), job.module.parent, timeout)
    result = run.reader.finish(exit_code, time.monotonic() - started)
    if exit_code is None:
        message = f"TLC was stopped after {timeout:g} seconds, the time that it was given."
        return replace(result, verdict=Verdict.STOPPED, message=message)
    return result


def command(job: Job, tools: Tools, folder: Path) -> list[str]:
    """Return the command that runs TLC on `job`, with its files in `folder`."""
    return [
        str(tools.java.path),
        *_java_options(job, folder),
        *_archive_options(tools.archive),
        "-cp",
        str(tools.jar.path),
        "tlc2.TLC",
        *_tlc_options(job, folder),
        job.module.name,
    ]


def _java_options(job: Job, folder: Path) -> list[str]:
    """Return Java's own options.

    Measured on 2 cores with Java 17. A tiny model takes 0.17 s with only the quick compiler (C1), 0.21 s
    with both. A first model's 37 mutants, two at a time, took 30 s with C1 alone and 53 s with both, 48 s
    and 87 s on a busy machine: the slower compiler's threads take the core that the other run needs. A run
    that has both cores for itself loses by it: 6.7 s and not 5.8 s, 12.9 s and not 9.7 s. So does a model
    with temporal properties, searched to its end: 79 s of one core and not 57 s, 51 s and not 38 s, where a
    counterexample of 10,000 states took 3 s and not 7 s (on another machine, slower). One worker does
    best with the serial collector (9.7 s; 11.0 s with the parallel one), two with the parallel one (10.2 s;
    15.6 s with the serial one).
    """
    quick = job.workers == 1 if job.quick is None else job.quick
    library = [f"-DTLA-Library={os.pathsep.join(str(path.absolute()) for path in job.library)}"]
    return [
        f"-Xmx{job.memory_mb}m",
        "-XX:+UseSerialGC" if job.workers == 1 else "-XX:+UseParallelGC",
        *(["-XX:TieredStopAtLevel=1"] if quick else []),
        # TLC goes on after most failed allocations, and can then hang, or blame the model for them.
        "-XX:+ExitOnOutOfMemoryError",
        # Java's statistics for other processes, which would be one more file in the temporary folder.
        "-XX:-UsePerfData",
        # TLC unpacks the standard modules there: runs side by side would read each other's unfinished files.
        f"-Djava.io.tmpdir={folder}",
        *(library if job.library else []),
        # The digits' grouping, and the letters of strings, are not to depend on whose machine this is.
        "-Duser.language=en",
        "-Duser.country=US",
        "-Dfile.encoding=UTF-8",
        "-Dstdout.encoding=UTF-8",
        "-Dstderr.encoding=UTF-8",
    ]


def _archive_options(archive: Path | None) -> list[str]:
    """Return Java's options for the archive of TLC's classes, if there is one.

    Two runs at a time of 24 witnesses took 25.4 s without it and 21.6 s with it. Java goes on without an
    archive that is not its own any more, and warns of it where TLC's own lines are: nobody need know.
    """
    if archive is None:
        return []
    return [f"-XX:SharedArchiveFile={archive}", "-XX:+VerifySharedSpaces", "-Xlog:disable"]


def _tlc_options(job: Job, folder: Path) -> list[str]:
    """Return TLC's options. The fingerprints' polynomial and the seed are fixed: a run can be repeated."""
    options = [
        "-tool",
        "-workers",
        str(job.workers),
        "-fp",
        "0",
        "-seed",
        "0",
        "-metadir",
        str(folder / "meta"),
        # Liveness is checked at the end alone: else which counterexample is found first depends on the time.
        "-lncheck",
        "final",
    ]
    options += ["-config", str(job.cfg.absolute())]
    # Named as it is, this option turns the check off.
    options += [] if job.check_deadlock else ["-deadlock"]
    # Reported once a minute, and at the end.
    options += ["-coverage", "1"] if job.coverage else []
    options += ["-dump", "dot,actionlabels", str(job.dump.absolute())] if job.dump else []
    return options


@contextlib.contextmanager
def _opened(path: Path | None) -> Iterator[BinaryIO | None]:
    """Open the file to write to, if there is one."""
    if path is None:
        yield None
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb", buffering=0) as file:
            yield file


class _Run:
    """Feeds a reader with what a process prints; `errors` is the file for its standard error."""

    def __init__(
        self, on_progress: Callable[[Progress], None] | None, copy: BinaryIO | None, errors: BinaryIO
    ) -> None:
        self.reader = Reader()
        self._on_progress = on_progress
        self._copy = copy
        self._errors = errors

    async def process(self, command: list[str], folder: Path, limit: float | None) -> int | None:
        """Run the command in a folder, and return its exit code; None if it took longer than `limit` seconds.

        What it writes to its standard error comes last: it could come in the middle of one of TLC's messages.
        """
        process = await _start(command, folder, self._errors)
        try:
            async with asyncio.timeout(limit):
                await self._read(process)
                return await process.wait()
        except TimeoutError:
            return None
        finally:
            await _settle(_end(process))
            self._read_errors()

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        """Read what the process prints, to the end."""
        rest = b""
        # A state can be on one line, longer than a stream's own `readline` allows.
        while process.stdout is not None and (chunk := await process.stdout.read(_CHUNK)):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                self._take(line + b"\n")
        if rest:
            self._take(rest)

    def _read_errors(self) -> None:
        """Read what the process wrote to its standard error."""
        self._errors.seek(0)
        for line in self._errors:
            self._write(line)
            self.reader.feed_stray(_text(line))

    def _take(self, line: bytes) -> None:
        """Take a line of TLC's output."""
        self._write(line)
        progress = self.reader.feed(_text(line))
        if progress is not None and self._on_progress is not None:
            self._on_progress(progress)

    def _write(self, line: bytes) -> None:
        """Write a line to the copy, if one is wanted."""
        if self._copy is not None:
            self._copy.write(line)


def _text(line: bytes) -> str:
    """Return a line as text; no byte is too odd, as a line may be cut anywhere."""
    return line.decode(errors="replace")


async def _start(command: list[str], folder: Path, errors: BinaryIO) -> asyncio.subprocess.Process:
    """Start the command in a process group of its own: an interrupt from the keyboard reaches only us."""
    try:
        return await asyncio.create_subprocess_exec(
            *command,
            cwd=folder,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
        )
    except OSError as error:
        raise TlcStartError(f"{command[0]} could not be started in {folder}: {error.strerror}.") from error


async def _end(process: asyncio.subprocess.Process) -> None:
    """Kill the process and all it started, if it is still there, and wait until it is gone."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    # Reads what is left as well: a pipe that is not read to its end is never closed.
    await process.communicate()


async def _settle(work: Coroutine[None, None, None]) -> None:
    """Do `work` to its end, even if cancelled meanwhile; raise the cancellation then."""
    task = asyncio.create_task(work)
    cancelled = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    task.result()
    if cancelled is not None:
        raise cancelled
