"""Rules of the library that have no mutant, broken by hand: the state machine catches each."""

import re

import pytest

from conformance.beside import DivergedError, UndoneError
from conformance.explore.check import BrokenError
from conformance.explore.finish import LeftOverError
from conformance.explore.profiles import PROFILES
from conformance.explore.setting import DIRECT, as_its_agent_has_it, model_of
from conformance.explore.tally import Tally
from conformance.explore.walk import Walker
from conformance.tests.explore import broken_rules as rules
from conformance.tests.explore import broken_tellings as tellings
from conformance.tests.explore.broken_rules import Break
from conformance.world.agent import MakeAgent, SteppedAgent
from conformance.world.loop import WorldError
from conformance.world.model_agent import ModelAgent

WALKS = 800
"""Within so many walks each is caught; a profile of a pull request has more."""

Kinds = type[Exception] | tuple[type[Exception], ...]

BROKEN: list[tuple[Break, MakeAgent, Kinds, str]] = [
    (rules.keeps_what_it_gave, SteppedAgent, WorldError, "twice"),
    (rules.keeps_what_it_gave, ModelAgent, WorldError, "twice"),
    (rules.stops_nothing, SteppedAgent, (UndoneError, DivergedError), r"(EndRun|Cancel)\("),
    (rules.stops_and_says_no, SteppedAgent, WorldError, r"stop\(\) of \w+ says False"),
    (rules.renews_once, SteppedAgent, (UndoneError, WorldError), "no timer for a renewal|for no longer"),
    (rules.gives_up_renewing, SteppedAgent, UndoneError, r"no timer for a renewal"),
    (rules.follows_no_more, SteppedAgent, UndoneError, r"Deliver\("),
    (
        rules.stops_as_it_starts,
        SteppedAgent,
        (BrokenError, WorldError),
        "no agent was told|no call|its agent did not",
    ),
    (rules.watches_on, SteppedAgent, (LeftOverError, WorldError), "watcher|no task of the model"),
    (rules.forgets_its_input, SteppedAgent, DivergedError, "release"),
    (rules.tells_of_no_failure, SteppedAgent, BrokenError, "no such end"),
    (rules.replies_in_other_words, SteppedAgent, BrokenError, "something else"),
    (rules.keeps_the_reply_it_left, SteppedAgent, DivergedError, "release"),
    (rules.records_facts_of_any_run, ModelAgent, (BrokenError, WorldError), "not go on there|is kept: True"),
    (rules.forgets_a_refusal, SteppedAgent, DivergedError, "look"),
    (rules.ends_any_segment, SteppedAgent, DivergedError, "run"),
    (rules.renews_until_cancelled, SteppedAgent, UndoneError, "no timer for a renewal"),
    (rules.completes_as_stopped, SteppedAgent, BrokenError, "no such end"),
    (rules.resumes_without_requests, SteppedAgent, WorldError, "other answers than it has requests"),
    (rules.gives_replies_as_prompts, SteppedAgent, WorldError, "a reply as its prompt too"),
    (rules.stops_what_has_started, SteppedAgent, (DivergedError, WorldError), "cancelled hearing|no call"),
    (tellings.sweeps_in_silence, SteppedAgent, WorldError, "its caller is not told"),
    (rules.counts_over_gaps, SteppedAgent, (DivergedError, BrokenError), "once|taken"),
    (rules.counts_what_was_never_given, SteppedAgent, (DivergedError, WorldError), "once|taken"),
    (rules.ends_before_it_is_recorded, SteppedAgent, WorldError, "before its end is recorded"),
    (rules.stops_without_waiting, SteppedAgent, WorldError, "before the run's end is recorded"),
    (rules.counts_from_the_answer, SteppedAgent, WorldError, "s too long"),
    (rules.renews_for_nothing, SteppedAgent, WorldError, "counts on it for no longer"),
    (rules.replies_to_approvals, SteppedAgent, WorldError, "approval of .* has Reply"),
    (rules.takes_errors_for_stops, SteppedAgent, BrokenError, "no such end"),
    (rules.takes_cancellations_for_stops, SteppedAgent, BrokenError, "no such end"),
    (rules.claims_for_ever, SteppedAgent, WorldError, "Storage has the claim of"),
    (rules.renews_for_ever, SteppedAgent, WorldError, "Storage has the claim of"),
    (rules.gives_the_newest_first, SteppedAgent, WorldError, "not in the log's order"),
    (rules.keeps_lapsed_claims, SteppedAgent, DivergedError, "lease"),
    (rules.renews_too_late, SteppedAgent, WorldError, "no sooner than it ends"),
    (rules.starts_though_stopped, SteppedAgent, WorldError, "for no call that is known"),
    (rules.stops_only_the_first, SteppedAgent, WorldError, r"stop\(\) halts 1 of"),
    (tellings.fails_in_silence, SteppedAgent, WorldError, "is not told that"),
    (
        tellings.waits_unshielded,
        SteppedAgent,
        WorldError,
        "and all others with it|before its end is recorded",
    ),
    (tellings.told_otherwise(history=lambda _: ()), SteppedAgent, WorldError, "as its history"),
    (tellings.told_otherwise(notices=lambda _: ()), SteppedAgent, BrokenError, "told of the notices"),
    (
        tellings.told_otherwise(prompt=lambda prompt: prompt[::-1]),
        SteppedAgent,
        WorldError,
        "not in the log's order",
    ),
    (tellings.keeps_history_of_pauses_only, SteppedAgent, BrokenError, "kept as the history"),
    (tellings.abandons_as_completed, SteppedAgent, BrokenError, "as abandoned, and as completed"),
    (tellings.resumes_as_if_new, SteppedAgent, (BrokenError, DivergedError), "that it resumes|run"),
    (tellings.fails_without_words, SteppedAgent, BrokenError, "does not say of what"),
    (tellings.pauses_for_nothing, SteppedAgent, DivergedError, "run"),
    (tellings.records_no_facts, ModelAgent, BrokenError, "calls of"),
    (tellings.says_that_it_committed_nothing, SteppedAgent, WorldError, "has committed nothing"),
    (tellings.hides_its_run, SteppedAgent, WorldError, "is told of the runs"),
    (tellings.says_that_none_runs, SteppedAgent, WorldError, "says that none does"),
    (tellings.tells_of_another_end, SteppedAgent, (BrokenError, WorldError), "hears stopped"),
    (tellings.passes_cancellations_on, SteppedAgent, WorldError, "cancellation, of nobody's|is not told"),
    (tellings.tells_of_another_message, SteppedAgent, BrokenError, "A caller was told of"),
]


def walk_all(walker: Walker, walks: int = WALKS) -> None:
    """Walk until something goes wrong."""
    for seed in range(walks):
        walker.walk(seed, 60)


@pytest.mark.parametrize(
    ("break_", "make_agent", "kind", "why"), BROKEN, ids=[f"{b.__name__}-{a.__name__}" for b, a, *_ in BROKEN]
)
def test_a_broken_rule_is_caught(
    break_: Break, make_agent: MakeAgent, kind: Kinds, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For what it is: a message given twice, a step that the world cannot take, what is left over."""
    break_(monkeypatch)
    with pytest.raises(kind) as caught:
        walk_all(Walker(Tally(), make_agent=make_agent))
    assert re.search(why, str(caught.value)), str(caught.value)


@pytest.mark.parametrize(
    ("break_", "kind", "why"),
    [
        (rules.starts_directly_without_its_claim, DivergedError, "LetThread|DirectStart"),
        (rules.starts_directly_beside_a_pause, DivergedError, "DirectStart"),
        (rules.gives_up_the_thread_in_silence, UndoneError, "LetThread"),
    ],
)
def test_a_broken_rule_of_direct_runs_is_caught(
    break_: Break, kind: Kinds, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a profile of a pull request walks beside callers who make runs of their own."""
    break_(monkeypatch)
    with as_its_agent_has_it(DIRECT), pytest.raises(kind) as caught:
        walk_all(Walker(Tally(), model=model_of(DIRECT)), PROFILES["pull-request"].direct)
    assert re.search(why, str(caught.value)), str(caught.value)
