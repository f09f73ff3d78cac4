"""TLA+ values in Python: read from TLC's text, and printed in TLC's notation.

A value of TLA+ is one of these:

    TRUE, FALSE               bool
    -3                        int
    "text"                    str
    p1, a model value         ModelValue
    {1, 2}, 1..2              frozenset
    <<1, "a">>                tuple
    [at |-> "idle"]           frozendict, as every key is a string
    (p1 :> 1 @@ p2 :> 2)      frozendict

A sequence is a function from 1..n in TLA+, and the empty record is the empty function is the empty sequence.
So that equal values are equal here too, `parse_value` and `function` make a tuple of each of those.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from frozendict import frozendict

# An interval that TLC never enumerated can have billions of members; no trace that we read has so many.
LARGEST_INTERVAL = 1_000_000

_ESCAPES = {"\\": "\\", '"': '"', "t": "\t", "n": "\n", "f": "\f", "r": "\r"}
_ESCAPED = str.maketrans({char: f"\\{letter}" for letter, char in _ESCAPES.items()})
# Words that TLA+ keeps for itself cannot be the names of fields.
_RESERVED = frozenset(
    re.findall(
        r"\w+",
        """
        ASSUME ASSUMPTION AXIOM BOOLEAN CASE CHOOSE CONSTANT CONSTANTS DOMAIN ELSE ENABLED EXCEPT EXTENDS
        FALSE IF IN INSTANCE LET LOCAL MODULE OTHER RECURSIVE STRING SUBSET THEN THEOREM TRUE UNCHANGED
        UNION VARIABLE VARIABLES WITH
        """,
    )
)
_NAME = re.compile(r"[A-Za-z0-9_]*[A-Za-z][A-Za-z0-9_]*")
_TOKEN = re.compile(
    r"""\s*(?:(?P<number>-?[0-9]+(?![A-Za-z0-9_]))
            |(?P<name>[A-Za-z0-9_]+)
            |(?P<string>"(?:[^"\\]|\\.)*")
            |(?P<mark>\|->|:>|@@|<<|>>|\.\.|/\\|[][{}(),=])
            |(?P<end>\Z))""",
    re.VERBOSE | re.DOTALL,
)


class ValueSyntaxError(ValueError):
    """A text is not a TLA+ value as TLC prints one; the message says where it stops being one."""


@dataclass(frozen=True, order=True, slots=True)
class ModelValue:
    """A constant that equals nothing but itself, such as `p1` after `p1 = p1` in a cfg."""

    name: str


Value: TypeAlias = (
    bool | int | str | ModelValue | frozenset["Value"] | tuple["Value", ...] | frozendict["Value", "Value"]
)
"""A value of TLA+."""


def parse_value(text: str) -> Value:
    """Read one value, in TLC's notation, over as many lines as it takes.

    Raises:
        ValueSyntaxError: `text` is anything else; the message has the line and column, both from 1.
    """
    parser = _Parser(text)
    value = parser.value()
    parser.expect("")
    return value


def parse_state(text: str) -> dict[str, Value]:
    r"""Read a state as TLC prints one: `/\ x = 1` for each variable, or only `x = 1` if there is but one.

    Returns the variables' values by name, in the order of `text`; none for an empty text.

    Raises:
        ValueSyntaxError: `text` is anything else; the message has the line and column, both from 1.
    """
    parser = _Parser(text)
    state: dict[str, Value] = {}
    while parser.word:
        if parser.word == "/\\" or state:
            parser.expect("/\\")
        name = parser.name()
        parser.expect("=")
        state[name] = parser.value()
    return state


def function(pairs: Iterable[tuple[Value, Value]]) -> Value:
    """Return the function with these keys and values: a tuple if its domain is 1..n, else a frozendict.

    Where a key comes twice the first value counts, as it does in `f @@ g`.
    """
    items: dict[Value, Value] = {}
    for key, value in pairs:
        items.setdefault(key, value)
    sequence = _as_sequence(items)
    return frozendict(items) if sequence is None else sequence


def is_record(value: Value) -> bool:
    """Say whether `value` can be written as a record: a function whose keys are all names of fields."""
    return isinstance(value, frozendict) and bool(value) and all(map(_is_field, value))


def print_value(value: Value) -> str:
    """Return `value` in TLC's notation, on one line; members and keys in an order that is always the same."""
    match value:
        case bool() | int():
            return str(value).upper()
        case str():
            return f'"{value.translate(_ESCAPED)}"'
        case ModelValue():
            return value.name
        case frozenset():
            return f"{{{_join(sorted(value, key=sort_key))}}}"
        case tuple():
            return f"<<{_join(value)}>>"
        case frozendict():
            return _print_function(value)


def sort_key(value: Value) -> tuple[object, ...]:
    """Return a key by which any values have one order: booleans, numbers, strings, model values, the rest.

    Sets, sequences and functions are in order of size, then of what they hold.
    """
    match value:
        case bool() | int():
            return (not isinstance(value, bool), value)
        case str():
            return (2, value)
        case ModelValue():
            return (3, value.name)
        case frozenset():
            return (4, len(value), *sorted(map(sort_key, value)))
        case tuple():
            return (5, len(value), *map(sort_key, value))
        case frozendict():
            return (6, len(value), *((sort_key(k), sort_key(v)) for k, v in ordered_items(value)))


def ordered_items(items: Mapping[Value, Value]) -> list[tuple[Value, Value]]:
    """Return a function's keys and values, in the keys' order by `sort_key`."""
    return sorted(items.items(), key=lambda item: sort_key(item[0]))


def _join(values: Iterable[Value]) -> str:
    """Print values with commas between them."""
    return ", ".join(map(print_value, values))


def _print_function(items: frozendict[Value, Value]) -> str:
    """Print a function as a sequence or a record where it is one, else with `:>` and `@@`."""
    sequence = _as_sequence(items)
    if sequence is not None:
        return print_value(sequence)
    pairs = ordered_items(items)
    if is_record(items):
        return f"[{', '.join(f'{key} |-> {print_value(value)}' for key, value in pairs)}]"
    return f"({' @@ '.join(f'{print_value(key)} :> {print_value(value)}' for key, value in pairs)})"


def _as_sequence(items: Mapping[Value, Value]) -> tuple[Value, ...] | None:
    """Return the sequence that a function with domain 1..n is, or None for any other function."""
    # In Python True equals 1; in TLA+ it does not.
    if all(type(key) is int and 1 <= key <= len(items) for key in items):
        return tuple(items[index] for index in range(1, len(items) + 1))
    return None


def _is_field(key: Value) -> bool:
    """Say whether a key can be a record's field: a name that TLA+ does not reserve."""
    return isinstance(key, str) and _NAME.fullmatch(key) is not None and key not in _RESERVED


class _Parser:
    """Reads values from a text. `word` is the next word, a string with its quotes; empty at the end."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._start = self._end = 0
        self.word = self.kind = ""
        self._advance()

    def _advance(self) -> str:
        """Go to the next token and return the one passed over."""
        passed = self.word
        match = _TOKEN.match(self._text, self._end)
        if match is None:
            self._start = len(self._text) - len(self._text[self._end :].lstrip())
            raise self._error("no value has this here")
        self.kind = match.lastgroup or ""
        self.word = match[self.kind]
        self._start, self._end = match.span(self.kind)
        return passed

    def _error(self, what: str) -> ValueSyntaxError:
        """Return the error that says what is wrong at the next token, and where that is."""
        before = self._text[: self._start]
        line, column = before.count("\n") + 1, self._start - before.rfind("\n")
        found = self._text[self._start : self._start + 20].split("\n")[0]
        return ValueSyntaxError(
            f"This is not a TLA+ value as TLC prints one: {what}, at line {line}, column {column}"
            f" ({found or 'the end'!r})."
        )

    def expect(self, token: str) -> None:
        """Pass over `token`, which must come next; empty means the end."""
        if self.word != token:
            raise self._error(f"{token or 'the end'} is missing")
        if token:
            self._advance()

    def name(self) -> str:
        """Pass over a name and return it."""
        if self.kind != "name":
            raise self._error("a name is missing")
        return self._advance()

    def value(self) -> Value:
        """Pass over a value and return it."""
        read = self._READ.get(self.word) or self._READ.get(self.kind)
        if read is None:
            raise self._error("a value is missing")
        return read(self)

    def _constant(self) -> Value:
        """Pass over TRUE, FALSE, or a model value."""
        name = self.name()
        return name == "TRUE" if name in {"TRUE", "FALSE"} else ModelValue(name)

    def _number(self) -> Value:
        """Pass over a number, or an interval, which is the set of its members."""
        first = int(self._advance())
        if self.word != "..":
            return first
        self._advance()
        if self.kind != "number":
            raise self._error("the interval's last number is missing")
        last = int(self.word)
        if last - first >= LARGEST_INTERVAL:
            raise self._error(f"an interval with more than {LARGEST_INTERVAL} members")
        self._advance()
        return frozenset(range(first, last + 1))

    def _string(self) -> str:
        """Pass over a string and return it without its quotes and escapes."""
        unknown = re.search(r'\\[^\\"tnfr]', re.sub(r"\\\\", "", self.word))
        if unknown:
            raise self._error(f"a string with the unknown escape {unknown[0]}")
        return re.sub(r"\\(.)", lambda escape: _ESCAPES[escape[1]], self._advance()[1:-1])

    def _items(self, opening: str, closing: str) -> Iterator[None]:
        """Pass over the brackets and commas of a list, and yield where each of its items is."""
        self.expect(opening)
        if self.word != closing:
            yield
            while self.word == ",":
                self._advance()
                yield
        self.expect(closing)

    def _set(self) -> Value:
        """Pass over a set and return it."""
        return frozenset([self.value() for _ in self._items("{", "}")])

    def _sequence(self) -> Value:
        """Pass over a sequence and return it."""
        return tuple([self.value() for _ in self._items("<<", ">>")])

    def _record(self) -> Value:
        """Pass over a record and return it."""
        return function([self._field() for _ in self._items("[", "]")])

    def _field(self) -> tuple[Value, Value]:
        """Pass over a record's field and return its name and value."""
        name = self.name()
        self.expect("|->")
        return name, self.value()

    def _function(self) -> Value:
        """Pass over a function written with `:>` and `@@`, and return it."""
        self.expect("(")
        pairs = [self._pair()]
        while self.word == "@@":
            self.expect("@@")
            pairs.append(self._pair())
        self.expect(")")
        return function(pairs)

    def _pair(self) -> tuple[Value, Value]:
        """Pass over one key and value of a function."""
        key = self.value()
        self.expect(":>")
        return key, self.value()

    # How a value begins: with this bracket, or with a word of this kind.
    _READ: ClassVar[Mapping[str, Callable[["_Parser"], Value]]] = {
        "{": _set,
        "<<": _sequence,
        "[": _record,
        "(": _function,
        "number": _number,
        "name": _constant,
        "string": _string,
    }
