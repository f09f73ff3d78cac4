"""The twins: each is its mutant's, step for step, and only that; and what it puts is taken out again."""

from dataclasses import replace

import pytest

import threadclaim.claimant
from conformance.actions import ACTIONS
from conformance.beside import DivergedError
from conformance.explore.candidates import NEXT
from conformance.explore.tally import Tally
from conformance.explore.walk import Walker
from conformance.model.model import Model
from conformance.model.mutants import mutant, spec_of
from conformance.mutants import TWINS
from conformance.mutants.twin import Put, Twin
from conformance.quiet import quiet
from conformance.replay.recorded import recorded
from conformance.replay.run import on_twin
from conformance.tests.model.cases import MUTANTS, SPEC, TRACES, read_cfg
from conformance.tests.mutants.walks import (
    NOT_IN_THE_LOG,
    SKIPS,
    UNTIL_BROKEN,
    WALKS_OF_ALL,
    walk_beside,
)

STEPS = 1_000
"""How far a twin must go as its mutant here; far more were walked when it was written."""

UNCHANGED = Twin("", "The library as it is.", lambda _: None)


def mutant_of(name: str) -> type[Model]:
    """The mutant of the model."""
    return mutant(name, read_cfg(SPEC / "mutants" / f"{name}.cfg"))


def design_of(name: str) -> type[Model]:
    """The model that it is a mutant of."""
    model, _ = spec_of(name, read_cfg(SPEC / "mutants" / f"{name}.cfg"))
    return model


def test_every_mutant_has_a_twin_and_every_twin_a_mutant() -> None:
    """By their names."""
    assert sorted(TWINS) == sorted(MUTANTS)
    assert all(twin.name == name for name, twin in TWINS.items())


def test_what_a_twin_does_is_a_sentence() -> None:
    """Those of one change say the same."""
    for twin in TWINS.values():
        assert twin.does[0].isupper(), twin.name
        assert twin.does.endswith("."), twin.name
    changes = {twin.does: twin.change for twin in TWINS.values() if twin.change.__name__ != "<lambda>"}
    assert all(changes.get(twin.does, twin.change) is twin.change for twin in TWINS.values())


def test_what_walks_leave_out_is_left_out_of_twins_there_are() -> None:
    """No name there is out of date."""
    assert set(SKIPS) | set(UNTIL_BROKEN) | set(NOT_IN_THE_LOG) <= set(TWINS)


@pytest.mark.parametrize("name", MUTANTS)
def test_a_trace_goes_to_its_end_on_the_twin(name: str) -> None:
    """In the trace's states; and the same property breaks at the same step."""
    trace = recorded(TRACES / f"{name}.itf.json", SPEC)
    with quiet():
        reproduced = on_twin(trace, TWINS[name], mutant_of(name))
    assert not reproduced.why
    assert reproduced.states == len(trace.states)


@pytest.mark.parametrize("name", MUTANTS)
def test_a_twin_goes_as_its_mutant_at_random(name: str) -> None:
    """Wherever the mutant goes, and nowhere else."""
    assert walk_beside(TWINS[name], mutant_of(name), STEPS).tally.steps >= STEPS


@pytest.mark.parametrize(
    "name", ["NoHandOver", "NoLookAgain", "TakenApart", "LookReadsNothing", "NewestFirst"]
)
def test_the_library_does_not_go_as_a_mutant(name: str) -> None:
    """So that a walk beside a mutant can fail."""
    library = replace(TWINS[name], change=UNCHANGED.change)
    with pytest.raises(DivergedError):
        walk_beside(library, mutant_of(name), WALKS_OF_ALL)


@pytest.mark.parametrize(
    ("twin", "name"),
    [
        ("FailureHandsOverAll", "FailureHandsOverNothing"),
        ("ResumeTakesHead", "CountTakesUnread"),
        ("CancelIsFailure", "LostIsFailure"),
        ("NoFenceOnStart", "NoFenceOnCount"),
        ("DeadRunStays", "RepliedRunStays"),
    ],
)
def test_a_twin_does_not_go_as_another_mutant(twin: str, name: str) -> None:
    """However near the two are."""
    with pytest.raises(DivergedError):
        walk_beside(TWINS[twin], mutant_of(name), WALKS_OF_ALL)


_BRING = [name for name in MUTANTS if TWINS[name].actions or TWINS[name].reads is not UNCHANGED.reads]


@pytest.mark.parametrize("name", _BRING)
def test_what_a_twin_brings_for_the_world_catches_nothing(name: str) -> None:
    """How the world does its actions, and is read, is right for the library: only the change is caught."""
    tally = Tally()
    with quiet(), replace(TWINS[name], change=UNCHANGED.change).applied():
        walker = Walker(tally, model=design_of(name))
        seed = 0
        while tally.steps < STEPS:
            walker.walk(seed, 60)
            seed += 1


def test_a_twin_is_taken_out_again() -> None:
    """When its block is left, by an error too."""
    before = (dict(ACTIONS), dict(NEXT), vars(threadclaim.claimant)["Release"])
    for twin in TWINS.values():
        with pytest.raises(ZeroDivisionError), twin.applied():
            raise ZeroDivisionError
    assert (dict(ACTIONS), dict(NEXT), vars(threadclaim.claimant)["Release"]) == before


def test_a_twin_whose_change_fails_leaves_nothing() -> None:
    """What it had put by then is taken out."""
    step = vars(threadclaim.claimant)["Release"]

    def change(put: Put) -> None:
        put(threadclaim.claimant, "Release", None)
        put(threadclaim.claimant, "NoSuchStep", None)

    with pytest.raises(AttributeError, match="NoSuchStep"), Twin("", "It fails.", change).applied():
        pass
    assert vars(threadclaim.claimant)["Release"] is step


@pytest.mark.parametrize("name", ["AskedAfterClaim", "ReadsBeforeItFrees", "NoFenceOnAbandonHeld"])
def test_the_actions_that_only_a_mutant_has_are_walked(name: str) -> None:
    """They are proposed, and taken."""
    walker = walk_beside(TWINS[name], mutant_of(name), STEPS)
    own = set(TWINS[name].actions) - set(ACTIONS)
    assert own
    assert all(walker.tally.actions[action] for action in own)
