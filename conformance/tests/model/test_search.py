"""The search finds what TLC found; and a rule broken by hand shows."""

import pytest

from conformance.model.cfgs import constants_of, never_of
from conformance.model.command import Searched, search_case
from conformance.model.commands import Next
from conformance.model.model import Model
from conformance.model.search import renamings, search
from conformance.model.state import Constants, State
from conformance.models import manifest
from conformance.properties import AT_EVERY_STEP
from conformance.tests.model.cases import MANIFEST, SPEC, pinned, read_cfg

SMALL = ("ThreadClaimAlone", "DirectRuns", "ThreadClaimFailLive", "ThreadClaimTasksLive")
"""The smallest, of each kind one; `make verify` searches those of up to 20,000 states."""


def searched(name: str) -> Searched:
    """Search a model of the manifest."""
    (case,) = (case for case in MANIFEST.cases if case.name == name)
    assert isinstance(case.entry, manifest.Model)
    return search_case(case, case.entry)


@pytest.mark.parametrize("name", SMALL)
def test_it_finds_the_states_that_tlc_found(name: str) -> None:
    """As many states, of the same depth, with the same actions idle; and no property breaks on the way."""
    found = searched(name)
    assert (found.found.distinct, found.found.depth) == (found.entry.distinct_states, found.entry.depth)
    assert found.idle_ok
    assert found.found.broken == ()
    assert found.ok


def test_states_that_differ_by_names_only_are_one_with_symmetry() -> None:
    """Of two processes of one task, each state but those that swapping keeps as they are is counted once."""
    model = Model(Constants.of(max_msgs=1, max_crash=1))
    (swap,) = renamings(model.constants)
    states = {model.init()}
    level = [model.init()]
    while level:
        level = list({after for state in level for _, _, after in model.successors(state)} - states)
        states |= set(level)
    assert {swap(swap(state)) for state in states} == states
    own = {state for state in states if swap(state) == state}
    assert 0 < len(own) < len(states)
    found = search(model, symmetric=True)
    assert found.distinct == (len(states) + len(own)) // 2
    assert search(model).distinct == len(states)


def test_renamings_keep_owners() -> None:
    """Tasks of one process stay with it, and processes of as many tasks may swap."""
    assert len(renamings(Constants.of(3))) == 5
    assert len(renamings(Constants.of(2, 2))) == 7
    dealt = constants_of(read_cfg(SPEC / "ThreadClaimTasks.cfg"))
    assert dealt.owner == {"p1": "p", "p2": "p", "q1": "q"}
    (swap,) = renamings(dealt)
    model = Model(dealt)
    (sent,) = model.step(model.init(), "Send", "p1")
    assert swap(sent) in model.step(model.init(), "Send", "p2")


class ClaimsWhatIsDead(Model):
    """The model with a guard broken by hand: a claim need not wait until a dead holder's has lapsed."""

    def can_claim(self, s: State, t: str) -> bool:  # noqa: ARG002 - the operator that it replaces has it
        """CanClaim."""
        return s.lease in {"free", "dead"}


class ForgetsToSpend(Model):
    """The model with an effect broken by hand: a crash is not counted."""

    def crash(self, s: State, p: str) -> Next:
        """Crash."""
        return tuple(after._replace(faults=s.faults) for after in super().crash(s, p))


class StartsUnfenced(Model):
    """The model with a guard broken by hand: a task may start a run without its claim."""

    def start_fence(self, s: State, t: str) -> bool:  # noqa: ARG002 - the operator that it replaces has it
        """StartFence."""
        return True


def test_a_guard_broken_by_hand_changes_the_count() -> None:
    """What no property sees, the number of states does."""
    config = read_cfg(SPEC / "ThreadClaimAlone.cfg")
    constants = constants_of(config)
    expected = pinned("ThreadClaimAlone").distinct_states
    assert search(Model(constants)).distinct == expected
    assert search(ClaimsWhatIsDead(constants)).distinct != expected
    few = Constants.of(max_crash=2)
    assert search(ForgetsToSpend(few)).distinct != search(Model(few)).distinct


def test_it_ends_at_a_shortest_way_to_what_breaks() -> None:
    """Each step of the way is one of the model's, and only the last one breaks something."""
    model = StartsUnfenced(Constants.of(max_msgs=2, max_lapse=1))
    found = search(model, ("I3_OneActiveRun",))
    assert found.broken == ("I3_OneActiveRun",)
    assert [step.action for step in found.behaviour] == ["Init", "Send", "Claim", "Lapse", "StartRun"]
    assert found.depth == len(found.behaviour)
    for before, step in zip(found.behaviour, found.behaviour[1:], strict=False):
        assert step.state in model.step(before.state, step.action, step.who)


def test_what_breaks_at_once_is_found() -> None:
    """An initial state that breaks a property is a behaviour of one state."""

    class Odd(Model):
        """The model with a cursor past the log."""

        def init(self) -> State:
            """Init."""
            return super().init()._replace(taken=1)

    found = search(Odd(Constants.of()))
    assert (found.broken, len(found.behaviour), found.depth) == (("TypeOK",), 1, 1)


@pytest.mark.parametrize(
    "bounds",
    [
        Constants.of(max_msgs=1, max_notes=1, max_crash=1, max_lapse=1),
        Constants.of(max_msgs=1, max_cancel=1, max_fail=2),
        Constants.of(2, 2, max_msgs=1, max_crash=1),
    ],
)
def test_what_holds_at_every_step_does(bounds: Constants) -> None:
    """The forms of temporal properties that hold at every step hold of the design, at every step."""
    assert search(Model(bounds), AT_EVERY_STEP, symmetric=True).broken == ()


def test_callers_that_never_ask_do_not() -> None:
    """What a cfg replaces by Never is no action of the model."""
    config = read_cfg(SPEC / "ThreadClaimSpins.cfg")
    assert never_of(config) == {"Ask", "Recover", "CommandFails"}
    model = Model(constants_of(config), never_of(config))
    with pytest.raises(ValueError, match="no action 'Ask'"):
        model.step(model.init(), "Ask", "p1")
