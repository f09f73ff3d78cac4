"""What a step shows in each column, in few words: only what it changed, and of the first state the whole."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from conformance.tlc.values import ModelValue, Value, print_value, sort_key
from conformance.view.snapshot import Snapshot
from conformance.view.walk import Change, Process, Step

ARROW = "\u2192"
_GHOSTS_OF_A_TASK = frozenset({"lost", "read", "failed"})
_SHARED = frozenset({"log", "asked", "taken", "lease", "run"})

Lines = tuple[str, ...]


class Mark(Enum):
    """What a task is after a step, which its lane shows whether the step changed it or not."""

    HOLDER = "holder"
    """It holds the claim."""
    BUSY = "busy"
    """It has something to do."""
    IDLE = "idle"
    """It has nothing to do."""
    DOWN = "down"
    """Its process is dead."""


LEGEND = {
    Mark.HOLDER: "holds the claim",
    Mark.BUSY: "has something to do",
    Mark.IDLE: "has nothing to do",
    Mark.DOWN: "its process is dead",
}


@dataclass(frozen=True, slots=True)
class Cells:
    """A step's cells, each of lines: `lanes` by task, the thread's, and `notes` for ghosts and bounds."""

    lanes: Mapping[str, Lines]
    log: Lines
    cursors: Lines
    run: Lines
    claim: Lines
    notes: Lines


def cells_of(step: Step, processes: Sequence[Process]) -> Cells:
    """Return what a step shows."""
    if step.number == 1:
        return _first(step.now)
    changes = {change.place: change for change in step.changes}
    run = any(place.startswith("run.") for place in changes)
    return Cells(
        lanes=_lanes(step, processes),
        log=_log(changes["log"]) if "log" in changes else (),
        cursors=tuple(_said(cursor, changes[cursor]) for cursor in ("asked", "taken") if cursor in changes),
        run=_run(step.now) if run else (),
        claim=(step.now.lease,) if "lease" in changes else (),
        notes=tuple(_notes(step.changes)),
    )


def mark_of(now: Snapshot, task: str) -> Mark:
    """Return what a task is in a state."""
    if now.lease == task:
        return Mark.HOLDER
    return {"idle": Mark.IDLE, "down": Mark.DOWN}.get(now.task[task].at, Mark.BUSY)


def _first(now: Snapshot) -> Cells:
    """Return what the first state shows: all of it that is no ghost."""
    return Cells(
        lanes={name: (task.at,) for name, task in now.task.items()},
        log=tuple(f"{seq} {kind}" for seq, kind in enumerate(now.log, start=1)) or ("empty",),
        cursors=(f"asked {now.asked}", f"taken {now.taken}"),
        run=_run(now),
        claim=(now.lease,),
        notes=(),
    )


def _lanes(step: Step, processes: Sequence[Process]) -> dict[str, Lines]:
    """Return what changed of each task, and of its process's look: that is with the process's first task."""
    lanes: dict[str, Lines] = {}
    for process in processes:
        for task in process.tasks:
            lanes[task] = tuple(_of_task(step.changes, f"task[{task}]."))
        if process.tasks:
            look = "look" if process.is_its_task else f"{process.name}'s look"
            lanes[process.tasks[0]] += tuple(_of_look(step.changes, f"look[{process.name}].", look))
    return lanes


def _of_task(changes: Sequence[Change], prefix: str) -> Iterator[str]:
    """Yield what changed of a task: first what it is about to do."""
    own = {change.place.removeprefix(prefix): change for change in changes if change.place.startswith(prefix)}
    if "at" in own:
        yield plain(own["at"].new)
    for field, change in own.items():
        if field != "at" and field not in _GHOSTS_OF_A_TASK:
            yield _said(field, change)


def _of_look(changes: Sequence[Change], prefix: str, look: str) -> Iterator[str]:
    """Yield what changed of a look: first what is due."""
    for change in changes:
        if change.place.startswith(prefix):
            field = change.place.removeprefix(prefix)
            yield _said(look if field == "due" else f"{look} {field}", change)


def _log(change: Change) -> Lines:
    """Return what was appended to the log, each with its position; or all of it, if it was no appending."""
    old, new = change.old, change.new
    if isinstance(old, tuple) and isinstance(new, tuple) and new[: len(old)] == old:
        return tuple(f"{seq} {plain(kind)}" for seq, kind in enumerate(new[len(old) :], start=len(old) + 1))
    return (plain(new),)


def _run(now: Snapshot) -> Lines:
    """Return the run, and whose it is, if it is active."""
    is_whose = now.run.st == "active" or now.run.by != "none"
    return (now.run.st, f"by {now.run.by}") if is_whose else (now.run.st,)


def _notes(changes: Sequence[Change]) -> Iterator[str]:
    """Yield what changed beside: ghosts, the bounds on the world, and variables that ThreadClaim has not."""
    for change in changes:
        variable = change.place.partition("[")[0].partition(".")[0]
        field = change.place.rpartition(".")[2]
        if variable == "task" and field in _GHOSTS_OF_A_TASK:
            yield _said(change.place.removeprefix("task[").replace("]", "", 1), change)
        elif variable not in _SHARED | {"task", "look"}:
            yield _said(change.place, change)


def _said(name: str, change: Change) -> str:
    """Return a change in few words: `pos 0→1`, `fed +{1}`, `due all`, `cmd TRUE`."""
    old, new = change.old, change.new
    if isinstance(old, frozenset) and isinstance(new, frozenset):
        added, removed = ((sign, part) for sign, part in (("+", new - old), ("\u2212", old - new)))
        return " ".join([name, *(f"{sign}{_set(part)}" for sign, part in (added, removed) if part)])
    if isinstance(new, int) and not isinstance(new, bool) and old is not None:
        return f"{name} {plain(old)}{ARROW}{plain(new)}"
    return f"{name} {plain(new)}" if new != "" else f'{name} ""'


def _set(members: frozenset[Value]) -> str:
    """Return a set in TLA+'s notation."""
    return f"{{{', '.join(plain(member) for member in sorted(members, key=sort_key))}}}"


def plain(value: Value | None) -> str:
    """Return a value for a person to read: in TLA+'s notation, but a string without quotation marks."""
    match value:
        case None:
            return "gone"
        case str():
            return value
        case ModelValue(name=name):
            return name
        case _:
            return print_value(value)
