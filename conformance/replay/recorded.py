"""A counterexample as the steps of its mutant, with who did each, and in which way the world is to do it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.model.behaviour import Behaviour, NotABehaviourError, behaviour_of, starved
from conformance.model.cfgs import constants_of, never_of
from conformance.model.model import Model
from conformance.model.mutants import MutationError, mutant, spec_of
from conformance.model.search import Step as ModelStep
from conformance.model.state import Constants, State
from conformance.models.cfg import Config, parse_cfg
from conformance.properties import PROPERTIES, Kind, broken
from conformance.report import command
from conformance.selecting import suggestion
from conformance.tlc.reading import UnreadableError, read_trace
from conformance.tlc.result import Trace
from conformance.tlc.traces import INITIAL_ACTION


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a trace: an action, its actor, the variant that leads to `after`, and the state after it."""

    action: str
    actor: str
    variant: str
    after: State

    @property
    def told(self) -> str:
        """It, in few words."""
        return f"{self.action}({self.actor})" if self.actor else self.action


@dataclass(frozen=True, slots=True)
class Recorded:
    """A trace: whose states, which steps, and where it goes back to, if it does.

    `mutant` is the mutant's name, `model` the model with its rule taken out, and `design` the one that has
    it; `broken` is the property that it breaks. `loop` is the index of the state that comes after the last,
    and `back` the step to it; there is none where the trace just ends, or stays in its last state.
    """

    mutant: str
    config: Config
    model: type[Model]
    design: type[Model]
    broken: str
    constants: Constants
    init: State
    steps: Sequence[Step]
    loop: int | None
    back: Step | None

    @property
    def states(self) -> list[State]:
        """Every state, the first one too."""
        return [self.init, *(step.after for step in self.steps)]


def recorded(path: Path, spec: Path) -> Recorded:
    """Read a trace of TLC's, and the cfg under `spec` that it is of.

    Raises:
        UnreadableError: It is no such trace, or none that its mutant has, or it does not break its property:
            it was edited, or is of an older model.
        OSError: The cfg cannot be read.
    """
    trace, meta = read_trace(path)
    name, config = _cfg_of(path, meta, spec)
    try:
        return _recorded(name, config, trace, meta)
    except (NotABehaviourError, MutationError, ValueError) as error:
        why = str(error).removesuffix(".")
        again = command("models", "--only", name, "--traces", "traces")
        raise UnreadableError(
            f"{path} is no counterexample of {name}: {why}. Either it was edited, or it is older than the "
            f"model; write it anew: {again}"
        ) from error


def _cfg_of(path: Path, meta: Mapping[str, str], spec: Path) -> tuple[str, Config]:
    """The mutant that a trace is of, by its name, and its cfg."""
    cfgs = {cfg.relative_to(spec).as_posix(): cfg for cfg in sorted(spec.glob("mutants/*.cfg"))}
    named = meta.get("cfg", "")
    if named not in cfgs:
        raise UnreadableError(
            f"{path} is of {named or 'no cfg that it names'}, which is no mutant of spec/ and has no twin."
            f"{suggestion(named, {name: name for name in cfgs})} Name a trace like those in traces/."
        )
    return cfgs[named].stem, parse_cfg(cfgs[named].read_text(encoding="utf-8"))


def _recorded(name: str, config: Config, trace: Trace, meta: Mapping[str, str]) -> Recorded:
    """A trace as what its mutant does; raises what `recorded` makes a sentence of."""
    made, (design, _) = mutant(name, config), spec_of(name, config)
    constants = constants_of(config)
    model = made(constants, never_of(config))
    if (first := trace.states[0].action) != INITIAL_ACTION:
        raise ValueError(f"it begins with {first}, and not with {INITIAL_ACTION}")
    found = behaviour_of(model, trace)
    (checks,) = config.checked
    if (named := meta.get("property")) != checks:
        raise ValueError(f"it is to break {named}, and {name} breaks {checks}")
    _check_broken(checks, constants, found)
    if found.loop is not None and (waits := _starved(model, found, config)):
        raise ValueError(f"it goes round and round, and leaves {waits} to wait for ever, which is not fair")
    steps = [
        _step(constants, before, step) for before, step in zip(found.states, found.steps[1:], strict=False)
    ]
    back = None if found.back is None else _step(constants, found.states[-1], found.back)
    return Recorded(name, config, made, design, checks, constants, found.states[0], steps, found.loop, back)


def _check_broken(name: str, constants: Constants, found: Behaviour) -> None:
    """Expect the states to break a property; raises ValueError."""
    states = found.states
    if PROPERTIES[name].kind is not Kind.TEMPORAL:
        before = states[-2] if len(states) > 1 else None
        holds = name not in broken(constants, before, states[-1], (name,))
    elif found.loop is None:
        raise ValueError(f"{name} is about what comes in the end, and the trace just ends")
    else:
        holds = PROPERTIES[name].check(constants, states, found.loop)
    if holds:
        raise ValueError(f"its states show that {name} holds")


def _starved(model: Model, found: Behaviour, config: Config) -> str | None:
    """Who could always go on in a loop, and never does."""
    restarts = config.sections["SPECIFICATION"] != ("NoRestartSpec",)
    return starved(model, found, restarts=restarts)


def _step(constants: Constants, before: State, step: ModelStep) -> Step:
    """A step, with its variant."""
    actor = step.who or ""
    variant = variant_of(constants, before, step.state, step.action, actor)
    return Step(step.action, actor, variant, step.state)


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
