"""A walk as a trace: to be told, saved as ITF, and walked again."""

from collections.abc import Mapping
from pathlib import Path

from frozendict import frozendict

from conformance.beside import Beside, Taken
from conformance.model.state import Constants, State
from conformance.model.values import values_of
from conformance.state import PLAIN_NAMES, Plain
from conformance.tlc.itf import load_trace, save_trace
from conformance.tlc.result import State as TraceState
from conformance.tlc.result import Trace

RECORDED = "recorded"
"""The `kind` of a trace that is a walk of the runner, and not TLC's."""

_BOUNDS = ("max_msgs", "max_notes", "max_crash", "max_lapse", "max_cancel", "max_fail")


def trace_of(beside: Beside, last: Taken | None = None) -> Trace:
    """A walk as a trace; with `last`, a step that went wrong.

    A state's `location` has the action's actor and its variant: what it takes to do it again.
    """
    constants = beside.model.constants
    taken = [*beside.steps, *([] if last is None else [last])]
    states = [TraceState("Init", "", frozendict(values_of(constants, beside.model.init())))]
    states += [
        TraceState(step.action, f"{step.actor}/{step.variant}", frozendict(values_of(constants, step.state)))
        for step in taken
    ]
    return Trace(tuple(states), None, "")


def seen_as(state: State, seen: Plain) -> State:
    """The state that the world shows, with the ghosts of `state`, which it cannot show."""
    plain = dict(zip(PLAIN_NAMES, seen, strict=True))
    tasks = tuple(
        task._replace(at=at, cmd=cmd, pos=pos, fed=fed, seen=was, due=due)
        for task, (at, cmd, pos, fed, was, due) in zip(state.task, plain.pop("task"), strict=True)
    )
    return state._replace(task=tasks, **plain)


def save_walk(path: Path, beside: Beside, why: str, last: Taken | None = None, broken: str = "") -> None:
    """Write a walk as ITF; `why` says what went wrong in it, `broken` which property broke, if one did."""
    constants = beside.model.constants
    meta = {
        "kind": RECORDED,
        "description": why,
        "property": broken,
        "shape": f"{len(constants.procs)} {len(constants.tasks) // len(constants.procs)}",
        **{name: str(getattr(constants, name)) for name in _BOUNDS},
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    save_trace(path, trace_of(beside, last), meta=meta)


def load_walk(path: Path) -> tuple[Constants, list[tuple[str, str, str]], Mapping[str, str]]:
    """Read what `save_walk` wrote: the constants, the steps as action, actor and variant, and the `meta`.

    Raises TraceFormatError or OSError; ValueError for a trace of another kind.
    """
    trace, meta = load_trace(path)
    if meta.get("kind") != RECORDED:
        raise ValueError(f"{path} is no recorded walk of the runner.")
    processes, tasks = map(int, meta["shape"].split())
    constants = Constants.of(processes, tasks, **{name: int(meta[name]) for name in _BOUNDS})
    steps = [(state.action, *state.location.split("/", 1)) for state in trace.states[1:]]
    return constants, [(action, actor, variant) for action, actor, variant in steps], meta
