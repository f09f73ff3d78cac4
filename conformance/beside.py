"""A world stepped beside the model: after each step it must be in a state that the model allows."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from conformance.actions import ACTIONS, Done, Either, ImpossibleError, Ways
from conformance.between import LOOKS, Between
from conformance.model.model import Model
from conformance.model.state import State
from conformance.state import PLAIN_NAMES, Plain, Reader, plain
from conformance.world.loop import WorldError
from conformance.world.world import World

MEANWHILE = " + "
"""In a variant, what comes before each other step that is taken between its effect and its answer."""

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


def apart(variant: str, others: Iterable[Step]) -> str:
    """A variant of a step, with others' steps taken between its effect and its answer."""
    return MEANWHILE.join([variant, *map(str, others)])


def parts(variant: str) -> tuple[str, list[Step]]:
    """What `apart` put together."""
    own, *others = variant.split(MEANWHILE)
    return own, [Step(*other.split("/", 2)) for other in others]


def _ways(done: Ways) -> Sequence[Done]:
    """What a step may have amounted to."""
    return done if isinstance(done, Either) else [done]


def merged(one: Done, other: Done) -> Iterator[Done]:
    """Every order of two sequences of actions that keeps the order of each."""
    if not one or not other:
        yield [*one, *other]
        return
    yield from ([one[0], *rest] for rest in merged(one[1:], other))
    yield from ([other[0], *rest] for rest in merged(one, other[1:]))


class DivergedError(AssertionError):
    """The world is in a state that the model does not allow after this step."""

    def __init__(self, step: str, done: Done, seen: Plain, allowed: Iterable[State]) -> None:
        """Say what differs, from each state that the model allows."""
        self.done, self.seen = done, seen
        allowed = list(allowed)
        self._made_of = step, done, seen, allowed
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

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        """Made anew where another process hears of it."""
        return type(self), self._made_of


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

    def between(self, action: str, actor: str) -> Between:
        """What may come between an action's effect and its answer, from here."""
        return Between(self.model, self.state, action, actor)

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
        own, others = parts(variant)
        if not others:
            return _ways(ACTIONS[action].do(self.world, actor, own))
        meanwhile: list[tuple[str, str]] = []
        undone: list[ImpossibleError] = []
        may_come = self.between(action, actor)

        def between() -> None:
            for other in others:
                if not may_come.lets(other.action, other.actor):
                    return
                try:
                    done = ACTIONS[other.action].do(self.world, other.actor, other.variant)
                except ImpossibleError as error:
                    undone.append(error)
                    return
                meanwhile.extend(_ways(done)[0])
                may_come.go_on(_ways(done)[0])

        self.world.between = between
        try:
            done = ACTIONS[action].do(self.world, actor, own)
        finally:
            self.world.between = None
        for error in undone:
            if not error.is_known:
                raise UndoneError(f"The model allows it, and the world cannot: {error}") from error
        return [order for way in _ways(done) for order in self._orders(action, actor, way, meanwhile)]

    def _orders(self, action: str, actor: str, done: Done, meanwhile: Done) -> Iterator[Done]:
        """The orders in which a step's actions may have come, and those between its effect and its answer.

        They came after its effect. But in its process they may come before what it does in memory, once it
        is heard of: so it may be as if they had come before it, and the others later than they. A look is
        forgotten before it reads: whoever arms one then, arms the next.
        """
        near = [each for each in meanwhile if self._process_of(each[1]) == self._process_of(actor)]
        if near and action not in LOOKS:
            for others in merged(near, [each for each in meanwhile if each not in near]):
                yield from merged(done, others)
            return
        first = min(len(done), 1)
        yield from ([*done[:place], *meanwhile, *done[place:]] for place in range(first, len(done) + 1))

    def _process_of(self, actor: str) -> str:
        """The process that an actor is, or is a task of; "" for the world's own."""
        return self.model.constants.owner.get(actor, actor)

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
