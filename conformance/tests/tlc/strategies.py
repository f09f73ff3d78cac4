"""Arbitrary TLA+ values and traces."""

from hypothesis import strategies as st

from conformance.tlc.output import State, Trace
from conformance.tlc.values import ModelValue, Value, function

NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,5}", fullmatch=True).filter(
    lambda name: name.strip("_") != "" and name not in {"TRUE", "FALSE"}
)
# Among the fields are words that Python, TLA+ or ITF keeps for itself.
FIELDS = NAMES | st.sampled_from(["at", "class", "_x", "count", "tag", "value", "IF", "index", "self"])
# A lone surrogate cannot be written as UTF-8, and TLC has none.
STRINGS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | FIELDS
SCALARS = st.booleans() | st.integers(-(2**31), 2**31 - 1) | STRINGS | NAMES.map(ModelValue)


def _compound() -> st.SearchStrategy[Value]:
    """Sets, sequences, records and functions of any values."""
    return st.one_of(
        st.frozensets(VALUES, max_size=3),
        st.lists(VALUES, max_size=3).map(tuple),
        st.dictionaries(FIELDS, VALUES, max_size=3).map(lambda fields: function(fields.items())),
        st.dictionaries(VALUES, VALUES, max_size=2).map(lambda items: function(items.items())),
    )


VALUES: st.SearchStrategy[Value] = SCALARS | st.deferred(_compound)


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    """A trace of one state or more, all with the same variables, and perhaps with a loop."""
    names = draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    states = draw(
        st.lists(
            st.builds(
                State, NAMES, st.text(max_size=10), st.fixed_dictionaries(dict.fromkeys(names, VALUES))
            ),
            min_size=1,
            max_size=4,
        )
    )
    loop = draw(st.none() | st.integers(0, len(states) - 1))
    return Trace(tuple(states), loop, draw(NAMES) if loop is not None else "")
