"""The end of a walk: everything fair happens until nothing more can, and then nothing may be left."""

from collections.abc import Iterator

from conformance.beside import Beside
from conformance.explore.candidates import NEXT
from conformance.explore.check import check
from conformance.model.facts import down, excused, unconsumed
from conformance.model.state import State, left

MOST_ROUNDS = 200
"""After so many rounds of what is fair, a walk is taken to spin."""


class LeftOverError(AssertionError):
    """Everything fair has happened, and something is left that the records do not except."""


def fair_steps(beside: Beside) -> Iterator[tuple[str, str]]:
    """What is fair, in an order: a dead claim lapses, dead processes start, tasks go on, looks come."""
    constants = beside.model.constants
    yield "Expire", ""
    for name in constants.procs:
        if down(constants, beside.state, name):
            yield "Restart", name
    for place, name in enumerate(constants.tasks):
        for action in NEXT.get(beside.state.task[place].at, ()):
            yield action, name
        yield "Fenced", name
    for name in constants.procs:
        yield "LookAgain", name


def finish(beside: Beside) -> None:
    """Let everything fair happen until nothing more can; raise LeftOverError if something is left then.

    The properties are checked of each step; raises BrokenError.
    """
    go_on(beside, checks=True)
    if wrong := list(left_over(beside.state)):
        raise LeftOverError(" ".join(["Everything fair has happened, and something is left.", *wrong]))


def go_on(beside: Beside, *, checks: bool = False) -> list[State]:
    """Let everything fair happen until nothing more can; the states that this came through.

    With `checks`, the properties are checked of each step; on a twin they need not hold.
    """
    began = len(beside.steps)
    for _ in range(MOST_ROUNDS):
        if not _round(beside, checks=checks):
            return [taken.state for taken in beside.steps[began:]]
    raise LeftOverError(f"After {MOST_ROUNDS} rounds of what is fair something still goes on.")


def _round(beside: Beside, *, checks: bool) -> bool:
    """Take the first fair step of each actor; whether there was any."""
    went_on, done = False, set()
    for action, actor in list(fair_steps(beside)):
        if (actor and actor in done) or not beside.allows(action, actor):
            continue
        if beside.try_take(action, actor) is None:
            continue
        if checks:
            check(beside)
        done.add(actor)
        went_on = True
    return went_on


def left_over(state: State) -> Iterator[str]:
    """What is left, in sentences, but for what a failure has left to the next command."""
    if state.lease != "free":
        yield f"The claim is {state.lease}'s."
    if any(task.at != "idle" for task in state.task):
        yield f"Tasks are at {[task.at for task in state.task]}."
    if any(look.due != "no" for look in state.look):
        yield "A look waits."
    if state.asked > max(state.taken, state.waits):
        yield f"Position {state.asked} is asked for, and only {state.taken} is taken."
    if unconsumed(state):
        yield f"Messages {sorted(unconsumed(state))} were asked for and not consumed."
    if left(state) and not excused(state):
        yield f"The run is {state.run.st}."
