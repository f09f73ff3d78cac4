"""A trace as the states of the model, with who did each action, and in which way the world is to do it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.actions import ACTIONS
from conformance.model.cfgs import constants_of
from conformance.model.state import Constants, State
from conformance.model.values import state_of
from conformance.models.cfg import Config, parse_cfg
from conformance.tlc.itf import load_trace


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a trace: an action, its actor, the variant that leads to `after`, and the state after it."""

    action: str
    actor: str
    variant: str
    after: State


@dataclass(frozen=True, slots=True)
class Recorded:
    """A trace: whose states, which steps, and where it goes back to, if it does.

    `mutant` is the mutant's name and `broken` the property that it breaks.
    """

    mutant: str
    config: Config
    broken: str
    constants: Constants
    init: State
    steps: Sequence[Step]
    loop: int | None

    @property
    def states(self) -> list[State]:
        """Every state, the first one too."""
        return [self.init, *(step.after for step in self.steps)]


def recorded(path: Path, spec: Path) -> Recorded:
    """Read a trace of TLC's, and the cfg under `spec` that it is of.

    Raises TraceFormatError, OSError or ValueError for what is no such trace.
    """
    trace, meta = load_trace(path)
    cfg = spec / meta["cfg"]
    config = parse_cfg(cfg.read_text(encoding="utf-8"))
    constants = constants_of(config)
    # A mutant's own version of an action is that action, done as the mutant does it.
    names = {mutated: action for action, mutated in config.replaces.items() if action in ACTIONS}
    states = [state_of(constants, state.variables) for state in trace.states]
    steps = [
        _step(constants, before, after, names.get(made.action, made.action))
        for before, after, made in zip(states, states[1:], trace.states[1:], strict=False)
    ]
    return Recorded(cfg.stem, config, meta["property"], constants, states[0], steps, trace.loop)


def _step(constants: Constants, before: State, after: State, action: str) -> Step:
    """A step, with its actor and its variant."""
    actor = actor_of(constants, before, after, action)
    return Step(action, actor, variant_of(constants, before, after, action, actor), after)


WORLDS = frozenset({"Post", "Note", "Expire"})


def actor_of(constants: Constants, before: State, after: State, action: str) -> str:
    """Who did an action: the task, or the process, that it changed; of a lapse, the claim's holder."""
    if action in WORLDS:
        return ""
    if action in {"Lapse", "Renew"}:
        return before.lease if before.lease in constants.place else after.lease
    if action in {"LookAgain", "LookFails"}:
        looks = zip(constants.procs, before.look, after.look, strict=True)
        return next(name for name, was, now in looks if was != now)
    tasks = zip(constants.tasks, before.task, after.task, strict=True)
    changed = next(name for name, was, now in tasks if was != now)
    return constants.owner[changed] if action in {"Crash", "Restart"} else changed


def variant_of(constants: Constants, before: State, after: State, action: str, actor: str) -> str:
    """In which of an action's variants the world comes to the state after it."""
    match action:
        case "Cancel":
            return "failed heard" if after.lease == actor != before.lease else "failed"
        case "ReleaseFails":
            return "unheard" if before.lease == actor and after.lease == "free" else ""
        case "EndFails":
            kind = after.task[constants.place[actor]].at
            unheard = after.run != before.run or after.taken != before.taken or after.once != before.once
            return f"{kind if kind in {'ending', 'pausing'} else 'ending'}{' unheard' if unheard else ''}"
        case "LookAgain" | "Restart":
            tasks = zip(constants.tasks, before.task, after.task, strict=True)
            woken = [n for n, was, now in tasks if was != now and now.at == "claim"]
            return woken[0] if woken else ""
        case _:
            return ""
