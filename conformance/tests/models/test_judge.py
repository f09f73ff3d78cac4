"""What TLC found against what is expected: each difference is a sentence."""

from dataclasses import replace

import pytest

from conformance.models.judge import counts_of, is_counterexample, judge, say_verdict
from conformance.models.manifest import Case, load_manifest
from conformance.tests.models.bench import AS_EXPECTED, COUNTER, HOLDS, violated
from conformance.tlc.output import Coverage, PropertyKind, Result, Verdict

CASES = {case.slug: case for case in load_manifest(COUNTER).cases}


@pytest.mark.parametrize("name", AS_EXPECTED)
def test_what_is_expected_is_ok(name: str) -> None:
    """Nothing is said of a result that is all as expected."""
    assert judge(CASES[name], AS_EXPECTED[name]).ok


@pytest.mark.parametrize(
    ("name", "result", "sentence"),
    [
        (
            "Counter",
            violated("TypeOK", 3),
            "The manifest expects everything to hold, but TypeOK is violated.",
        ),
        ("Counter", violated(None, 3), "to hold, but a temporal property (ReachesMax) is violated."),
        ("Counter", replace(HOLDS, queue=3), "TLC left 3 states in its queue"),
        ("Counter", replace(HOLDS, distinct=0), "TLC found no state"),
        ("NoRoom", HOLDS, "The mutant is harmless: TypeOK holds although the rule is taken out."),
        (
            "NoRoom",
            violated("Other", 5),
            "The manifest expects TypeOK to be violated, but Other is violated.",
        ),
        ("NoRoom", violated(None, 5), "TypeOK to be violated, but a temporal property (none that"),
        ("NoRoom", replace(violated("TypeOK", 5), trace=None), "TLC gave no counterexample that can be read"),
        (
            "NoUp",
            violated("TypeOK", 1),
            "The manifest expects ReachesMax to be violated, but TypeOK is violated.",
        ),
        ("MaxIsReached", HOLDS, "The situation is not reached: NeverMax holds"),
        (
            "MaxIsReached",
            violated("TypeOK", 4),
            "The manifest expects NeverMax to be violated, but TypeOK is",
        ),
    ],
)
def test_a_wrong_verdict(name: str, result: Result, sentence: str) -> None:
    """A verdict that is not the expected one says which was, and no count of such a run is compared."""
    judgement = judge(CASES[name], result)
    (found,) = judgement.verdict
    assert sentence in found
    assert judgement.stale == ()
    assert not judgement.ok


@pytest.mark.parametrize("verdict", sorted(set(Verdict) - {Verdict.HOLDS, Verdict.VIOLATED}))
@pytest.mark.parametrize("name", AS_EXPECTED)
def test_a_run_that_failed(name: str, verdict: Verdict) -> None:
    """Whatever else TLC says, of whatever kind of cfg, fails with a sentence and TLC's message."""
    result = replace(HOLDS, verdict=verdict, message="As TLC says.")
    (sentence,) = judge(CASES[name], result).verdict
    assert sentence.endswith(" As TLC says.")


@pytest.mark.parametrize(
    ("verdict", "words"), [(Verdict.OUT_OF_MEMORY, "out of memory"), (Verdict.STOPPED, "was stopped before")]
)
def test_stopped_and_out_of_memory_are_said(verdict: Verdict, words: str) -> None:
    """A run that was stopped, or ran out of memory, says so."""
    assert words in judge(CASES["Counter"], replace(HOLDS, verdict=verdict)).verdict[0]


@pytest.mark.parametrize(
    ("name", "result", "sentence"),
    [
        ("Counter", replace(HOLDS, distinct=5), "The number of distinct states changed: expected 4, found 5"),
        ("Counter", replace(HOLDS, depth=3), "The depth changed: expected 4, found 3"),
        ("NoRoom", violated("TypeOK", 4), "The trace length changed: expected 5, found 4"),
        ("NoUp", violated(None, 2), "The trace length changed: expected 1, found 2"),
    ],
)
def test_a_count_that_changed(name: str, result: Result, sentence: str) -> None:
    """It says what was expected, what was found, and that `--update` takes it over."""
    judgement = judge(CASES[name], result)
    (found,) = judgement.stale
    assert found == f"{sentence}; `--update` writes the new one for review."
    assert (judgement.verdict, judgement.beside) == ((), ())


def without(case: Case, **fields: None) -> Case:
    """The case, its entry without some fields."""
    return replace(case, entry=case.entry.model_copy(update=fields))


def test_counts_that_the_manifest_does_not_have() -> None:
    """A count that is missing is asked for; the depth may be left out."""
    model = judge(without(CASES["Counter"], distinct_states=None, depth=None), HOLDS)
    assert [each.split(";")[0] for each in model.stale] == [
        "The manifest has no number of distinct states: found 4"
    ]
    mutant = judge(without(CASES["NoRoom"], trace_length=None), AS_EXPECTED["NoRoom"])
    assert [each.split(";")[0] for each in mutant.stale] == ["The manifest has no trace length: found 5"]


def test_which_counts_are_exact() -> None:
    """Of a model it is the states, and with one worker the depth; of a counterexample only its length."""
    two = replace(CASES["Counter"], entry=CASES["Counter"].entry.model_copy(update={"workers": 2}))
    assert counts_of(CASES["Counter"], HOLDS) == {"distinct_states": 4, "depth": 4}
    assert counts_of(two, HOLDS) == {"distinct_states": 4}
    assert counts_of(CASES["NoRoom"], AS_EXPECTED["NoRoom"]) == {"trace_length": 5}


@pytest.mark.parametrize(
    ("coverage", "sentence"),
    [
        ({"Up": Coverage(0, 0), "Wrap": Coverage(0, 1), "Leap": Coverage(0, 0)}, "The action Up never fired"),
        (
            {"Up": Coverage(3, 3), "Wrap": Coverage(0, 1), "Leap": Coverage(0, 1)},
            "lists Leap as `idle`, but it fired",
        ),
        ({"Up": Coverage(3, 3), "Wrap": Coverage(0, 1)}, "lists Leap as `idle`, but it is no action"),
        ({}, "TLC reported no coverage"),
    ],
)
def test_actions_that_fire_against_what_is_expected(coverage: dict[str, Coverage], sentence: str) -> None:
    """Every action fires but those listed as idle, which do not; a stutter counts as firing."""
    result = replace(HOLDS, coverage=coverage)
    (found,) = judge(CASES["Counter"], result).beside
    assert sentence in found
    assert judge(CASES["Counter"], result, counted=False).ok


def test_a_warning_is_a_failure() -> None:
    """What TLC warned of is said, whatever the verdict."""
    result = replace(HOLDS, warnings=("The fingerprints may collide.",))
    assert judge(CASES["Counter"], result).beside == ("TLC printed a warning: The fingerprints may collide.",)


def test_how_long_a_run_took_is_no_failure() -> None:
    """A slow machine fails nothing; a run that never ends is stopped, and that is a failure."""
    assert judge(CASES["Counter"], replace(HOLDS, seconds=60.2)).ok


def test_a_counterexample_is_one_of_the_named_property() -> None:
    """Only the violation of the named property is the expected counterexample; of a model none is."""
    assert is_counterexample(CASES["NoRoom"], violated("TypeOK", 2))
    assert not is_counterexample(CASES["NoRoom"], violated("Other", 2))
    assert not is_counterexample(CASES["NoRoom"], HOLDS)
    assert not is_counterexample(CASES["Counter"], violated("TypeOK", 2))
    named = replace(violated("ReachesMax", 2), kind=PropertyKind.TEMPORAL)
    assert is_counterexample(CASES["NoUp"], named)


def test_a_witness_has_words_of_its_own() -> None:
    """Its verdict says whether its situation was reached; of any other, and if TLC failed, it is TLC's."""
    assert say_verdict(CASES["MaxIsReached"], AS_EXPECTED["MaxIsReached"]) == "reached"
    assert say_verdict(CASES["MaxIsReached"], HOLDS) == "not reached"
    stopped = replace(HOLDS, verdict=Verdict.STOPPED)
    assert say_verdict(CASES["MaxIsReached"], stopped) == Verdict.STOPPED.value
    assert say_verdict(CASES["NoRoom"], AS_EXPECTED["NoRoom"]) == Verdict.VIOLATED.value


@pytest.mark.parametrize(
    ("recorded", "stale"), [(None, True), ("2.15", True), ("2.19", False), ("2.1", False)]
)
def test_a_temporal_trace_is_as_long_as_the_version_that_it_is_from_has_it(
    recorded: str | None, *, stale: bool
) -> None:
    """Another TLC may come to another counterexample first; the same one must come to the same."""
    result = replace(violated(None, 2), version="TLC2 Version 2.15 of Day Month 20??")
    assert bool(judge(replace(CASES["NoUp"], recorded_with=recorded), result).stale) is stale


def test_a_safety_trace_is_as_long_with_every_version() -> None:
    """A shortest counterexample has one length."""
    result = replace(violated("TypeOK", 4), version="TLC2 Version 2.15 of Day Month 20??")
    assert judge(replace(CASES["NoRoom"], recorded_with="2.19"), result).stale
