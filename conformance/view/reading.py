"""Reading a trace's file, and saying in a sentence what is wrong with it if it is none of ours."""

import json
from collections.abc import Mapping
from pathlib import Path

from conformance.tlc.itf import TraceFormatError, load_trace
from conformance.tlc.result import Trace
from conformance.view.snapshot import SnapshotError
from conformance.view.walk import Walk, walk_of

SUFFIX = ".itf.json"


class UnreadableError(Exception):
    """A file is no trace of ThreadClaim; the message says which file, what is wrong, and what to do."""


def read_walk(path: Path) -> Walk:
    """Read a trace of ThreadClaim, TLC's or a recorded run.

    Raises:
        UnreadableError: There is no such file, or it is no such trace.
    """
    try:
        _check_json(path)
        trace, meta = load_trace(path)
        _check_states(path, trace)
        return walk_of(path.name.removesuffix(SUFFIX), trace, _said(meta))
    except OSError as error:
        raise UnreadableError(f"{path} cannot be read: {error.strerror}. Name a trace's file.") from error
    except SnapshotError as error:
        raise UnreadableError(
            f"{path} is a trace, but none of ThreadClaim: {error}. Name one like those in traces/."
        ) from error
    except (TraceFormatError, IndexError, RecursionError) as error:
        raise UnreadableError(
            f"{path} is JSON, but no ITF trace as this project writes them. Name one like those in traces/."
        ) from error


def _said(meta: Mapping[str, object]) -> dict[str, str]:
    """Return what a file says of its trace, as texts, whatever another program wrote."""
    return {key: text if isinstance(text, str) else json.dumps(text) for key, text in meta.items()}


def _check_json(path: Path) -> None:
    """Raise UnreadableError unless a file is JSON."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UnreadableError(f"{path} is no text in UTF-8, and so no trace. Name a trace's file.") from error
    if not text.strip():
        raise UnreadableError(f"{path} is empty. Write it anew.")
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        at_end = not text[error.pos :].strip() or error.msg.startswith("Unterminated")
        what = "breaks off" if at_end else "is no JSON"
        raise UnreadableError(
            f"{path} {what} at line {error.lineno}, column {error.colno}, and is no ITF trace. Write it anew."
        ) from error


def _check_states(path: Path, trace: Trace) -> None:
    """Raise UnreadableError unless a trace has states, each of the same variables, and a loop among them."""
    if not trace.states:
        raise UnreadableError(f"{path} is a trace without a state. Write it anew.")
    names = trace.states[0].variables.keys()
    for number, state in enumerate(trace.states, start=1):
        if state.variables.keys() != names:
            raise UnreadableError(
                f"{path} has other variables in state {number} than in state 1. Write it anew."
            )
        if not isinstance(state.action, str):  # whatever the JSON has is taken over
            raise UnreadableError(f"{path} names no action in state {number}. Write it anew.")
    if trace.loop is not None and trace.loop not in range(len(trace.states)):
        raise UnreadableError(f"{path} goes back to a state that it has not. Write it anew.")
