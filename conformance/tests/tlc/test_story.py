"""A trace's story: each step with its action, and with nothing but what it changed."""

import pytest
from frozendict import frozendict
from hypothesis import given

from conformance.tests.tlc.recordings import read
from conformance.tests.tlc.strategies import VALUES, traces
from conformance.tlc.output import State, Trace
from conformance.tlc.story import tell
from conformance.tlc.values import ModelValue, Value, print_value

P1, P2 = ModelValue("p1"), ModelValue("p2")


def told(name: str) -> list[str]:
    """Return the story of a recorded trace, in lines."""
    trace = read(name).trace
    assert trace is not None
    return tell(trace).split("\n")


def step(old: Value, new: Value, action: str = "Act") -> list[str]:
    """Return the story of one step that changes `x`, without the first state."""
    states = State("Init", "", {"x": old}), State(action, "", {"x": new})
    story = tell(Trace(states)).split("\n")
    return story[story.index(next(line for line in story if line.startswith("2. "))) :]


def test_a_story_of_a_safety_violation() -> None:
    """The first state is whole, and each step has its action, whose it was, and what it changed."""
    assert told("lock_safety") == [
        "1. Init",
        "     lock = Free",
        '     worker[w1, w2] = [at |-> "idle", fed |-> {}]',
        "     log = <<>>",
        "2. Take (w1)",
        "     lock: Free -> w1",
        "     log: appended w1",
        '     worker[w1].at: "idle" -> "busy"',
        "3. Eat (w1)",
        '     worker[w1].at: "busy" -> "full"',
        "     worker[w1].fed: added 1",
        "4. Leave (w1)",
        "     lock: w1 -> Free",
        '     worker[w1].at: "full" -> "idle"',
        "     worker[w1].fed: removed 1",
        "5. Take (w1)",
        "     lock: Free -> w1",
        "     log: appended w1",
        '     worker[w1].at: "idle" -> "busy"',
        "6. Eat (w1)",
        '     worker[w1].at: "busy" -> "full"',
        "     worker[w1].fed: added 1, 2",
    ]


@pytest.mark.parametrize(
    ("name", "ending"),
    [
        ("lock_lasso", "Then it goes back by Forget to step 1, and so on for ever."),
        ("lasso", "Then it goes back by Down to step 1, and so on for ever."),
        ("stuttering", "Then nothing happens any more: it stutters in this state for ever."),
        ("stuttering_later", "Then nothing happens any more: it stutters in this state for ever."),
        ("invariant", "     n: 1 -> 2"),
        ("deadlock_initial", "     n = 0"),
    ],
)
def test_how_a_story_ends(name: str, ending: str) -> None:
    """A lasso says where it goes back to, stuttering that nothing happens, and any other trace just ends."""
    assert told(name)[-1] == ending


def test_a_loop_by_an_unknown_action() -> None:
    """Where TLC does not say which action closes the loop, neither does the story."""
    states = State("Init", "", {"x": 0}), State("Act", "", {"x": 1})
    assert tell(Trace(states, loop=0)).endswith("Then it goes back to step 1, and so on for ever.")


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        (1, 1, ["(no change)"]),
        (1, True, ["x: 1 -> TRUE"]),
        ("a", P1, ['x: "a" -> p1']),
        (frozenset({1, 2}), frozenset({2, 3}), ["x: added 3", "x: removed 1"]),
        ((1,), (1, 2, 3), ["x: appended 2, 3"]),
        ((1, 2, 3), (3,), ["x: taken from its front 1, 2"]),
        ((1, 2), (), ["x: taken from its front 1, 2"]),
        ((1, 2, 3), (1, 5, 3), ["x[2]: 2 -> 5"]),
        ((1, 2, 3), (7, 8), ["x: <<1, 2, 3>> -> <<7, 8>>"]),
        (frozendict(a=1, b=2), frozendict(a=1, b=3), ["x.b: 2 -> 3"]),
        (frozendict({3: "a"}), frozendict({3: "a", 5: "b"}), ['x[5]: added, as "b"']),
        (frozendict({3: "a", 5: "b"}), frozendict({5: "b"}), ["x[3]: removed"]),
        (frozendict({0: frozendict(a=1)}), frozendict({0: frozendict(a=2)}), ["x[0].a: 1 -> 2"]),
        ((), frozendict(a=1), ["x: <<>> -> [a |-> 1]"]),
    ],
)
def test_what_a_step_changed(old: Value, new: Value, lines: list[str]) -> None:
    """Only what changed is told, down to the field, the key or the item."""
    assert step(old, new) == ["2. Act", *(f"     {line}" for line in lines)]


def test_whose_step_it_was() -> None:
    """One key's changes are that key's; two keys' are nobody's; an action with arguments says it itself."""
    neither: Value = frozendict({P1: "a", P2: "a"})
    one: Value = frozendict({P1: "b", P2: "a"})
    both: Value = frozendict({P1: "b", P2: "b"})
    assert step(neither, one)[0] == "2. Act (p1)"
    assert step(neither, both)[0] == "2. Act"
    assert step(neither, one, "Act(p1)")[0] == "2. Act(p1)"


@given(VALUES, VALUES)
def test_a_change_is_told_and_no_change_is_not(old: Value, new: Value) -> None:
    """A step between any two values says that nothing changed exactly if nothing did."""
    assert step(old, old)[1:] == ["     (no change)"]
    assert (step(old, new)[1:] == ["     (no change)"]) == (print_value(old) == print_value(new))


@given(traces())
def test_every_trace_has_a_story(trace: Trace) -> None:
    """Each state of any trace is a step."""
    lines = tell(trace).split("\n")
    assert [line.split(". ")[0] for line in lines if line[0].isdigit()] == [
        str(number) for number in range(1, len(trace.states) + 1)
    ]
