"""The model that a cfg of spec/ gives to TLC: its constants, and what it replaces."""

from collections.abc import Sequence

from frozendict import frozendict

from conformance.model.state import Constants
from conformance.models.cfg import Config

NEVER = "Never"
"""What a cfg replaces an action by, which callers then never do: see spec/MC.tla."""

_BOUNDS = {
    "max_msgs": "MaxMsgs",
    "max_notes": "MaxNotes",
    "max_crash": "MaxCrash",
    "max_lapse": "MaxLapse",
    "max_cancel": "MaxCancel",
    "max_fail": "MaxFail",
}


def constants_of(config: Config) -> Constants:
    """Return the constants that a cfg of spec/ gives.

    `Owner <- Dealt` deals the tasks out to the processes in their order. TLC may choose another deal, which
    is the same but for names.

    Raises:
        ValueError: A constant is not given, or `Owner` is neither `Self` nor `Dealt`.
    """
    procs, tasks = _members(config, "Procs"), _members(config, "Tasks")
    bounds = {name: int(_value(config, constant)) for name, constant in _BOUNDS.items()}
    match config.replaces.get("Owner"):
        case "Self":
            owner = dict(zip(tasks, tasks, strict=True))
        case "Dealt":
            owner = _dealt(procs, tasks)
        case other:
            raise ValueError(f"Owner is {other}; the model in Python knows Self and Dealt of spec/MC.tla.")
    return Constants(procs, tasks, frozendict(owner), **bounds)


def never_of(config: Config) -> frozenset[str]:
    """Return the actions that callers never do in a cfg's model."""
    return frozenset(name for name, by in config.replaces.items() if by == NEVER)


def mutations_of(config: Config) -> dict[str, str]:
    """Return which operators of the design a cfg replaces, and by which."""
    return {name: by for name, by in config.replaces.items() if name != "Owner" and by != NEVER}


def _dealt(procs: Sequence[str], tasks: Sequence[str]) -> dict[str, str]:
    """Each task's process: as many to each as to any other, or one more to those that come first."""
    share, more = divmod(len(tasks), len(procs))
    hands = [proc for place, proc in enumerate(procs) for _ in range(share + (place < more))]
    return dict(zip(tasks, hands, strict=True))


def _members(config: Config, constant: str) -> tuple[str, ...]:
    """The names in a constant that is a set of model values."""
    return tuple(name for name in _value(config, constant).split() if name not in {"{", "}", ","})


def _value(config: Config, constant: str) -> str:
    """A constant's value."""
    if constant not in config.values:
        raise ValueError(f"The cfg gives no value to {constant}; write {constant} = ... under CONSTANTS.")
    return config.values[constant]
