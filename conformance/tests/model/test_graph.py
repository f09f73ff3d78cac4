"""The model in Python has TLC's state graph: the same states, and the same steps between them."""

from pathlib import Path

import pytest

from conformance.model.model import ACTIONS, Model
from conformance.model.state import Constants
from conformance.tests.model.graphs import graph_of_tlc

BOUNDS = {
    "nothing goes wrong": Constants.of(max_msgs=2, max_notes=1),
    "crash and lapse": Constants.of(max_msgs=1, max_crash=1, max_lapse=1),
    "cancellation and failure": Constants.of(max_msgs=1, max_cancel=1, max_fail=1),
}


@pytest.mark.parametrize("name", BOUNDS)
def test_each_step_is_one_of_tlcs(name: str, tmp_path: Path) -> None:
    """From each of TLC's states, each action leads to TLC's next states, and to no other."""
    constants = BOUNDS[name]
    states, edges = graph_of_tlc(constants, tmp_path)
    model = Model(constants)
    steps = {(state, action, after) for state in states for action, _, after in model.successors(state)}
    assert model.init() in states
    assert steps - edges == set()
    assert edges - steps == set()


def test_the_bounds_leave_room_for_every_action() -> None:
    """No action is left out of the comparison."""
    fired: set[str] = set()
    for constants in BOUNDS.values():
        model = Model(constants)
        known, level = {model.init()}, [model.init()]
        while level:
            steps = [step for state in level for step in model.successors(state)]
            fired |= {action for action, _, _ in steps}
            level = list(dict.fromkeys(after for _, _, after in steps if after not in known))
            known |= set(level)
    assert fired == set(ACTIONS)
