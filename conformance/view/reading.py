"""Reading a trace of ThreadClaim as a walk to show."""

from pathlib import Path

from conformance.tlc.reading import SUFFIX, UnreadableError, read_trace
from conformance.view.snapshot import SnapshotError
from conformance.view.walk import Walk, walk_of

__all__ = ["SUFFIX", "UnreadableError", "read_walk"]


def read_walk(path: Path) -> Walk:
    """Read a trace of ThreadClaim, TLC's or a recorded run.

    Raises:
        UnreadableError: There is no such file, or it is no such trace.
    """
    trace, meta = read_trace(path)
    try:
        return walk_of(path.name.removesuffix(SUFFIX), trace, meta)
    except SnapshotError as error:
        raise UnreadableError(
            f"{path} is a trace, but none of ThreadClaim: {error}. Name one like those in traces/."
        ) from error
