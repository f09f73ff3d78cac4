"""The state machine that Hypothesis explores: a rule for each action of the model, with the model's guard."""

from collections.abc import Callable
from random import Random

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from conformance.actions import ACTIONS
from conformance.beside import Beside, Step, apart
from conformance.explore.candidates import NEXT
from conformance.explore.check import check
from conformance.explore.tally import Tally
from conformance.explore.walk import SHAPES, Walker, constants_of, may_be, meanwhile_of
from conformance.model.model import Model
from conformance.world.memory import MakeStorage, WorldStorage
from conformance.world.process import MakeRunner, make_runner
from conformance.world.world import World

ON = frozenset(action for actions in NEXT.values() for action in actions) | {"Fenced"}
"""What tasks go on with."""

Picks = st.integers(min_value=0, max_value=11)
"""Picks one of the actors that may take an action, and one of its variants."""


MEANWHILE_FROM = 10
"""From this pick on, others' steps come between the effect of one and its answer."""


class ExplorationMachine(RuleBasedStateMachine):
    """The runner beside the model. `make_machine` adds a rule for each action."""

    tally: Tally
    make: MakeRunner
    make_storage: MakeStorage
    model: type[Model]
    report: Callable[[Beside], None]

    def __init__(self) -> None:
        """No world yet: its shape is drawn."""
        super().__init__()
        self.beside: Beside | None = None
        self._actors: dict[str, list[str]] | None = None
        self.broke = False

    @initialize(shape=st.sampled_from(SHAPES))
    def begin(self, shape: tuple[int, int]) -> None:
        """Begin with a world of this shape."""
        self.tally.begin()
        constants = constants_of(shape)
        self.beside = Beside(
            self.model(constants), World(constants, self.make, make_storage=self.make_storage)
        )

    def actors(self, action: str) -> list[str]:
        """Who may take an action now, by the model."""
        beside = self.beside
        if beside is None:
            return []
        if self._actors is None:
            self._actors = {}
        if action not in self._actors:
            constants = beside.model.constants
            by = {"task": constants.tasks, "process": constants.procs, "world": ("",)}[ACTIONS[action].by]
            self._actors[action] = [actor for actor in by if may_be(beside, action, actor)]
        return self._actors[action]

    @precondition(lambda self: self.beside is not None)
    @rule(picks=st.lists(Picks, min_size=4, max_size=24))
    def go_on(self, picks: list[int]) -> None:
        """Let tasks go on as they would, some steps at once: so that walks come far."""
        for pick in picks:
            assert self.beside is not None  # noqa: S101  # for the types: the rule's guard
            waiting = [action for action in sorted(ON) if self.actors(action)]
            if not waiting:
                return
            self.take(waiting[pick % len(waiting)], pick)

    def between(self, action: str, actor: str, pick: int, between: int) -> list[Step]:
        """Others' steps to be taken between an action's effect and its answer, in one of six; else none."""
        if self.beside is None or between < MEANWHILE_FROM:
            return []
        return meanwhile_of(self.beside, action, actor, Random(pick * MEANWHILE_FROM + between))  # noqa: S311

    def take(self, action: str, pick: int, between: int = 0) -> None:
        """Take a step, and check every property."""
        beside, actors = self.beside, self.actors(action)
        assert beside is not None  # noqa: S101  # for the types: the rule's guard
        variants = ACTIONS[action].variants
        self._actors = None
        self.broke = True
        actor, variant = actors[pick % len(actors)], variants[pick // 4 % len(variants)]
        taken = beside.try_take(action, actor, apart(variant, self.between(action, actor, pick, between)))
        if taken is not None:
            check(beside)
            self.tally.count(beside.model.constants, beside.path, taken)
        self.broke = False

    def teardown(self) -> None:
        """End the walk: all that is fair, and the audit; then the world."""
        if self.beside is None:
            return
        try:
            if not self.broke:
                self.broke = True
                Walker(self.tally).end(self.beside)
                self.broke = False
                self.tally.walks += 1
        finally:
            self._close(self.beside)

    def _close(self, beside: Beside) -> None:
        """End the world; tell of a walk that went wrong, be it in the world's end."""
        try:
            beside.world.close()
        except Exception:
            self.broke = True
            raise
        finally:
            if self.broke:
                type(self).report(beside)


def _rule_of(action: str) -> Callable[..., None]:
    """The rule of an action, with the model's guard."""

    def take(self: ExplorationMachine, pick: int, between: int) -> None:
        self.take(action, pick, between)

    take.__name__ = action
    take.__doc__ = f"Do {action}."
    return precondition(lambda self: bool(self.actors(action)))(rule(pick=Picks, between=Picks)(take))


def make_machine(
    tally: Tally,
    report: Callable[[Beside], None],
    make: MakeRunner = make_runner,
    model: type[Model] = Model,
    make_storage: MakeStorage = WorldStorage,
) -> type[ExplorationMachine]:
    """A machine that counts in `tally`, and tells `report` of each walk that goes wrong.

    `make` makes the runner of a process, and `model` is what it is stepped beside.
    """
    parts = {"tally": tally, "make": staticmethod(make), "model": model, "report": staticmethod(report)}
    parts["make_storage"] = staticmethod(make_storage)
    rules = {action: _rule_of(action) for action in ACTIONS}
    return type("ExplorationMachine", (ExplorationMachine,), {**parts, **rules})


def explore(machine: type[ExplorationMachine], *, examples: int, steps: int, number: int) -> None:
    """Explore `examples` walks of at most `steps` steps, by the seed `number`; raises what one raises."""
    seed(number)(machine)
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            phases=[Phase.generate],  # a walk that goes wrong is shrunk by its own steps, in seconds
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
            print_blob=False,
            report_multiple_bugs=False,
        ),
    )
