"""What could be done next in a state of the model, and how often it should be, against the rest.

It only proposes: whether the model allows a step, its own guards say. A test compares the two: whatever the
model allows in a state is proposed there.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache

from conformance.model.state import CAN_STOP, HAS_PLAN, PLANS_OR_RUNS, STARTS, Constants, State

Candidate = tuple[str, str, float]
"""An action, its actor ("" for the world's own), and its weight."""

NEXT: Mapping[str, tuple[str, ...]] = {
    "claim": ("Claim", "Refused", "NothingAsked"),
    "replan": ("Replan",),
    "abandon": ("Abandon",),
    "prompt": ("StartRun",),
    "resume": ("StartRun",),
    "replied": ("StartRun",),
    "reply": ("Reply",),
    "count": ("CountTaken",),
    "running": ("Deliver", "EndRun", "Pause"),
    "ending": ("EndRun",),
    "pausing": ("Pause",),
    "release": ("Release",),
}
"""What a task goes on with, by where it is, if nothing goes wrong."""

ON, COMMAND, FAULT, RARE = 8.0, 3.0, 1.0, 0.4


def faults_of(at: str, *, cmd: bool) -> Iterator[str]:
    """The faults that may come to a task, by where it is, and whether it is a caller's."""
    if at == "claim" or at in HAS_PLAN:
        yield "Fail"
        if cmd:
            yield "Cancel"
    if at in STARTS or at in {"claim", "reply", "abandon", "count"}:
        yield "FailUnheard"
    if at in {"running", "ending", "pausing"}:
        yield "EndFails"
    if at == "release":
        yield "ReleaseFails"
    if at in CAN_STOP:
        yield from ("LetGo", "LoseClaim")
    if at in {"prompt", "resume", "replied", "reply", "abandon", "count"}:
        yield "Fenced"


def candidates(constants: Constants, state: State) -> list[Candidate]:
    """What could be done next; each with its weight."""
    places = [task.at for task in state.task]
    answers = 3 * ON if "reply" in places else COMMAND if state.run.st == "paused" else RARE
    found = [
        (action, name, weight)
        for task, name in zip(state.task, constants.tasks, strict=True)
        for action, weight in _of_task(
            task.at, state.lease == name, answers, NEXT.get(task.at, ()), cmd=task.cmd
        )
    ]
    for look, name in zip(state.look, constants.procs, strict=True):
        if look.due != "no":
            found += [("LookAgain", name, COMMAND), ("LookFails", name, RARE)]
        down = all(places[place] == "down" for place in constants.places_of[name])
        found.append(("Restart", name, COMMAND) if down else ("Crash", name, RARE))
    # What comes between a holder's read and its count must not be counted.
    counts = "count" in places
    found += [("Post", "", ON if counts else FAULT), ("Note", "", ON if counts else RARE)]
    if state.lease == "dead":
        found.append(("Expire", "", COMMAND))
    return found


@lru_cache
def _of_task(
    at: str, is_holder: bool, answers: float, goes_on: tuple[str, ...], *, cmd: bool
) -> tuple[tuple[str, float], ...]:
    """What a task could do next, and what may come to it, with their weights."""
    found = list(_commands(answers)) if at == "idle" else []
    found += [(action, COMMAND if action == "Reply" else ON) for action in goes_on]
    weights = {"Fenced": ON, "EndFails": COMMAND}
    found += [(action, weights.get(action, FAULT)) for action in faults_of(at, cmd=cmd)]
    found += [("Renew", RARE)] if at in PLANS_OR_RUNS else []
    # There is seldom anything to count, and a count whose claim has lapsed is what its fence is for.
    return (*found, ("Lapse", COMMAND if at == "count" else FAULT)) if is_holder else tuple(found)


def _commands(answers: float) -> Iterator[tuple[str, float]]:
    """What an idle task may be told to do."""
    yield "Send", COMMAND
    yield "Answer", answers
    yield "Ask", FAULT
    yield "Recover", FAULT
    yield "CommandFails", RARE
