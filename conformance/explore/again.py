"""A walk, walked again: by its steps, and with as few of them as still go wrong in the same way."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from conformance.actions import ACTIONS, ImpossibleError
from conformance.beside import Beside, DivergedError, Taken, UndoneError
from conformance.explore.check import BrokenError, check
from conformance.explore.record import Steps, as_tried, seen_as
from conformance.explore.setting import Setting
from conformance.explore.tally import Tally
from conformance.explore.walk import Walker, may_be
from conformance.model.model import Model
from conformance.properties import PROPERTIES
from conformance.world.world import World

_PARTICULAR = re.compile(r"\[[^\]]*\]|\{[^}]*\}|<[^>]*>|\b\w*\d\w*\b")
"""What in a sentence is of one walk only: names, numbers, and what holds them."""


@dataclass(frozen=True, slots=True)
class Walked:
    """A walk that was walked again: what it was in, its steps, and what went wrong, if anything did.

    The first `given` of the steps are those that it was told to take, with those that could not be done; the
    rest is all that is fair. The error came `at_last_step`, or of where all of them led.
    """

    setting: Setting
    steps: Sequence[Taken]
    given: int
    error: Exception | None = None
    at_last_step: bool = False

    @property
    def kind(self) -> tuple[str, ...]:
        """What went wrong, to be told from other things that may go wrong."""
        step = [self.steps[-1].action] if self.at_last_step else []
        match self.error:
            case BrokenError(names=names):
                told = list(names)
            case DivergedError(done=done, differs=differs):
                told = [*([action for action, _ in done] or step), *differs]
            case error:
                told = [*step, _PARTICULAR.sub("_", str(error).partition("\n")[0])]
        return (type(self.error).__name__, *told)

    @property
    def broken(self) -> tuple[str, ...]:
        """The properties that broke, if that is what went wrong."""
        names = self.error.names if isinstance(self.error, BrokenError) else ()
        return tuple(name for name in names if name in PROPERTIES)

    @property
    def why(self) -> str:
        """What went wrong, in sentences, and at which step."""
        if not self.at_last_step:
            return str(self.error)
        last = self.steps[-1]
        return f"At step {len(self.steps) + 1}, {last.action}({last.actor}): {self.error}"

    @property
    def to_take(self) -> Steps:
        """The steps that it takes to come there again."""
        return [(step.action, step.actor, step.variant) for step in self.steps[: self.given]]


class _Again(Beside):
    """A walk that keeps every step that matters, with those that could not be done, or went wrong.

    `given` is how many of them were told; None until all that is fair begins.
    """

    def __init__(self, model: Model, world: World) -> None:
        super().__init__(model, world)
        self.trail: list[Taken] = []
        self.given: int | None = None
        self.is_wrong = False

    def take(self, action: str, actor: str, variant: str = "") -> Taken:
        """Take a step, and keep it, however it goes: one that goes wrong leads where the world shows."""
        try:
            taken = super().take(action, actor, variant)
        except ImpossibleError:
            # It may have done something to the world: so it belongs to what was told.
            self.trail.append(Taken(action, actor, variant, (), self.state))
            raise
        except DivergedError as error:
            self._went_wrong(Taken(action, actor, variant, error.done, seen_as(self.state, error.seen)))
            raise
        except Exception:
            self._went_wrong(Taken(action, actor, variant, (), self.state))
            raise
        self.trail.append(taken)
        return taken

    def try_take(self, action: str, actor: str, variant: str = "") -> Taken | None:
        """Take a step, if the world can; of all that is fair, what it cannot is not kept."""
        try:
            taken = super().try_take(action, actor, variant)
        except UndoneError:
            self.is_wrong = True
            raise
        if taken is None and self.given is not None:
            self.trail.pop()
        return taken

    def _went_wrong(self, step: Taken) -> None:
        """Keep a step that went wrong."""
        self.trail.append(step)
        self.is_wrong = True

    def go(self, steps: Steps) -> None:
        """Take these steps, and then all that is fair; raises whatever goes wrong."""
        for action, actor, variant in steps:
            if action not in ACTIONS or not may_be(self, action, actor):
                continue
            if self.try_take(action, actor, variant) is not None:
                check(self)
        self.given = len(self.trail)
        Walker(Tally()).end(self)

    def came_to(self, setting: Setting, error: Exception | None) -> Walked:
        """What it came to."""
        given = len(self.trail) if self.given is None else self.given
        broke = isinstance(error, BrokenError) and error.is_of_a_step
        return Walked(setting, self.trail, given, error, self.is_wrong or broke)


def again(setting: Setting, steps: Steps) -> Walked:
    """Walk these steps, but for those that the model does not allow there; then all that is fair."""
    walks: list[_Again] = []
    try:
        with setting.opened() as world:
            walks.append(_Again(setting.model(setting.constants), world))
            walks[0].go(steps)
    except Exception as error:  # whatever goes wrong is what is told
        if not walks:  # there is no world to walk in
            raise
        return walks[0].came_to(setting, error)
    return walks[0].came_to(setting, None)


def as_it_was(setting: Setting, beside: Beside, error: Exception) -> Walked:
    """A walk that went wrong, as it was walked."""
    steps = as_tried(beside)
    return Walked(setting, steps, len(steps), error)


def shrink(setting: Setting, steps: Steps) -> Walked:
    """The walk with as few steps as still go wrong in the same way: it leaves out ever smaller parts."""
    best, kept = again(setting, steps), list(steps)
    if best.error is None:
        return best
    size = max(len(kept) // 2, 1)
    while size:
        place = 0
        while place < len(kept):
            fewer = kept[:place] + kept[place + size :]
            walked = again(setting, fewer)
            if walked.error is not None and walked.kind == best.kind:
                best, kept = walked, fewer
            else:
                place += size
        size //= 2
    return best
