"""A walk as a trace: to be told, saved as ITF, and read to be walked again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from frozendict import frozendict

from conformance.beside import MEANWHILE, Beside, Taken
from conformance.explore.setting import Setting
from conformance.model.model import Model
from conformance.model.state import Constants, State
from conformance.model.values import state_of, values_of
from conformance.state import PLAIN_NAMES, Plain
from conformance.tlc.itf import save_trace
from conformance.tlc.reading import UnreadableError, read_trace
from conformance.tlc.result import State as TraceState
from conformance.tlc.result import Trace
from conformance.tlc.traces import INITIAL_ACTION
from conformance.tlc.values import print_value

RECORDED = "recorded"
"""The `kind` of a trace that is a walk of the runner, and not TLC's."""

Steps = Sequence[tuple[str, str, str]]
"""Actions, each with its actor and its variant."""


@dataclass(frozen=True, slots=True)
class SavedWalk:
    """A walk that was read: its world's parameters, the steps to take, and what else its file says."""

    setting: Setting
    steps: Steps
    meta: Mapping[str, str]


def trace_of(constants: Constants, steps: Sequence[Taken]) -> Trace:
    """A walk as a trace.

    A state's `location` has the action's actor and its variant: what it takes to do it again.
    """
    states = [TraceState(INITIAL_ACTION, "", frozendict(values_of(constants, Model(constants).init())))]
    states += [
        TraceState(step.action, f"{step.actor}/{step.variant}", frozendict(values_of(constants, step.state)))
        for step in steps
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


def as_tried(beside: Beside) -> list[Taken]:
    """Every step of a walk that was tried, with those that could not be done, or went wrong.

    Such a step leads to the state before it: but it may have done something to the world, so it belongs to
    what it takes to come there again.
    """
    state, taken, steps = beside.model.init(), list(beside.steps), []
    for tried in beside.tried:
        if taken and tried == (taken[0].action, taken[0].actor, taken[0].variant):
            steps.append(taken.pop(0))
            state = steps[-1].state
        else:
            steps.append(Taken(*tried, (), state))
    return steps


def save_walk(path: Path, setting: Setting, steps: Sequence[Taken], **said: str) -> None:
    """Write a walk as ITF, to be walked again by `load_walk`.

    Args:
        path: Where to; its folder is made.
        setting: What the walk's world was made of.
        steps: The walk.
        said: What its file says of it: what went wrong, as `description`, and which property broke, as
            `property`. And how many of the steps are `given`, to be taken again; all of them unless said.
            After them comes all that is fair, which goes its own way, and is in the file only to be read.
            (The file also numbers those that are `several` steps of the model's at once.)
    """
    trace = trace_of(setting.constants, steps)
    several = [str(number) for number, step in enumerate(steps, 2) if len(step.done) > 1]
    meta = {"kind": RECORDED, "given": str(len(steps)), "several": " ".join(several), **said, **setting.meta}
    meta["digest"] = _digest(setting, int(meta["given"]), trace)
    path.parent.mkdir(parents=True, exist_ok=True)
    save_trace(path, trace, meta=meta)


def load_walk(path: Path) -> SavedWalk:
    """Read what `save_walk` wrote.

    Raises:
        UnreadableError: It is no such file, or was edited into what no walk is.
    """
    trace, meta = read_trace(path)
    if meta.get("kind") != RECORDED:
        raise UnreadableError(f"{path} is no recorded walk of the runner. Name one of traces/found.")
    try:
        setting = Setting.of(meta)
        steps = _steps(setting, trace)
        given = _given(meta, len(steps))
        _check_digest(meta, _digest(setting, given, trace))
    except ValueError as error:
        raise UnreadableError(
            f"{path} is no walk of the runner as this project writes them: {error}. Explore anew."
        ) from error
    return SavedWalk(setting, steps[:given], meta)


def _check_digest(meta: Mapping[str, str], digest: str) -> None:
    """Expect a walk to be as it was written; raises ValueError."""
    if meta.get("digest") != digest:
        raise ValueError("it was edited: its digest is of other steps or states")


def _given(meta: Mapping[str, str], steps: int) -> int:
    """How many of a saved walk's steps are given; raises ValueError."""
    given = meta.get("given", "")
    if not (given.isascii() and given.isdecimal() and len(given) < len("100000") and int(given) <= steps):
        raise ValueError(f"of its {steps} steps {given or 'it does not say how many'} are given")
    return int(given)


def _steps(setting: Setting, trace: Trace) -> list[tuple[str, str, str]]:
    """The steps of a walk that was saved; raises ValueError where one is none, or follows from nothing."""
    constants = setting.constants
    states = [state_of(constants, state.variables) for state in trace.states]
    if trace.loop is not None:
        raise ValueError("it goes back to a state, and a walk just ends")
    if states[0] != Model(constants).init() or trace.states[0].action != INITIAL_ACTION:
        raise ValueError("it does not begin in the initial state")
    steps = []
    for number, state in enumerate(trace.states[1:], start=2):
        actor, _, variant = state.location.partition("/")
        if not _is_step(setting, f"{state.action}/{state.location}"):
            raise ValueError(
                f"its step {number} is {state.action} {state.location}, which is no step of a walk"
            )
        steps.append((state.action, actor, variant))
    return steps


def _is_step(setting: Setting, told: str) -> bool:
    """Whether the world has such a step: an action, done by such an actor, in such a variant.

    The variant may have others' steps in it, which come between the first one's effect and its answer.
    """
    return all(_is_one_step(setting, each) for each in told.split(MEANWHILE))


def _is_one_step(setting: Setting, told: str) -> bool:
    """Whether the world has such a step, nothing between."""
    constants = setting.constants
    action, actor, variant = [*told.split("/", 2), "", ""][:3]
    known = setting.actions.get(action)
    if known is None or told.count("/") < len(("actor", "variant")):
        return False
    actors = {"task": constants.tasks, "process": constants.procs, "world": ("",)}[known.by]
    return actor in actors and variant in {"", *known.variants}


def _digest(setting: Setting, given: int, trace: Trace) -> str:
    """What tells whether a walk was edited: of all of it but what is said of it."""
    told = [f"{setting.meta} {given}", *(f"{state.action} {state.location}" for state in trace.states)]
    told += [
        f"{name} = {print_value(value)}"
        for state in trace.states
        for name, value in sorted(state.variables.items())
    ]
    return sha256("\n".join(told).encode()).hexdigest()
