"""What a run of TLC comes to: its verdict, its counts, and the trace that shows a violation."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from conformance.tlc.values import Value


class Verdict(StrEnum):
    """How a run ended."""

    HOLDS = "holds"
    """All that the cfg names holds of every reachable state, and there is at least one."""
    VIOLATED = "violated"
    """An invariant or a property is violated; `Result.property` says which, where TLC does."""
    DEADLOCK = "deadlock"
    """A state has no next state, and the run was to check that."""
    ASSUMPTION_FALSE = "assumption false"
    """An ASSUME does not hold of the constants."""
    SPEC_ERROR = "spec error"
    """The module, or one that it extends, does not parse, or names what is not defined."""
    CFG_ERROR = "cfg error"
    """The cfg does not parse, or does not fit the module."""
    EVALUATION_ERROR = "evaluation error"
    """TLC came to an expression that it cannot evaluate, or to an Assert that is false."""
    OUT_OF_MEMORY = "out of memory"
    """The Java heap was too small."""
    STOPPED = "stopped"
    """TLC was stopped before it had said how it ended: what it found until then is no result."""
    ERROR = "error"
    """Anything else, such as Java refusing to start."""


class PropertyKind(StrEnum):
    """How TLC checks what a cfg names."""

    INVARIANT = "invariant"
    """Under INVARIANT: a predicate of each state."""
    ACTION_PROPERTY = "action property"
    """Under PROPERTY, and checked step by step: `[][A]_v`, or a predicate of the initial states."""
    TEMPORAL = "temporal property"
    """Under PROPERTY, and checked on the whole graph. TLC does not say which one is violated."""


@dataclass(frozen=True, slots=True)
class State:
    """A state of a trace, and the action that led to it.

    Attributes:
        action: The action's name, as TLC prints it; `Init` for an initial state.
        location: Where the action is in the module, as TLC prints it; empty for an initial state.
        variables: Every variable's value, by name.
    """

    action: str
    location: str
    variables: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Trace:
    """A behaviour of the model: from an initial state to a violation, or into a loop.

    Attributes:
        states: The states in order, the initial one first.
        loop: The index in `states`, from 0, of the state that follows the last one, again and again; the last
            one's own index if nothing happens any more. None if the trace just ends.
        back: The action by which the last state goes back to `loop`; empty if none does, or it is unknown.
    """

    states: tuple[State, ...]
    loop: int | None = None
    back: str = ""

    @property
    def stuttering(self) -> bool:
        """Whether the trace stays in its last state for ever."""
        return self.loop == len(self.states) - 1


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run has come.

    Attributes:
        depth: The length of the longest path so far, in states.
        generated: How many states were computed.
        distinct: How many different ones there were.
        queue: How many of these still wait for their next states to be computed.
        generated_per_minute: The rate since the last report; 0 where TLC does not give one.
    """

    depth: int
    generated: int
    distinct: int
    queue: int
    generated_per_minute: int


@dataclass(frozen=True, slots=True)
class Coverage:
    """What an action did: how many states it was the first to reach, and how many it computed in all."""

    distinct: int
    total: int


@dataclass(frozen=True, slots=True)
class Result:
    """What a run of TLC comes to.

    Attributes:
        verdict: How it ended.
        kind: What kind of property was violated, or could not be evaluated; None if none was.
        property: Its name; None for a temporal one, which TLC does not name. A property that is no plain
            `[][A]_v`, such as a conjunction of these, TLC names by the place of the part that is violated.
        message: What TLC says of it, for a person; never empty.
        trace: The states that lead to the violation or the error; None if TLC gave none.
        generated: How many states were computed.
        distinct: How many different ones there were.
        queue: How many still waited for their next states; not 0 if TLC ended at a violation.
        depth: The length of the longest path, in states; exact only with one worker.
        coverage: What each action did, by name; empty if it was not asked for.
        warnings: What TLC and its parser warn of, and what of TLC's output could not be read.
        version: TLC's, as it prints it; empty if it did not.
        exit_code: The process's; None if it was stopped by us.
        seconds: How long the process ran.
    """

    verdict: Verdict
    kind: PropertyKind | None
    property: str | None
    message: str
    trace: Trace | None
    generated: int
    distinct: int
    queue: int
    depth: int
    coverage: Mapping[str, Coverage]
    warnings: tuple[str, ...]
    version: str
    exit_code: int | None
    seconds: float
