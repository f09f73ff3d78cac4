"""Reading a trace's file, and saying in a sentence what is wrong with it if it is none of ours."""

import json
from collections.abc import Mapping
from pathlib import Path

from conformance.tlc.itf import TraceFormatError, load_trace
from conformance.tlc.result import Trace

SUFFIX = ".itf.json"
"""What the names of traces end in."""


class UnreadableError(Exception):
    """A file is no trace of ours; the message says which file, what is wrong with it, and what to do."""


def read_trace(path: Path) -> tuple[Trace, dict[str, str]]:
    """Read a trace, and what its file says of it, as texts, whatever another program wrote.

    It has a state at least, all of the same variables, each with its action's name; its loop is among them.

    Raises:
        UnreadableError: There is no such file, or it is no such trace.
    """
    try:
        _check_json(path)
        trace, meta = load_trace(path)
        _check_states(path, trace)
    except OSError as error:
        raise UnreadableError(f"{path} cannot be read: {error.strerror}. Name a trace's file.") from error
    except (TraceFormatError, IndexError, RecursionError) as error:
        raise UnreadableError(
            f"{path} is JSON, but no ITF trace as this project writes them. Name one like those in traces/."
        ) from error
    return trace, _said(meta)


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
        # Whatever the JSON has is taken over.
        if not all(isinstance(text, str) for text in (state.action, state.location)):
            raise UnreadableError(f"{path} names no action in state {number}. Write it anew.")
    if not isinstance(trace.back, str):
        raise UnreadableError(f"{path} names no action that leads back. Write it anew.")
    if trace.loop not in {None, *range(len(trace.states))} or not _is_index(trace.loop):
        raise UnreadableError(f"{path} goes back to a state that it has not. Write it anew.")


def _is_index(loop: object) -> bool:
    """Whether what the JSON has for a loop is a whole number, or none: to Python true and 1.0 are 1, too."""
    return loop is None or type(loop) is int
