"""The command `models` with a stand-in for TLC: what it runs, prints, writes and exits with."""

import json
from argparse import ArgumentParser
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.models.command import Options, add_options, options_from
from conformance.models.manifest import Model, load_manifest
from conformance.models.run import job_of
from conformance.report import AS_EXPECTED, COULD_NOT_RUN, NOT_AS_EXPECTED
from conformance.tests.models.bench import HOLDS, Bench, violated
from conformance.tlc.itf import load_trace
from conformance.tlc.output import Coverage, Result, Verdict
from conformance.tlc.tools import ToolError, Tools


def lines_with(bench: Bench, word: str) -> list[str]:
    """The lines that the command printed with a word in them."""
    return [line.strip() for line in bench.printed.splitlines() if word in line]


def test_everything_as_expected(bench: Bench) -> None:
    """It exits 0, prints a row for each cfg, and sums up."""
    assert bench.run() == AS_EXPECTED
    for name in ("Counter", "mutants/NoRoom", "mutants/NoUp", "witnesses/MaxIsReached"):
        assert len(lines_with(bench, f"{name} ")) == 1
    assert lines_with(bench, "As expected:")[0].startswith(
        "As expected: 1 model, 2 mutants, 1 witness; 16 dis"
    )
    assert "5 (records: 7)" in bench.printed


def test_a_line_as_each_ends(bench: Bench) -> None:
    """Without a terminal, each cfg that ended has a plain line, numbered."""
    bench.tlc.results["Counter"] = replace(HOLDS, distinct=5)
    bench.run()
    lines = lines_with(bench, "/4]")
    assert [line[:6] for line in lines] == ["[1/4] ", "[2/4] ", "[3/4] ", "[4/4] "]
    assert any(line.endswith("FAIL Counter: holds, 5 states, 1.0 s") for line in lines)
    assert any(line.endswith("ok   mutants/NoRoom: violated, 4 states, 1.0 s") for line in lines)


def test_progress_in_a_terminal(bench: Bench) -> None:
    """In a terminal the running checks are shown with states, rate and queue, and a failure as it comes."""
    bench.tlc.results["Counter"] = replace(HOLDS, distinct=5)
    assert bench.run(terminal=True) == NOT_AS_EXPECTED
    assert "4 of 4 checked" in bench.printed
    assert "FAIL Counter: holds, 5 states, 1.0 s" in bench.printed


def test_what_tlc_is_asked(bench: Bench) -> None:
    """A model runs with coverage, a mutant without; both find the modules of spec/."""
    bench.edit(
        "models.yaml", "    tier: nightly\n", "    tier: nightly\n    seconds: 7\n    memory_mb: 512\n"
    )
    bench.run()
    jobs = {job.cfg.stem: job for job in bench.tlc.jobs}
    assert [job.cfg.stem for job in bench.tlc.jobs][-1] == "MaxIsReached"
    assert bench.tlc.timeouts == [300, 300, 300, 35]
    assert (jobs["Counter"].coverage, jobs["NoRoom"].coverage) == (True, False)
    assert jobs["NoRoom"].module == bench.spec / "mutants" / "Mutants.tla"
    assert jobs["NoRoom"].library == (bench.spec,)
    assert (jobs["MaxIsReached"].memory_mb, jobs["MaxIsReached"].check_deadlock) == (512, False)


@pytest.mark.parametrize(("states", "is_quick"), [(None, False), (4, True), (20_000, False)])
def test_a_model_of_many_states_takes_longer_than_a_counterexample(
    bench: Bench, states: int | None, is_quick: bool
) -> None:
    """So does one of which nobody knows how many it has."""
    cases = {case.cfg.stem: case for case in load_manifest(bench.spec).cases}
    counter = cases["Counter"]
    assert isinstance(counter.entry, Model)
    entry = counter.entry.model_copy(update={"distinct_states": states})
    assert job_of(replace(counter, entry=entry)).quick is is_quick
    assert job_of(cases["NoRoom"]).quick is True


@pytest.mark.parametrize(("states", "is_counted"), [(None, True), (7, True), (6, False)])
def test_of_a_model_that_is_searched_tlc_counts_no_actions(
    bench: Bench, states: int | None, is_counted: bool
) -> None:
    """A search tells which fire; of one that has too many states, or that is new, TLC does."""
    counter = next(case for case in load_manifest(bench.spec).cases if case.cfg.stem == "Counter")
    assert isinstance(counter.entry, Model)
    entry = counter.entry.model_copy(update={"distinct_states": states})
    assert job_of(replace(counter, entry=entry), searched=6).coverage is is_counted
    assert job_of(replace(counter, entry=entry)).coverage is True


def test_what_tlc_does_not_count_is_not_missed(bench: Bench) -> None:
    """A run with no coverage is as expected where none was asked for; each other fault is still told."""
    bench.tlc.results["Counter"] = replace(HOLDS, coverage={})
    assert bench.run() == 1
    bench.searched = 4
    assert bench.run() == 0
    bench.tlc.results["Counter"] = replace(HOLDS, coverage={}, depth=5)
    assert bench.run() == 1


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (Options(), {"Counter", "NoRoom", "NoUp"}),
        (Options(tier="nightly"), {"MaxIsReached"}),
        (Options(tier="all", kind="mutant"), {"NoRoom", "NoUp"}),
        (Options(only=("mutants/*",)), {"NoRoom", "NoUp"}),
        (Options(only=("NoUp", "Max*")), {"NoUp", "MaxIsReached"}),
        (Options(only=("Counter",), jobs=1), {"Counter"}),
        (Options(only=("Max*", "Counter"), tier="nightly"), {"MaxIsReached"}),
        (Options(show=("MaxIsReached",)), {"MaxIsReached"}),
    ],
)
def test_what_is_selected(bench: Bench, options: Options, names: set[str]) -> None:
    """A tier, a kind and names select; a name by itself selects in every tier."""
    assert bench.run(options) == AS_EXPECTED
    assert {job.cfg.stem for job in bench.tlc.jobs} == names


def test_nothing_selected_is_no_success(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    """Options that leave no cfg could not be run, and say so."""
    assert bench.run(Options(only=("Counter",), kind="mutant")) == COULD_NOT_RUN
    assert (
        "No cfg of the manifest is selected by --tier all --kind mutant --only Counter."
        in capsys.readouterr().err
    )


def test_a_mistyped_name_is_not_passed_over(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    """A name that no cfg has could not be run, though others beside it could, and is told its like."""
    assert bench.run(Options(only=("NoRoom", "NoRom"))) == COULD_NOT_RUN
    assert "No cfg of the manifest is called NoRom. Did you mean NoRoom?" in capsys.readouterr().err


FAILURES = [
    ("Counter", violated("TypeOK", 2), "expects everything to hold, but TypeOK is violated"),
    ("Counter", replace(HOLDS, distinct=3), "number of distinct states changed: expected 4, found 3"),
    ("Counter", replace(HOLDS, coverage={"Leap": Coverage(0, 0), "Up": Coverage(0, 0)}), "Up never fired"),
    ("Counter", replace(HOLDS, verdict=Verdict.STOPPED), "TLC was stopped"),
    ("Counter", replace(HOLDS, verdict=Verdict.OUT_OF_MEMORY), "TLC ran out of memory"),
    ("Counter", replace(HOLDS, verdict=Verdict.SPEC_ERROR, message="line 3"), "cannot read the module"),
    ("Counter", replace(HOLDS, warnings=("beware",)), "TLC printed a warning: beware"),
    ("mutants/NoRoom", HOLDS, "The mutant is harmless"),
    ("mutants/NoRoom", violated("OneByOne", 5), "TypeOK to be violated, but OneByOne is violated"),
    ("witnesses/MaxIsReached", HOLDS, "The situation is not reached"),
]


@pytest.mark.parametrize(("name", "result", "why"), FAILURES)
def test_each_failure_is_told_by_name(bench: Bench, name: str, result: Result, why: str) -> None:
    """It exits 1, and says what failed, why, and the command that shows it again."""
    bench.tlc.results[Path(name).name] = result
    assert bench.run() == NOT_AS_EXPECTED
    assert "1 of 4 not as expected:" in bench.printed
    assert len(lines_with(bench, why)) == 1
    assert lines_with(bench, "Again:") == [f"Again: .venv/bin/python -m conformance models --only {name}"]


def test_an_unexpected_counterexample_is_told(bench: Bench) -> None:
    """A model's counterexample is shown as a story; the one that a mutant must have is not."""
    bench.tlc.results["Counter"] = violated("TypeOK", 2)
    bench.run()
    assert len(lines_with(bench, "x = 0")) == 1


def test_a_counterexample_is_shown_on_request(bench: Bench) -> None:
    """`--show` tells the counterexample of a mutant, and says of a model that there is none."""
    assert bench.run(Options(show=("NoRoom",))) == AS_EXPECTED
    assert len(lines_with(bench, "x = 0")) == 1
    assert bench.run(Options(show=("Counter",))) == AS_EXPECTED
    assert lines_with(bench, "no counterexample") == ["There is no counterexample to show."]


@pytest.mark.parametrize("tier", ["pull-request", "nightly", "all"])
def test_the_whole_manifest_is_checked_in_every_tier(bench: Bench, tier: str) -> None:
    """An unlisted cfg, and a stale hash, fail whatever is run; what was not run has a row that says so."""
    (bench.spec / "New.cfg").write_text("SPECIFICATION Spec\n", encoding="utf-8")
    bench.edit("Counter.cfg", "Max = 3", "Max = 2")
    assert bench.run(Options(tier=tier)) == NOT_AS_EXPECTED
    assert len(lines_with(bench, "The cfg is not in the manifest")) == 1
    assert len(lines_with(bench, "Its hash is stale")) == 1
    assert "not run" in lines_with(bench, "New ")[0]
    counter = lines_with(bench, "Counter ")[0].split()
    assert counter[:4] == ["Counter", "model", "safety,", "liveness"]
    assert (counter[4] == "not") == (tier == "nightly")


def test_problems_of_others_are_left_out_when_names_are_given(bench: Bench) -> None:
    """`--only` looks at what it names, a cfg that is not listed too."""
    (bench.spec / "New.cfg").write_text("SPECIFICATION Spec\n", encoding="utf-8")
    assert bench.run(Options(only=("Counter",))) == AS_EXPECTED
    assert bench.run(Options(only=("New",))) == NOT_AS_EXPECTED
    assert lines_with(bench, "Again:") == ["Again: .venv/bin/python -m conformance models --only New"]


def test_an_entry_without_its_cfg_is_not_run(bench: Bench) -> None:
    """What cannot be run fails without TLC."""
    (bench.spec / "Counter.cfg").unlink()
    assert bench.run(Options(only=("Counter",))) == NOT_AS_EXPECTED
    assert bench.tlc.jobs == []
    assert len(lines_with(bench, "there is no such cfg")) == 1


def test_no_java_and_a_wrong_jar_could_not_run(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    """What the tools lack is said on standard error, and nothing is run."""

    def find_tools(root: Path) -> Tools:
        """Find none."""
        raise ToolError(f"There is no Java for {root.name}; install one.")

    bench.find_tools = find_tools
    assert bench.run() == COULD_NOT_RUN
    assert (
        capsys.readouterr().err == f"Could not run: There is no Java for {bench.folder.name}; install one.\n"
    )
    assert bench.tlc.jobs == []


def test_a_manifest_that_cannot_be_read_could_not_run(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    """An entry with an unknown field stops everything."""
    bench.edit("models.yaml", "idle:", "idel:")
    assert bench.run() == COULD_NOT_RUN
    assert "models.yaml: Counter: `idel` is no field here" in capsys.readouterr().err


def test_the_json_is_the_shape_of_every_command(bench: Bench, tmp_path: Path) -> None:
    """`--json` writes figures, and a row for each cfg, with why one failed."""
    bench.tlc.results["NoRoom"] = HOLDS
    file = tmp_path / "build" / "models.json"
    bench.run(Options(tier="all", json=file))
    written = json.loads(file.read_text(encoding="utf-8"))
    assert (written["ok"], written["command"]) == (False, "models")
    figures = written["figures"]
    assert figures.pop("seconds") >= 0
    assert figures == {"models": 1, "mutants": 2, "witnesses": 1, "distinct_states": 16, "failures": 1}
    assert written["rows"][3] == {
        "cfg": "witnesses/MaxIsReached",
        "kind": "witness",
        "tier": "nightly",
        "property": "NeverMax",
        "verdict": "reached",
        "distinct_states": 4,
        "depth": 4,
        "trace_length": 4,
        "seconds": 1.0,
        "ok": True,
    }
    assert "harmless" in written["rows"][1]["why"]


def test_counterexamples_are_saved_as_itf(bench: Bench, tmp_path: Path) -> None:
    """Each expected counterexample has a file, to the byte the same each time; an unexpected one has none."""
    bench.tlc.results["NoUp"] = violated("TypeOK", 1)
    folder = tmp_path / "traces"
    bench.run(Options(tier="all", traces=folder))
    assert sorted(file.name for file in folder.glob("*.json")) == ["MaxIsReached.itf.json", "NoRoom.itf.json"]
    first = (folder / "NoRoom.itf.json").read_bytes()
    bench.run(Options(tier="all", traces=folder))
    assert (folder / "NoRoom.itf.json").read_bytes() == first
    trace, meta = load_trace(folder / "NoRoom.itf.json")
    assert len(trace.states) == 5
    assert meta["cfg"] == "mutants/NoRoom.cfg"
    assert meta["property"] == "TypeOK"
    assert meta["description"] == "Taken out: Nothing is above Max."


def test_update_writes_counts_and_hashes(bench: Bench) -> None:
    """After `--update` the new counts are expected, and only they changed."""
    before = bench.manifest
    bench.edit("Counter.cfg", "Max = 3", "Max = 2")
    bench.tlc.results["Counter"] = replace(HOLDS, distinct=3, depth=3)
    bench.tlc.results["NoUp"] = violated(None, 2)
    assert bench.run(Options(tier="all", update=True)) == AS_EXPECTED
    assert "models.yaml: new counts, for review." in bench.printed
    assert "FAIL" not in bench.printed
    pairs = zip(before.splitlines(), bench.manifest.splitlines(), strict=True)
    changed = [new.partition(":")[0].strip() for old, new in pairs if old != new]
    assert changed == ["distinct_states", "depth", "sha256", "trace_length"]
    assert bench.run() == AS_EXPECTED


def test_update_of_what_is_right_changes_nothing(bench: Bench) -> None:
    """There is nothing to review then."""
    before = bench.manifest
    assert bench.run(Options(tier="all", update=True)) == AS_EXPECTED
    assert "models.yaml: nothing new." in bench.printed
    assert bench.manifest == before


def test_update_refuses_a_wrong_verdict(bench: Bench) -> None:
    """A cfg that shows something else is left as it is, its hash too, and fails."""
    before = bench.manifest
    bench.edit("mutants/NoRoom.cfg", "Max = 3", "Max = 2")
    bench.tlc.results["NoRoom"] = HOLDS
    assert bench.run(Options(tier="all", update=True)) == NOT_AS_EXPECTED
    assert bench.manifest == before
    assert len(lines_with(bench, "harmless")) == 1
    assert len(lines_with(bench, "Its hash is stale")) == 1


def test_update_refuses_a_cfg_that_breaks_a_rule(bench: Bench) -> None:
    """A property that the cfg no longer checks is not forgotten by taking over the new hash."""
    before = bench.manifest
    bench.edit("Counter.cfg", "  TypeOK\n", "")
    assert bench.run(Options(tier="all", update=True)) == NOT_AS_EXPECTED
    assert bench.manifest == before
    assert len(lines_with(bench, "does not check TypeOK")) == 1


def test_options_are_read_from_the_command_line() -> None:
    """Every option of the command is there, names may be repeated, and nothing is asked for unless given."""
    parser = ArgumentParser()
    add_options(parser)
    assert options_from(parser.parse_args([])) == Options()
    line = (
        "--only A --only B --tier all --kind mutant --update --json j --traces t --show C --spec s --jobs 3"
    )
    assert options_from(parser.parse_args(line.split())) == Options(
        ("A", "B"), "all", "mutant", True, Path("j"), Path("t"), ("C",), Path("s"), 3
    )


@pytest.mark.parametrize("line", ["--jobs 0", "--jobs x", "--tier weekly", "--kind other"])
def test_options_that_make_no_sense_are_refused(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The command line is refused with exit code 2, and says which option."""
    parser = ArgumentParser()
    add_options(parser)
    with pytest.raises(SystemExit) as stop:
        parser.parse_args(line.split())
    assert stop.value.code == COULD_NOT_RUN
    assert line.split(maxsplit=1)[0] in capsys.readouterr().err


def test_the_command_that_shows_a_failure_again_names_the_spec(bench: Bench, tmp_path: Path) -> None:
    """Another folder than spec/ is part of the command."""
    (bench.spec / "New.cfg").write_text("", encoding="utf-8")
    bench.run(Options(only=("New",), spec=bench.spec))
    assert lines_with(bench, "Again:")[0].endswith(f"--only New --spec {tmp_path / 'spec'}")
