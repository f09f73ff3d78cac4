"""A `State` from the values of a trace that TLC found (`conformance.tlc.itf`), and back."""

from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any, TypeVar, get_type_hints

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
    run = _fields(values["run"])
    records: dict[str, Any] = {
        "log": tuple(_text(kind) for kind in _members(values["log"])),
        "lease": _name(values["lease"]),
        "run": Run(_text(run["st"]), _name(run["by"])),
        "task": tuple(_record_of(Task, value) for value in _each(values["task"], constants.tasks)),
        "look": tuple(_record_of(Look, value) for value in _each(values["look"], constants.procs)),
        "faults": _record_of(Faults, values["faults"]),
    }
    return State(**records, **_simple(State, values, besides=records))


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


def _record_of(kind: Callable[..., _Item], value: Value) -> _Item:
    """A record of this kind, all of whose fields are simple."""
    return kind(**_simple(kind, _fields(value)))


def _simple(kind: object, values: Mapping[str, Value], besides: Container[str] = ()) -> dict[str, Any]:
    """A record's fields by what it declares of each, `besides` those that are records themselves."""
    return {
        name: _SIMPLE[declared](values[name])
        for name, declared in get_type_hints(kind).items()
        if name not in besides
    }


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


_SIMPLE: Mapping[object, Callable[[Value], object]] = {
    str: _text,
    int: _number,
    bool: _truth,
    Positions: _positions,
}
"""What reads a value, by the type that a record declares for it."""
