"""A trace of TLC's as a behaviour of the model: its states, and who did each step; and whether it is fair."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from conformance.model.model import Model
from conformance.model.search import Step
from conformance.model.state import State
from conformance.model.values import state_of
from conformance.tlc.result import Trace

_STEP = (
    "Claim", "Refused", "NothingAsked", "Replan", "CountTaken", "Abandon", "StartRun", "Reply", "Fenced",
    "LoseClaim", "Deliver", "EndRun", "Pause", "Release",
)  # fmt: skip
"""`Step` of the spec: what a task does under fairness."""


class NotABehaviourError(Exception):
    """A trace is none of the model's behaviours.

    Attributes:
        step: The index in the trace's states of the first that the model does not come to; as many as there
            are states, if it is the way back to the loop.
    """

    def __init__(self, step: int, why: str) -> None:
        super().__init__(f"Step {step + 1}: {why}")
        self.step = step


@dataclass(frozen=True, slots=True)
class Behaviour:
    """A behaviour of a model.

    Attributes:
        steps: Its steps; the first is `Init`, with the initial state.
        loop: The index of the state that comes after the last one, again and again; None if it just ends.
        back: The step from the last state to that one; None if it stays in the last state, or just ends.
    """

    steps: tuple[Step, ...]
    loop: int | None = None
    back: Step | None = None

    @property
    def states(self) -> tuple[State, ...]:
        """Its states, in order."""
        return tuple(step.state for step in self.steps)


def behaviour_of(model: Model, trace: Trace, aliases: Mapping[str, str] | None = None) -> Behaviour:
    """Return the behaviour that a trace is: each step is one of the model's, by somebody whom it finds.

    Args:
        model: Whose behaviour it is to be.
        trace: The trace.
        aliases: The model's names of actions that the trace calls otherwise; None for the model's `ALIASES`.

    Raises:
        NotABehaviourError: It is none; the message and `step` say where it stops being one.
        ValueError: A state of the trace is none of ThreadClaim with the model's constants.
    """
    states = [state_of(model.constants, state.variables) for state in trace.states]
    known = model.ALIASES if aliases is None else aliases
    named = [known.get(name, name) for name in (*(state.action for state in trace.states), trace.back)]
    if states[0] != model.init():
        raise NotABehaviourError(0, "the trace does not begin in the model's initial state.")
    steps = [
        Step("Init", None, states[0]),
        *(
            _step(model, index, before, named[index], after)
            for index, (before, after) in enumerate(pairwise(states), 1)
        ),
    ]
    if trace.loop is None or trace.stuttering:
        return Behaviour(tuple(steps), trace.loop)
    back = _step(model, len(states), states[-1], named[-1], states[trace.loop])
    return Behaviour(tuple(steps), trace.loop, back)


def _step(model: Model, index: int, before: State, action: str, after: State) -> Step:
    """The step by this action from one state to the next."""
    actors = [who for act, who in model.instances if act == action]
    if not actors:
        raise NotABehaviourError(index, f"the model has no action {action}.")
    for who in actors:
        if after in model.step(before, action, who):
            return Step(action, who, after)
    enabled = sorted({act for act, _, _ in model.successors(before)})
    can = any(model.step(before, action, who) for who in actors)
    why = "leads to no such state" if can else "is refused"
    raise NotABehaviourError(index, f"{action} {why}; the model could go on by {', '.join(enabled)}.")


def starved(model: Model, behaviour: Behaviour, *, restarts: bool = True) -> str | None:
    """Return what the loop of a behaviour starves: enabled in each of its states, and never done; else None.

    A behaviour that starves something is not weakly fair, so no temporal property speaks of it. (`Fair` and
    `Restarts` of the spec. DirectRuns.tla has more.)

    Args:
        model: Whose behaviour it is.
        behaviour: One with a loop.
        restarts: Whether a dead process starts again.

    Raises:
        ValueError: The behaviour has no loop.
    """
    if behaviour.loop is None:
        raise ValueError("A behaviour that just ends starves nothing: give one with a loop.")
    loop = behaviour.steps[behaviour.loop :]
    taken = {(step.action, step.who) for step in (*loop[1:], *((behaviour.back,) if behaviour.back else ()))}
    for name, actions, who in _fair(model, restarts=restarts):
        if all((action, who) not in taken for action in actions) and all(
            _changes(model, step.state, actions, who) for step in loop
        ):
            return name
    return None


def _fair(model: Model, *, restarts: bool) -> Iterator[tuple[str, Sequence[str], str | None]]:
    """What is weakly fair: its name, the actions that it is one of, and who does them."""
    for task in model.constants.tasks:
        yield f"Step({task})", _STEP, task
    for proc in model.constants.procs:
        yield f"LookAgain({proc})", ("LookAgain",), proc
        if restarts:
            yield f"Restart({proc})", ("Restart",), proc
    yield "Expire", ("Expire",), None


def _changes(model: Model, state: State, actions: Sequence[str], who: str | None) -> bool:
    """Whether one of these actions leads to another state."""
    return any(after != state for action in actions for after in model.step(state, action, who))
