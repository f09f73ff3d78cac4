"""The matrix of mutants: what catches a twin, and that a twin which nothing catches is told."""

import asyncio
import json
from pathlib import Path

import pytest
from rich.console import Console

from conformance.__main__ import ROOT
from conformance.matrix import BUDGET, Caught, Mutants, hunt
from conformance.model.direct import DirectModel
from conformance.model.model import Model
from conformance.models.manifest import Mutant, load_manifest
from conformance.mutants import TWINS
from conformance.mutants.twin import Twin
from threadclaim.claim import HeldClaim


def run(tmp_path: Path, *only: str) -> tuple[int, str, dict[str, object]]:
    """Run the command; its code, what it prints, and its JSON, if it wrote any."""
    console = Console(width=200, record=True, file=(tmp_path / "out").open("w"))
    code = Mutants(ROOT, console).run(only, tmp_path / "mutants.json")
    console.file.close()
    file = tmp_path / "mutants.json"
    return code, console.export_text(), json.loads(file.read_text()) if file.is_file() else {}


def test_every_mutant_of_the_model_has_a_twin_and_no_twin_is_of_none() -> None:
    """By its name, the cfg's."""
    cases = load_manifest(ROOT / "spec").cases
    assert set(TWINS) == {Path(case.name).name for case in cases if isinstance(case.entry, Mutant)}
    assert all(twin.name == name and twin.does for name, twin in TWINS.items())


def test_the_library_as_it_is_is_not_caught() -> None:
    """Else everything would be, and nothing shown; within a budget that catches most."""
    assert not hunt(Twin("", "Nothing.", lambda _: None), budget=3_000).by


@pytest.mark.parametrize("name", ["NoHandOver", "NoFenceOnStart", "RenewTakes", "DroppedIsDelivered"])
def test_a_twin_is_caught_by_exploration_alone(name: str) -> None:
    """Without its trace, and well within the budget."""
    caught = hunt(TWINS[name])
    assert caught.by
    assert 1 <= caught.steps < BUDGET / 10


def test_a_step_that_the_world_cannot_take_catches_too() -> None:
    """A claim that nobody renews: the model's `Renew` has nothing to be."""

    async def never(_: HeldClaim) -> None:
        await asyncio.get_running_loop().create_future()

    assert hunt(Twin("", "Renews nothing.", lambda put: put(HeldClaim, "_renew", never))).by == (
        "a step that the world cannot take"
    )


def test_a_twin_of_direct_runs_is_caught_beside_the_model_that_has_them() -> None:
    """spec/DirectRuns.tla's."""
    assert hunt(TWINS["StartsFromLastTold"], DirectModel).by


def test_the_command_prints_the_matrix(tmp_path: Path) -> None:
    """A row for each mutant: its property, TLC's trace, the replay, and what exploration caught it by."""
    code, text, found = run(tmp_path, "NoSweep", "NoLookAgain")
    assert code == 0
    assert "2 mutants, each caught by TLC, by replay, and by exploration" in text
    rows = found["rows"]
    assert isinstance(rows, list)
    assert [row["mutant"] for row in rows] == ["NoLookAgain", "NoSweep"]
    assert all(row["tlc"] and row["replay"] and row["explore"] and row["ok"] for row in rows)


def test_a_twin_that_nothing_catches_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is no twin then."""
    monkeypatch.setattr("conformance.matrix.hunt", lambda twin, model: hunt(twin, model, 500))
    monkeypatch.setitem(TWINS, "NoSweep", Twin("NoSweep", "Nothing else.", lambda _: None))
    code, text, found = run(tmp_path, "NoSweep")
    assert code == 1
    assert "NOT caught" in text
    assert "NOT reproduced" in text
    assert "python -m conformance mutants --only NoSweep" in text
    assert found["ok"] is False


def test_a_mutant_that_there_is_not_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With code 2."""
    assert run(tmp_path, "Other")[0] == 2
    assert "No mutant is called Other." in capsys.readouterr().err


def test_a_model_is_what_its_twins_are_explored_beside() -> None:
    """The model with direct runs is one, too."""
    assert issubclass(DirectModel, Model)


def test_names_may_be_patterns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As those of models; and one that none matches is told with what is much like it."""
    monkeypatch.setattr("conformance.matrix.hunt", lambda *_: Caught("a property", 1))
    code, text, found = run(tmp_path, "NoSw*", "NoLookA*")
    rows = found["rows"]
    assert isinstance(rows, list)
    assert code == 0
    assert [row["mutant"] for row in rows] == ["NoLookAfterFailedRelease", "NoLookAgain", "NoSweep"]
    assert "3 mutants, each caught by TLC, by replay, and by exploration within 1 step." in text


def test_one_mutant_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In words that agree."""
    monkeypatch.setattr("conformance.matrix.hunt", lambda *_: Caught("a property", 2))
    assert (
        "1 mutant, each caught by TLC, by replay, and by exploration within 2 steps."
        in run(tmp_path, "NoSweep")[1]
    )


def test_a_mutant_much_like_the_name_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And a pattern that is none's is not passed over."""
    assert run(tmp_path, "NoSwep", "NoSweep")[0] == 2
    assert "No mutant is called NoSwep. Did you mean NoSweep" in capsys.readouterr().err
    assert run(tmp_path, "NoSweep", "Zzz*")[0] == 2
