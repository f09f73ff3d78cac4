"""The properties of spec/Properties.tla, by their names, over the states of `conformance.model.state`.

The record that each comes from is in spec/Properties.tla; the sentences are those of spec/README.md.

A temporal property speaks of all that is still to come, so it is checked on a lasso. Four of them also have a
form that holds at every step: in each state somebody will see to what they promise, be it a task, a look, or
the sweep of a process that is down. `AT_EVERY_STEP` has all that a single step can break.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from conformance.model import action_properties, invariants, lassos
from conformance.model.state import Constants, State

StateCheck = Callable[[Constants, State], bool]
ActionCheck = Callable[[Constants, State, State], bool]
TemporalCheck = Callable[[Constants, Sequence[State], int], bool]


class Kind(StrEnum):
    """What a property is checked on."""

    STATE = "state"
    """`check(constants, state)`."""
    ACTION = "action"
    """`check(constants, before, after)`."""
    TEMPORAL = "temporal"
    """`check(constants, states, loop)`: the states in order, and then those from index `loop` on for ever."""


@dataclass(frozen=True, slots=True)
class Property:
    """A property.

    Attributes:
        name: As in the spec.
        kind: What it is checked on.
        sentence: What it says, as in spec/README.md.
        check: Says whether it holds; its arguments are those that `kind` names.
        step: The form of a temporal property that holds at every step, where there is one.
    """

    name: str
    kind: Kind
    sentence: str
    check: Callable[..., bool]
    step: StateCheck | None = None


_ALL = (
    Property("TypeOK", Kind.STATE, "Every variable keeps to its values.", invariants.type_ok),
    Property(
        "I1_ConsumedAtMostOnce",
        Kind.STATE,
        "A message is consumed at most once, and given twice only where the records excuse it.",
        invariants.i1_consumed_at_most_once,
    ),
    Property(
        "I1_ConsumedIsGiven",
        Kind.STATE,
        "What is consumed was given to a model, unless its write was not heard of.",
        invariants.i1_consumed_is_given,
    ),
    Property(
        "I2_ConsumedWithItsWrite",
        Kind.STATE,
        "`taken` is past a message exactly if a log write consumed it.",
        invariants.i2_consumed_with_its_write,
    ),
    Property(
        "I3_ClaimHasATask",
        Kind.STATE,
        "A claim that is not a dead holder's has a task that will release it.",
        invariants.i3_claim_has_a_task,
    ),
    Property(
        "I3_OneActiveRun",
        Kind.STATE,
        "Whoever runs holds the claim, unless it was lost as it ran; and its run is the thread's.",
        invariants.i3_one_active_run,
    ),
    Property(
        "I3_NoStrandedAsk",
        Kind.STATE,
        "What is asked has a task; a look or a sweep counts only after a death or a failed release.",
        invariants.i3_no_stranded_ask,
    ),
    Property(
        "I4_FailedTurnConsumesNothing",
        Kind.ACTION,
        "Only a run's start, a reply's answers and a run's end consume.",
        action_properties.i4_failed_turn_consumes_nothing,
    ),
    Property(
        "I4_FailureHandsOverNewer",
        Kind.ACTION,
        "A failure that consumed nothing hands over only what was asked since it read.",
        action_properties.i4_failure_hands_over_newer,
    ),
    Property(
        "I5_OnlyAskedStarts",
        Kind.ACTION,
        "Only what was asked starts a turn.",
        action_properties.i5_only_asked_starts,
    ),
    Property(
        "I6_ReplyAnswers",
        Kind.ACTION,
        "A message is a reply only where requests are open.",
        action_properties.i6_reply_answers,
    ),
    Property(
        "CursorsOnlyMoveForward",
        Kind.ACTION,
        "Both cursors only move forward.",
        action_properties.cursors_only_move_forward,
    ),
    Property(
        "CommittedIsAsked",
        Kind.ACTION,
        "What a command or a reply commits is asked for in the same write.",
        action_properties.committed_is_asked,
    ),
    Property(
        "RunsInTurn",
        Kind.ACTION,
        "A run begins where none is, and pauses by its own task; a pause is left by its answer, an answered"
        " run by its resume.",
        action_properties.runs_in_turn,
    ),
    Property(
        "AskedIsTaken",
        Kind.TEMPORAL,
        "What was asked is taken, unless a failure leaves it to the next command.",
        lassos.asked_is_taken,
        lassos.asked_is_seen_to,
    ),
    Property(
        "SentIsTaken",
        Kind.TEMPORAL,
        "A message asked for is consumed, not only counted.",
        lassos.sent_is_taken,
        lassos.sent_is_seen_to,
    ),
    Property(
        "RefusedIsTaken",
        Kind.TEMPORAL,
        "What a live process was refused is taken, though whoever died never comes back.",
        lassos.refused_is_taken,
    ),
    Property(
        "RepliedResumes",
        Kind.TEMPORAL,
        "A run whose requests are answered resumes.",
        lassos.replied_resumes,
        lassos.replied_is_seen_to,
    ),
    Property(
        "DeadRunEnds",
        Kind.TEMPORAL,
        "A run that no task carries any more is recorded as ended.",
        lassos.dead_run_ends,
        lassos.dead_run_is_seen_to,
    ),
    Property(
        "ClaimsFindWork",
        Kind.STATE,
        "With only messages asked for, no claim finds nothing but positions to count.",
        invariants.claims_find_work,
    ),
    Property(
        "I4_NeverSpins",
        Kind.TEMPORAL,
        "Failures that persist do not make claims without end.",
        lassos.i4_never_spins,
    ),
)
_OF_DIRECT_RUNS = (
    Property(
        "HeldRunLeftAlone",
        Kind.ACTION,
        "A direct run whose caller holds the thread is ended by nobody else.",
        action_properties.held_run_left_alone,
    ),
    Property(
        "DirectRunNotAbandoned",
        Kind.ACTION,
        "No direct run that lives is recorded as ended by somebody else.",
        action_properties.direct_run_not_abandoned,
    ),
)
PROPERTIES: Mapping[str, Property] = {each.name: each for each in (*_ALL, *_OF_DIRECT_RUNS)}
"""Every property, by its name: those of spec/Properties.tla in its order, then of spec/DirectRuns.tla."""

SAFETY: tuple[str, ...] = tuple(
    each.name for each in _ALL if each.kind is not Kind.TEMPORAL and each.name != "ClaimsFindWork"
)
"""What spec/models.yaml calls safety: all properties of a state and of a step, but for `ClaimsFindWork`."""

AT_EVERY_STEP: tuple[str, ...] = (*SAFETY, *(each.name for each in _ALL if each.step))
"""All that one step can break, within any bounds: safety, and what temporal properties say at every step."""


@lru_cache
def _checks(
    names: tuple[str, ...],
) -> tuple[tuple[tuple[str, StateCheck], ...], tuple[tuple[str, ActionCheck], ...]]:
    """The checks of these properties: those of a state, and those of a step."""
    chosen = [PROPERTIES[name] for name in names]
    of_state = [(each.name, each.check if each.kind is Kind.STATE else each.step) for each in chosen]
    return (
        tuple((name, check) for name, check in of_state if check),
        tuple((each.name, each.check) for each in chosen if each.kind is Kind.ACTION),
    )


def broken(
    constants: Constants, before: State | None, after: State, names: tuple[str, ...] = AT_EVERY_STEP
) -> tuple[str, ...]:
    """Return the names of the properties that a step breaks; none if all is well.

    A temporal property counts by its form that holds at every step; one that has none is not checked.

    Args:
        constants: Who there is, and the bounds.
        before: The state before the step; None for an initial state, which no step led to.
        after: The state after it.
        names: The properties to check.

    Raises:
        KeyError: One of `names` is no property.
    """
    of_state = broken_by_state(constants, after, names)
    return of_state if before is None else of_state + broken_by_step(constants, before, after, names)


def broken_by_state(constants: Constants, state: State, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return those of the properties that a state breaks, whatever step led to it; as `broken` has it."""
    return tuple(name for name, check in _checks(names)[0] if not check(constants, state))


def broken_by_step(
    constants: Constants, before: State, after: State, names: tuple[str, ...]
) -> tuple[str, ...]:
    """Return those of the properties that a step itself breaks, whatever its last state breaks."""
    return tuple(name for name, check in _checks(names)[1] if not check(constants, before, after))
