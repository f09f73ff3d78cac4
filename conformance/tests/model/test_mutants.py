"""Each mutant of spec/mutants/ is one here; TLC's counterexample is its behaviour, and not the design's."""

import re

import pytest

from conformance.model.behaviour import NotABehaviourError, behaviour_of, starved
from conformance.model.cfgs import mutations_of
from conformance.model.model import Model, method_of
from conformance.model.mutants import OPERATORS, SPECS, MutationError, mutant
from conformance.model.search import search
from conformance.models.cfg import parse_cfg
from conformance.models.manifest import Mutant
from conformance.properties import PROPERTIES, Kind, Property
from conformance.tests.model.cases import MANIFEST, MUTANTS, SPEC, TRACES, MutantCase, defined, mutant_case


def breaking_at(case: MutantCase, checked: Property) -> list[int]:
    """Where a property breaks: the indices of states, or of the states that steps lead to."""
    constants, states = case.model.constants, case.behaviour.states
    if checked.kind is Kind.STATE:
        return [index for index, state in enumerate(states) if not checked.check(constants, state)]
    return [
        index
        for index in range(1, len(states))
        if not checked.check(constants, states[index - 1], states[index])
    ]


def test_there_is_a_mutant_for_each_entry_and_a_trace_for_each_mutant() -> None:
    """The manifest, the cfgs and the traces are of the same 65 mutants."""
    entries = {case.slug: case.entry for case in MANIFEST.cases if isinstance(case.entry, Mutant)}
    assert len(MUTANTS) == 65
    assert set(entries) == set(MUTANTS)
    assert {path.name.removesuffix(".itf.json") for path in TRACES.glob("*.itf.json")} == set(MUTANTS)


@pytest.mark.parametrize("name", MUTANTS)
def test_it_replaces_what_its_entry_says(name: str) -> None:
    """The subclass overrides the methods of the operators that the manifest names, and no other."""
    (entry,) = (case.entry for case in MANIFEST.cases if case.slug == name)
    case = mutant_case(name)
    base, added = SPECS[case.config.sections["SPECIFICATION"][0]]
    own = {
        method for method in vars(type(case.model)) if hasattr(base, method) and method not in vars(object)
    }
    mutated = {operator for operator in entry.replaces if operator not in case.model.never}
    assert own - {"ACTIONS", "ALIASES", "__module__", "__doc__"} == set(map(method_of, mutated))
    assert set(case.model.ACTIONS) - set(base.ACTIONS) == set(added)
    assert type(case.design) is base


def test_every_operator_of_the_mutants_module_is_one_here() -> None:
    """Nothing that a cfg, or a Spec of Mutants.tla, uses is missing; and nothing is here in vain."""
    used = {by for name in MUTANTS for by in mutations_of(mutant_case(name).config).values()}
    added = {action for _, actions in SPECS.values() for action in actions}
    assert set(OPERATORS) == used | added
    assert set(OPERATORS) <= defined("mutants/Mutants.tla")
    specs = {spec for name in MUTANTS for spec in mutant_case(name).config.sections["SPECIFICATION"]}
    assert set(SPECS) == specs
    text = (SPEC / "mutants" / "Mutants.tla").read_text(encoding="utf-8")
    for spec, (_, actions) in SPECS.items():
        line = re.search(rf"^{spec} == .*", text, re.MULTILINE)
        assert set(actions) == (set(re.findall(r"(\w+)\(t\)", line[0])) if line else set())


@pytest.mark.parametrize("name", MUTANTS)
def test_its_trace_is_a_behaviour_that_breaks_its_property_at_the_end(name: str) -> None:
    """At the last step, and at no earlier one; or on the lasso, which starves nobody."""
    case = mutant_case(name)
    broken, behaviour = case.broken, case.behaviour
    if broken.kind is not Kind.TEMPORAL:
        assert breaking_at(case, broken) == [len(behaviour.states) - 1]
        return
    assert behaviour.loop is not None
    assert not broken.check(case.model.constants, behaviour.states, behaviour.loop)
    assert starved(case.model, behaviour, restarts=case.restarts) is None


@pytest.mark.parametrize("name", MUTANTS)
def test_its_trace_is_no_behaviour_of_the_design(name: str) -> None:
    """With the rule put back, a step of it is refused, or leads elsewhere."""
    case = mutant_case(name)
    with pytest.raises(NotABehaviourError, match=r"is refused|leads to no such state") as caught:
        behaviour_of(case.design, case.trace, case.model.ALIASES)
    assert 0 < caught.value.step <= len(case.trace.states)


@pytest.mark.parametrize("name", MUTANTS)
def test_a_search_finds_a_counterexample_as_short_as_tlcs(name: str) -> None:
    """The mutant breaks its property here in as many steps; a temporal one's form of every step, in no more.

    I4_NeverSpins and RefusedIsTaken have no such form, so their mutants are left to the lassos.
    """
    case = mutant_case(name)
    if case.broken.name in {"I4_NeverSpins", "RefusedIsTaken"}:
        assert case.broken.step is None
        return
    steps = len(search(case.model, (case.broken.name,)).behaviour)
    assert 0 < steps <= len(case.trace.states)
    assert steps == len(case.trace.states) or case.broken.kind is Kind.TEMPORAL


def test_every_property_is_broken_by_a_mutant() -> None:
    """So there is none that nothing can break."""
    assert {mutant_case(name).broken.name for name in MUTANTS} == set(PROPERTIES)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("Goes <- Nothing", "Gone <- Nothing", "has no operator Gone"),
        ("Goes <- Nothing", "Goes <- Noting", "Noting of Mutants.tla is no function"),
        ("SPECIFICATION Spec", "SPECIFICATION Odd", "the SPECIFICATION Odd is not in"),
    ],
)
def test_a_cfg_that_it_does_not_know_is_refused(old: str, new: str, why: str) -> None:
    """A mutant that was added to spec/ and not here is named."""
    text = (SPEC / "mutants" / "NoHandOver.cfg").read_text(encoding="utf-8")
    assert old in text
    with pytest.raises(MutationError, match=rf"NoHandOver: .*{why}"):
        mutant("NoHandOver", parse_cfg(text.replace(old, new)))


def test_a_mutant_leaves_the_model_alone() -> None:
    """The design's own class has its own rules still."""
    case = mutant_case("NoHandOver")
    assert not case.model.goes(case.model.init()._replace(asked=1), case.model.init().task[0])
    assert Model(case.model.constants).goes(case.model.init()._replace(asked=1), case.model.init().task[0])
