"""What could be done next in a state of the model, and how often it should be, against the rest.

It only proposes: whether the model allows a step, its own guards say. A test compares the two: whatever the
model allows in a state is proposed there.
"""

from collections.abc import Iterator, Mapping

from conformance.model.state import CAN_STOP, HAS_PLAN, PLANS_OR_RUNS, STARTS, Constants, State, Task

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


def candidates(constants: Constants, state: State) -> Iterator[Candidate]:
    """What could be done next; each with its weight."""
    for task, name in zip(state.task, constants.tasks, strict=True):
        yield from _of_task(name, task, state)
    for look, name in zip(state.look, constants.procs, strict=True):
        if look.due != "no":
            yield "LookAgain", name, COMMAND
            yield "LookFails", name, RARE
        down = all(state.task[place].at == "down" for place in constants.places_of[name])
        yield ("Restart", name, COMMAND) if down else ("Crash", name, RARE)
    # What comes between a holder's read and its count must not be counted.
    counts = any(task.at == "count" for task in state.task)
    yield "Post", "", ON if counts else FAULT
    yield "Note", "", ON if counts else RARE
    if state.lease == "dead":
        yield "Expire", "", COMMAND


def _of_task(name: str, task: Task, state: State) -> Iterator[Candidate]:
    """What a task could do next, and what may come to it."""
    if task.at == "idle":
        yield from _commands(name, state)
    for action in NEXT.get(task.at, ()):
        yield action, name, ON
    for action in faults_of(task.at, cmd=task.cmd):
        yield action, name, {"Fenced": ON, "EndFails": COMMAND}.get(action, FAULT)
    if task.at in PLANS_OR_RUNS:
        yield "Renew", name, RARE
    if state.lease == name:
        yield "Lapse", name, FAULT


def _commands(task: str, state: State) -> Iterator[Candidate]:
    """What an idle task may be told to do."""
    yield "Send", task, COMMAND
    replies = any(other.at == "reply" for other in state.task)
    yield "Answer", task, ON if replies else COMMAND if state.run.st == "paused" else RARE
    yield "Ask", task, FAULT
    yield "Recover", task, FAULT
    yield "CommandFails", task, RARE
