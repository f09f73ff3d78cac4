"""The properties, checked of each step that is taken."""

from itertools import pairwise

from conformance.beside import Beside
from conformance.model.direct import DirectModel
from conformance.model.model import Model
from conformance.properties import AT_EVERY_STEP, broken

OF_DIRECT_RUNS = ("HeldRunLeftAlone", "I1_ConsumedAtMostOnce", "I2_ConsumedWithItsWrite", "RunsInTurn")
"""Those of the properties of a step that spec/DirectRuns.cfg names."""


def checked(model: type[Model]) -> tuple[str, ...]:
    """The properties that a model has at every step."""
    return OF_DIRECT_RUNS if issubclass(model, DirectModel) else AT_EVERY_STEP


LEDGER = "ledger"
"""What breaks, instead of a property, where the log or the agents tell of a walk otherwise than the model."""


class BrokenError(AssertionError):
    """A property is broken."""

    def __init__(self, names: tuple[str, ...], why: str = "") -> None:
        """Say which."""
        super().__init__(f"Broken: {', '.join(names)}. {why}".strip())
        self.names, self._why = names, why

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        """Made anew where another process hears of it."""
        return type(self), (self.names, self._why)

    @property
    def is_of_a_step(self) -> bool:
        """Whether it is the last step that broke them; the ledger's audit is of a whole walk."""
        return LEDGER not in self.names


def breaks(beside: Beside) -> tuple[str, ...]:
    """The properties that the last step breaks, by the first of the model's steps in it that breaks any."""
    names = checked(type(beside.model))
    for before, after in pairwise(beside.path):
        if wrong := broken(beside.model.constants, before, after, names):
            return wrong
    return ()


def check(beside: Beside) -> None:
    """Check every property of the last step; raise BrokenError."""
    if wrong := breaks(beside):
        raise BrokenError(wrong)
