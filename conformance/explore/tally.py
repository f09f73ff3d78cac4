"""How often each action happened, and each fault where something else was due: what exploration reached."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from conformance.actions import ACTIONS
from conformance.beside import Path, Taken, parts
from conformance.explore.candidates import NEXT, faults_of
from conformance.model.state import HAS_CLAIM, Constants, State

Pair = tuple[str, str]
"""An action that a task was about to take, and the fault that came to it instead."""

AT_FAULTS = ("Cancel", "Fail", "FailUnheard", "EndFails", "ReleaseFails", "LoseClaim", "LetGo", "Fenced")


LEFT_REPLY = "Replan after Reply"
"""What a task is about to do whose reply was left: it plans again, and keeps nothing of its reply."""


def due_of(at: str) -> str:
    """The action that a task is about to take, by where it is; a run's, its end."""
    return "EndRun" if at == "running" else NEXT[at][0]


def _pairs() -> frozenset[Pair]:
    """Every pair of an action and a fault that may come to whoever is about to take it."""
    places = HAS_CLAIM | {"claim"}
    pairs = {(due_of(at), fault) for at in places for fault in faults_of(at, cmd=True)}
    pairs |= {(due_of(at), "Crash") for at in places}
    pairs |= {(due_of(at), "Lapse") for at in HAS_CLAIM}
    return frozenset(pairs | {("EndRun", "LetGo"), ("Pause", "LetGo"), (LEFT_REPLY, "Fail")})


PAIRS = _pairs()


@dataclass(slots=True)
class Tally:
    """What happened, and how often."""

    actions: Counter[str] = field(default_factory=Counter)
    pairs: Counter[Pair] = field(default_factory=Counter)
    steps: int = 0
    apart: int = 0
    """Steps with others between their effect and their answer."""
    walks: int = 0
    left_replies: set[str] = field(default_factory=set)
    """The tasks of the walk whose reply was left, and which have done nothing since."""

    def begin(self) -> None:
        """A walk begins."""
        self.left_replies.clear()

    def count(self, constants: Constants, path: Path, taken: Taken) -> None:
        """Count a step that went this way: each of its actions, and what it was asked to be."""
        self.steps += 1
        for before, (action, actor) in zip(path, taken.done, strict=False):
            self.actions[action] += 1
            self._fault(constants, before, action, actor)
        if taken.done and taken.done[0][0] != taken.action:
            self._fault(constants, path[0], taken.action, taken.actor)
        self._after_a_reply(constants, path, taken)
        self.apart += bool(parts(taken.variant)[1])

    def _after_a_reply(self, constants: Constants, path: Path, taken: Taken) -> None:
        """Count the faults that come to a task whose reply was left, as its request was answered already."""
        for after, (action, actor) in zip(path[1:], taken.done, strict=False):
            if (place := constants.place.get(actor)) is None:
                continue
            if actor in self.left_replies and (LEFT_REPLY, action) in PAIRS:
                self.pairs[LEFT_REPLY, action] += 1
            self.left_replies.discard(actor)
            if action == "Reply" and after.task[place].at == "replan":
                self.left_replies.add(actor)
                self.actions[LEFT_REPLY] += 1

    def _fault(self, constants: Constants, before: State, action: str, actor: str) -> None:
        """Count a fault that came from `before`."""
        if action == "Crash":
            for place in constants.places_of[actor]:
                self._pair(before.task[place].at, action)
        elif action == "Lapse" or action in AT_FAULTS:
            self._pair(before.task[constants.place[actor]].at, action)

    def _pair(self, at: str, fault: str) -> None:
        """Count a fault that came to a task."""
        if at in NEXT:
            self.pairs[due_of(at), fault] += 1

    def rarity(self, action: str, at: str) -> float:
        """How much an action is favoured: the rarer it was, or came to a task at such a place, the more."""
        if (pair := (due_of(at), action) if at in NEXT else None) in PAIRS and pair is not None:
            return min(6.0, max(0.5, (self.steps / (4 * len(PAIRS)) + 1) / (self.pairs[pair] + 1)))
        return min(4.0, max(0.5, (self.steps / len(ACTIONS) + 1) / (self.actions[action] + 1)))

    def add(self, other: "Tally") -> None:
        """Add what another counted."""
        self.actions += other.actions
        self.pairs += other.pairs
        self.steps += other.steps
        self.apart += other.apart
        self.walks += other.walks

    def missed(self, actions: Iterable[str] = ACTIONS) -> list[str]:
        """Which of these actions never happened."""
        return sorted(set(actions) - set(self.actions))

    @property
    def missed_pairs(self) -> list[Pair]:
        """The pairs that never happened."""
        return sorted(PAIRS - set(self.pairs))
