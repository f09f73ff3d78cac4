"""spec/ThreadClaim.tla's `Next`, one action at a time."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import ClassVar, Literal

from conformance.model.claims import Claims
from conformance.model.commands import Commands, Next
from conformance.model.faults import Cancels, Failures, Losses
from conformance.model.state import IDLE, NO_LOOK, NO_RUN, NOTHING, Constants, Faults, State
from conformance.model.values import state_of, values_of

__all__ = ["ACTIONS", "Actor", "Model", "state_of", "values_of"]

Actor = Literal["task", "proc", "world"]
"""Who does an action: a task, a process, or nobody."""

ACTIONS: Mapping[str, Actor] = {
    "Claim": "task",
    "Refused": "task",
    "NothingAsked": "task",
    "Replan": "task",
    "CountTaken": "task",
    "Abandon": "task",
    "StartRun": "task",
    "Reply": "task",
    "Fenced": "task",
    "LoseClaim": "task",
    "Deliver": "task",
    "EndRun": "task",
    "Pause": "task",
    "Release": "task",
    "Renew": "task",
    "Send": "task",
    "Answer": "task",
    "Ask": "task",
    "Recover": "task",
    "Cancel": "task",
    "Fail": "task",
    "CommandFails": "task",
    "FailUnheard": "task",
    "EndFails": "task",
    "ReleaseFails": "task",
    "Lapse": "task",
    "LetGo": "task",
    "LookAgain": "proc",
    "LookFails": "proc",
    "Crash": "proc",
    "Restart": "proc",
    "Post": "world",
    "Note": "world",
    "Expire": "world",
}
"""The actions of `Next`, in its order, and who does each."""

_Act = Callable[[State, str | None], Next]
_WORD = re.compile(r"(?<!^)(?=[A-Z])")


def method_of(operator: str) -> str:
    """Return the name of the method that an operator, or an action, of the spec is."""
    return _WORD.sub("_", operator).lower()


class Model(Commands, Claims, Cancels, Failures, Losses):
    """The model, within the bounds of `constants`.

    A mutant is a subclass with an operator or an action replaced, or with `ACTIONS` of its own. `never` are
    the actions that callers never do, where a cfg says so (`Never` in spec/MC.tla).
    """

    ACTIONS: ClassVar[Mapping[str, Actor]] = ACTIONS
    """Its actions, and who does each."""
    ALIASES: ClassVar[Mapping[str, str]] = {}
    """What TLC calls an action that a mutant replaces, and the name that it has here."""

    def __init__(self, constants: Constants, never: Collection[str] = ()) -> None:
        super().__init__(constants)
        self.never = frozenset(never)
        actors: dict[Actor, tuple[str | None, ...]] = {
            "task": constants.tasks,
            "proc": constants.procs,
            "world": (None,),
        }
        self._acts = {action: self._act(action) for action in self.ACTIONS if action not in self.never}
        self._instances = [
            (action, who, self._acts[action])
            for action, actor in self.ACTIONS.items()
            if action not in self.never
            for who in actors[actor]
        ]

    @property
    def instances(self) -> tuple[tuple[str, str | None], ...]:
        """Each action by each who can do it, in the order of `successors`."""
        return tuple((action, who) for action, who, _ in self._instances)

    def init(self) -> State:
        """Return the one initial state."""
        bounds = self.constants
        return State(
            log=(),
            asked=0,
            taken=0,
            lease="free",
            run=NO_RUN,
            task=(IDLE,) * len(bounds.tasks),
            look=(NO_LOOK,) * len(bounds.procs),
            once=NOTHING,
            twice=NOTHING,
            given=NOTHING,
            again=NOTHING,
            excused=NOTHING,
            unheard=NOTHING,
            want=0,
            waits=0,
            broke=False,
            faults=Faults(bounds.max_crash, bounds.max_lapse, bounds.max_cancel, bounds.max_fail),
        )

    def step(self, state: State, action: str, who: str | None) -> Next:
        """Return every state to which this action by this actor leads; none if its guard refuses.

        They come in an order that is always the same.

        Args:
            state: The state before.
            action: Its name, one of `ACTIONS`.
            who: The task or the process that does it; None if nobody does.

        Raises:
            ValueError: There is no such action, or nobody of that name does it.
        """
        try:
            return self._acts[action](state, who)
        except KeyError:
            self._require(action, who)
            raise

    def successors(self, state: State) -> Iterator[tuple[str, str | None, State]]:
        """Yield each step that may come next: the action, who does it, and the state after it."""
        for action, who, act in self._instances:
            for after in act(state, who):
                yield action, who, after

    def _act(self, action: str) -> _Act:
        """The method that does an action, taking the state and who does it."""
        method: Callable[..., Next] = getattr(self, method_of(action))
        return (lambda state, _who: method(state)) if self.ACTIONS[action] == "world" else method

    def _require(self, action: str, who: str | None) -> None:
        """Refuse an action, or who is to do it, that is none of this model's."""
        if action not in self._acts:
            raise ValueError(f"The model has no action {action!r}; it has {', '.join(self._acts)}.")
        if (action, who) not in self.instances:
            kind = self.ACTIONS[action]
            raise ValueError(f"{who!r} does no {action}: it is done by a {kind} of the model's constants.")
