"""TLC's output: each recorded run comes to the result that it shows."""

from dataclasses import replace

import pytest
from frozendict import frozendict

from conformance.tests.tlc.fixtures.record import CASES, OUTPUTS
from conformance.tests.tlc.recordings import CODES, read, read_lines, recorded_lines
from conformance.tlc.output import Coverage, Progress, PropertyKind, Reader, State, Trace, Verdict
from conformance.tlc.values import ModelValue, function

VERDICTS = {
    "action_property": Verdict.VIOLATED,
    "assertion": Verdict.EVALUATION_ERROR,
    "assumption": Verdict.ASSUMPTION_FALSE,
    "broken": Verdict.SPEC_ERROR,
    "cfg_constant": Verdict.CFG_ERROR,
    "cfg_malformed": Verdict.CFG_ERROR,
    "cfg_unknown": Verdict.CFG_ERROR,
    "coverage": Verdict.HOLDS,
    "deadlock": Verdict.DEADLOCK,
    "deadlock_initial": Verdict.DEADLOCK,
    "endless": Verdict.STOPPED,
    "evaluation_init": Verdict.EVALUATION_ERROR,
    "evaluation_invariant": Verdict.EVALUATION_ERROR,
    "evaluation_next": Verdict.EVALUATION_ERROR,
    "holds": Verdict.HOLDS,
    "incomplete": Verdict.EVALUATION_ERROR,
    "invariant": Verdict.VIOLATED,
    "invariant_initial": Verdict.VIOLATED,
    "lasso": Verdict.VIOLATED,
    "lock_lasso": Verdict.VIOLATED,
    "lock_safety": Verdict.VIOLATED,
    "memory": Verdict.OUT_OF_MEMORY,
    "memory_caught": Verdict.OUT_OF_MEMORY,
    "missing_module": Verdict.SPEC_ERROR,
    "no_initial": Verdict.ERROR,
    "property_initial": Verdict.VIOLATED,
    "stuttering": Verdict.VIOLATED,
    "stuttering_later": Verdict.VIOLATED,
    "undefined": Verdict.SPEC_ERROR,
    "values": Verdict.VIOLATED,
    "warning_sany": Verdict.HOLDS,
    "warning_symmetry": Verdict.HOLDS,
}

# Per case: the kind of property, its name, the actions, and where the trace goes on.
VIOLATIONS = {
    "action_property": (PropertyKind.ACTION_PROPERTY, "NeverDown", "Init Up Down", None),
    "invariant": (PropertyKind.INVARIANT, "BelowTwo", "Init Up Up", None),
    "invariant_initial": (PropertyKind.INVARIANT, "NotZero", "Init", None),
    "property_initial": (PropertyKind.ACTION_PROPERTY, "StartsAtOne", "Init", None),
    "lasso": (PropertyKind.TEMPORAL, None, "Init Up", 0),
    "stuttering": (PropertyKind.TEMPORAL, None, "Init", 0),
    "stuttering_later": (PropertyKind.TEMPORAL, None, "Init Up Up", 2),
    "deadlock": (None, None, "Init Up", None),
    "deadlock_initial": (None, None, "Init", None),
    "evaluation_invariant": (PropertyKind.INVARIANT, "Senseless", "Init Up Up", None),
    "evaluation_next": (None, None, "Init Wrong", None),
    "incomplete": (None, None, "Init Loose Loose", None),
    "lock_safety": (PropertyKind.INVARIANT, "NobodyTwice", "Init Take Eat Leave Take Eat", None),
    "lock_lasso": (
        PropertyKind.TEMPORAL,
        None,
        "Init Take Eat Leave Take Eat Leave Take Eat Leave",
        0,
    ),
    "values": (PropertyKind.INVARIANT, "Reached", "Init Bump", None),
}

MESSAGES = {
    "assertion": 'The first argument of Assert evaluated to FALSE; the second argument was:\n"n is two"\n',
    "assumption": "Assumption line 8, col 8 to line 8, col 14 of module Counter is false.",
    "broken": 'Encountered "=====',
    "cfg_constant": "The constant parameter Max is not assigned a value by the configuration file.",
    "cfg_malformed": "TLC found an error in the configuration file at line 3\nIt was expecting = or <-",
    "cfg_unknown": "The invariant NoSuchInvariant specified in the configuration file\nis not defined",
    "deadlock": "Deadlock reached.",
    "endless": "TLC was stopped before it had finished;",
    "evaluation_invariant": "Evaluating invariant Senseless failed.\nAttempted to apply the operator",
    "holds": "No error was found.",
    "incomplete": "Successor state is not completely specified by the next-state action. The following",
    "invariant": "Invariant BelowTwo is violated.",
    "memory": "Java ran out of memory. Give this run a larger heap, or make the model smaller.\nTerminating",
    "memory_caught": "Java ran out of memory. Give this run a larger heap, or make the model smaller.\nJava",
    "missing_module": "Fatal errors while parsing TLA+ spec in file Missing\nUnknown location\nCannot",
    "no_initial": "There is no initial state, so nothing was checked: Init is false of every state.",
    "undefined": "line 3, col 13 to line 3, col 16 of module Undefined\nUnknown operator: `zero'.",
}


def test_every_case_is_recorded_and_expected() -> None:
    """No recording is without its case, no case without its recording and its verdict."""
    assert set(VERDICTS) == set(CASES) == set(CODES) == {path.stem for path in OUTPUTS.glob("*.txt")}


@pytest.mark.parametrize("name", VERDICTS)
def test_the_verdict(name: str) -> None:
    """Each run has the verdict that its case is there for."""
    result = read(name)
    assert result.verdict is VERDICTS[name]
    assert result.message
    assert (result.exit_code, result.seconds) == (CODES[name], 1.5)
    assert result.version == "TLC2 Version 2.15 of Day Month 20?? (rev: d5b5a7f)"


@pytest.mark.parametrize("name", VERDICTS)
def test_the_trace_and_the_property(name: str) -> None:
    """What was violated has its kind, its name and its trace, some errors too; no other run has any."""
    kind, property_name, actions, loop = VIOLATIONS.get(name, (None, None, "", None))
    result = read(name)
    assert (result.kind, result.property) == (kind, property_name)
    states = result.trace.states if result.trace else ()
    assert " ".join(state.action for state in states) == actions
    assert (result.trace.loop if result.trace else None) == loop


@pytest.mark.parametrize("name", MESSAGES)
def test_the_message(name: str) -> None:
    """The message begins with what a person wants to know, without what TLC says of every exception."""
    assert read(name).message.startswith(MESSAGES[name])


@pytest.mark.parametrize("name", sorted(set(VERDICTS) - {"endless", "memory", "no_initial"}))
def test_a_run_that_was_killed_has_no_result(name: str) -> None:
    """However late TLC is killed before its closing message, the verdict says so: never that all holds."""
    lines = recorded_lines(name)
    closing = next(index for index, line in enumerate(lines) if line.startswith("@!@!@ENDMSG 2186 "))
    for length in range(0, closing, 7):
        assert read_lines(lines[:length], -9)[0].verdict is Verdict.STOPPED, length
    assert read_lines(lines[: closing + 1], CODES[name])[0].verdict is VERDICTS[name]


def test_states_have_their_action_their_place_and_their_values() -> None:
    """Every state of a trace is read whole."""
    trace = read("lock_safety").trace
    assert trace is not None
    w1, w2, free = ModelValue("w1"), ModelValue("w2"), ModelValue("Free")
    idle = function([("at", "idle"), ("fed", frozenset())])
    assert trace.states[0] == State(
        "Init", "", {"lock": free, "worker": frozendict({w1: idle, w2: idle}), "log": ()}
    )
    full = function([("at", "full"), ("fed", frozenset({1, 2}))])
    assert trace.states[-1] == State(
        "Eat",
        "line 12, col 11 to line 13, col 36 of module Lock",
        {"lock": w1, "worker": frozendict({w1: full, w2: idle}), "log": (w1, w1)},
    )


def test_a_lasso_has_the_action_that_closes_it_and_stuttering_has_none() -> None:
    """What goes back by an action is no stuttering, even of one state's length before."""
    lasso, stuttering = read("lasso").trace, read("stuttering_later").trace
    assert lasso is not None
    assert stuttering is not None
    assert (lasso.back, lasso.stuttering) == ("Down", False)
    assert (stuttering.back, stuttering.stuttering) == ("", True)


def test_values_over_many_lines_are_read() -> None:
    """A state with every kind of value, wrapped as TLC wraps it, is read whole."""
    trace = read("values").trace
    assert trace is not None
    values = trace.states[0].variables
    assert set(values) >= {"empty", "interval", "negative", "flags", "text", "nested", "wide", "function"}
    assert values["empty"] == frozendict(set=frozenset(), sequence=(), record=(), text="")
    assert values["text"] == 'quotes " and \\ back, tab \t, line \n, feed \f, return \r'
    assert isinstance(values["wide"], tuple)
    assert len(values["wide"]) == 12
    assert values["function"] == frozendict({-1: 1, 0: 0, 7: 49})
    nested = values["nested"]
    assert isinstance(nested, frozendict)
    assert nested[ModelValue("p3")] == frozendict(
        name="a rather long name for a field's value", count=2, where=frozenset(nested)
    )


def test_the_counts() -> None:
    """The counts are those of the closing messages, or else of the last progress."""
    result = read("lock_safety")
    assert (result.generated, result.distinct, result.queue, result.depth) == (12, 12, 3, 6)
    lasso = read("lasso")
    assert (lasso.generated, lasso.distinct, lasso.queue, lasso.depth) == (7, 4, 0, 4)


def test_progress_as_it_comes() -> None:
    """A long run reports its progress; digits may be grouped, and the rate may be missing."""
    _, endless = read_lines(recorded_lines("endless"), None)
    assert len(endless) == 1
    assert endless[0].distinct > 1000
    assert endless[0].generated_per_minute > 1000
    _, lasso = read_lines(recorded_lines("lasso"), None)
    assert lasso[0] == Progress(depth=4, generated=7, distinct=4, queue=0, generated_per_minute=0)


def test_coverage_has_every_action() -> None:
    """Each action has its counts, those that never fire too."""
    assert read("coverage").coverage == {
        "Take": Coverage(14, 14),
        "Eat": Coverage(14, 14),
        "Leave": Coverage(14, 14),
        "Forget": Coverage(0, 8),
        "Fly": Coverage(0, 0),
    }
    assert read("holds").coverage == {}


def test_coverage_is_that_of_the_last_report_and_summed_over_instances() -> None:
    """Reports of coverage replace each other; an action with several instances has one sum."""
    lines = recorded_lines("coverage")
    start = next(index for index, line in enumerate(lines) if "STARTMSG 2201" in line)
    end = next(index for index, line in enumerate(lines) if "ENDMSG 2202" in line) + 1
    report = lines[start:end]
    twice, _ = read_lines([*lines[:end], *report, *lines[end:]], 0)
    assert twice.coverage == read("coverage").coverage
    instances = [line.replace("<Eat line 12", "<Take line 12") for line in lines]
    assert read_lines(instances, 0)[0].coverage["Take"] == Coverage(28, 28)


def test_warnings_of_tlc_and_of_its_parser() -> None:
    """What TLC warns of, in a frame, and what SANY warns of, outside of them, are both kept."""
    symmetry, constraint = read("warning_symmetry").warnings
    assert symmetry.startswith("Declaring symmetry during liveness checking is dangerous.")
    assert constraint.startswith(
        "Declaring state or action constraints during liveness checking is dangerous:"
    )
    (twice,) = read("warning_sany").warnings
    assert twice == (
        "line 2, col 1 to line 2, col 17 of module WarnsTwo Warning: the definition of 'Twice' conflicts"
        " with its definition at line 2, col 1 to line 2, col 13 of module WarnsOne."
    )


@pytest.mark.parametrize("name", sorted(set(VERDICTS) - {"warning_symmetry", "warning_sany"}))
def test_no_warning_without_a_cause(name: str) -> None:
    """The choice of Java's collector is ours, and no warning of the model; nothing else is warned of."""
    assert "STARTMSG 2401:3" in "".join(recorded_lines(name))
    assert read(name).warnings == ()


def test_lines_of_java_and_of_the_model_change_nothing() -> None:
    """What Java or the model prints between TLC's messages is not taken for one of them."""
    lines = recorded_lines("lock_lasso")
    odd = "Picked up JAVA_TOOL_OPTIONS: -Dx\n"
    for index, line in enumerate(recorded_lines("lock_lasso")):
        if line.startswith("@!@!@STARTMSG"):
            lines.insert(index + lines.count(odd), odd)
    assert read_lines(lines, 13)[0] == read("lock_lasso")


def test_a_state_that_cannot_be_read_is_a_warning() -> None:
    """A value in a notation that we do not know costs the trace, not the verdict, and is said."""
    lines = [line.replace("log = <<w1>>", "log = SUBSET {w1}") for line in recorded_lines("lock_safety")]
    result, _ = read_lines(lines, 12)
    assert (result.verdict, result.property, result.trace) == (Verdict.VIOLATED, "NobodyTwice", None)
    assert result.warnings[0].startswith("State 2 of the trace cannot be read. This is not a TLA+ value")


def test_a_loop_that_cannot_be_read_is_a_warning() -> None:
    """Nor is a lasso shown that would be open."""
    lines = [line.replace("1: Back to state", "Back to some state") for line in recorded_lines("lasso")]
    result, _ = read_lines(lines, 13)
    assert result.trace is None
    (warning,) = result.warnings
    assert warning.startswith(
        "The state that the trace goes back to cannot be read: Back to some state: <Down"
    )


def test_java_that_does_not_start_is_an_error() -> None:
    """A process that ends by itself without a message of TLC's is an error, with what it printed."""
    reader = Reader()
    reader.feed_stray("Error: Could not find or load main class tlc2.TLC\n")
    result = reader.finish(1, 0.1)
    assert result.verdict is Verdict.ERROR
    assert result.message == (
        "TLC broke off with exit code 1.\nError: Could not find or load main class tlc2.TLC"
    )


@pytest.mark.parametrize("exit_code", [None, -9, 137])
def test_a_process_ended_by_a_signal_was_stopped(exit_code: int | None) -> None:
    """Whoever sent the signal, and whoever reports it."""
    assert read_lines(recorded_lines("holds")[:40], exit_code)[0].verdict is Verdict.STOPPED


def test_success_with_another_exit_code_is_an_error() -> None:
    """TLC's word and its exit code must agree before anything is said to hold."""
    assert read_lines(recorded_lines("holds"), 12)[0].verdict is Verdict.ERROR
    assert read_lines(recorded_lines("holds"), 0)[0].verdict is Verdict.HOLDS


@pytest.mark.parametrize(
    ("exit_code", "verdict"),
    [
        (75, Verdict.EVALUATION_ERROR),
        (77, Verdict.EVALUATION_ERROR),
        (150, Verdict.SPEC_ERROR),
        (151, Verdict.CFG_ERROR),
        (255, Verdict.ERROR),
        (None, Verdict.ERROR),
    ],
)
def test_an_error_of_an_unknown_code_is_told_by_the_exit_code(
    exit_code: int | None, verdict: Verdict
) -> None:
    """Where the message's code says nothing, the exit code does."""
    lines = ["@!@!@STARTMSG 2999:1 @!@!@", "Odd.", "@!@!@ENDMSG 2999 @!@!@"]
    lines += ["@!@!@STARTMSG 2186:0 @!@!@", "Finished in 1ms", "@!@!@ENDMSG 2186 @!@!@"]
    result, _ = read_lines(lines, exit_code)
    assert (result.verdict, result.message) == (verdict, "Odd.")


def test_a_newer_tlc_names_the_arguments_of_an_action() -> None:
    """Versions after ours print `Take(w1)`, and more numbers beside an action's place."""
    lines = [line.replace("<Take line 10", "<Take(w1) line 10") for line in recorded_lines("lock_safety")]
    trace = read_lines(lines, 12)[0].trace
    assert trace is not None
    assert trace.states[1].action == "Take(w1)"
    covered = [
        line.replace("of module Lock>: 14:14", "of module Lock (10 3 11 4)>: 14:14")
        for line in recorded_lines("coverage")
    ]
    assert read_lines(covered, 0)[0].coverage == read("coverage").coverage


def test_a_trace_is_its_states_and_its_loop() -> None:
    """A trace that stays in its last state stutters; one that goes further back, or just ends, does not."""
    state = State("Init", "", {"n": 0})
    assert Trace((state,), 0).stuttering
    assert not Trace((state,)).stuttering
    assert not Trace((state, replace(state, action="Up")), 0).stuttering
