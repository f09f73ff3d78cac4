"""Carrying a trace out: on a mutant's twin, where it must go as the trace does; and on the library, not."""

from dataclasses import dataclass

from conformance.actions import ImpossibleError
from conformance.beside import Beside, DivergedError
from conformance.explore.check import breaks
from conformance.explore.finish import LeftOverError, finish, go_on
from conformance.model.direct import PROPERTIES as DIRECT
from conformance.model.direct import DirectModel
from conformance.model.model import Model
from conformance.model.state import State
from conformance.mutants.direct import LIBRARY
from conformance.mutants.twin import Twin
from conformance.properties import PROPERTIES, Kind, broken
from conformance.replay.recorded import Recorded, Step
from conformance.state import PLAIN_NAMES, plain
from conformance.world.world import World


@dataclass(frozen=True, slots=True)
class Reproduced:
    """What a trace came to on its mutant's twin: `why` is empty if all went as the trace has it."""

    steps: int
    why: str = ""


@dataclass(frozen=True, slots=True)
class RefusedAt:
    """Where the library leaves a trace: the step, counted from 1; what was due, and what it does instead.

    `why` says what is wrong, and is empty if all is well: it left the trace, and no property broke.
    """

    step: int
    action: str
    instead: str
    why: str = ""


def on_twin(trace: Recorded, twin: Twin, mutant: type[Model]) -> Reproduced:
    """Carry a trace out on the twin; it must come to its end, in its states, and the property must break."""
    with twin.applied(), World(trace.constants, twin.make) as world:
        beside = Beside(mutant(trace.constants), world)
        for number, step in enumerate(trace.steps, 1):
            try:
                beside.take(step.action, step.actor, step.variant)
            except (ImpossibleError, DivergedError) as error:
                return Reproduced(number - 1, f"Step {number}: {error}")
            if wrong := _differs(step.after, beside.state):
                told = "; ".join(f"{name} is {mine!r}, not {its!r}" for name, (mine, its) in wrong.items())
                return Reproduced(number - 1, f"After step {number}, {step.action}({step.actor}): {told}.")
        return Reproduced(len(trace.steps), _property_holds(trace, beside))


READS = ("once", "twice", "given", "unheard")
"""What the log and the agents tell of a state, beside its plain part (`conformance.ledger` audits it)."""


def _differs(expected: State, found: State) -> dict[str, tuple[object, object]]:
    """What of a state is not as the trace has it: by name, what is found and what the trace has."""
    pairs = [
        *zip(PLAIN_NAMES, plain(found), plain(expected), strict=True),
        *((name, getattr(found, name), getattr(expected, name)) for name in READS),
    ]
    return {name: (mine, its) for name, mine, its in pairs if mine != its}


def _property_holds(trace: Recorded, beside: Beside) -> str:
    """Why the trace's property is not broken as it should be; empty if it is."""
    constants = trace.constants
    if (direct := DIRECT.get(trace.broken)) is not None:
        return f"{trace.broken} holds." if direct(constants, beside.before, beside.state) else ""
    kind = PROPERTIES[trace.broken].kind
    if kind is not Kind.TEMPORAL:
        if trace.broken in broken(constants, beside.before, beside.state, (trace.broken,)):
            return ""
        return f"{trace.broken} holds after the last step."
    states = trace.states
    loop = len(states) - 1 if trace.loop is None else trace.loop
    if loop == len(states) - 1:
        states = [*states, *go_on(beside)]
        loop = len(states) - 1
    if PROPERTIES[trace.broken].check(constants, states, loop):
        return f"{trace.broken} holds once all that is fair has happened."
    return ""


def on_library(trace: Recorded, model: type[Model] = Model) -> RefusedAt:
    """Carry a trace out on the library: it must leave it, and no property may break then or after.

    `model` is the model that the library is stepped beside: as it is, or with direct runs.
    """
    library = LIBRARY if model is DirectModel else Twin("", "The library as it is.", lambda _: None)
    with library.applied(), World(trace.constants) as world:
        beside = Beside(model(trace.constants), world)
        try:
            left = _leaves(trace, beside)
            finish(beside)
        except (DivergedError, LeftOverError) as error:
            return RefusedAt(len(beside.steps) + 1, "", "", f"On the library: {error}")
    if left is None:
        return RefusedAt(len(trace.steps), "", "", "The library goes all the way with the trace.")
    return left


def _leaves(trace: Recorded, beside: Beside) -> RefusedAt | None:
    """Go with a trace as far as the library does; where it left, and what it did instead."""
    for number, step in enumerate(trace.steps, 1):
        due = f"{step.action}({step.actor})" if step.actor else step.action
        try:
            taken = beside.take(step.action, step.actor, step.variant)
        except ImpossibleError as error:
            return RefusedAt(number, due, error.instead or "nothing")
        if wrong := breaks(beside):
            return RefusedAt(number, due, "", f"On the library {', '.join(wrong)} breaks at step {number}.")
        if differs := _differs(step.after, beside.state):
            return RefusedAt(number, due, _instead(step, [name for name, _ in taken.done], differs))
    return None


def _instead(step: Step, done: list[str], differs: dict[str, tuple[object, object]]) -> str:
    """What the library did instead: another action, or the same to another state."""
    if done != [step.action]:
        return ", ".join(done) or "nothing: it changes no state"
    return f"{step.action}, with another {', '.join(differs)}"
