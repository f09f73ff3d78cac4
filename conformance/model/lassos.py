"""The temporal properties of spec/Properties.tla: on a lasso, and in the form that holds at every step.

A lasso is the states of a behaviour in order, and the index of the one that comes after the last, so that
those from there on come again and again. A form that holds at every step says that somebody will see to what
the property promises.
"""

from collections.abc import Callable, Sequence

from conformance.model.facts import dead, down, excused, seen_to, stranded, unconsumed
from conformance.model.state import Constants, State

_Predicate = Callable[[State], bool]


def _leads_to(once: _Predicate, then: _Predicate, states: Sequence[State], loop: int) -> bool:
    """Whether `once ~> then`: wherever the first holds, the second holds there or later."""
    if any(then(state) for state in states[loop:]):
        return True
    last = max((place for place, state in enumerate(states) if then(state)), default=-1)
    return not any(once(state) for state in states[last + 1 :])


def _again(holds: _Predicate, states: Sequence[State], loop: int) -> bool:
    """Whether `[]<>holds`: it comes again and again, so it is in the loop."""
    return any(holds(state) for state in states[loop:])


def _due(state: State) -> bool:
    """Whether more is asked than is taken, or left to the next command."""
    return state.asked > max(state.taken, state.waits)


def asked_is_taken(_: Constants, states: Sequence[State], loop: int) -> bool:
    """AskedIsTaken."""
    return _again(lambda state: not _due(state), states, loop)


def asked_is_seen_to(constants: Constants, state: State) -> bool:
    """AskedIsTaken, at every step: what is asked has somebody who will see to it."""
    return not _due(state) or seen_to(constants, state)


def sent_is_taken(_: Constants, states: Sequence[State], loop: int) -> bool:
    """SentIsTaken."""
    return _again(lambda state: not unconsumed(state), states, loop)


def sent_is_seen_to(constants: Constants, state: State) -> bool:
    """SentIsTaken, at every step: no message asked for is passed over, and each has somebody to see to it."""
    waiting = unconsumed(state)
    return not waiting or (min(waiting) > state.taken and seen_to(constants, state))


def refused_is_taken(constants: Constants, states: Sequence[State], loop: int) -> bool:
    """RefusedIsTaken."""
    return all(_refusal_is_taken(constants, proc, states, loop) for proc in constants.procs)


def _refusal_is_taken(constants: Constants, proc: str, states: Sequence[State], loop: int) -> bool:
    """RefusedIsTaken of one process."""
    desk = constants.desk[proc]
    return _leads_to(
        lambda state: state.look[desk].due == "all" and stranded(state),
        lambda state: not stranded(state) or down(constants, state, proc),
        states,
        loop,
    )


def _answered(state: State) -> bool:
    """Whether a run is to resume: its requests are answered."""
    return state.run.st == "answered" and not excused(state)


def replied_resumes(_: Constants, states: Sequence[State], loop: int) -> bool:
    """RepliedResumes."""
    return _again(lambda state: not _answered(state), states, loop)


def replied_is_seen_to(constants: Constants, state: State) -> bool:
    """RepliedResumes, at every step: an answered run has somebody who will resume it."""
    return not _answered(state) or seen_to(constants, state)


def dead_run_ends(constants: Constants, states: Sequence[State], loop: int) -> bool:
    """DeadRunEnds."""
    return _again(lambda state: not dead(constants, state) or excused(state), states, loop)


def dead_run_is_seen_to(constants: Constants, state: State) -> bool:
    """DeadRunEnds, at every step: a run that no task carries has somebody who will record its end."""
    return not dead(constants, state) or excused(state) or seen_to(constants, state)


def i4_never_spins(_: Constants, states: Sequence[State], loop: int) -> bool:
    """I4_NeverSpins."""
    return all(task.at == "idle" for state in states[loop:] for task in state.task)
