"""Which properties a trace breaks: on TLC's counterexamples as TLC says, and on runs made by hand."""

import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from frozendict import frozendict

from conformance.tests.view.samples import (
    COUNTEREXAMPLES,
    EVERY_TRACE,
    P1,
    P2,
    ROOT,
    counterexample,
    idle,
    look,
    name_of,
    recorded,
    run,
    story,
    tasks,
    turn,
)
from conformance.tlc.itf import load_trace
from conformance.tlc.result import Trace
from conformance.tlc.values import Value
from conformance.view.judge import ALL_PROPERTIES, ONLY_IF_NAMED, TEMPORAL
from conformance.view.reading import read_walk
from conformance.view.sentences import read_sentences
from conformance.view.walk import cannot_tell, walk_of

_LISTED = re.compile(
    r"^(INVARIANTS?|PROPERTY|PROPERTIES)\b(?P<names>(\s+[A-Z]\w*(?![\w\s]*(=|<-)))+)", re.MULTILINE
)


def broken_in(folder: Path, trace: Trace, **meta: str) -> list[tuple[str, int]]:
    """What a recorded run breaks: each property with the step's number."""
    return [(broken.name, broken.step + 1) for broken in recorded(folder, trace, **meta).breaks]


@pytest.mark.parametrize("path", COUNTEREXAMPLES, ids=name_of)
def test_a_counterexample_breaks_what_tlc_says_in_its_last_step(path: Path) -> None:
    """What TLC found broken breaks in the last step, and in none before: there is no shorter trace."""
    walk = read_walk(path)
    steps = {broken.step + 1 for broken in walk.breaks if broken.name in walk.named}
    assert steps == {len(walk.steps)}
    assert not walk.unconfirmed
    assert not cannot_tell(walk)


def test_every_property_is_broken_by_a_counterexample() -> None:
    """So each is seen with both verdicts: it holds in all steps of its counterexample but the last."""
    assert {name for path in COUNTEREXAMPLES for name in read_walk(path).named} == ALL_PROPERTIES


def test_every_property_that_the_model_checks_is_known() -> None:
    """What the cfgs in spec/ name can be judged, and has a sentence."""
    texts = [path.read_text() for path in (ROOT / "spec").glob("*.cfg")]
    named = {name for text in texts for match in _LISTED.finditer(text) for name in match["names"].split()}
    named -= {"PROPERTIES", "PROPERTY", "INVARIANTS", "SYMMETRY", "Sym"}
    assert len(named) > 15
    assert named <= ALL_PROPERTIES
    assert read_sentences(ROOT / "spec").keys() >= ALL_PROPERTIES


@pytest.mark.parametrize("path", EVERY_TRACE, ids=name_of)
def test_what_breaks_a_property_is_named_by_places_of_the_state(path: Path) -> None:
    """Each reason is a sentence, and has places that the state has."""
    walk = read_walk(path)
    for step in walk.steps:
        for broken in step.broken:
            assert broken.reasons
            for reason in broken.reasons:
                assert reason.places
                assert reason.sentence.endswith(".")
                assert set(reason.places) <= step.places.keys()


@pytest.mark.parametrize(
    "path", [path for path in COUNTEREXAMPLES if read_walk(path).loop is None], ids=name_of
)
def test_a_step_that_breaks_nothing_may_be_named_in_vain(path: Path) -> None:
    """Without its last step a counterexample breaks nothing of what it names, and this is said."""
    trace, meta = load_trace(path)
    walk = walk_of("shorter", replace(trace, states=trace.states[:-1]), meta)
    assert list(walk.unconfirmed) == meta["property"].split()


def test_a_turn_breaks_nothing(tmp_path: Path) -> None:
    """Neither does it so when every property is named but those that must break."""
    assert broken_in(tmp_path, turn()) == []
    walk = recorded(tmp_path, turn(), property=", ".join(sorted(ALL_PROPERTIES)))
    assert set(walk.unconfirmed) == ALL_PROPERTIES - TEMPORAL.keys()
    assert set(cannot_tell(walk)) == TEMPORAL.keys()


def test_a_turn_that_rests_for_ever_breaks_no_temporal_property() -> None:
    """With all taken and everybody at rest, nothing is missing."""
    walk = walk_of("rests", replace(turn(), loop=5), {"property": " ".join(TEMPORAL)})
    assert set(walk.unconfirmed) == TEMPORAL.keys()


def test_an_invariant_is_told_where_it_begins_to_be_broken(tmp_path: Path) -> None:
    """Not again as it stays so; but once more if it was whole in between."""
    sent: Mapping[str, Value] = {"log": ("msg",), "asked": 1, "want": 1}
    trace = story(
        ("Send", {**sent, "task": tasks(idle(at="claim"))}),
        ("Cancel", {"task": tasks(idle())}),
        ("Post", {"log": ("msg", "msg")}),
        ("Recover", {"task": tasks(idle(), idle(at="claim"))}),
        ("Refused", {"task": tasks(idle())}),
    )
    assert broken_in(tmp_path, trace) == [("I3_NoStrandedAsk", 3), ("I3_NoStrandedAsk", 6)]


def test_a_state_may_break_several_properties(tmp_path: Path) -> None:
    """The one that the file names comes first."""
    trace = story(
        ("StartRun", {"once": frozenset({1}), "twice": frozenset({1}), "log": ("msg",), "taken": 0})
    )
    names = [name for name, _ in broken_in(tmp_path, trace, property="I2_ConsumedWithItsWrite")]
    assert names[0] == "I2_ConsumedWithItsWrite"
    assert {"I1_ConsumedAtMostOnce", "I1_ConsumedIsGiven", "I4_FailedTurnConsumesNothing"} < set(names)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("log", ("msg", "letter")),
        ("asked", 3),
        ("taken", -1),
        ("lease", "p3"),
        ("run", run("asleep")),
        ("run", run("paused", P1)),
        ("run", run("active", "p3")),
        ("task", tasks(idle(at="dreaming"))),
        ("task", tasks(idle(fed=frozenset({2})))),
        ("task", tasks(idle(at="release"))),
        ("task", tasks(idle(due="all"))),
        ("look", frozendict({P1: look("some"), P2: look()})),
        ("given", frozenset({2})),
    ],
)
def test_what_type_ok_refuses(variable: str, value: Value, tmp_path: Path) -> None:
    """A value of another kind breaks TypeOK, in a recorded run even if it is not named."""
    trace = story(("Post", {variable: value}), first={"log": ("msg", "note")})
    assert ("TypeOK", 2) in broken_in(tmp_path, trace)
    assert "TypeOK" not in [broken.name for broken in walk_of("tlc", trace, {}).breaks]


@pytest.mark.parametrize("name", sorted(ONLY_IF_NAMED))
def test_what_only_some_models_promise_is_judged_if_it_is_named(name: str) -> None:
    """Else a run that need not keep it would seem to break it."""
    path = next(path for path in COUNTEREXAMPLES if name in read_walk(path).named)
    trace, meta = load_trace(path)
    assert name in [broken.name for broken in walk_of("named", trace, meta).breaks]
    assert name not in [broken.name for broken in walk_of("not", trace, {**meta, "property": ""}).breaks]


def test_runs_made_without_the_runner_keep_other_promises() -> None:
    """A direct run's release hands nothing over, and its holder has steps of its own: no more is broken."""
    walk = counterexample("StartsFromLastTold")
    assert {broken.name for broken in walk.breaks} == {"SentIsTaken", "I2_ConsumedWithItsWrite"}


@pytest.mark.parametrize(
    ("old", "new", "is_broken"),
    [
        (run("idle"), run("active", P1), False),
        (run("idle"), run("paused"), True),
        (run("active", P1), run("active", P2), True),
        (run("active", P1), run("active"), False),
        (run("active", P1), run("idle"), False),
        (run("active", P1), run("answered"), True),
        (run("active", P1), run("paused"), True),
        (run("active"), run("paused"), True),
        (run("paused"), run("answered"), False),
        (run("paused"), run("idle"), True),
        (run("answered"), run("active", P1), True),
        (run("answered"), run("active"), True),
        (run("answered"), run("paused"), True),
    ],
)
def test_runs_in_turn(old: Value, new: Value, is_broken: bool, tmp_path: Path) -> None:
    """Each way from one state of a run to another, by a task that does something else."""
    trace = story(("Post", {"run": new}), first={"run": old})
    assert ("RunsInTurn" in [name for name, _ in broken_in(tmp_path, trace)]) == is_broken


def test_a_failure_may_leave_what_is_asked(tmp_path: Path) -> None:
    """What waits for the next command is excused, and nothing is stranded."""
    trace = story(
        ("Release", {"waits": 1}),
        first={"log": ("msg",), "asked": 1, "want": 1, "task": tasks(idle(at="count"))},
    )
    stays = story(("Release", {"waits": 1, "task": tasks(idle())}), first=trace.states[0].variables)
    assert broken_in(tmp_path, stays) == []


def test_steps_are_judged_between_neighbours(tmp_path: Path) -> None:
    """A cursor that goes back twice breaks its property in both steps."""
    values = [2, 1, 2, 1]
    trace = story(*(("Post", {"asked": asked}) for asked in values), first={"log": ("note", "note")})
    back = [index + 2 for index, (old, new) in enumerate(pairwise(values), start=1) if new < old]
    assert [step for name, step in broken_in(tmp_path, trace) if name == "CursorsOnlyMoveForward"] == back


def test_what_was_consumed_unheard_need_not_be_given(tmp_path: Path) -> None:
    """A write whose answer was lost consumes for a run that then does not go on."""
    one = frozenset({1})
    consumed: Mapping[str, Value] = {"log": ("msg",), "asked": 1, "want": 1, "taken": 1, "once": one}
    assert broken_in(tmp_path, story(first={**consumed, "unheard": one})) == []
    assert broken_in(tmp_path, story(first=consumed)) == [("I1_ConsumedIsGiven", 1)]


@pytest.mark.parametrize(("pos", "taken", "is_broken"), [(0, 0, True), (1, 0, True), (1, 1, False)])
def test_a_failure_whose_input_is_taken_has_not_failed(
    pos: int, taken: int, is_broken: bool, tmp_path: Path
) -> None:
    """It cannot tell that another has consumed its input, and hands over all."""
    failed = idle(at="release", due="newer", pos=pos, failed=True, read=2, seen=2)
    handing_over = {"task": tasks(idle(at="claim", seen=2, read=2))}
    trace = story(
        ("Release", handing_over), first={"asked": 2, "want": 2, "taken": taken, "task": tasks(failed)}
    )
    names = [name for name, _ in broken_in(tmp_path, trace)]
    assert ("I4_FailureHandsOverNewer" in names) == is_broken


def test_what_was_asked_before_a_start_is_no_reason_for_it(tmp_path: Path) -> None:
    """A start needs more asked for than was taken: as much is not enough."""
    start = ("StartRun", {"run": run("active", P1), "task": tasks(idle(at="running"))})
    for want, is_broken in ((1, True), (2, False)):
        trace = story(start, first={"want": want, "taken": 1})
        assert ("I5_OnlyAskedStarts" in [name for name, _ in broken_in(tmp_path, trace)]) == is_broken


def test_nothing_is_excused_if_nothing_waits(tmp_path: Path) -> None:
    """A run that is left active in a thread that nobody asked for is stranded all the same."""
    assert ("I3_NoStrandedAsk", 1) in broken_in(tmp_path, story(first={"run": run("active")}))


@pytest.mark.parametrize(
    ("taken", "loop", "since"),
    [
        ((0, 0, 0), 2, 1),  # it is never taken
        ((0, 1, 0), 2, 3),  # it is taken once, and waits anew
        ((0, 0, 1), 2, None),  # it is taken in the end
        ((0, 1, 0), 0, None),  # it is taken each time that the loop comes round
        ((0, 1, 0), 1, None),
    ],
)
def test_what_leads_to_what(taken: tuple[int, ...], loop: int, since: int | None) -> None:
    """AskedIsTaken on loops made by hand: what is taken in the loop is taken again and again."""
    log: Mapping[str, Value] = {"log": ("note",), "asked": 1, "want": 1}
    states = [("Post", {"taken": each}) for each in taken[1:]]
    trace = replace(story(*states, first={**log, "taken": taken[0]}), loop=loop)
    found = [
        each for each in walk_of("loop", trace, {"property": "AskedIsTaken"}).breaks if each.since is not None
    ]
    assert [each.since + 1 for each in found if each.since is not None] == ([] if since is None else [since])


def test_what_is_several_steps_at_once_breaks_no_property_of_one(tmp_path: Path) -> None:
    """The states between are not there: between answered and idle a run was active."""
    at_once = story(("LetGo", {"run": run("idle")}), first={"run": run("answered")})
    assert ("RunsInTurn", 2) in broken_in(tmp_path, at_once)
    assert ("RunsInTurn", 2) not in broken_in(tmp_path, at_once, several="2")
    assert ("RunsInTurn", 2) in broken_in(tmp_path, at_once, several="3 x")
