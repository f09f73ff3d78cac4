"""A trace as a person reads it: numbered steps, and of each only what it changed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from frozendict import frozendict

from conformance.tlc.result import Trace
from conformance.tlc.values import ModelValue, Value, is_record, ordered_items, print_value, sort_key

_INDENT = "     "


@dataclass(frozen=True, slots=True)
class _Change:
    """What a step did: to which place, whose that is (the first model value in its path), and what."""

    place: str
    owner: Value | None
    text: str

    def line(self) -> str:
        """Return the change as a line of the story."""
        return f"{_INDENT}{self.place}: {self.text}"


def tell(trace: Trace, *, initial: bool = True) -> str:
    """Return a trace's story, over several lines, without an end of line after the last.

    The first state is shown whole if `initial`, else only named. Each step has its number, its action, and a
    line for each variable, field of a record or value of a function that it changed. Where the functions that
    it changed were all changed for one model value, a task or a process say, that one stands beside the
    action. The last line says how the trace goes on, if it does.
    """
    first = trace.states[0]
    lines = [f"1. {first.action}", *(_whole(first.variables) if initial else ())]
    for number, (before, after) in enumerate(pairwise(trace.states), start=2):
        lines += _step(number, after.action, list(_changed_state(before.variables, after.variables)))
    return "\n".join([*lines, *_ending(trace)])


def _whole(variables: Mapping[str, Value]) -> Iterator[str]:
    """Yield a line for each variable; for each different value, if it is a function of model values."""
    for name, value in variables.items():
        if isinstance(value, frozendict) and all(isinstance(key, ModelValue) for key in value):
            by_value: dict[Value, list[str]] = {}
            for key, item in ordered_items(value):
                by_value.setdefault(item, []).append(print_value(key))
            yield from (
                f"{_INDENT}{name}[{', '.join(keys)}] = {print_value(v)}" for v, keys in by_value.items()
            )
        else:
            yield f"{_INDENT}{name} = {print_value(value)}"


def _step(number: int, action: str, changes: list[_Change]) -> list[str]:
    """Return the lines of one step."""
    owners = {print_value(change.owner) for change in changes if change.owner is not None}
    # A newer TLC prints the action's own arguments.
    whose = f" ({owners.pop()})" if len(owners) == 1 and "(" not in action else ""
    return [
        f"{number}. {action}{whose}",
        *(map(_Change.line, changes) if changes else [f"{_INDENT}(no change)"]),
    ]


def _ending(trace: Trace) -> list[str]:
    """Return the line that says how the trace goes on, if it does."""
    if trace.loop is None:
        return []
    if trace.stuttering:
        return ["Then nothing happens any more: it stutters in this state for ever."]
    by = f" by {trace.back}" if trace.back else ""
    return [f"Then it goes back{by} to step {trace.loop + 1}, and so on for ever."]


def _changed_state(old: Mapping[str, Value], new: Mapping[str, Value]) -> Iterator[_Change]:
    """Yield what changed from one state to the next."""
    for name, value in sorted(new.items()):  # TLC's own order changes from one edit of a module to the next
        yield from _changed(name, None, old[name], value)


def _changed(place: str, owner: Value | None, old: Value, new: Value) -> Iterator[_Change]:
    """Yield what changed from `old` to `new`, which are at `place`."""
    match old, new:
        case _ if print_value(old) == print_value(new):
            return
        case frozendict(), frozendict():
            yield from _changed_function(place, owner, old, new)
        case frozenset(), frozenset():
            yield from _counted(place, owner, "added", sorted(new - old, key=sort_key))
            yield from _counted(place, owner, "removed", sorted(old - new, key=sort_key))
        case tuple(), tuple():
            yield from _changed_sequence(place, owner, old, new)
        case _:
            yield _Change(place, owner, f"{print_value(old)} -> {print_value(new)}")


def _changed_function(
    place: str, owner: Value | None, old: frozendict[Value, Value], new: frozendict[Value, Value]
) -> Iterator[_Change]:
    """Yield what changed in a record or a function, key by key."""
    record = is_record(old) and is_record(new)
    for key, _ in ordered_items(old | new):
        inner = f"{place}.{key}" if record else f"{place}[{print_value(key)}]"
        whose = key if owner is None and isinstance(key, ModelValue) else owner
        if key not in new:
            yield _Change(inner, whose, "removed")
        elif key not in old:
            yield _Change(inner, whose, f"added, as {print_value(new[key])}")
        else:
            yield from _changed(inner, whose, old[key], new[key])


def _changed_sequence(
    place: str, owner: Value | None, old: tuple[Value, ...], new: tuple[Value, ...]
) -> Iterator[_Change]:
    """Yield what changed in a sequence: what came at its end, what went from its front, or item by item."""
    if new[: len(old)] == old:
        yield from _counted(place, owner, "appended", new[len(old) :])
    elif len(new) < len(old) and old[len(old) - len(new) :] == new:
        yield from _counted(place, owner, "taken from its front", old[: len(old) - len(new)])
    elif len(old) == len(new):
        for index, (before, after) in enumerate(zip(old, new, strict=True), start=1):
            yield from _changed(f"{place}[{index}]", owner, before, after)
    else:
        yield _Change(place, owner, f"{print_value(old)} -> {print_value(new)}")


def _counted(place: str, owner: Value | None, what: str, values: Sequence[Value]) -> Iterator[_Change]:
    """Yield the change that put these values in, or took them out; none if there are none."""
    if values:
        yield _Change(place, owner, f"{what} {', '.join(map(print_value, values))}")
