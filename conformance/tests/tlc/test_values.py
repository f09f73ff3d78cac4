"""TLA+ values: what TLC prints is read, and what we print is read back."""

import re

import pytest
from frozendict import frozendict
from hypothesis import given
from hypothesis import strategies as st

from conformance.tests.tlc.strategies import VALUES
from conformance.tlc.values import (
    LARGEST_INTERVAL,
    ModelValue,
    Value,
    ValueSyntaxError,
    parse_state,
    parse_value,
    print_value,
    sort_key,
)

P1, P2 = ModelValue("p1"), ModelValue("p2")
GAPS = st.sampled_from(["", " ", "\n", "\n      ", "  "])
# Strings, which are not to be broken; and the marks that line breaks may stand beside.
WORDS = re.compile(r'("(?:[^"\\]|\\.)*"|\|->|:>|@@|<<|>>|[][{}(),])', re.DOTALL)


@given(VALUES)
def test_what_is_printed_is_read_back(value: Value) -> None:
    """Printing a value and reading the text gives the value, and printing that gives the same text."""
    text = print_value(value)
    again = parse_value(text)
    assert again == value
    # In Python True is 1 and False is 0, so equality alone would let one pass for the other.
    assert print_value(again) == text


@given(VALUES, st.data())
def test_line_breaks_and_indents_change_nothing(value: Value, data: st.DataObject) -> None:
    """However a value is wrapped, between any two of its words, the same value is read."""
    words = [
        word.strip(" ") if not word.startswith('"') else word for word in WORDS.split(print_value(value))
    ]
    wrapped = "".join(word + data.draw(GAPS) for word in words)
    assert print_value(parse_value(wrapped)) == print_value(value)


@given(st.dictionaries(st.sampled_from(["x", "log", "task"]), VALUES, min_size=1))
def test_a_state_is_read_back(state: dict[str, Value]) -> None:
    r"""A state has a line that begins with /\ for each variable."""
    text = "\n".join(f"/\\ {name} = {print_value(value)}" for name, value in state.items())
    assert parse_state(text) == state


@given(st.lists(VALUES, max_size=6))
def test_the_order_of_values_does_not_depend_on_how_they_came(values: list[Value]) -> None:
    """Any values have one order, whichever of them came first."""
    backwards = values[::-1]
    values.sort(key=sort_key)
    backwards.sort(key=sort_key)
    assert [*map(print_value, values)] == [*map(print_value, backwards)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("TRUE", True),
        ("-5", -5),
        ("1..3", frozenset({1, 2, 3})),
        ("-3..-2", frozenset({-3, -2})),
        ("3..1", frozenset()),
        ("<<>>", ()),
        ("<< >>", ()),
        ("{}", frozenset()),
        ("p1", P1),
        ("null", ModelValue("null")),
        ('"p1"', "p1"),
        (r'"quotes \" and \\ back, \t \n \f \r"', 'quotes " and \\ back, \t \n \f \r'),
        ('[at |-> "idle", fed |-> {}]', frozendict(at="idle", fed=frozenset())),
        ("(p1 :> 1 @@ p2 :> <<p1>>)", frozendict({P1: 1, P2: (P1,)})),
        ('("x y" :> 1)', frozendict({"x y": 1})),
        ("(1 :> 7 @@ 2 :> 8)", (7, 8)),
        ("(2 :> 8 @@ 1 :> 7 @@ 1 :> 9)", (7, 8)),
        ("(0 :> 7 @@ 1 :> 8)", frozendict({0: 7, 1: 8})),
        ("(TRUE :> 7)", frozendict({True: 7})),
        ("<<<<1>>, << <<2>> >>>>", ((1,), ((2,),))),
        (
            "( p1 :>\n      [ name |-> 1,\n        count |-> 2 ] )",
            frozendict({P1: frozendict(name=1, count=2)}),
        ),
    ],
)
def test_a_value_as_tlc_prints_it(text: str, value: Value) -> None:
    """Each notation of TLC's gives the value it stands for."""
    assert parse_value(text) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (frozenset({10, 9, -1}), "{-1, 9, 10}"),
        (frozenset({P2, P1}), "{p1, p2}"),
        (frozenset({frozenset({2, 3}), frozenset({1}), frozenset()}), "{{}, {1}, {2, 3}}"),
        (frozendict(b=1, a=2), "[a |-> 2, b |-> 1]"),
        (frozendict({1: 7, 2: 8}), "<<7, 8>>"),
        (frozendict(), "<<>>"),
        (frozendict({"IF": 1}), '("IF" :> 1)'),
        (frozendict({"1": 1}), '("1" :> 1)'),
        (frozendict({P2: True, P1: False}), "(p1 :> FALSE @@ p2 :> TRUE)"),
    ],
)
def test_a_value_is_printed_in_order(value: Value, text: str) -> None:
    """Members and keys come in order, and a function in the shortest notation that TLA+ reads."""
    assert print_value(value) == text


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "a value is missing, at line 1, column 1 ('the end')"),
        ("{1, 2", "} is missing, at line 1, column 6 ('the end')"),
        ("{1,}", "a value is missing, at line 1, column 4 ('}')"),
        ("<<1 2>>", ">> is missing, at line 1, column 5 ('2>>')"),
        ("{1}\n  }", "the end is missing, at line 2, column 3 ('}')"),
        ("[a -> 1]", "no value has this here, at line 1, column 4 ('-> 1]')"),
        ("[1 |-> 1]", "a name is missing, at line 1, column 2 ('1 |-> 1]')"),
        ("[a, 1]", "|-> is missing, at line 1, column 3 (', 1]')"),
        ("(1 @@ 2)", ":> is missing, at line 1, column 4 ('@@ 2)')"),
        ("1..", "the interval's last number is missing, at line 1, column 4 ('the end')"),
        ("SUBSET {1}", "the end is missing, at line 1, column 8 ('{1}')"),
        ('"abc', "no value has this here, at line 1, column 1 ('\"abc')"),
        (r'"a\q"', r"a string with the unknown escape \q, at line 1, column 1"),
        (f"0..{LARGEST_INTERVAL}", f"an interval with more than {LARGEST_INTERVAL} members"),
    ],
)
def test_what_is_no_value_is_refused(text: str, what: str) -> None:
    """The error says what is wrong and where."""
    with pytest.raises(
        ValueSyntaxError, match=re.escape(f"This is not a TLA+ value as TLC prints one: {what}")
    ):
        parse_value(text)


def test_a_state_of_one_variable_has_no_mark() -> None:
    """TLC prints a lone variable without the conjunction's mark; a state of none is empty."""
    assert parse_state("n = 1") == {"n": 1}
    assert parse_state("") == {}


@pytest.mark.parametrize("text", ["n = 1 m = 2", "/\\ n", "/\\ n = 1\nm = 2", "/\\ = 1"])
def test_what_is_no_state_is_refused(text: str) -> None:
    """A state has a name, an equals sign and a value, again and again."""
    with pytest.raises(ValueSyntaxError):
        parse_state(text)
