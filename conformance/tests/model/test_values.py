"""States, to and from the values of TLC's traces."""

import pytest
from frozendict import frozendict

from conformance.model.model import Model, state_of, values_of
from conformance.model.state import Constants
from conformance.tests.model.cases import MUTANTS, mutant_case
from conformance.tests.model.test_model import ALL_FAULTS, reached
from conformance.tlc.values import ModelValue, Value

CONSTANTS = Constants.of(max_msgs=1)
INITIAL = values_of(CONSTANTS, Model(CONSTANTS).init())


@pytest.mark.parametrize("name", MUTANTS)
def test_a_traces_states_come_back_as_they_were(name: str) -> None:
    """What TLC found is what a state gives back."""
    case = mutant_case(name)
    for given, state in zip(case.trace.states, case.behaviour.states, strict=True):
        assert values_of(case.model.constants, state) == given.variables
        assert state_of(case.model.constants, given.variables) == state


def test_a_state_comes_back_from_its_values() -> None:
    """Of any number of tasks and processes."""
    for state in reached(Model(ALL_FAULTS), count=300):
        assert state_of(ALL_FAULTS, values_of(ALL_FAULTS, state)) == state


def test_names_are_model_values() -> None:
    """A holder is a model value, as in TLC; free and dead are strings."""
    (sent,) = Model(CONSTANTS).step(Model(CONSTANTS).init(), "Send", "p2")
    (claimed,) = Model(CONSTANTS).step(sent, "Claim", "p2")
    assert values_of(CONSTANTS, claimed)["lease"] == ModelValue("p2")
    assert INITIAL["lease"] == "free"


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("asked", "one", '"one" stands where a number should'),
        ("asked", True, "TRUE stands where a number should"),
        ("broke", 0, "0 stands where TRUE or FALSE should"),
        ("log", "msg", '"msg" stands where a sequence should'),
        ("log", (1,), "1 stands where a string should"),
        ("once", (1,), "<<1>> stands where a set should"),
        ("run", "idle", '"idle" stands where a record should'),
        ("run", frozendict({"st": "idle"}), "a record with the field by should"),
        ("task", (), "<<>> stands where a function of p1, p2 should"),
        ("look", frozendict({ModelValue("p1"): 1}), "stands where a function of p1, p2 should"),
    ],
)
def test_values_that_are_no_state_are_refused(name: str, value: Value, why: str) -> None:
    """With a sentence that says what stands where what should."""
    with pytest.raises(ValueError, match="no state of ThreadClaim") as caught:
        state_of(CONSTANTS, {**INITIAL, name: value})
    assert why in str(caught.value)


def test_other_variables_are_refused() -> None:
    """A trace of another module is none of ours."""
    with pytest.raises(ValueError, match="The variables of ThreadClaim are log, asked"):
        state_of(CONSTANTS, {"x": 1})
