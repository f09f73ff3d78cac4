"""The model's interface: its actions, its constants, and what it refuses."""

import re
from collections.abc import Iterator

import pytest

from conformance.model.cfgs import constants_of
from conformance.model.model import ACTIONS, Model, method_of
from conformance.model.rules import Rules
from conformance.model.state import IDLE, MANY, NO_LOOK, Constants, Faults, State
from conformance.models.cfg import parse_cfg
from conformance.tests.model.cases import MUTANTS, SPEC, defined, mutant_case

ALL_FAULTS = Constants.of(
    2, 2, max_msgs=2, max_notes=1, max_crash=1, max_lapse=1, max_cancel=MANY, max_fail=MANY
)


def reached(model: Model, *, count: int) -> Iterator[State]:
    """Yield the first states that a search reaches."""
    known = {model.init(): None}
    yield from known.copy()
    queue = [model.init()]
    while queue and len(known) < count:
        for _, _, after in model.successors(queue.pop(0)):
            if after not in known:
                known[after] = None
                queue.append(after)
                yield after


def test_its_actions_are_those_of_next() -> None:
    """By name, and by who does them: tasks, processes, nobody."""
    text = (SPEC / "ThreadClaim.tla").read_text(encoding="utf-8")
    step = re.search(r"^Step\(t\) ==(.*?)^$", text, re.MULTILINE | re.DOTALL)
    following = re.search(r"^Next ==(.*?)^$", text, re.MULTILINE | re.DOTALL)
    assert step
    assert following
    of_tasks = {*re.findall(r"(\w+)\(t\)", step[1] + following[1])} - {"Step"}
    of_procs = {*re.findall(r"(\w+)\(p\)", following[1])}
    of_nobody = {*re.findall(r"\\/ (\w+)(?![\w(])", following[1])}
    by_kind = {
        kind: {name for name in ACTIONS if ACTIONS[name] == kind} for kind in ("task", "proc", "world")
    }
    assert by_kind == {"task": of_tasks, "proc": of_procs, "world": of_nobody}
    assert len(ACTIONS) == 34


def test_each_operator_that_a_mutant_replaces_is_a_method_here() -> None:
    """By the spec's name; and each operator is one of the spec's."""
    operators = {each for name in MUTANTS for each in mutant_case(name).config.replaces} - {"Owner"}
    of_spec = defined("ThreadClaim.tla") | defined("DirectRuns.tla")
    assert operators <= of_spec
    assert all(hasattr(mutant_case("DirectRunUnheld").design, method_of(each)) for each in operators)
    rules = {name for name, value in vars(Rules).items() if callable(value) and not name.startswith("_")}
    assert rules - set(map(method_of, of_spec)) == {"to"}  # `to` is local to Plan


def test_successors_are_the_steps_of_all_actions() -> None:
    """In the same order each time, with none twice."""
    model = Model(ALL_FAULTS)
    for state in reached(model, count=300):
        steps = [
            (action, who, after)
            for action, who in model.instances
            for after in model.step(state, action, who)
        ]
        assert list(model.successors(state)) == steps
        assert len(set(steps)) == len(steps)


def test_a_step_leaves_the_state_before_as_it_was() -> None:
    """A state is a value."""
    model = Model(ALL_FAULTS)
    before = model.init()
    (after,) = model.step(before, "Send", "p1")
    assert before == model.init() != after
    assert hash(before) == hash(model.init())
    assert (after.log, after.asked, after.task[0].at, after.task[0].cmd) == (("msg",), 1, "claim", True)
    assert after.task[1:] == before.task[1:]


def test_a_guard_that_refuses_gives_no_state() -> None:
    """Nothing is asked, so there is no claim."""
    model = Model(ALL_FAULTS)
    assert model.step(model.init(), "Claim", "p1") == ()
    assert model.step(model.init(), "Expire", None) == ()


@pytest.mark.parametrize(
    ("action", "who", "why"),
    [
        ("Steal", "p1", "The model has no action 'Steal'; it has Claim, Refused,"),
        ("Claim", "p", "'p' does no Claim: it is done by a task"),
        ("Claim", None, "None does no Claim: it is done by a task"),
        ("Crash", "p1", "'p1' does no Crash: it is done by a proc"),
    ],
)
def test_who_does_what_is_checked(action: str, who: str | None, why: str) -> None:
    """An action that there is not, or that nobody of that name does, is refused with a sentence."""
    model = Model(ALL_FAULTS)
    with pytest.raises(ValueError, match=why):
        model.step(model.init(), action, who)


def test_a_fault_without_bound_is_never_used_up() -> None:
    """Many is any number; any other bound is one less each time, down to none."""
    model = Model(Constants.of(max_msgs=1, max_fail=MANY, max_crash=1))
    (failed,) = model.step(model.init(), "CommandFails", "p1")
    assert failed.faults == Faults(1, 0, 0, MANY)
    (crashed,) = model.step(failed, "Crash", "p2")
    assert crashed.faults == Faults(0, 0, 0, MANY)
    assert model.step(crashed, "Crash", "p1") == ()


def test_constants_are_named_as_in_the_cfgs() -> None:
    """A process of one task is that task; else a process is a letter, and its tasks are numbered."""
    one, two = Constants.of(3, max_msgs=2, max_lapse=1), Constants.of(2, 2)
    assert (one.procs, one.tasks) == (("p1", "p2", "p3"), ("p1", "p2", "p3"))
    assert (one.owner["p3"], one.max_msgs, one.max_lapse, one.max_fail) == ("p3", 2, 1, 0)
    assert (two.procs, two.tasks) == (("p", "q"), ("p1", "p2", "q1", "q2"))
    assert two.places_of == {"p": (0, 1), "q": (2, 3)}
    assert hash(one) != hash(two)


@pytest.mark.parametrize(("processes", "tasks"), [(0, 1), (1, 0), (-1, 2), (12, 2)])
def test_constants_need_somebody_with_a_name(processes: int, tasks: int) -> None:
    """Neither nobody, nor more than there are names for."""
    with pytest.raises(ValueError, match=str(processes)):
        Constants.of(processes, tasks)


def test_constants_are_read_from_a_cfg() -> None:
    """As the cfg gives them; one that is not given, or an Owner that is not known, is refused."""
    text = (SPEC / "ThreadClaim.cfg").read_text(encoding="utf-8")
    read = constants_of(parse_cfg(text))
    assert read == Constants.of(max_msgs=2, max_notes=1, max_cancel=MANY, max_fail=1)
    with pytest.raises(ValueError, match=r"no value to MaxFail; write MaxFail ="):
        constants_of(parse_cfg(text.replace("MaxFail = 1", "")))
    with pytest.raises(ValueError, match="Owner is Shared"):
        constants_of(parse_cfg(text.replace("Self", "Shared")))


def test_the_initial_state_is_an_empty_thread() -> None:
    """Nobody does anything, and nothing was asked."""
    state = Model(ALL_FAULTS).init()
    assert (state.log, state.asked, state.taken, state.lease, state.run) == (
        (),
        0,
        0,
        "free",
        ("idle", "none"),
    )
    assert set(state.task) == {IDLE}
    assert set(state.look) == {NO_LOOK}
    assert state.faults == Faults(crash=1, lapse=1, cancel=MANY, fail=MANY)
