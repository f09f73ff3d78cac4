"""A world stepped beside the model: after each step it must be in a state that the model allows."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from conformance.actions import ACTIONS, Done, ImpossibleError
from conformance.model.model import Model
from conformance.model.state import State
from conformance.state import PLAIN_NAMES, Plain, Reader, plain
from conformance.world.loop import WorldError
from conformance.world.world import World

MEANWHILE = " + "
"""In a variant, what comes before another step, which is taken between its effect and its answer."""

OF_PROCESSES = frozenset({"Crash", "Restart"})
"""What ends, or begins, all that a process does."""

HEARD_FIRST = frozenset({"Cancel", "LetGo"})
"""What may come to be the write that the task waited in, and nothing else."""

NOTES = ("Ask", "Note")
"""An ask may come with a note of its own, which may be the last that there may be."""

Path = tuple[State, ...]
"""States of the model, each a step after the one before."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A step that was taken: what was done, what it amounted to, and the state after it."""

    action: str
    actor: str
    variant: str
    done: Done
    state: State


@dataclass(frozen=True, slots=True)
class Step:
    """A step to be taken: an action, who takes it, and in which of its variants."""

    action: str
    actor: str
    variant: str = ""

    def __str__(self) -> str:
        """As it stands in the variant of the step that it is taken within."""
        return f"{self.action}/{self.actor}/{self.variant}"


def apart(variant: str, meanwhile: Step | None) -> str:
    """A variant of a step, with another step taken between its effect and its answer."""
    return variant if meanwhile is None else f"{variant}{MEANWHILE}{meanwhile}"


def parts(variant: str) -> tuple[str, Step | None]:
    """What `apart` put together."""
    own, _, other = variant.partition(MEANWHILE)
    return own, Step(*other.split("/", 2)) if other else None


class DivergedError(AssertionError):
    """The world is in a state that the model does not allow after this step."""

    def __init__(self, step: str, done: Done, seen: Plain, allowed: Iterable[State]) -> None:
        """Say what differs, from each state that the model allows."""
        self.done, self.seen = done, seen
        allowed = list(allowed)
        self.differs = min((differing(state, seen) for state in allowed), key=len, default=())
        """The variables that differ from the nearest state of those that are allowed."""
        lines = [f"After {step}, which amounted to {list(done)}, the model allows no state like the world's."]
        for state in allowed:
            lines += [
                f"  {name}: the model has {mine!r}, the world {theirs!r}"
                for name, mine, theirs in zip(PLAIN_NAMES, plain(state), seen, strict=True)
                if mine != theirs
            ] + ["  --"]
        super().__init__("\n".join(lines))


class UndoneError(AssertionError):
    """The model allows a step that the world cannot take, and no limit of the world's own is why."""


def differing(state: State, seen: Plain) -> tuple[str, ...]:
    """The variables that the world shows otherwise than a state has them."""
    return tuple(name for name, mine, its in zip(PLAIN_NAMES, plain(state), seen, strict=True) if mine != its)


class Beside:
    """A world, and the state of the model that it is in.

    `steps` are those taken, and `tried` all that were to be, with those that went wrong or could not be;
    `path` are the states of the model that the last step went through, from the one before it.
    """

    def __init__(self, model: Model, world: World) -> None:
        """Both at their beginning."""
        self.model, self.world = model, world
        self.reader = Reader(world)
        self.state = model.init()
        self.before = self.state
        self.path: Path = (self.state,)
        self.steps: list[Taken] = []
        self.tried: list[tuple[str, str, str]] = []
        self._allowed: dict[tuple[str, str], tuple[State, ...]] = {}
        self.reader.read()

    def allows(self, action: str, actor: str) -> bool:
        """Whether the model has such a step from here."""
        return bool(self.next(action, actor))

    def next(self, action: str, actor: str) -> tuple[State, ...]:
        """The states that the model allows after an action, from here."""
        found = self._allowed.get((action, actor))
        if found is None:
            found = self._allowed[action, actor] = self.model.step(self.state, action, actor or None)
        return found

    def lets_between(self, action: str, actor: str, other: str, by: str) -> bool:
        """Whether another step may come once an action has taken effect, before its caller hears of it.

        It is another's, or the lapse of the claim. The model allows it whatever the action comes to, and
        before it too: nobody but its caller has what the action gives.
        """
        afters, owner = self.next(action, actor), self.model.constants.owner
        if not afters or action in HEARD_FIRST or (action, other) == NOTES:
            return False
        is_own = by in {actor, owner.get(actor)} if other in OF_PROCESSES else by == actor
        if other != "Lapse" and (is_own or not self.allows(other, by)):
            return False
        return all(self.model.step(after, other, by or None) for after in afters)

    def try_take(self, action: str, actor: str, variant: str = "") -> Taken | None:
        """Take a step as `take` does; None if the world cannot, by a limit of its own.

        Raises UndoneError if the model allows the step, and what the world does keeps it from being taken.
        """
        allows = self.allows(action, actor)
        try:
            return self.take(action, actor, variant)
        except ImpossibleError as error:
            if allows and not error.is_known:
                raise UndoneError(f"The model allows it, and the world cannot: {error}") from error
            return None

    def take(self, action: str, actor: str, variant: str = "") -> Taken:
        """Take a step in the world.

        Raises DivergedError, ImpossibleError if the world cannot, or WorldError if an agent was told what
        none may be.
        """
        self.tried.append((action, actor, variant))
        orders = self._do(action, actor, variant)
        seen = self.reader.read()
        if self.world.told.wrong:
            raise WorldError(" ".join(self.world.told.wrong))
        found = next(((done, path) for done, path in self._paths(orders) if plain(path[-1]) == seen), None)
        if found is None:
            allowed = [path[-1] for _, path in self._paths(orders)]
            raise DivergedError(f"{action}({actor}) {variant}".strip(), orders[0], seen, allowed)
        done, self.path = found
        self.before, self.state = self.state, self.path[-1]
        self._allowed.clear()
        taken = Taken(action, actor, variant, done, self.state)
        self.steps.append(taken)
        return taken

    def _do(self, action: str, actor: str, variant: str) -> Sequence[Done]:
        """Do a step in the world; what it amounts to, in each order that it may have come in."""
        own, other = parts(variant)
        if other is None or not self.lets_between(action, actor, other.action, other.actor):
            return [ACTIONS[action].do(self.world, actor, own)]
        meanwhile: list[tuple[str, str]] = []
        undone: list[ImpossibleError] = []

        def between() -> None:
            try:
                meanwhile.extend(ACTIONS[other.action].do(self.world, other.actor, other.variant))
            except ImpossibleError as error:
                undone.append(error)

        self.world.between = between
        try:
            done = ACTIONS[action].do(self.world, actor, own)
        finally:
            self.world.between = None
        for error in undone:
            if not error.is_known:
                raise UndoneError(f"The model allows it, and the world cannot: {error}") from error
        # It came after the effect of the first. In the same process it may come before what the first does
        # in memory, once it is heard of: so it may be as if it had come before it.
        first = 0 if self._process_of(actor) == self._process_of(other.actor) else min(len(done), 1)
        return [[*done[:place], *meanwhile, *done[place:]] for place in range(first, len(done) + 1)]

    def _process_of(self, actor: str) -> str | None:
        """The process that an actor is, or is a task of; None for the world."""
        return self.model.constants.owner.get(actor, actor or None)

    def _paths(self, orders: Sequence[Done]) -> Iterator[tuple[Done, Path]]:
        """Each way that the model allows from here, by these actions in one of these orders."""
        for done in orders:
            if len(done) == 1:
                yield from ((done, (self.state, after)) for after in self.next(*done[0]))
                continue
            paths: list[Path] = [(self.state,)]
            for action, actor in done:
                paths = [
                    (*path, after)
                    for path in paths
                    for after in self.model.step(path[-1], action, actor or None)
                ]
            yield from ((done, path) for path in paths)


__all__ = ["Beside", "DivergedError", "ImpossibleError", "Step", "Taken", "UndoneError", "apart", "parts"]
