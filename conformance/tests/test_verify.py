"""The command `verify`: every part runs, and one that fails fails all of it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from conformance.report import Outcome
from conformance.verify import Part, Verify


def part(name: str, code: int, *, writes: bool = True) -> Part:
    """A part that ends with a code."""

    def run(path: Path) -> int:
        if writes:
            Outcome(code == 0, name, {"steps": 7}, []).save(path)
        return code

    return Part(name, f"what {name} shows", run, "{steps:,} steps")


Verified = Callable[..., tuple[int, str, dict[str, object]]]


@pytest.fixture
def verified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Verified:
    """Runs the command with some parts; its code, what it prints, and its JSON."""

    def run(*parts: Part) -> tuple[int, str, dict[str, object]]:
        monkeypatch.setattr(Verify, "parts", lambda _: list(parts))
        console = Console(width=160, record=True, file=(tmp_path / "out").open("w"))
        code = Verify(tmp_path, console).run(None, tmp_path / "verify.json")
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
    assert "1 steps" not in text


def test_the_real_parts_are_all_that_a_pull_request_must_keep() -> None:
    """Models, exploration, replay and mutants."""
    parts = Verify(Path(), Console()).parts()
    assert {each.name for each in parts} == {"models", "explore", "replay", "mutants"}
