"""A trace is judged as exploration judges its walks: two readings of one spec say the same."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from conformance.model.state import Constants, State
from conformance.model.values import state_of
from conformance.properties import PROPERTIES, Kind
from conformance.tests.view.samples import COUNTEREXAMPLES, EVERY_TRACE, name_of
from conformance.tlc.itf import load_trace
from conformance.tlc.values import Value
from conformance.view.judge import ACTION_PROPERTIES, ALL_PROPERTIES, INVARIANTS, TEMPORAL
from conformance.view.owners import owners_of
from conformance.view.snapshot import Snapshot, snapshot_of
from conformance.view.temporal import Lasso

ROOMY = 99
"""Bounds that no trace reaches: a trace does not say what they were."""
NEIGHBOURS = 12
"""With how many others each state of all counterexamples is paired, as if a step led there."""

Both = tuple[Snapshot, State]


def constants_for(snapshot: Snapshot) -> Constants:
    """The constants of a trace with this state."""
    owner = owners_of([snapshot], {})
    bounds = dict.fromkeys(
        ("max_msgs", "max_notes", "max_crash", "max_lapse", "max_cancel", "max_fail"), ROOMY
    )
    return Constants(tuple(snapshot.look), tuple(snapshot.task), owner, **bounds)


def both(variables: Mapping[str, Value]) -> Both:
    """A state as the viewer reads it, and as the model does."""
    snapshot = snapshot_of(variables)
    return snapshot, state_of(constants_for(snapshot), variables)


def agree_on_state(now: Both) -> dict[str, bool]:
    """Compare the verdicts on a state; return the viewer's."""
    snapshot, state = now
    constants = constants_for(snapshot)
    verdicts = {}
    for name, reasons_in in INVARIANTS.items():
        verdicts[name] = not list(reasons_in(snapshot, constants.owner))
        assert verdicts[name] == PROPERTIES[name].check(constants, state), name
    return verdicts


def agree_on_step(old: Both, new: Both) -> dict[str, bool]:
    """Compare the verdicts on a step; return the viewer's."""
    constants = constants_for(new[0])
    verdicts = {}
    for name, reasons_in in ACTION_PROPERTIES.items():
        verdicts[name] = not list(reasons_in(old[0], new[0], constants.owner))
        assert verdicts[name] == PROPERTIES[name].check(constants, old[1], new[1]), name
    return verdicts


def test_they_are_the_same_properties() -> None:
    """By name and by kind."""
    kinds = {Kind.STATE: INVARIANTS, Kind.ACTION: ACTION_PROPERTIES, Kind.TEMPORAL: TEMPORAL}
    assert PROPERTIES.keys() == ALL_PROPERTIES
    for kind, ours in kinds.items():
        assert {name for name, each in PROPERTIES.items() if each.kind is kind} == ours.keys()


@pytest.mark.parametrize("path", EVERY_TRACE, ids=name_of)
def test_every_state_and_loop_is_judged_alike(path: Path) -> None:
    """Each state of a trace, and each temporal property on its loop and on others that it might have."""
    trace, _ = load_trace(path)
    states = [both(state.variables) for state in trace.states]
    for now in states:
        agree_on_state(now)
    snapshots, plain = [snapshot for snapshot, _ in states], [state for _, state in states]
    constants = constants_for(snapshots[0])
    for loop in {trace.loop or 0, len(states) - 1, len(states) // 2}:
        lasso = Lasso(snapshots, loop, constants.owner)
        for name, nevers_in in TEMPORAL.items():
            assert (not list(nevers_in(lasso))) == PROPERTIES[name].check(constants, plain, loop), name


def test_every_step_is_judged_alike() -> None:
    """From every state of all counterexamples to others, whether a step leads there or not."""
    traces = [load_trace(path)[0] for path in COUNTEREXAMPLES]
    states = [both(state.variables) for trace in traces for state in trace.states]
    broken = dict.fromkeys(ACTION_PROPERTIES, 0)
    for index, old in enumerate(states):
        for new in states[max(0, index - NEIGHBOURS // 2) : index + NEIGHBOURS // 2]:
            for name, holds in agree_on_step(old, new).items():
                broken[name] += not holds
    assert min(broken.values()) >= 1
