"""A walk, walked again: by its steps, and with as few of them as still go wrong in the same way."""

from collections.abc import Sequence
from dataclasses import dataclass

from conformance.actions import ACTIONS
from conformance.beside import Beside, DivergedError, Taken
from conformance.explore.check import BrokenError, check
from conformance.explore.record import seen_as
from conformance.explore.tally import Tally
from conformance.explore.walk import Walker, may_be
from conformance.model.model import Model
from conformance.model.state import Constants
from conformance.world.agent import MakeAgent, SteppedAgent
from conformance.world.process import MakeRunner, make_runner
from conformance.world.world import World

Steps = Sequence[tuple[str, str, str]]
"""Actions, each with its actor and its variant."""


@dataclass(frozen=True, slots=True)
class Walked:
    """A walk that was walked again: how far it came, what went wrong, and the step that did, if one did."""

    beside: Beside
    error: Exception | None
    last: Taken | None

    @property
    def kind(self) -> tuple[str, ...]:
        """What went wrong, to be told from other things that may go wrong."""
        names = self.error.names if isinstance(self.error, BrokenError) else ()
        return (type(self.error).__name__, *names)


def again(
    constants: Constants,
    steps: Steps,
    make: MakeRunner = make_runner,
    *,
    make_agent: MakeAgent = SteppedAgent,
) -> Walked:
    """Walk these steps, but for those that cannot be done where they come; then all that is fair."""
    with World(constants, make, make_agent) as world:
        beside = Beside(Model(constants), world)
        for action, actor, variant in steps:
            if action not in ACTIONS or not may_be(beside, action, actor):
                continue
            try:
                if beside.try_take(action, actor, variant) is not None:
                    check(beside)
            except DivergedError as error:
                state = seen_as(beside.state, error.seen)
                return Walked(beside, error, Taken(action, actor, variant, error.done, state))
            except Exception as error:  # noqa: BLE001  # whatever goes wrong is what is told
                return Walked(beside, error, None)
        try:
            Walker(Tally()).end(beside)
        except DivergedError as error:
            taken = Taken("", "", "", error.done, seen_as(beside.state, error.seen))
            return Walked(beside, error, taken)
        except Exception as error:  # noqa: BLE001  # whatever goes wrong is what is told
            return Walked(beside, error, None)
        return Walked(beside, None, None)


def shrink(
    constants: Constants,
    steps: Steps,
    make: MakeRunner = make_runner,
    *,
    make_agent: MakeAgent = SteppedAgent,
) -> Walked:
    """The walk with as few steps as still go wrong in the same way: it leaves out ever smaller parts."""
    best, kept = again(constants, steps, make, make_agent=make_agent), list(steps)
    if best.error is None:
        return best
    size = max(len(kept) // 2, 1)
    while size:
        place = 0
        while place < len(kept):
            fewer = kept[:place] + kept[place + size :]
            walked = again(constants, fewer, make, make_agent=make_agent)
            if walked.error is not None and walked.kind == best.kind:
                best, kept = walked, fewer
            else:
                place += size
        size //= 2
    return best
