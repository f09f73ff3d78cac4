"""A world stepped beside the model: after each step it must be in a state that the model allows."""

from collections.abc import Iterable
from dataclasses import dataclass

from conformance.actions import ACTIONS, Done, ImpossibleError
from conformance.model.model import Model
from conformance.model.state import State
from conformance.state import PLAIN_NAMES, Plain, Reader, plain
from conformance.world.world import World


@dataclass(frozen=True, slots=True)
class Taken:
    """A step that was taken: what was done, what it amounted to, and the state after it."""

    action: str
    actor: str
    variant: str
    done: Done
    state: State


class DivergedError(AssertionError):
    """The world is in a state that the model does not allow after this step."""

    def __init__(self, step: str, done: Done, seen: Plain, allowed: Iterable[State]) -> None:
        """Say what differs, from each state that the model allows."""
        self.done, self.seen = done, seen
        lines = [f"After {step}, which amounted to {list(done)}, the model allows no state like the world's."]
        for state in allowed:
            lines += [
                f"  {name}: the model has {mine!r}, the world {theirs!r}"
                for name, mine, theirs in zip(PLAIN_NAMES, plain(state), seen, strict=True)
                if mine != theirs
            ] + ["  --"]
        super().__init__("\n".join(lines))


class Beside:
    """A world, and the state of the model that it is in.

    `steps` are those taken, and `tried` all that were to be, with those that went wrong or could not be.
    """

    def __init__(self, model: Model, world: World) -> None:
        """Both at their beginning."""
        self.model, self.world = model, world
        self.reader = Reader(world)
        self.state = model.init()
        self.before = self.state
        self.steps: list[Taken] = []
        self.tried: list[tuple[str, str, str]] = []
        self._allowed: dict[tuple[str, str], tuple[State, ...]] = {}
        self.reader.read()

    def allows(self, action: str, actor: str) -> bool:
        """Whether the model has such a step from here."""
        return bool(self._next(action, actor))

    def _next(self, action: str, actor: str) -> tuple[State, ...]:
        """The states that the model allows after an action, from here."""
        found = self._allowed.get((action, actor))
        if found is None:
            found = self._allowed[action, actor] = self.model.step(self.state, action, actor or None)
        return found

    def take(self, action: str, actor: str, variant: str = "") -> Taken:
        """Take a step in the world; raises DivergedError, or ImpossibleError if the world cannot."""
        self.tried.append((action, actor, variant))
        done = ACTIONS[action].do(self.world, actor, variant)
        seen = self.reader.read()
        allowed = self._after(done)
        state = next((state for state in allowed if plain(state) == seen), None)
        if state is None:
            raise DivergedError(f"{action}({actor}) {variant}".strip(), done, seen, allowed)
        self.before, self.state = self.state, state
        self._allowed.clear()
        taken = Taken(action, actor, variant, done, state)
        self.steps.append(taken)
        return taken

    def _after(self, done: Done) -> list[State]:
        """Every state that the model allows after these actions."""
        if len(done) == 1:
            return list(self._next(*done[0]))
        states = [self.state]
        for action, actor in done:
            states = [after for state in states for after in self.model.step(state, action, actor or None)]
        return states


__all__ = ["Beside", "DivergedError", "ImpossibleError", "Taken"]
