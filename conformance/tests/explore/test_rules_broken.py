"""Rules of the library that have no mutant, broken by hand: the state machine catches each."""

import re

import pytest

from conformance.beside import DivergedError, UndoneError
from conformance.explore.check import BrokenError
from conformance.explore.finish import LeftOverError
from conformance.explore.profiles import PROFILES
from conformance.explore.setting import AGENTS, DIRECT, REAL, STEPPED, as_its_agent_has_it, model_of
from conformance.explore.tally import Tally
from conformance.explore.walk import Walker
from conformance.tests.explore import broken_direct_rules as direct_rules
from conformance.tests.explore import broken_rules as rules
from conformance.tests.explore import broken_tellings as tellings
from conformance.tests.explore.broken_rules import Break
from conformance.world.loop import WorldError

PROFILE = PROFILES["pull-request"]
WALKS = {STEPPED: PROFILE.walks, REAL: PROFILE.real, DIRECT: PROFILE.direct}
"""Within so many walks each is caught: those that every change has with such an agent."""

Kinds = type[Exception] | tuple[type[Exception], ...]

BROKEN: list[tuple[Break, str, Kinds, str]] = [
    (rules.keeps_what_it_gave, STEPPED, WorldError, "twice"),
    (rules.keeps_what_it_gave, REAL, WorldError, "twice"),
    (rules.stops_nothing, STEPPED, (UndoneError, DivergedError), r"(EndRun|Cancel)\("),
    (rules.stops_and_says_no, STEPPED, WorldError, r"stop\(\) of \w+ says False"),
    (rules.renews_once, STEPPED, (UndoneError, WorldError), "no timer for a renewal|for no longer"),
    (rules.gives_up_renewing, STEPPED, UndoneError, r"no timer for a renewal"),
    (rules.follows_no_more, STEPPED, UndoneError, r"Deliver\("),
    (
        rules.stops_as_it_starts,
        STEPPED,
        (BrokenError, WorldError),
        "no agent was told|no call|its agent did not",
    ),
    (rules.watches_on, STEPPED, (LeftOverError, WorldError), "watcher|no task of the model"),
    (rules.forgets_its_input, STEPPED, DivergedError, "release"),
    (rules.tells_of_no_failure, STEPPED, BrokenError, "no such end"),
    (rules.replies_in_other_words, STEPPED, BrokenError, "something else"),
    (rules.keeps_the_reply_it_left, STEPPED, DivergedError, "release"),
    (rules.records_facts_of_any_run, REAL, (BrokenError, WorldError), "not go on there|is kept: True"),
    (rules.forgets_a_refusal, STEPPED, DivergedError, "look"),
    (rules.ends_any_segment, STEPPED, DivergedError, "run"),
    (rules.renews_until_cancelled, STEPPED, UndoneError, "no timer for a renewal"),
    (rules.completes_as_stopped, STEPPED, BrokenError, "no such end"),
    (rules.resumes_without_requests, STEPPED, WorldError, "other answers than it has requests"),
    (rules.gives_replies_as_prompts, STEPPED, WorldError, "a reply as its prompt too"),
    (rules.stops_what_has_started, STEPPED, (DivergedError, WorldError), "cancelled hearing|no call"),
    (tellings.sweeps_in_silence, STEPPED, WorldError, "its caller is not told"),
    (rules.counts_over_gaps, STEPPED, (DivergedError, BrokenError), "once|taken"),
    (rules.counts_what_was_never_given, STEPPED, (DivergedError, WorldError), "once|taken"),
    (rules.ends_before_it_is_recorded, STEPPED, WorldError, "before its end is recorded"),
    (rules.stops_without_waiting, STEPPED, WorldError, "before the run's end is recorded"),
    (rules.counts_from_the_answer, STEPPED, WorldError, "s too long"),
    (rules.renews_for_nothing, STEPPED, WorldError, "counts on it for no longer"),
    (rules.replies_to_approvals, STEPPED, WorldError, "approval of .* has Reply"),
    (rules.takes_errors_for_stops, STEPPED, BrokenError, "no such end"),
    (rules.takes_cancellations_for_stops, STEPPED, BrokenError, "no such end"),
    (rules.claims_for_ever, STEPPED, WorldError, "Storage has the claim of"),
    (rules.renews_for_ever, STEPPED, WorldError, "Storage has the claim of"),
    (rules.gives_the_newest_first, STEPPED, WorldError, "not in the log's order"),
    (rules.keeps_lapsed_claims, STEPPED, DivergedError, "lease"),
    (rules.renews_too_late, STEPPED, WorldError, "no sooner than it ends"),
    (rules.starts_though_stopped, STEPPED, WorldError, "for no call that is known"),
    (rules.stops_only_the_first, STEPPED, WorldError, r"stop\(\) halts 1 of"),
    (tellings.fails_in_silence, STEPPED, WorldError, "is not told that"),
    (
        tellings.waits_unshielded,
        STEPPED,
        WorldError,
        "and all others with it|before its end is recorded",
    ),
    (tellings.told_otherwise(history=lambda _: ()), STEPPED, WorldError, "as its history"),
    (tellings.told_otherwise(notices=lambda _: ()), STEPPED, BrokenError, "told of the notices"),
    (
        tellings.told_otherwise(prompt=lambda prompt: prompt[::-1]),
        STEPPED,
        WorldError,
        "not in the log's order",
    ),
    (tellings.keeps_history_of_pauses_only, STEPPED, BrokenError, "kept as the history"),
    (tellings.abandons_as_completed, STEPPED, BrokenError, "as abandoned, and as completed"),
    (tellings.resumes_as_if_new, STEPPED, (BrokenError, DivergedError), "that it resumes|run"),
    (tellings.fails_without_words, STEPPED, BrokenError, "does not say of what"),
    (tellings.pauses_for_nothing, STEPPED, DivergedError, "run"),
    (tellings.records_no_facts, REAL, BrokenError, "calls of"),
    (tellings.says_that_it_committed_nothing, STEPPED, WorldError, "has committed nothing"),
    (tellings.hides_its_run, STEPPED, WorldError, "is told of the runs"),
    (tellings.says_that_none_runs, STEPPED, WorldError, "says that none does"),
    (tellings.tells_of_another_end, STEPPED, (BrokenError, WorldError), "hears stopped"),
    (tellings.passes_cancellations_on, STEPPED, WorldError, "cancellation, of nobody's|is not told"),
    (tellings.tells_of_another_message, STEPPED, BrokenError, "A caller was told of"),
    (direct_rules.starts_directly_without_its_claim, DIRECT, DivergedError, "LetThread|DirectStart"),
    (direct_rules.starts_directly_beside_a_pause, DIRECT, DivergedError, "DirectStart"),
    (direct_rules.refuses_direct_starts_of_old_threads, DIRECT, WorldError, "and nothing is in its way"),
    (direct_rules.refuses_lapsed_direct_starts_as_bad_input, DIRECT, WorldError, "and not ClaimLost"),
    (direct_rules.leaves_dead_runs_to_direct_ones, DIRECT, BrokenError, "and no end of .* before it"),
    (direct_rules.refuses_direct_starts_beside_dead_runs, DIRECT, WorldError, "and nothing is in its way"),
    (direct_rules.abandons_directly_without_its_claim, DIRECT, DivergedError, "DirectStart"),
    (direct_rules.gives_up_the_thread_in_silence, DIRECT, UndoneError, "LetThread"),
]


def walk_all(agent: str) -> None:
    """Walk with an agent until something goes wrong."""
    walker = Walker(Tally(), model=model_of(agent), make_agent=AGENTS[agent])
    with as_its_agent_has_it(agent):
        for seed in range(WALKS[agent]):
            walker.walk(seed, PROFILE.steps)


@pytest.mark.parametrize(
    ("break_", "agent", "kind", "why"), BROKEN, ids=[f"{b.__name__}-{agent}" for b, agent, *_ in BROKEN]
)
def test_a_broken_rule_is_caught(
    break_: Break, agent: str, kind: Kinds, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For what it is: a message given twice, a step that the world cannot take, what is left over."""
    break_(monkeypatch)
    with pytest.raises(kind) as caught:
        walk_all(agent)
    assert re.search(why, str(caught.value)), str(caught.value)
