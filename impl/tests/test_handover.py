"""What whoever leaves a thread hands over: the pure rule, branch by branch, then over anything."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from threadclaim.handover import ALL, Leaving, Left

NEWER = Leaving("newer")
"""As whoever failed having read nothing leaves."""

SEQS = st.integers(0, 20)
LEAVINGS = st.builds(Leaving, st.sampled_from(["all", "newer"]), SEQS, SEQS)
LEFTS = st.builds(Left, SEQS, SEQS, st.booleans())


@pytest.mark.parametrize(
    ("leaving", "left", "goes"),
    [
        pytest.param(ALL, Left(5, 3, is_left=True), True, id="what is left is handed over"),
        pytest.param(ALL, Left(3, 3, is_left=True), True, id="so is a run to see to, with nothing asked"),
        pytest.param(ALL, Left(3, 3, is_left=False), False, id="with nothing left there is no hand-over"),
        pytest.param(Leaving("all", 5), Left(5, 3, is_left=True), True, id="all is all, though it was read"),
        pytest.param(NEWER, Left(5, 3, is_left=True), True, id="one that read nothing hands over any ask"),
        pytest.param(NEWER, Left(0, 0, is_left=True), False, id="a failure leaves a run with no ask"),
        pytest.param(Leaving("newer", 5), Left(5, 3, is_left=True), False, id="I4: what it read waits"),
        pytest.param(Leaving("newer", 5), Left(6, 3, is_left=True), True, id="what came since does not"),
        pytest.param(Leaving("newer", 5), Left(6, 6, is_left=False), False, id="unless another took it"),
        pytest.param(
            Leaving("newer", 5, 4), Left(5, 3, is_left=True), False, id="a write that was not made failed"
        ),
        pytest.param(
            Leaving("newer", 5, 4), Left(5, 4, is_left=True), True, id="repair i: one that was made, unheard"
        ),
        pytest.param(
            Leaving("newer", 5, 4), Left(5, 5, is_left=True), True, id="repair i: and was taken past since"
        ),
        pytest.param(
            Leaving("newer", 5, 4), Left(5, 5, is_left=False), False, id="repair i: and left nothing"
        ),
        pytest.param(
            Leaving("newer", 5, 0), Left(5, 5, is_left=True), False, id="no write of its own, none unheard"
        ),
    ],
)
def test_the_rule(leaving: Leaving, left: Left, goes: bool) -> None:
    """Each branch of it: how one leaves, what is left, and whether a hand-over is due."""
    assert leaving.goes(left) is goes


@given(LEAVINGS, LEFTS)
def test_nothing_left_is_never_handed_over(leaving: Leaving, left: Left) -> None:
    """However one leaves; and with anything left, all of it is."""
    assert not leaving.goes(replace(left, is_left=False))
    assert replace(leaving, due="all").goes(left) is left.is_left


@given(LEFTS)
def test_a_hand_over_that_fails_the_same_way_ends(left: Left) -> None:
    """I4: one that has read what it was handed, and fails, hands nothing over until more is asked."""
    after = Leaving("newer", left.asked)
    assert not after.goes(left)
    assert after.goes(replace(left, asked=left.asked + 1)) is left.is_left


@given(LEAVINGS)
def test_a_look_alone_is_for_its_own_sake(leaving: Leaving) -> None:
    """With no look that waits, or one for the same, it is for what it was armed for."""
    assert leaving.beside(None) == leaving


@given(LEAVINGS, LEAVINGS, LEFTS)
def test_a_look_for_two_sakes_is_for_all(one: Leaving, other: Leaving, left: Left) -> None:
    """Whoever armed it first; so it goes wherever either alone would have gone."""
    both = one.beside(other)
    assert both == other.beside(one)
    assert both in {ALL, one}
    assert both == ALL or one == other
    assert both.goes(left) >= (one.goes(left) or other.goes(left))
