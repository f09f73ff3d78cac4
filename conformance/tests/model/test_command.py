"""The command `search`: what it prints, writes and returns."""

import argparse
import json
import shutil
from pathlib import Path

import pytest
from rich.console import Console

from conformance.model.command import LARGEST, Search, add_search_options, names_of
from conformance.report import AS_EXPECTED, COULD_NOT_RUN, NOT_AS_EXPECTED
from conformance.tests.model.cases import ROOT, SPEC


@pytest.fixture
def console() -> Console:
    """A console that keeps what it prints."""
    return Console(record=True, width=200, highlight=False)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with a spec/ of its own."""
    shutil.copytree(SPEC, tmp_path / "spec")
    return tmp_path


def edit(root: Path, name: str, old: str, new: str) -> None:
    """Edit a file of spec/."""
    path = root / "spec" / name
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_a_model_as_tlc_found_it(console: Console, tmp_path: Path) -> None:
    """A table, a sentence, and the same in JSON."""
    file = tmp_path / "build" / "search.json"
    assert Search(ROOT, console).run(["ThreadClaimAlone"], json=file) == AS_EXPECTED
    printed = console.export_text()
    assert "As expected: 1 model has TLC's states, in" in printed
    found = json.loads(file.read_text(encoding="utf-8"))
    assert (found["ok"], found["command"], found["figures"]["models"]) == (True, "search", 1)
    (row,) = found["rows"]
    assert (row["cfg"], row["distinct_states"], row["depth"]) == ("ThreadClaimAlone", 683, 16)


COUNT = "distinct_states: 683\n    depth: 16"


@pytest.mark.parametrize(
    ("edited", "why"),
    [
        (("models.yaml", COUNT, COUNT.replace("683", "684")), "683 states, and TLC found 684"),
        (("models.yaml", COUNT, COUNT.replace("16", "15")), "depth is 16, and TLC's 15"),
        (("ThreadClaimAlone.cfg", "MaxCrash = 2", "MaxCrash = 1"), "states, and TLC found 683"),
    ],
)
def test_a_model_that_differs_is_told(
    root: Path, console: Console, edited: tuple[str, str, str], why: str
) -> None:
    """By what it differs, and how to see it again."""
    edit(root, *edited)
    assert Search(root, console).run(["ThreadClaimAlone"]) == NOT_AS_EXPECTED
    printed = console.export_text()
    assert why in printed
    assert "Again: .venv/bin/python -m conformance search --only ThreadClaimAlone" in printed


def test_an_action_that_should_be_idle_and_fires_is_told(root: Path, console: Console) -> None:
    """And one that should fire, and is idle."""
    path = root / "spec" / "models.yaml"
    before, entry, rest = path.read_text(encoding="utf-8").partition("\n  ThreadClaimAlone:\n")
    path.write_text(before + entry + rest.replace("idle: [Answer, ", "idle: [Send, ", 1), encoding="utf-8")
    assert Search(root, console).run(["ThreadClaimAlone"]) == NOT_AS_EXPECTED
    assert "fire in one of the two only: Answer, Send." in console.export_text()


def test_a_property_that_breaks_is_told_with_the_way_to_it(root: Path, console: Console) -> None:
    """ClaimsFindWork holds only where nothing but messages is asked for."""
    edit(
        root,
        "models.yaml",
        "holds: [RefusedIsTaken]\n",
        "holds: [RefusedIsTaken, I3_ClaimHasATask, ClaimsFindWork]\n",
    )
    edit(root, "ThreadClaimAlone.cfg", "MaxNotes = 0", "MaxNotes = 1")
    assert Search(root, console).run(["ThreadClaimAlone"]) == NOT_AS_EXPECTED
    assert "breaks ClaimsFindWork, by Note() Ask(p1) Claim(p1)." in console.export_text()


@pytest.mark.parametrize(
    ("only", "tier", "why"),
    [
        (["NoHandOver"], None, "No model of the tier all is called NoHandOver."),
        (["NightlyAll"], "pull-request", "No model of the tier pull-request is called NightlyAll."),
    ],
)
def test_it_could_not_run_with_a_sentence(
    console: Console, capsys: pytest.CaptureFixture[str], only: list[str], tier: str | None, why: str
) -> None:
    """A name that is no model's, or not in the tier, is not passed over."""
    assert Search(ROOT, console).run(only, tier) == COULD_NOT_RUN
    assert why in capsys.readouterr().err


def test_a_spec_that_it_does_not_know_is_told(
    root: Path, console: Console, capsys: pytest.CaptureFixture[str]
) -> None:
    """A cfg of a SPECIFICATION that the model in Python has not could not be searched."""
    edit(root, "ThreadClaimAlone.cfg", "SPECIFICATION NoRestartSpec", "SPECIFICATION OtherSpec")
    assert Search(root, console).run(["ThreadClaimAlone"]) == COULD_NOT_RUN
    assert "the SPECIFICATION OtherSpec is not in" in capsys.readouterr().err


def test_what_a_search_can_check() -> None:
    """All but the temporal properties that say nothing of a single step."""
    assert names_of(("TypeOK", "AskedIsTaken", "I4_NeverSpins", "RunsInTurn")) == (
        "TypeOK",
        "AskedIsTaken",
        "RunsInTurn",
    )


def test_its_options() -> None:
    """What the command line takes."""
    parser = argparse.ArgumentParser()
    add_search_options(parser)
    parsed = parser.parse_args(["--only", "A", "--only", "B*", "--tier", "all", "--json", "x.json"])
    assert (parsed.only, parsed.tier, parsed.json) == (["A", "B*"], "all", Path("x.json"))
    assert f"{LARGEST:,}" in parser.format_help()
