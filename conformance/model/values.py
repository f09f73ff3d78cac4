"""A `State` from the values of a trace that TLC found (`conformance.tlc.itf`), and back."""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from frozendict import frozendict

from conformance.model.state import Constants, Faults, Look, Positions, Run, State, Task
from conformance.tlc.values import ModelValue, Value, function, print_value

_Item = TypeVar("_Item")


def state_of(constants: Constants, values: Mapping[str, Value]) -> State:
    """Return the state in which the spec's variables have these values.

    Args:
        constants: Whose tasks and processes, and in which order.
        values: Every variable's value, by name.

    Raises:
        ValueError: They are no state of spec/ThreadClaim.tla with these constants.
    """
    if values.keys() != set(State._fields):
        raise ValueError(
            f"The variables of ThreadClaim are {', '.join(State._fields)}; not {', '.join(values)}."
        )
    faults = _fields(values["faults"])
    run = _fields(values["run"])
    return State(
        log=tuple(_text(kind) for kind in _members(values["log"])),
        asked=_number(values["asked"]),
        taken=_number(values["taken"]),
        lease=_name(values["lease"]),
        run=Run(_text(run["st"]), _name(run["by"])),
        task=tuple(_task(_fields(value)) for value in _each(values["task"], constants.tasks)),
        look=tuple(_look(_fields(value)) for value in _each(values["look"], constants.procs)),
        once=_positions(values["once"]),
        twice=_positions(values["twice"]),
        given=_positions(values["given"]),
        again=_positions(values["again"]),
        excused=_positions(values["excused"]),
        unheard=_positions(values["unheard"]),
        want=_number(values["want"]),
        waits=_number(values["waits"]),
        broke=_truth(values["broke"]),
        faults=Faults(*(_number(faults[kind]) for kind in Faults._fields)),
    )


def values_of(constants: Constants, state: State) -> dict[str, Value]:
    """Return every variable's value, by name, as `state_of` takes them; the names are in the spec's order."""
    names = {name: ModelValue(name) for name in (*constants.procs, *constants.tasks)}
    values: dict[str, Value] = {
        **dict(zip(State._fields, state, strict=True)),
        "lease": names.get(state.lease, state.lease),
        "run": _record({"st": state.run.st, "by": names.get(state.run.by, state.run.by)}),
        "task": _function(names, constants.tasks, state.task),
        "look": _function(names, constants.procs, state.look),
        "faults": _record(state.faults._asdict()),
    }
    return values


def _record(fields: Mapping[str, Value]) -> Value:
    """A record with these fields."""
    return function(fields.items())


def _function(
    names: Mapping[str, ModelValue], keys: Iterable[str], records: Iterable[Task] | Iterable[Look]
) -> Value:
    """A function from tasks, or processes, to records."""
    return function(
        (names[key], _record(record._asdict())) for key, record in zip(keys, records, strict=True)
    )


def _task(fields: Mapping[str, Value]) -> Task:
    """A task, from its record."""
    return Task(
        at=_text(fields["at"]),
        cmd=_truth(fields["cmd"]),
        pos=_number(fields["pos"]),
        fed=_positions(fields["fed"]),
        seen=_number(fields["seen"]),
        due=_text(fields["due"]),
        lost=_truth(fields["lost"]),
        read=_number(fields["read"]),
        failed=_truth(fields["failed"]),
    )


def _look(fields: Mapping[str, Value]) -> Look:
    """A look, from its record."""
    return Look(_text(fields["due"]), _number(fields["seen"]), _number(fields["pos"]))


def _each(value: Value, names: tuple[str, ...]) -> list[Value]:
    """The values of a function of these tasks or processes, in their order."""
    keys = [ModelValue(name) for name in names]
    if not isinstance(value, frozendict) or set(value) != set(keys):
        raise _no_state(value, f"a function of {', '.join(names)}")
    return [value[key] for key in keys]


def _fields(value: Value) -> dict[str, Value]:
    """A record's fields; what a field that it has not would be is refused where it is read."""
    if not isinstance(value, frozendict):
        raise _no_state(value, "a record")
    return _Fields((_text(key), field) for key, field in value.items())


class _Fields(dict[str, Value]):
    """A record's fields."""

    def __missing__(self, field: str) -> Value:
        raise _no_state(_record(self), f"a record with the field {field}")


def _members(value: Value) -> tuple[Value, ...]:
    """A sequence's members."""
    return _of_type(value, tuple, "a sequence")


def _positions(value: Value) -> Positions:
    """A set of positions."""
    return frozenset(map(_number, _of_type(value, frozenset, "a set")))


def _text(value: Value) -> str:
    """A string."""
    return _of_type(value, str, "a string")


def _name(value: Value) -> str:
    """The name of a task or process, or a string."""
    return value.name if isinstance(value, ModelValue) else _text(value)


def _number(value: Value) -> int:
    """A number."""
    if isinstance(value, bool):
        raise _no_state(value, "a number")
    return _of_type(value, int, "a number")


def _truth(value: Value) -> bool:
    """A boolean."""
    return _of_type(value, bool, "TRUE or FALSE")


def _of_type(value: Value, kind: type[_Item], what: str) -> _Item:
    """The value, which must be of this type."""
    if not isinstance(value, kind):
        raise _no_state(value, what)
    return value


def _no_state(value: Value, what: str) -> ValueError:
    """The error that says what should have been where."""
    return ValueError(f"This is no state of ThreadClaim: {print_value(value)} stands where {what} should.")
