"""The recorded outputs of TLC, read."""

import json
from collections.abc import Iterable

from conformance.tests.tlc.fixtures.record import EXIT_CODES, OUTPUTS
from conformance.tlc.output import Progress, Reader, Result

CODES: dict[str, int | None] = json.loads(EXIT_CODES.read_text(encoding="utf-8"))


def recorded_lines(name: str) -> list[str]:
    """Return a recorded output's lines."""
    return (OUTPUTS / f"{name}.txt").read_text(encoding="utf-8").splitlines(keepends=True)


def read_lines(lines: Iterable[str], exit_code: int | None) -> tuple[Result, list[Progress]]:
    """Return what a reader makes of these lines: the result, and the progress on the way."""
    reader = Reader()
    progress = [report for report in map(reader.feed, lines) if report is not None]
    return reader.finish(exit_code, 1.5), progress


def read(name: str) -> Result:
    """Return the result of a recorded run."""
    return read_lines(recorded_lines(name), CODES[name])[0]
