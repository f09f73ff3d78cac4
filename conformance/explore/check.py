"""The properties, checked of each step that is taken."""

from conformance.beside import Beside
from conformance.model.direct import DirectModel
from conformance.model.model import Model
from conformance.properties import AT_EVERY_STEP, broken

OF_DIRECT_RUNS = ("I1_ConsumedAtMostOnce", "I2_ConsumedWithItsWrite", "RunsInTurn")
"""Those of the properties of a step that spec/DirectRuns.cfg names."""


def checked(model: type[Model]) -> tuple[str, ...]:
    """The properties that a model has at every step."""
    return OF_DIRECT_RUNS if issubclass(model, DirectModel) else AT_EVERY_STEP


class BrokenError(AssertionError):
    """A property is broken."""

    def __init__(self, names: tuple[str, ...], why: str = "") -> None:
        """Say which."""
        super().__init__(f"Broken: {', '.join(names)}. {why}".strip())
        self.names = names


def check(beside: Beside) -> None:
    """Check every property of the last step; raise BrokenError."""
    names = checked(type(beside.model))
    if names := broken(beside.model.constants, beside.before, beside.state, names):
        raise BrokenError(names)
