"""The mutants of spec/mutants/: each cfg there makes a subclass of the model, with what it replaces replaced.

So the cfg alone says which operators are replaced, and by which of spec/mutants/Mutants.tla; those are here
as functions. What a Spec of its own adds is in `SPECS`. Every mutant of spec/mutants/ is made this way.
"""

from collections.abc import Callable, Mapping
from types import ModuleType

from conformance.model import mutant_actions, mutant_plans, mutant_rules
from conformance.model.cfgs import mutations_of
from conformance.model.direct import DirectModel
from conformance.model.model import Model, method_of
from conformance.models.cfg import Config


class MutationError(Exception):
    """A cfg replaces what the model in Python has not; the message names the cfg's entry."""


def _operators(module: ModuleType) -> dict[str, Callable[..., object]]:
    """A module's own public functions, by the names of the operators that they are."""
    return {
        "".join(map(str.capitalize, name.split("_"))): function
        for name, function in vars(module).items()
        if not name.startswith("_") and getattr(function, "__module__", None) == module.__name__
    }


OPERATORS: Mapping[str, Callable[..., object]] = {
    **_operators(mutant_rules),
    **_operators(mutant_plans),
    **_operators(mutant_actions),
}
"""The operators of spec/mutants/Mutants.tla that a cfg or a Spec there uses, by name."""

SPECS: Mapping[str, tuple[type[Model], tuple[str, ...]]] = {
    "Spec": (Model, ()),
    "NoRestartSpec": (Model, ()),
    "DirectSpec": (DirectModel, ()),
    "ReadFirstSpec": (Model, ("ThenFree",)),
    "AskLateSpec": (Model, ("ClaimThenAsk", "AskLate")),
}
"""Each SPECIFICATION of a cfg: the model that it is of, and the actions of Mutants.tla that it adds."""


def mutant(name: str, config: Config) -> type[Model]:
    """Return the model's subclass that a cfg of spec/mutants/ makes.

    Args:
        name: What the class is called.
        config: The cfg.

    Raises:
        MutationError: The cfg replaces an operator that the model has not, or by one that is not in
            `OPERATORS`, or its SPECIFICATION is not in `SPECS`.
    """
    base, added = spec_of(name, config)
    mutations = mutations_of(config)
    actions = base.ACTIONS
    return type(
        name,
        (base,),
        {
            "__doc__": f"The model with {', '.join(mutations)} replaced.",
            "ACTIONS": {**actions, **dict.fromkeys(added, "task")},
            "ALIASES": {by: action for action, by in mutations.items() if action in actions},
            **{_replaced(name, base, operator): _operator(name, by) for operator, by in mutations.items()},
            **{method_of(action): _operator(name, action) for action in added},
        },
    )


def spec_of(name: str, config: Config) -> tuple[type[Model], tuple[str, ...]]:
    """Return the model that a cfg's SPECIFICATION is of, and the actions of Mutants.tla that it adds.

    Raises:
        MutationError: `SPECS` has no such SPECIFICATION; the message begins with `name`.
    """
    (spec,) = config.sections["SPECIFICATION"]
    if spec not in SPECS:
        raise MutationError(
            f"{name}: the SPECIFICATION {spec} is not in conformance.model.mutants.SPECS; add it."
        )
    return SPECS[spec]


def _replaced(name: str, base: type[Model], operator: str) -> str:
    """The method that an operator of the design is."""
    method = method_of(operator)
    if not hasattr(base, method):
        raise MutationError(
            f"{name}: the model in Python has no operator {operator}, as the method {method}."
        )
    return method


def _operator(name: str, by: str) -> Callable[..., object]:
    """What an operator of Mutants.tla is here."""
    if by not in OPERATORS:
        raise MutationError(
            f"{name}: {by} of Mutants.tla is no function of conformance.model.mutant_*; add it."
        )
    return OPERATORS[by]
