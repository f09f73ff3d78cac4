"""A trace as steps to walk through: what each did, who did it, which code it is, and what it breaks."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from conformance.tlc.result import Trace
from conformance.tlc.values import Value, print_value
from conformance.view.code_names import code_of
from conformance.view.doers import WORLD, doer_of, split_action
from conformance.view.judge import ALL_PROPERTIES, Broken, Case, judge, unconfirmed
from conformance.view.owners import owners_of
from conformance.view.snapshot import Snapshot, SnapshotError, places_of, snapshot_of

RECORDED = "recorded"
"""What a recorded run's `#meta` has as its `kind`."""


@dataclass(frozen=True, slots=True)
class Change:
    """What a step changed: the place, and its values before and after; None where there was, or is, none."""

    place: str
    old: Value | None
    new: Value | None


@dataclass(frozen=True, slots=True)
class Process:
    """A process and its tasks: the lanes."""

    name: str
    tasks: tuple[str, ...]

    @property
    def is_its_task(self) -> bool:
        """Whether it is its only task, and needs no name of its own beside it."""
        return self.tasks == (self.name,)


@dataclass(frozen=True, slots=True)
class Step:
    """One step, or the initial state.

    `number` counts from 1, as TLC does. `places` is every place of the state that it leads to, with its
    value, and `broken` the properties that begin to be broken.
    """

    number: int
    action: str
    doer: str
    code: str
    now: Snapshot
    places: Mapping[str, Value]
    changes: tuple[Change, ...]
    broken: tuple[Broken, ...]


@dataclass(frozen=True, slots=True)
class Walk:
    """A trace to show.

    `name` is its file's, without the suffix; `meta` what the file says of it; `named` the properties that it
    names as broken, and `unconfirmed` those of them that its states show to hold. `loop` is the number of the
    step that the last one goes back to by `back`, the last one's own if nothing happens any more.
    """

    name: str
    meta: Mapping[str, str]
    processes: tuple[Process, ...]
    steps: tuple[Step, ...]
    loop: int | None
    back: str
    named: tuple[str, ...]
    unconfirmed: tuple[str, ...]

    @property
    def recorded(self) -> bool:
        """Whether it is a run of the runner that was recorded, and no counterexample of TLC's."""
        return self.meta.get("kind") == RECORDED

    @property
    def stutters(self) -> bool:
        """Whether it stays in its last state for ever."""
        return self.loop == len(self.steps)

    @property
    def tasks(self) -> tuple[str, ...]:
        """All tasks, in the order of the lanes."""
        return tuple(task for process in self.processes for task in process.tasks)

    @property
    def breaks(self) -> tuple[Broken, ...]:
        """Every property that is broken, in the order of the steps."""
        return tuple(broken for step in self.steps for broken in step.broken)


def walk_of(name: str, trace: Trace, meta: Mapping[str, str]) -> Walk:
    """Return a trace as steps.

    Raises:
        SnapshotError: A state is none of ThreadClaim.
    """
    states = [snapshot_of(state.variables) for state in trace.states]
    _check_names(states)
    owners = owners_of(states, meta)
    named = tuple(dict.fromkeys(meta.get("property", "").replace(",", " ").split()))
    numbers = meta.get("several", "").split()
    several = frozenset(index for index in range(len(states)) if str(index + 1) in numbers)
    case = Case(states, owners, trace.loop, frozenset(named), meta.get("kind") == RECORDED, several)
    broken = judge(case)
    return Walk(
        name=name,
        meta=meta,
        processes=_processes(owners),
        steps=tuple(_steps(trace, states, owners, broken)),
        loop=None if trace.loop is None else trace.loop + 1,
        back=trace.back,
        named=named,
        unconfirmed=tuple(unconfirmed(case, broken)),
    )


def cannot_tell(walk: Walk) -> list[str]:
    """Return the properties that the file names as broken, and of which its states show neither."""
    shown = {broken.name for broken in walk.breaks}
    return [name for name in walk.named if name not in {*shown, *walk.unconfirmed}]


def is_known(name: str) -> bool:
    """Say whether a property is one of the model's."""
    return name in ALL_PROPERTIES


def ending(walk: Walk) -> str:
    """Return the sentence that says how a trace goes on, empty if it just ends."""
    if walk.loop is None:
        return ""
    if walk.stutters:
        return "Then nothing happens any more: it stutters in this state for ever."
    by = f" by {walk.back}" if walk.back else ""
    return f"Then it goes back{by} to step {walk.loop}, and so on for ever."


def place_text(step: Step, place: str) -> str:
    """Return a place and its value after a step, in TLA+'s notation, and the one before if it was another."""
    change = next((change for change in step.changes if change.place == place), None)
    new = print_value(step.places[place])
    if change is None or change.old is None:
        return f"{place} = {new}"
    return f"{place}: {print_value(change.old)} -> {new}"


def _check_names(states: Sequence[Snapshot]) -> None:
    """Raise SnapshotError unless all states have the same tasks and processes: these are constants."""
    names = [(now.task.keys(), now.look.keys()) for now in states]
    for number, found in enumerate(names, start=1):
        if found != names[0]:
            raise SnapshotError(f"it has other tasks or processes in state {number} than in state 1")


def _processes(owners: Mapping[str, str]) -> tuple[Process, ...]:
    """Return the processes, each with its tasks."""
    names = sorted(set(owners.values()))
    return tuple(Process(name, tuple(t for t in sorted(owners) if owners[t] == name)) for name in names)


def _steps(
    trace: Trace, states: Sequence[Snapshot], owners: Mapping[str, str], broken: Sequence[Broken]
) -> Iterator[Step]:
    """Yield the steps of a trace."""
    before: dict[str, Value] = {}
    for index, (state, now) in enumerate(zip(trace.states, states, strict=True)):
        places = places_of(state.variables)
        action, _ = split_action(state.action)
        yield Step(
            number=index + 1,
            action=action,
            doer=doer_of(state, states[index - 1], now, owners) if index else WORLD,
            code=code_of(action),
            now=now,
            places=places,
            changes=tuple(_changes(before, places)) if index else (),
            broken=tuple(each for each in broken if each.step == index),
        )
        before = places


def _changes(before: Mapping[str, Value], after: Mapping[str, Value]) -> Iterator[Change]:
    """Yield the places whose values are others; equal numbers and booleans are not equal in TLA+."""
    for place in sorted({*before, *after}):
        old, new = before.get(place), after.get(place)
        if type(old) is not type(new) or old != new:
            yield Change(place, old, new)
