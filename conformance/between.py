"""What may come between a step's effect and its answer: a caller hears later of what is done already."""

from collections.abc import Iterable, Sequence

from conformance.model.model import Model
from conformance.model.state import State

OF_PROCESSES = frozenset({"Crash", "Restart"})
"""What ends, or begins, all that a process does."""

HEARD_FIRST = frozenset({"Cancel", "LetGo"})
"""What may come to be the write that the task waited in, and nothing else."""


ARMS, LOOKS = frozenset({"Refused", "ReleaseFails"}), frozenset({"LookAgain", "LookFails"})
"""What arms a look, once it is heard of; and what a look comes to."""


class Between:
    """What others may do once an action has taken effect, before its caller hears of it.

    It is another's step, or the lapse of the claim. The model allows it whatever the action comes to, and
    before the action too: nobody but its caller has what the action gives.
    """

    def __init__(self, model: Model, state: State, action: str, actor: str) -> None:
        """Nothing has come between yet."""
        self.model, self.action, self.actor = model, action, actor
        self._before: Sequence[State] = (state,)
        if action == "Ask":  # it may come with a note of its own
            self._before = (state, *model.step(state, "Note", None))
        self._after = self._next(self._before, action, actor) if action not in HEARD_FIRST else ()

    @property
    def after(self) -> Sequence[State]:
        """The states that there may be now, the action's effect among what led to them."""
        return self._after

    def lets(self, action: str, actor: str) -> bool:
        """Whether this step may come now."""
        if not self._after:
            return False
        if action == "Lapse":
            return self._allowed(self._after, action, actor)
        if actor == self.actor or (actor == self._process and self._is_of_both(action)):
            return False
        return self._allowed((*self._before, *self._after), action, actor)

    def go_on(self, done: Iterable[tuple[str, str]]) -> None:
        """These actions have come, each with its actor."""
        for action, actor in done:
            self._before = self._next(self._before, action, actor) or self._before  # but for its own lapse
            self._after = self._next(self._after, action, actor)

    @property
    def _process(self) -> str | None:
        """The process whose task the actor is; None if it is none."""
        return self.model.constants.owner.get(self.actor)

    def _is_of_both(self, action: str) -> bool:
        """Whether what a process does is no other's step to the task that waits in it.

        A look that comes is forgotten, and the task then arms one as it hears: the model has that at once.
        """
        return action in OF_PROCESSES or (self.action in ARMS and action in LOOKS)

    def _allowed(self, states: Iterable[State], action: str, actor: str) -> bool:
        """Whether the model allows a step in each of some states."""
        return all(self.model.step(state, action, actor or None) for state in states)

    def _next(self, states: Iterable[State], action: str, actor: str) -> tuple[State, ...]:
        """The states that a step leads to from any of some."""
        found = (after for state in states for after in self.model.step(state, action, actor or None))
        return tuple(dict.fromkeys(found))
