"""Which properties a trace breaks, and where: judged from its states, whoever wrote them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from conformance.view import action_properties, invariants, temporal
from conformance.view.invariants import Owners, Reason
from conformance.view.snapshot import Snapshot
from conformance.view.temporal import Lasso, Never

Invariant = Callable[[Snapshot, Owners], Iterator[Reason]]
ActionProperty = Callable[[Snapshot, Snapshot, Owners], Iterator[Reason]]
Temporal = Callable[[Lasso], Iterator[Never]]

INVARIANTS: Mapping[str, Invariant] = {
    "TypeOK": invariants.type_ok,
    "I1_ConsumedAtMostOnce": invariants.i1_consumed_at_most_once,
    "I1_ConsumedIsGiven": invariants.i1_consumed_is_given,
    "I2_ConsumedWithItsWrite": invariants.i2_consumed_with_its_write,
    "I3_ClaimHasATask": invariants.i3_claim_has_a_task,
    "I3_OneActiveRun": invariants.i3_one_active_run,
    "I3_NoStrandedAsk": invariants.i3_no_stranded_ask,
    "ClaimsFindWork": invariants.claims_find_work,
}
ACTION_PROPERTIES: Mapping[str, ActionProperty] = {
    "I4_FailedTurnConsumesNothing": action_properties.i4_failed_turn_consumes_nothing,
    "I4_FailureHandsOverNewer": action_properties.i4_failure_hands_over_newer,
    "I5_OnlyAskedStarts": action_properties.i5_only_asked_starts,
    "I6_ReplyAnswers": action_properties.i6_reply_answers,
    "CursorsOnlyMoveForward": action_properties.cursors_only_move_forward,
    "CommittedIsAsked": action_properties.committed_is_asked,
    "RunsInTurn": action_properties.runs_in_turn,
    "HeldRunLeftAlone": action_properties.held_run_left_alone,
    "DirectRunNotAbandoned": action_properties.direct_run_not_abandoned,
}
TEMPORAL: Mapping[str, Temporal] = {
    "AskedIsTaken": temporal.asked_is_taken,
    "SentIsTaken": temporal.sent_is_taken,
    "RefusedIsTaken": temporal.refused_is_taken,
    "RepliedResumes": temporal.replied_resumes,
    "DeadRunEnds": temporal.dead_run_ends,
    "I4_NeverSpins": temporal.i4_never_spins,
}
ALL_PROPERTIES = frozenset({*INVARIANTS, *ACTION_PROPERTIES, *TEMPORAL})

ONLY_IF_NAMED = frozenset({"ClaimsFindWork", "DirectRunNotAbandoned", *TEMPORAL})
"""Promises of some models only, and those that lean on a fairness, which a trace does not say."""
WITH_DIRECT_RUNS = frozenset(
    {"I1_ConsumedAtMostOnce", "I2_ConsumedWithItsWrite", "HeldRunLeftAlone", "RunsInTurn"}
)
"""What spec/DirectRuns.cfg promises of runs made without the runner."""


@dataclass(frozen=True, slots=True)
class Broken:
    """A property that begins to be broken at a step.

    `name` is the property's, `step` the index of the state that the step leads to, `reasons` what breaks it,
    and `since` the index from which on the trace waits for what never comes, for a temporal property.
    """

    name: str
    step: int
    reasons: tuple[Reason, ...]
    since: int | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """A trace to judge: its states, each task's process, the loop's first index, and what its file says.

    `named` has the properties that the file names as broken; `recorded` is whether a run of the runner wrote
    it. A counterexample may be a mutant's, whose tasks have values of its own: TypeOK is judged if named.
    `several` are the indices of the states that several steps of the model's led to at once, which a step of
    the runner may be: of such a step no action property can be judged, as the states between are not there.
    """

    states: Sequence[Snapshot]
    owners: Owners
    loop: int | None
    named: frozenset[str]
    recorded: bool
    several: frozenset[int] = frozenset()

    @property
    def judged(self) -> frozenset[str]:
        """The properties that are judged."""
        direct = any(task.at in {"holding", "direct"} for now in self.states for task in now.task.values())
        usual = WITH_DIRECT_RUNS if direct else ALL_PROPERTIES - ONLY_IF_NAMED
        return (usual if self.recorded else usual - {"TypeOK"}) | (self.named & ALL_PROPERTIES)


def judge(case: Case) -> list[Broken]:
    """Return every property that is broken, at each step where that begins, those that the file names first.

    A temporal property is broken at the last step: what never comes is missing from then on.
    """
    found = [*_invariants(case), *_action_properties(case), *_temporal(case)]
    return sorted(found, key=lambda broken: (broken.step, broken.name not in case.named))


def unconfirmed(case: Case, found: Sequence[Broken]) -> list[str]:
    """Return the properties that the file names as broken, and that its states show to hold.

    Of a property that is not ours, and of a temporal one where there is no loop, the states show nothing.
    """
    shown = {broken.name for broken in found}
    telling = ALL_PROPERTIES if case.loop is not None else ALL_PROPERTIES - TEMPORAL.keys()
    return sorted((case.named & telling) - shown)


def _invariants(case: Case) -> Iterator[Broken]:
    """Yield where each invariant begins to be broken."""
    for name, reasons_in in INVARIANTS.items():
        if name not in case.judged:
            continue
        was_broken = False
        for index, now in enumerate(case.states):
            reasons = tuple(reasons_in(now, case.owners))
            if reasons and not was_broken:
                yield Broken(name, index, reasons)
            was_broken = bool(reasons)


def _action_properties(case: Case) -> Iterator[Broken]:
    """Yield each step that breaks an action property."""
    for name, reasons_in in ACTION_PROPERTIES.items():
        if name not in case.judged:
            continue
        for index, (old, new) in enumerate(pairwise(case.states), start=1):
            if index in case.several:
                continue
            if reasons := tuple(reasons_in(old, new, case.owners)):
                yield Broken(name, index, reasons)


def _temporal(case: Case) -> Iterator[Broken]:
    """Yield the temporal properties that the loop breaks."""
    if case.loop is None:
        return
    lasso = Lasso(case.states, case.loop, case.owners)
    for name, nevers_in in TEMPORAL.items():
        if name in case.judged and (nevers := list(nevers_in(lasso))):
            since = min(never.since for never in nevers)
            yield Broken(name, len(case.states) - 1, tuple(never.reason for never in nevers), since)
