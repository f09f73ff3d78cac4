"""A state of ThreadClaim, with a name and a type for each variable; spec/ThreadClaim.tla says what they are.

Model values are their names here: a lease's holder is `p1`, as `free` and `dead` are.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields

from frozendict import frozendict
from pydantic import StrictBool, StrictInt, StrictStr, TypeAdapter, ValidationError

from conformance.tlc.values import ModelValue, Value, is_record, ordered_items, print_value

Positions = frozenset[StrictInt]


class SnapshotError(ValueError):
    """A state is none of ThreadClaim; the message says what in it is not."""


@dataclass(frozen=True, slots=True)
class Task:
    """A task: ThreadClaim!Idle has its fields."""

    at: StrictStr
    cmd: StrictBool
    pos: StrictInt
    fed: Positions
    seen: StrictInt
    due: StrictStr
    lost: StrictBool
    read: StrictInt
    failed: StrictBool


@dataclass(frozen=True, slots=True)
class Look:
    """A process's look: ThreadClaim!NoLook has its fields."""

    due: StrictStr
    seen: StrictInt
    pos: StrictInt


@dataclass(frozen=True, slots=True)
class Run:
    """The thread's last run: its state, and the task that started it, or `none`."""

    st: StrictStr
    by: StrictStr


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A state of ThreadClaim: its variables, in the order of the module."""

    log: tuple[StrictStr, ...]
    asked: StrictInt
    taken: StrictInt
    lease: StrictStr
    run: Run
    task: dict[StrictStr, Task]
    look: dict[StrictStr, Look]
    once: Positions
    twice: Positions
    given: Positions
    again: Positions
    excused: Positions
    unheard: Positions
    want: StrictInt
    waits: StrictInt
    broke: StrictBool
    faults: dict[StrictStr, StrictInt]

    @property
    def messages(self) -> frozenset[int]:
        """The positions of the log's messages (ThreadClaim!Msgs)."""
        return frozenset(seq for seq, kind in enumerate(self.log, start=1) if kind == "msg")

    @property
    def is_left(self) -> bool:
        """Whether anything is left to do (ThreadClaim!Left)."""
        return self.asked > self.taken or self.run.st in {"active", "answered"}

    @property
    def is_excused(self) -> bool:
        """Whether a failed turn has left all that is asked to the next command (Properties!Excused)."""
        return self.waits > 0 and self.asked <= self.waits


VARIABLES = tuple(field.name for field in fields(Snapshot))
_ADAPTER = TypeAdapter(Snapshot)


def snapshot_of(variables: Mapping[str, Value]) -> Snapshot:
    """Return the state that these variables are; variables of other names are passed over.

    Raises:
        SnapshotError: A variable is missing, or has a value of another kind than ThreadClaim's.
    """
    if missing := [name for name in VARIABLES if name not in variables]:
        raise SnapshotError(f"it lacks the variables {', '.join(missing)}")
    try:
        return _ADAPTER.validate_python({name: _plain(variables[name]) for name in VARIABLES})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise SnapshotError(f"its {place} has a value that ThreadClaim has not ({first['msg']})") from None


def places_of(variables: Mapping[str, Value]) -> dict[str, Value]:
    """Return every place of a state with its value: `asked`, `run.st`, `task[p1].at`, and so on.

    A place is what TLA+ would write for it. Functions and records are gone into, sets and sequences are not.
    """
    return {place: value for name in sorted(variables) for place, value in _places(name, variables[name])}


def _places(place: str, value: Value) -> Iterator[tuple[str, Value]]:
    """Yield the places in one value, which is at `place`."""
    if not isinstance(value, frozendict):
        yield place, value
        return
    record = is_record(value)
    for key, item in ordered_items(value):
        yield from _places(f"{place}.{key}" if record else f"{place}[{print_value(key)}]", item)


def _plain(value: Value) -> object:
    """Return a value for pydantic to read, with names for model values."""
    match value:
        case ModelValue(name=name):
            return name
        case frozendict():
            return {_plain(key): _plain(item) for key, item in value.items()}
        case tuple():
            return tuple(map(_plain, value))
        case frozenset():
            return frozenset(map(_plain, value))
        case bool() | int() | str():
            return value
