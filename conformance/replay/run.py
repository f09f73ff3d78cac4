"""Carrying a trace out: on a mutant's twin, where it must go as the trace does; and on the library, not.

Steps are numbered as TLC numbers states: the first state is step 1, so what leads to the second is step 2.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from conformance.actions import ImpossibleError
from conformance.beside import Beside
from conformance.explore.check import breaks
from conformance.explore.finish import finish, go_on
from conformance.explore.setting import Setting
from conformance.model.direct import DirectModel
from conformance.model.model import Model
from conformance.model.state import State
from conformance.mutants.direct import LIBRARY
from conformance.mutants.twin import Twin
from conformance.properties import PROPERTIES, Kind, broken
from conformance.replay.recorded import Recorded, Step
from conformance.state import PLAIN_NAMES, plain
from conformance.world.durable import MEMORY


@dataclass(frozen=True, slots=True)
class Reproduced:
    """What a trace came to on its mutant's twin: how many of its states, and why not all of it, if not."""

    states: int
    why: str = ""


@dataclass(frozen=True, slots=True)
class RefusedAt:
    """Where the library leaves a trace: the step's number; what was due, and what it does instead.

    `why` says what is wrong, and is empty if all is well: it left the trace, and no property broke.
    """

    step: int
    action: str
    instead: str
    why: str = ""


def steps_of(trace: Recorded) -> Iterator[tuple[int, str, Step]]:
    """Yield each step of a trace, with its number, and how it is told; and where it has a loop, two rounds.

    A round more shows that the way back leads to where it can be gone again, and only seems to by no chance.
    """
    numbered = list(enumerate(trace.steps, 2))
    yield from ((number, f"step {number}, {step.told}", step) for number, step in numbered)
    if trace.back is None or trace.loop is None:
        return
    back = f"the way back to step {trace.loop + 1}, {trace.back.told}"
    yield len(numbered) + 2, back, trace.back
    for number, step in numbered[trace.loop :]:
        yield number, f"step {number}, {step.told}, in the second round", step
    yield len(numbered) + 2, f"{back}, in the second round", trace.back


def on_twin(trace: Recorded, twin: Twin, mutant: type[Model], storage: str = MEMORY) -> Reproduced:
    """Carry a trace out on the twin; it must come to its end, in its states, and the property must break.

    Where it goes back to a state, the twin must come to that state again, and go round once more.
    """
    came, why = 1, ""
    try:
        with twin.applied(), Setting(trace.constants, make=twin.make, storage=storage).opened() as world:
            beside = Beside(mutant(trace.constants), world)
            for _, told, step in steps_of(trace):
                if why := _goes_otherwise(beside, told, step):
                    break
                came = min(came + 1, len(trace.states))
            else:
                why = _property_holds(trace, beside)
    except Exception as error:  # noqa: BLE001  # whatever goes wrong is what is told
        why = why or f"After all of its steps: {error}"
    return Reproduced(came, why)


def _goes_otherwise(beside: Beside, told: str, step: Step) -> str:
    """Why a step of a trace cannot be taken, or leads elsewhere; empty if it goes as it should."""
    try:
        beside.take(step.action, step.actor, step.variant)
    except Exception as error:  # noqa: BLE001  # whatever goes wrong is what is told
        return f"At {told}: {error}"
    wrong = _differs(step.after, beside.state)
    differs = "; ".join(f"{name} is {mine!r}, not {its!r}" for name, (mine, its) in wrong.items())
    return f"After {told}: {differs}." if wrong else ""


READS = ("given", "unheard")
"""What the agents tell of a state, beside its plain part (`conformance.ledger` audits it)."""


def _differs(expected: State, found: State) -> dict[str, tuple[object, object]]:
    """What of a state is not as the trace has it: by name, what is found and what the trace has."""
    pairs = [
        *zip(PLAIN_NAMES, plain(found), plain(expected), strict=True),
        *((name, getattr(found, name), getattr(expected, name)) for name in READS),
    ]
    return {name: (mine, its) for name, mine, its in pairs if mine != its}


def _property_holds(trace: Recorded, beside: Beside) -> str:
    """Why the trace's property is not broken as it should be; empty if it is."""
    if PROPERTIES[trace.broken].kind is not Kind.TEMPORAL:
        if trace.broken in broken(trace.constants, beside.before, beside.state, (trace.broken,)):
            return ""
        return f"{trace.broken} holds after the last step."
    states = [trace.init, *(taken.state for taken in beside.steps)]
    if trace.back is None:  # it stays where it is, whatever is fair
        states += go_on(beside)
        loop = len(states) - 1
    else:
        loop = trace.loop or 0
    if PROPERTIES[trace.broken].check(trace.constants, states, loop):
        return f"{trace.broken} holds once all that is fair has happened."
    return ""


def on_library(trace: Recorded, model: type[Model] = Model, storage: str = MEMORY) -> RefusedAt:
    """Carry a trace out on the library: it must leave it, and no property may break then or after.

    `model` is the model that the library is stepped beside: as it is, or with direct runs.
    """
    library = LIBRARY if model is DirectModel else Twin("", "The library as it is.", lambda _: None)
    number, due, left = 1, "", None
    try:
        with library.applied(), Setting(trace.constants, storage=storage).opened() as world:
            beside = Beside(model(trace.constants), world)
            for number, _, step in steps_of(trace):
                due = step.told
                if (left := _leaves(beside, number, step)) is not None:
                    break
            finish(beside)
    except Exception as error:  # noqa: BLE001  # whatever goes wrong is what is told
        when = "Having left the trace at" if left else "At"
        return RefusedAt(number, due, "", f"{when} step {number}, {due}: {error}")
    return left or RefusedAt(number, "", "", "It goes all the way with the trace.")


def _leaves(beside: Beside, number: int, step: Step) -> RefusedAt | None:
    """Take a step of a trace; where it left the trace by that, what it did instead."""
    try:
        taken = beside.take(step.action, step.actor, step.variant)
    except ImpossibleError as error:
        return RefusedAt(number, step.told, error.instead or "nothing")
    if wrong := breaks(beside):
        return RefusedAt(number, step.told, "", f"{', '.join(wrong)} breaks at step {number}, {step.told}.")
    if differs := _differs(step.after, beside.state):
        return RefusedAt(number, step.told, _instead(step, [name for name, _ in taken.done], differs))
    return None


def _instead(step: Step, done: list[str], differs: dict[str, tuple[object, object]]) -> str:
    """What the library did instead: another action, or the same to another state."""
    if done != [step.action]:
        return ", ".join(done) or "nothing: it changes no state"
    return f"{step.action}, with another {', '.join(differs)}"
