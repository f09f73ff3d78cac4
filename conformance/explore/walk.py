"""One walk: the real runner taken from step to step beside the model, and checked after each."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from conformance.actions import ACTIONS
from conformance.beside import Beside, Step, apart
from conformance.explore.candidates import NEXT, Candidate, candidates
from conformance.explore.check import LEDGER, BrokenError, check
from conformance.explore.finish import LeftOverError, finish
from conformance.explore.tally import Tally
from conformance.ledger import audit
from conformance.model.model import Model
from conformance.model.state import AT_REST, MANY, Constants, State
from conformance.world.agent import MakeAgent, SteppedAgent
from conformance.world.memory import MakeStorage, WorldStorage
from conformance.world.process import MakeRunner, make_runner
from conformance.world.world import World

SHAPES: tuple[tuple[int, int], ...] = ((2, 1), (2, 2), (3, 1), (1, 2))
"""How many processes, and tasks of each, the walks have in turn."""


APART = 0.1
"""How often others' steps are taken between a step's effect and its answer."""

MOST_BETWEEN, GOES_ON_BETWEEN = 3, 0.4
"""How many of them there may be, and how often one is followed by another."""


def meanwhile_of(beside: Beside, action: str, actor: str, rng: random.Random) -> list[Step]:
    """Steps that may come between an action's effect and its answer, one after the other; none if none may.

    Whoever took the first goes on, if that may be: an ask and its refusal come to more than either.
    """
    between, steps = beside.between(action, actor), list[Step]()
    while between.after and len(steps) < MOST_BETWEEN:
        found = [(other, by) for other, by, _ in candidates(beside.model.constants, between.after[0])]
        rng.shuffle(found)
        if steps:
            found.sort(key=lambda step: step[1] != steps[-1].actor)
        step = next((step for step in found if between.lets(*step)), None)
        if step is None:
            break
        steps.append(Step(*step, rng.choice(ACTIONS[step[0]].plain)))
        between.go_on([step])
        if rng.random() > GOES_ON_BETWEEN:
            break
    return steps


GOES_ON = frozenset(action for actions in NEXT.values() for action in actions) | {"Fenced"}
"""What a task that stalls hardly does."""

AFTER_A_LEFT_REPLY = {"Fail": 12.0, "Replan": 0.3}
"""How much more a task fails, and less it goes on, whose reply was left: so few replies are."""

LATE_PAUSE = frozenset({"Pause", "EndFails", "LetGo", "LoseClaim"})
BEFORE_ITS_ANSWER, OF_ANOTHERS_RUN = 0.03, 12.0
"""How much less a pause is tried again that is recorded already, and how much more once its run goes on.

Its answer was lost. Another's segment may be active by then, which the run's id does not tell from its own.
"""

STALLS, LAPSES, STALL_BEGINS = 0.02, 6.0, 0.08
"""How much less it does so, and how much more its claim lapses; and how often one begins to stall."""


def _delay_late_pauses(
    constants: Constants, state: State, found: Sequence[Candidate], weights: list[float]
) -> None:
    """Have a pause that is recorded, and whose answer was lost, be tried again once its run goes on."""
    late = {
        name
        for name, task in zip(constants.tasks, state.task, strict=True)
        if task.at == "pausing" and state.run.by != name
    }
    if not late:
        return
    again = OF_ANOTHERS_RUN if state.run.st == "active" else BEFORE_ITS_ANSWER
    for place, (action, actor, _) in enumerate(found):
        if actor in late and (action in LATE_PAUSE or action == "Lapse"):
            weights[place] *= LAPSES if action == "Lapse" else again


def may_be(beside: Beside, action: str, actor: str) -> bool:
    """Whether the model allows a step, or it must change nothing: an answer to what nobody has asked, say."""
    if beside.allows(action, actor):
        return True
    if action == "LookAgain":
        return beside.state.lease != "free"
    if action == "DirectStart":  # refused, if the claim has lapsed or a run waits: then its caller leaves
        return at_of(beside, actor) == "holding"
    idle = at_of(beside, actor) == "idle"
    return idle and (action == "Recover" or (action == "Answer" and beside.state.run.st != "paused"))


def at_of(beside: Beside, actor: str) -> str:
    """Where a task is; "" for what is none."""
    place = beside.model.place.get(actor)
    return "" if place is None else beside.state.task[place].at


def constants_of(shape: tuple[int, int], *, messages: int = 5, notes: int = 5) -> Constants:
    """The bounds of a walk: any number of faults, few messages and notes."""
    return Constants.of(
        *shape,
        max_msgs=messages,
        max_notes=notes,
        max_crash=MANY,
        max_lapse=MANY,
        max_cancel=MANY,
        max_fail=MANY,
    )


@dataclass(slots=True)
class Walker:
    """Walks, steered towards what `tally` says has been rare."""

    tally: Tally
    make: MakeRunner = make_runner
    model: type[Model] = Model
    make_agent: MakeAgent = SteppedAgent
    make_storage: MakeStorage = WorldStorage
    beside: Beside | None = None
    _rare: dict[tuple[str, str], float] = field(default_factory=dict)
    _stall: tuple[str, int] = ("", 0)

    def walk(self, seed: int, length: int) -> Beside:
        """Walk at most `length` steps from the beginning, and then to the end of all that is fair.

        Raises DivergedError, BrokenError or LeftOverError; `beside` is the walk then.
        """
        self._rare.clear()
        self.tally.begin()
        self._stall = ("", 0)
        rng = random.Random(seed)  # noqa: S311  # a walk, no secret
        constants = constants_of(SHAPES[seed % len(SHAPES)])
        with World(constants, self.make, self.make_agent, self.make_storage) as world:
            beside = self.beside = Beside(self.model(constants), world)
            for _ in range(length):
                if not self.step(beside, rng):
                    break
            self.end(beside)
        self.tally.walks += 1
        return beside

    def step(self, beside: Beside, rng: random.Random) -> bool:
        """Take one step, whichever the weights and `rng` choose; False if there is none to take."""
        found = list(candidates(beside.model.constants, beside.state))
        weights = self._weights(beside, found, self._stalled(beside, rng))
        while found:
            place = rng.choices(range(len(found)), weights)[0]
            action, actor, _ = found.pop(place)
            weights.pop(place)
            if may_be(beside, action, actor) and self._take(beside, action, actor, rng):
                return True
        return False

    def _weights(self, beside: Beside, found: Sequence[Candidate], stalled: str | None) -> list[float]:
        """How likely each is: the rarer it was, the more; but for whom `stalled` is, and a left reply."""
        constants, state, left = beside.model.constants, beside.state, self.tally.left_replies
        at = {name: task.at for name, task in zip(constants.tasks, state.task, strict=True)}
        weights = [weight * self._rarity(action, at.get(actor, "")) for action, actor, weight in found]
        _delay_late_pauses(constants, state, found, weights)
        if stalled is None and not left:
            return weights
        for place, (action, actor, _) in enumerate(found):
            if actor == stalled:
                weights[place] *= STALLS if action in GOES_ON else LAPSES if action == "Lapse" else 1.0
            if actor in left:
                weights[place] *= AFTER_A_LEFT_REPLY.get(action, 1.0)
        return weights

    def _take(self, beside: Beside, action: str, actor: str, rng: random.Random) -> bool:
        """Take a step, if the world can; now and then with others between its effect and its answer."""
        variant = rng.choice(ACTIONS[action].variants)
        others = meanwhile_of(beside, action, actor, rng) if rng.random() < APART else ()
        taken = beside.try_take(action, actor, apart(variant, others))
        if taken is None:
            return False
        check(beside)
        self.tally.count(beside.model.constants, beside.path, taken)
        return True

    def end(self, beside: Beside) -> None:
        """End a walk: all that is fair, and the audit."""
        began = len(beside.steps)
        finish(beside)
        self.tally.steps += len(beside.steps) - began
        if wrong := audit(beside.world, beside.state):
            raise BrokenError((LEDGER,), " ".join(wrong))
        if wrong := beside.world.left():
            raise LeftOverError(" ".join(wrong))

    def _stalled(self, beside: Beside, rng: random.Random) -> str | None:
        """The task that stalls now, if one does: so that its claim lapses, and others come far meanwhile."""
        task, until = self._stall
        if len(beside.steps) < until:
            return task
        if rng.random() < STALL_BEGINS:
            busy = [
                name
                for name, was in zip(beside.model.constants.tasks, beside.state.task, strict=True)
                if was.at not in AT_REST
            ]
            if busy:
                self._stall = (rng.choice(busy), len(beside.steps) + rng.randint(4, 24))
        return None

    def _rarity(self, action: str, at: str) -> float:
        """How rare something was when this walk began."""
        rare = self._rare.get((action, at))
        if rare is None:
            rare = self._rare[action, at] = self.tally.rarity(action, at)
        return rare
