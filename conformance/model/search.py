"""A breadth-first search of the model: every state that it can reach, and the shortest way to what breaks."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

from conformance.model.model import Model
from conformance.model.state import Constants, State
from conformance.properties import SAFETY, broken_by_state, broken_by_step

Renaming = Callable[[State], State]


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a behaviour: the action, who did it (None if nobody), and the state after it."""

    action: str
    who: str | None
    state: State


@dataclass(frozen=True, slots=True)
class Found:
    """What a search comes to.

    Attributes:
        distinct: How many states there are; with `symmetric`, how many that are not the same but for names.
        generated: How many states were computed, the initial one among them. (TLC counts more, one for each
            disjunct of a guard that leads to the same state, as those of Left do.)
        depth: How many states the longest of the shortest ways to one has.
        fired: How many states each action computed.
        broken: The properties that the last step of `behaviour` breaks; none if all hold of all states.
        behaviour: A shortest way to a step that breaks something, from the initial state; empty if none does.
    """

    distinct: int
    generated: int
    depth: int
    fired: Mapping[str, int]
    broken: tuple[str, ...] = ()
    behaviour: tuple[Step, ...] = ()


def search(model: Model, names: tuple[str, ...] = SAFETY, *, symmetric: bool = False) -> Found:
    """Go through every state that the model can reach, and check properties of each state and of each step.

    It ends at the first that breaks, as TLC does.

    Args:
        model: The model.
        names: The properties; of a temporal one, its form that holds at every step.
        symmetric: Whether states that are the same but for names are one, as `SYMMETRY Sym` has it.
    """
    return _Search(model, names, renamings(model.constants) if symmetric else ()).run()


def renamings(constants: Constants) -> tuple[Renaming, ...]:
    """Return the renamings of tasks and processes that keep owners, the one that changes nothing left out."""
    return tuple(
        _renaming(constants, order)
        for order in permutations(range(len(constants.tasks)))
        if order != tuple(range(len(order))) and _keeps_owners(constants, order)
    )


def _keeps_owners(constants: Constants, order: Sequence[int]) -> bool:
    """Whether tasks of one process stay tasks of one, as the task at each place becomes that at `order`'s."""
    owners = [constants.owner[task] for task in constants.tasks]
    pairs = {(owners[place], owners[new]) for place, new in enumerate(order)}
    return len(pairs) == len({old for old, _ in pairs}) == len({new for _, new in pairs})


def _renaming(constants: Constants, order: Sequence[int]) -> Renaming:
    """The renaming after which the task at each place is the one that was at `order`'s."""
    tasks = constants.tasks
    name = {tasks[old]: tasks[place] for place, old in enumerate(order)}
    owner = constants.owner
    desk_of = {owner[tasks[place]]: constants.desk[owner[tasks[old]]] for place, old in enumerate(order)}
    desks = [desk_of[proc] for proc in constants.procs]

    def rename(state: State) -> State:
        """Return the state with other names."""
        run = state.run
        return state._replace(
            lease=name.get(state.lease, state.lease),
            run=run._replace(by=name.get(run.by, run.by)),
            task=tuple(state.task[old] for old in order),
            look=tuple(state.look[desk] for desk in desks),
        )

    return rename


class _Search:
    """A search as it goes."""

    def __init__(self, model: Model, names: tuple[str, ...], renamings: tuple[Renaming, ...]) -> None:
        self._model = model
        self._names = names
        self._renamings = renamings
        self._from: dict[State, tuple[State, str, str | None] | None] = {}
        self._fired: Counter[str] = Counter()

    def run(self) -> Found:
        """Go through all of it, or up to what breaks."""
        initial = self._model.init()
        self._from[initial] = None
        wrong = broken_by_state(self._model.constants, initial, self._names)
        if wrong:
            return self._found(1, wrong, initial, ())
        level, depth = [initial], 0
        while level:
            depth += 1
            following: list[State] = []
            for state in level:
                wrong, last = self._expand(state, following)
                if wrong:
                    return self._found(depth + 1, wrong, state, last)
            level = following
        return self._found(depth, (), initial, ())

    def _expand(self, state: State, following: list[State]) -> tuple[tuple[str, ...], tuple[Step, ...]]:
        """Compute a state's next states; return what the first bad step breaks, and that step."""
        constants, names, known = self._model.constants, self._names, self._from
        for action, who, after in self._model.successors(state):
            self._fired[action] += 1
            wrong = broken_by_step(constants, state, after, names)
            if new := after not in known and not any(rename(after) in known for rename in self._renamings):
                wrong = broken_by_state(constants, after, names) + wrong
            if wrong:
                return wrong, (Step(action, who, after),)
            if new:
                known[after] = (state, action, who)
                following.append(after)
        return (), ()

    def _found(self, depth: int, wrong: tuple[str, ...], state: State, last: tuple[Step, ...]) -> Found:
        """What it comes to, with the way to `state`, and the step after it, if that breaks something."""
        way = (*self._way_to(state), *last) if wrong else ()
        generated = 1 + self._fired.total()
        return Found(len(self._from), generated, depth, dict(self._fired), wrong, way)

    def _way_to(self, state: State) -> tuple[Step, ...]:
        """The steps to a state, the initial one first."""
        way: list[Step] = []
        while (before := self._from[state]) is not None:
            way.append(Step(before[1], before[2], state))
            state = before[0]
        return (Step("Init", None, state), *reversed(way))
