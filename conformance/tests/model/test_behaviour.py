"""When a trace is a behaviour of a model, where it stops being one, and whether it is fair."""

from dataclasses import replace

import pytest
from frozendict import frozendict

from conformance.model.behaviour import NotABehaviourError, behaviour_of, starved
from conformance.model.model import Model, values_of
from conformance.model.search import Step
from conformance.model.state import Constants
from conformance.tlc.result import State, Trace

CONSTANTS = Constants.of(max_msgs=1, max_crash=1)
MODEL = Model(CONSTANTS)


def trace_of(*steps: tuple[str, str | None], loop: int | None = None, back: str = "") -> Trace:
    """Return the trace of these steps, each to the first state that it leads to."""
    state = MODEL.init()
    states = [State("Init", "", frozendict(values_of(CONSTANTS, state)))]
    for action, who in steps:
        state = MODEL.step(state, action, who)[0]
        states.append(State(action, "", frozendict(values_of(CONSTANTS, state))))
    return Trace(tuple(states), loop, back)


SENT = trace_of(("Send", "p2"), ("Claim", "p2"), ("StartRun", "p2"))


def test_it_finds_who_did_each_step() -> None:
    """A trace names the action only."""
    behaviour = behaviour_of(MODEL, SENT)
    assert [(step.action, step.who) for step in behaviour.steps[1:]] == [
        ("Send", "p2"),
        ("Claim", "p2"),
        ("StartRun", "p2"),
    ]
    assert (behaviour.loop, behaviour.back) == (None, None)


def test_it_says_where_and_why_a_trace_is_no_behaviour() -> None:
    """The wrong beginning, an action that is refused, leads elsewhere, or is none."""
    cases = {
        "does not begin": (0, replace(SENT, states=SENT.states[1:])),
        "Claim is refused; the model could go on by": (
            1,
            replace(SENT, states=(SENT.states[0], *SENT.states[2:])),
        ),
        "Claim leads to no such state": (
            2,
            replace(SENT, states=(*SENT.states[:2], replace(SENT.states[3], action="Claim"))),
        ),
        "no action Steal": (
            1,
            replace(SENT, states=(SENT.states[0], replace(SENT.states[1], action="Steal"))),
        ),
    }
    for why, (step, trace) in cases.items():
        with pytest.raises(NotABehaviourError, match=rf"Step {step + 1}: .*{why}") as caught:
            behaviour_of(MODEL, trace)
        assert caught.value.step == step


def test_the_way_back_to_the_loop_is_a_step_too() -> None:
    """A loop whose way back is none of the model's is no behaviour."""
    renewed = (("Send", "p2"), ("Claim", "p2"), ("Renew", "p2"))
    behaviour = behaviour_of(MODEL, trace_of(*renewed, loop=2, back="Renew"))
    assert behaviour.back == Step("Renew", "p2", behaviour.states[2])
    with pytest.raises(NotABehaviourError, match="Step 5: StartRun leads to no such state") as caught:
        behaviour_of(MODEL, trace_of(*renewed, loop=2, back="StartRun"))
    assert caught.value.step == 4


@pytest.mark.parametrize(
    ("steps", "loop", "back", "restarts", "who"),
    [
        ((("Send", "p1"),), 1, "", True, "Step(p1)"),
        ((("Send", "p1"), ("Claim", "p1"), ("Renew", "p1")), 2, "Renew", True, "Step(p1)"),
        ((("Crash", "p2"),), 1, "", True, "Restart(p2)"),
        ((("Crash", "p2"),), 1, "", False, None),
        ((("Send", "p1"), ("Claim", "p1"), ("Crash", "p1")), 3, "", False, "Expire"),
        ((), 0, "", True, None),
    ],
)
def test_a_loop_starves_whoever_could_always_go_on(
    steps: tuple[tuple[str, str | None], ...], loop: int, back: str, restarts: bool, who: str | None
) -> None:
    """A task, a process, or a claim's end; but nobody where nothing fair is left to do."""
    behaviour = behaviour_of(MODEL, trace_of(*steps, loop=loop, back=back))
    assert starved(MODEL, behaviour, restarts=restarts) == who


def test_what_is_done_in_the_loop_or_refused_in_it_is_not_starved() -> None:
    """A look that is refused as long as the claim is held may wait for ever."""
    refused = trace_of(
        ("Send", "p1"), ("Claim", "p1"), ("Ask", "p2"), ("Refused", "p2"), ("StartRun", "p1"), loop=5
    )
    assert starved(MODEL, behaviour_of(MODEL, refused)) == "Step(p1)"
    asks = trace_of(
        ("Send", "p1"), ("Claim", "p1"), ("StartRun", "p1"), ("EndRun", "p1"), ("Release", "p1"), loop=5
    )
    assert starved(MODEL, behaviour_of(MODEL, asks)) is None


def test_only_a_loop_can_starve() -> None:
    """Of a behaviour that just ends, nothing can be said."""
    with pytest.raises(ValueError, match="give one with a loop"):
        starved(MODEL, behaviour_of(MODEL, SENT))
