"""Walks of a twin beside its mutant of the model, which must go as it does, step for step."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from conformance.actions import ACTIONS, CANCELLED, UNHEARD, ImpossibleError
from conformance.beside import Beside
from conformance.explore.tally import Tally
from conformance.explore.walk import SHAPES, Walker, constants_of
from conformance.ledger import consumed_by
from conformance.model.model import Model
from conformance.model.state import STARTS, State, left
from conformance.mutants.twin import Twin
from conformance.properties import broken
from conformance.quiet import quiet
from conformance.world.process import THREAD
from conformance.world.world import World
from threadclaim.events import MessagePosted, RequestAnswered

LENGTH = 60
"""How many steps a walk has."""

WALKS_OF_ALL = 5_000
"""Within how many steps one that goes otherwise is found out."""

Skips = Callable[[State, str, str], bool]
"""Whether a step is left out: by the state before it, its action, and its variant."""


def _restart_with_nothing_left(state: State, action: str, _: str) -> bool:
    return action == "Restart" and not left(state)


def _end_of_an_unasked_thread(state: State, action: str, _: str) -> bool:
    return action == "DirectEnd" and state.asked == 0


def _let_go_of_a_start(state: State, action: str, _: str) -> bool:
    return action in {"LetGo", "Cancel"} and any(task.at in STARTS for task in state.task)


def _hold(_: State, action: str, _variant: str) -> bool:
    return action == "HoldThread"


def _unheard_command(_: State, action: str, variant: str) -> bool:
    return action in {"Send", "Answer", "Ask"} and variant == UNHEARD


def _broken_off_send(_: State, action: str, variant: str) -> bool:
    return action == "Send" and variant in {UNHEARD, CANCELLED}


SKIPS: Mapping[str, Skips] = {
    # The mutant's process only starts. With nothing left, the world tells that from the library's by nothing.
    "NoSweep": _restart_with_nothing_left,
    "NoLookNoSweep": _restart_with_nothing_left,
    # What an agent was told is where a thread starts from that nobody asked for (I7): the model has none.
    "StartsFromLastTold": _end_of_an_unasked_thread,
    # The mutant's callers may hold the thread, too; the twin's never do.
    "DirectRunUnheld": _hold,
    # To the mutant that is a claim that fails; to a runner, a command that fails, with effect or without.
    "FailedGrantKeepsClaim": _unheard_command,
    "AskOutsideTry": _unheard_command,
    # The world's claimant goes on to its end in the same step, in which the property has been broken.
    "TakenPastTheHead": _let_go_of_a_start,
    # The mutant's send has no task yet that could fail, or be cancelled, as its write takes effect.
    "AskedAfterClaim": _broken_off_send,
}
"""What is left out of a twin's walks: where it and its mutant differ, and no rule is broken by that."""

UNTIL_BROKEN: Mapping[str, str] = {
    "TakenPastTheHead": "The position past the log's last may come to be that of a run's own event.",
    "CancelledGrantKeepsClaim": "Its task frees the claim that it left behind; a claimant, only its own.",
    "FailedGrantKeepsClaim": "As CancelledGrantKeepsClaim.",
    "StartsFromLastTold": "The mutant's taken stays once it has moved; what an agent was told moves on.",
}
"""The twins that go as their mutants only until a property is broken, and why they do not after."""

NOT_IN_THE_LOG: Mapping[str, str] = {
    "TakenAsItPlans": "What it takes with its claim no event says.",
}
"""The twins whose log does not say all that their mutants consume."""


@dataclass(slots=True)
class MutantWalker(Walker):
    """A walker that takes what the mutant allows, and lets properties break, as they must."""

    skips: Skips = lambda *_: False
    broken: set[str] = field(default_factory=set)

    def _take(self, beside: Beside, action: str, actor: str, rng: random.Random) -> bool:
        """Take a step, if the mutant allows it, and the world can."""
        state = beside.state
        variant = rng.choice(ACTIONS[action].variants)
        if not beside.allows(action, actor) or self.skips(state, action, variant):
            return False
        try:
            taken = beside.take(action, actor, variant)
        except ImpossibleError:
            return False
        constants = beside.model.constants
        self.broken |= set(broken(constants, beside.before, beside.state))
        self.tally.count(constants, beside.path, taken)
        return True


def walk_beside(twin: Twin, model: type[Model], steps: int) -> MutantWalker:
    """Walk a twin beside a model for at least so many steps; raises DivergedError where it goes otherwise."""
    walker = MutantWalker(Tally(), twin.make, model, skips=SKIPS.get(twin.name, lambda *_: False))
    seed = 0
    with quiet(), twin.applied():
        while walker.tally.steps < steps:
            _walk(walker, twin.name, seed)
            seed += 1
    return walker


def _walk(walker: MutantWalker, name: str, seed: int) -> None:
    """One walk; what its log says was consumed is what the mutant has consumed."""
    rng = random.Random(seed)  # noqa: S311  # a walk, no secret
    constants = constants_of(SHAPES[seed % len(SHAPES)])
    walker.broken.clear()
    with World(constants, walker.make) as world:
        beside = Beside(walker.model(constants), world)
        for _ in range(LENGTH):
            if (name in UNTIL_BROKEN and walker.broken) or not walker.step(beside, rng):
                break
        if name not in NOT_IN_THE_LOG:
            assert logged(world) == (beside.state.once, beside.state.twice), f"{name}, seed {seed}"


def logged(world: World) -> tuple[frozenset[int], frozenset[int]]:
    """The positions of the messages that the log says were consumed, and of those consumed twice."""
    entries = world.loop.run(world.workspace.read(threads=[THREAD]))
    seqs = [e.seq for e in entries if isinstance(e.event, MessagePosted | RequestAnswered)]
    times = {seqs.index(seq) + 1: count for seq, count in consumed_by(entries).items()}
    return frozenset(times), frozenset(place for place, count in times.items() if count > 1)
