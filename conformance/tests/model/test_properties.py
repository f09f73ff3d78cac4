"""The registry of properties: all of the spec's, by its names, kinds and sentences."""

import re

import pytest

from conformance.model.facts import seen_to, unconsumed
from conformance.model.model import Model
from conformance.model.state import IDLE, NO_LOOK, Constants, Run, State
from conformance.properties import AT_EVERY_STEP, PROPERTIES, SAFETY, Kind, broken
from conformance.tests.model.cases import MANIFEST, SPEC, defined

CONSTANTS = Constants.of(max_msgs=2, max_notes=1)
INITIAL = Model(CONSTANTS).init()
KINDS = {"invariant": Kind.STATE, "action": Kind.ACTION, "temporal": Kind.TEMPORAL}


def rows_of_readme() -> dict[str, tuple[Kind, str]]:
    """Return the kind and the sentence of each property in spec/README.md."""
    text = (SPEC / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (invariant|action|temporal) \| (.*) \|$", text, re.MULTILINE)
    return {name: (KINDS[kind], sentence.removeprefix("(`DirectRuns`) ")) for name, kind, sentence in rows}


def test_they_are_those_of_the_spec() -> None:
    """Each is defined there; each that a cfg checks is here, but for the witnesses'."""
    assert set(PROPERTIES) <= defined("Properties.tla") | defined("DirectRuns.tla")
    checked = {name for case in MANIFEST.cases if case.entry.kind != "witness" for name in case.expects}
    assert checked == set(PROPERTIES)


def test_their_sentences_are_the_readmes() -> None:
    """What the README says of a property is what is said of it here."""
    rows = rows_of_readme()
    assert set(PROPERTIES) - set(rows) == {
        "DirectRunNotAbandoned"
    }  # what one would wish for, and is not promised
    assert {name: (PROPERTIES[name].kind, PROPERTIES[name].sentence) for name in rows} == rows


def test_temporal_ones_are_the_manifests() -> None:
    """TLC's temporal properties are those of that kind here."""
    assert {name for name in PROPERTIES if PROPERTIES[name].kind is Kind.TEMPORAL} == set(MANIFEST.temporal)


def test_safety_is_what_the_manifest_calls_so() -> None:
    """And every step can break it, and what four temporal properties say of each step."""
    (case,) = (case for case in MANIFEST.cases if case.name == "ThreadClaim")
    assert case.expects == SAFETY
    assert (*SAFETY, "AskedIsTaken", "SentIsTaken", "RepliedResumes", "DeadRunEnds") == AT_EVERY_STEP


def test_an_initial_state_breaks_nothing() -> None:
    """Nor does a step that changes nothing."""
    assert broken(CONSTANTS, None, INITIAL) == ()
    assert broken(CONSTANTS, INITIAL, INITIAL, tuple(name for name in PROPERTIES)) == ()


def test_all_that_a_step_breaks_is_named() -> None:
    """Those of the state after it, and those of the step."""
    after = INITIAL._replace(log=("msg",), taken=1, once=frozenset({1}), run=Run("answered", "none"))
    of_state = ("I1_ConsumedIsGiven", "I3_NoStrandedAsk", "RepliedResumes")
    assert broken(CONSTANTS, INITIAL, after) == (*of_state, "I6_ReplyAnswers", "RunsInTurn")
    assert broken(CONSTANTS, None, after) == of_state
    assert broken(CONSTANTS, None, after, ("I6_ReplyAnswers",)) == ()
    assert broken(CONSTANTS, INITIAL, after, ("I6_ReplyAnswers",)) == ("I6_ReplyAnswers",)


def test_a_name_that_is_no_property_is_refused() -> None:
    """A typing error does not pass for a property that holds."""
    with pytest.raises(KeyError, match="I9"):
        broken(CONSTANTS, None, INITIAL, ("I9",))


ODD = {
    "a position past the log": INITIAL._replace(asked=1),
    "a log of something else": INITIAL._replace(log=("event",)),
    "a log that is too long": INITIAL._replace(log=("note",) * 6),
    "a lease that is nobody's": INITIAL._replace(lease="p3"),
    "a run in no known state": INITIAL._replace(run=Run("lost", "none")),
    "a run that is over, and somebody's": INITIAL._replace(run=Run("paused", "p1")),
    "a run by nobody known": INITIAL._replace(run=Run("active", "p3")),
    "a look that is due nothing known": INITIAL._replace(look=(NO_LOOK, NO_LOOK._replace(due="some"))),
    "a look past the log": INITIAL._replace(look=(NO_LOOK._replace(pos=6), NO_LOOK)),
    "a task that is nowhere": INITIAL._replace(task=(IDLE._replace(at="away"), IDLE)),
    "a task past the log": INITIAL._replace(task=(IDLE, IDLE._replace(pos=6))),
    "a task fed with no message": INITIAL._replace(
        log=("note",), task=(IDLE._replace(fed=frozenset({1})), IDLE)
    ),
    "a task at rest with something due": INITIAL._replace(task=(IDLE._replace(due="all"), IDLE)),
    "a task that releases with nothing due": INITIAL._replace(task=(IDLE._replace(at="release"), IDLE)),
    "a ghost of no message": INITIAL._replace(given=frozenset({1})),
    "a wish past the log": INITIAL._replace(want=6),
    "a fault that is not bounded": INITIAL._replace(faults=INITIAL.faults._replace(crash=1)),
}


@pytest.mark.parametrize("what", ODD)
def test_type_ok_is_broken_by_each_variable(what: str) -> None:
    """Each part of it sees something."""
    assert broken(CONSTANTS, None, ODD[what], ("TypeOK",)) == ("TypeOK",)


def with_task(state: State, **fields: object) -> State:
    """Return the state whose first task has these fields."""
    return state._replace(task=(IDLE._replace(**fields), *state.task[1:]))  # type: ignore[arg-type]


ASKED = INITIAL._replace(log=("msg", "msg"), asked=1, want=1)


@pytest.mark.parametrize(
    ("state", "sees"),
    [
        (ASKED, False),
        (with_task(ASKED, at="claim"), True),
        (with_task(ASKED, at="down"), True),
        (with_task(ASKED, at="release", due="all"), True),
        (with_task(ASKED, at="release", due="newer", seen=0), True),
        (with_task(ASKED, at="release", due="newer", seen=1), False),
        (with_task(ASKED, at="release", due="newer", seen=1, failed=True, read=1), True),
        (with_task(ASKED, at="release", due="newer", seen=1, failed=True, read=0), False),
        (with_task(ASKED._replace(taken=1), at="release", due="newer", seen=1, pos=1), True),
        (ASKED._replace(look=(NO_LOOK, NO_LOOK._replace(due="all"))), True),
        (ASKED._replace(look=(NO_LOOK, NO_LOOK._replace(due="newer", seen=1))), False),
    ],
)
def test_who_sees_to_what_is_left(state: State, sees: bool) -> None:
    """A task, a look or a dead process's sweep, if it will; else what is asked is left lying."""
    assert seen_to(CONSTANTS, state) is sees
    if state.taken == 0:
        expected = () if sees else ("AskedIsTaken", "SentIsTaken")
        assert broken(CONSTANTS, None, state, ("AskedIsTaken", "SentIsTaken")) == expected


def test_a_message_that_is_passed_over_is_seen() -> None:
    """It is asked for and taken, and nothing has consumed it: no task can mend that."""
    passed = with_task(ASKED._replace(taken=1), at="claim")
    assert unconsumed(passed) == {1}
    assert broken(CONSTANTS, None, passed, ("SentIsTaken",)) == ("SentIsTaken",)
    assert unconsumed(passed._replace(waits=1)) == set()


@pytest.mark.parametrize(
    ("due", "loop", "holds"),
    [
        ("..", 1, True),
        (".x", 1, False),
        ("x.", 0, True),
        (".x.", 2, True),
        (".x.", 1, True),
        (".x.x", 3, False),
        ("x.x", 1, True),
    ],
)
def test_what_leads_to_what_on_a_lasso(due: str, loop: int, holds: bool) -> None:
    """Where something is due (x), it must not be so later, or in the loop, which comes again and again."""
    states = [ASKED if each == "x" else INITIAL for each in due]
    assert PROPERTIES["AskedIsTaken"].check(CONSTANTS, states, loop) is holds
