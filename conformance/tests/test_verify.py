"""The command `verify`: every part runs, and one that fails fails all of it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from conformance.__main__ import ROOT
from conformance.model.command import Searched
from conformance.model.search import Found
from conformance.models.manifest import Case, Model, load_manifest
from conformance.models.run import job_of
from conformance.report import Outcome, many
from conformance.verify import Part, Ran, Verify, in_a_process
from conformance.world.durable import DURABLE


def part(name: str, code: int, *, writes: bool = True) -> Part:
    """A part that ends with a code."""

    def run(path: Path) -> int:
        if writes:
            Outcome(code == 0, name, {"steps": 7}, []).save(path)
        return code

    return Part(name, f"what {name} shows", run, lambda figures: many(figures["steps"], "step"))


def here(part: Part, folder: Path, _columns: int) -> Ran:
    """Run a part in this process, and tell its name."""
    return part.run(folder / f"{part.name}.json"), f"said by {part.name}"


Verified = Callable[..., tuple[int, str, dict[str, object]]]


@pytest.fixture
def verified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Verified:
    """Runs the command with some parts; its code, what it prints, and its JSON."""

    def run(*parts: Part) -> tuple[int, str, dict[str, object]]:
        monkeypatch.setattr(Verify, "parts", lambda _: list(parts))
        console = Console(width=160, record=True, file=(tmp_path / "out").open("w"))
        code = Verify(tmp_path, console, here).run(None, tmp_path / "verify.json")
        console.file.close()
        return code, console.export_text(), json.loads((tmp_path / "verify.json").read_text())

    return run


def test_all_as_expected(verified: Verified) -> None:
    """One table, with a row for each part."""
    code, text, found = verified(part("models", 0), part("explore", 0))
    assert code == 0
    assert text.count("as expected") == 2
    assert "NOT" not in text
    assert found["ok"] is True
    assert [row["part"] for row in found["rows"]] == ["models", "explore"]  # type: ignore[attr-defined]
    assert "== models\nsaid by models\n== explore" in text


@pytest.mark.parametrize("code", [1, 2])
def test_one_part_that_fails_fails_all_and_the_others_run(verified: Verified, code: int) -> None:
    """Whichever it is."""
    for parts in ((part("a", code), part("b", 0)), (part("a", 0), part("b", code))):
        found = verified(*parts)
        assert found[0] == code
        assert "NOT" in found[1]
        assert len(found[2]["rows"]) == 2  # type: ignore[arg-type]
        assert found[2]["ok"] is False


def test_a_part_that_could_not_run_tells_no_figures(verified: Verified, tmp_path: Path) -> None:
    """Nor those of an earlier time."""
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "a.json").write_text('{"figures": {"steps": 1}}')
    code, text, _ = verified(part("a", 2, writes=False))
    assert code == 2
    assert "1 step" not in text


def test_a_part_in_a_process_of_its_own(tmp_path: Path) -> None:
    """It runs as `--only` has it run: what it says, its code, and its figures are its own."""
    (replay,) = [part for part in Verify(ROOT, Console()).parts() if part.name == "replay"]
    code, text = in_a_process(replay, tmp_path, 120)
    assert code == 0
    assert text.startswith("As expected: 65 ")
    assert json.loads((tmp_path / "replay.json").read_text())["figures"]["traces"] == 65


def test_a_part_in_a_process_that_fails(tmp_path: Path) -> None:
    """What it says of why is kept, be it an error."""
    code, text = in_a_process(part("none", 0), tmp_path, 120)
    assert code == 2
    assert "invalid choice: 'none'" in text


def test_the_real_parts_are_all_that_a_pull_request_must_keep() -> None:
    """Models, exploration, replay and mutants; and that the model in Python is TLC's."""
    parts = Verify(Path(), Console()).parts()
    assert {each.name for each in parts} == {
        "models",
        "explore",
        "replay",
        "mutants",
        "search",
        *(f"{part} {storage}" for part in ("explore", "replay") for storage in ("sqlite", "postgres")),
    }


def test_the_real_parts_tell_of_one_thing_as_of_one() -> None:
    """By the figures that each of them writes."""
    one = dict.fromkeys(("steps", "actions", "actions_reached", "pairs", "pairs_reached", "traces"), 1)
    one |= dict.fromkeys(("mutants", "most_steps", "models", "distinct_states", "witnesses"), 1)
    assert {part.name: part.told(one) for part in Verify(Path(), Console()).parts()} == {
        "explore": "1 step, 1 of 1 actions, 1 of 1 pairs",
        "replay": "1 counterexample",
        "mutants": "1 mutant, within 1 step",
        "search": "1 model of 1 state",
        "models": "1 state; 1 model, 1 mutant, 1 witness",
        **{f"explore {storage}": "1 step, 1 of 1 actions" for storage in DURABLE},
        **{f"replay {storage}": "1 counterexample" for storage in DURABLE},
    }


def test_a_model_whose_actions_tlc_does_not_count_is_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So each is seen to fire, in TLC or in Python; and the search writes the figures that are told."""
    searched: dict[str, int] = {}

    def as_tlc_found(case: Case, entry: Model) -> Searched:
        """What `search_case` comes to where all is well, without the search."""
        searched[case.name] = entry.distinct_states or 0
        found = Found(searched[case.name], 1, entry.depth or 1, {})
        return Searched(case, entry, found, frozenset(entry.idle) - {"Action"}, 0.0)

    counted: dict[str, int] = {}
    monkeypatch.setattr("conformance.verify.Models", lambda *_, **given: counted.update(given))
    monkeypatch.setattr("conformance.model.command.search_case", as_tlc_found)
    part = next(part for part in Verify(ROOT, Console(quiet=True)).parts() if part.name == "search")
    assert part.run(tmp_path / "search.json") == 0
    figures = json.loads((tmp_path / "search.json").read_text())["figures"]
    assert part.told(figures) == f"{len(searched)} models of {sum(searched.values()):,} states"

    cases = load_manifest(ROOT / "spec").cases
    models = [case for case in cases if isinstance(case.entry, Model) and case.entry.tier == "pull-request"]
    assert len(models) >= 8
    assert all(job_of(case, counted["searched"]).coverage or case.name in searched for case in models)
