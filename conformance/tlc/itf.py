"""Traces as ITF, the Informal Trace Format of Apalache and Quint: JSON that editors can show.

ITF has no model values. So `p1` is written as the string "p1", which is what a reader shows best, and the
`#meta` of the trace lists these names under `model_values`. A string that would be taken for one of them, or
that begins with a quotation mark, is written with quotation marks around it.

Each value has one form: a sequence is a list, a record an object, and any other function a `#map`; so is a
record with a field that itf-py cannot read back: one that Python keeps for itself, such as `class`, or that
begins with `_`, or `tag` and `value` together, which mean a variant. Members and keys are in order, so equal
traces are equal files.
"""

import json
import keyword
from collections.abc import Container, Iterator, Mapping
from pathlib import Path
from typing import Any

import itf_py
from frozendict import frozendict

from conformance.tlc.result import State, Trace
from conformance.tlc.values import ModelValue, Value, function, is_record, ordered_items

_FORMAT = {"format": "ITF", "format-description": "https://apalache-mc.org/docs/adr/015adr-trace.html"}
_OWN = frozenset({*_FORMAT, "model_values", "back"})
_VARIANT = {"tag", "value"}
_QUOTE = '"'


class TraceFormatError(Exception):
    """A file is not a trace that we wrote; the message says which file, and what is wrong with it."""


def save_trace(path: Path, trace: Trace, *, meta: Mapping[str, str]) -> None:
    """Write a trace to `path`, as ITF.

    Each state's `#meta` has its `action` and `location`. A loop is ITF's `loop`; the action that closes it is
    in the trace's `#meta`, as `back`.

    Args:
        path: Where to.
        trace: The trace.
        meta: What else the trace's `#meta` says, such as the model's name.

    Raises:
        ValueError: `meta` has a key that the format, or this module, keeps for itself.
    """
    if taken := _OWN & meta.keys():
        raise ValueError(f"These keys of a trace's #meta are taken: {', '.join(sorted(taken))}. Use others.")
    names = sorted(
        {name for state in trace.states for value in state.variables.values() for name in _names(value)}
    )
    own: dict[str, object] = {
        **_FORMAT,
        "model_values": names,
        **({"back": trace.back} if trace.back else {}),
    }
    variables = sorted({name for state in trace.states for name in state.variables})
    states = [_encode_state(index, state, names) for index, state in enumerate(trace.states)]
    head = {**own, **dict(sorted(meta.items()))}
    document = itf_py.trace_to_json(itf_py.Trace(head, [], variables, states, trace.loop))
    path.write_text(_layout(document), encoding="utf-8")


def load_trace(path: Path) -> tuple[Trace, dict[str, str]]:
    """Read a trace that `save_trace` wrote; return it, and the `meta` that was given.

    Raises:
        TraceFormatError: The file is not such a trace.
        OSError: The file cannot be read.
    """
    try:
        raw = itf_py.trace_from_json(json.loads(path.read_text(encoding="utf-8")))
        names = frozenset(raw.meta["model_values"])
        states = tuple(_decode_state(state, names) for state in raw.states)
        trace = Trace(states, raw.loop, raw.meta.get("back", ""))
        return trace, {key: text for key, text in raw.meta.items() if key not in _OWN}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise TraceFormatError(f"{path} is not a trace that we wrote: {error!r}. Write it anew.") from error


def _names(value: Value) -> Iterator[str]:
    """Yield the names of all model values in a value."""
    match value:
        case ModelValue():
            yield value.name
        case frozendict():
            for item in value.items():
                yield from _names(item)
        case frozenset() | tuple():
            for member in value:
                yield from _names(member)
        case bool() | int() | str():
            pass


def _encode_state(index: int, state: State, names: Container[str]) -> itf_py.State:
    """Return a state for itf-py to write."""
    meta = {"index": index, "action": state.action, "location": state.location}
    return itf_py.State(
        meta, {name: _encode(state.variables[name], names) for name in sorted(state.variables)}
    )


def _decode_state(state: itf_py.State, names: frozenset[str]) -> State:
    """Return a state that itf-py read."""
    variables = {name: _decode(value, names) for name, value in state.values.items()}
    return State(state.meta["action"], state.meta["location"], frozendict(variables))


def _encode(value: Value, names: Container[str]) -> object:
    """Return a value for itf-py to write."""
    match value:
        case ModelValue():
            return value.name
        case str():
            return f'"{value}"' if value in names or value.startswith(_QUOTE) else value
        case bool() | int():
            return value
        case tuple():
            return tuple(_encode(member, names) for member in value)
        case frozenset():
            return frozenset(_encode(member, names) for member in value)
        case frozendict():
            return _encode_function(value, names)


def _encode_function(items: frozendict[Value, Value], names: Container[str]) -> object:
    """Return a function for itf-py to write, as a record if it can be one."""
    pairs = [(key, _encode(value, names)) for key, value in ordered_items(items)]
    if _is_object(items):
        return _Record({str(key): value for key, value in pairs})
    return frozendict({_encode(key, names): value for key, value in pairs})


class _Record:
    """A record for itf-py to write: it takes an object's attributes for the fields."""

    def __init__(self, fields: Mapping[str, object]) -> None:
        self.__dict__.update(fields)


def _is_object(items: frozendict[Value, Value]) -> bool:
    """Say whether a function is a record that itf-py can read back if it is written as an object."""
    fields = {str(key) for key in items}
    usable = (name.isidentifier() and not keyword.iskeyword(name) and name[0] != "_" for name in fields)
    return is_record(items) and fields != _VARIANT and all(usable)


def _decode(raw: object, names: Container[str]) -> Value:
    """Return the value that itf-py read.

    Raises:
        TypeError: It is none that we write.
    """
    match raw:
        case bool() | int():
            return raw
        case str():
            return _decode_string(raw, names)
        case frozenset():
            return frozenset(_decode(member, names) for member in raw)
        case dict():
            return function((_decode(key, names), _decode(value, names)) for key, value in raw.items())
        # itf-py reads a record as a named tuple.
        case tuple() if hasattr(raw, "_fields"):
            return function((name, _decode(getattr(raw, name), names)) for name in raw._fields)
        case list() | tuple():
            return tuple(_decode(member, names) for member in raw)
        case _:
            raise TypeError(f"{raw!r} is no value of TLA+")


def _decode_string(text: str, names: Container[str]) -> Value:
    """Return the string or the model value that is written as `text`."""
    if text in names:
        return ModelValue(text)
    return text[1:-1] if text.startswith(_QUOTE) else text


def _tidy(json_value: object) -> object:
    """Return JSON from itf-py with sets and functions in order, and sequences as lists."""
    match json_value:
        case {"#tup": list(members)}:
            return [_tidy(member) for member in members]
        case {"#set": list(members)}:
            return {"#set": sorted(map(_tidy, members), key=_json_key)}
        case dict():
            return {key: _tidy(value) for key, value in json_value.items()}
        case list():
            return [_tidy(member) for member in json_value]
        case _:
            return json_value


def _json_key(json_value: object) -> tuple[int, str]:
    """Return a key that puts JSON values in one order: numbers by size, then the rest by their text."""
    match json_value:
        case {"#bigint": str(digits)}:
            return int(digits), ""
        case _:
            return 0, json.dumps(json_value, sort_keys=True)


def _layout(document: Mapping[str, Any]) -> str:
    """Return a trace's JSON with a line for each variable of each state, so that traces compare well."""
    lines = [_line(key, part) for key, part in document.items() if key != "states" and part is not None]
    states = (",\n ".join(_line(*item) for item in state.items()) for state in document["states"])
    lines.append('"states": [\n' + ",\n".join(f"{{{state}}}" for state in states) + "\n]")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _line(key: str, json_value: object) -> str:
    """Return a key and its value in JSON, on one line."""
    return f"{json.dumps(key)}: {json.dumps(_tidy(json_value))}"
