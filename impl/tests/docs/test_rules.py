"""The page of the rules: each record that the project names, and each invariant, is told there."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import ROOT

RULES = ROOT / "docs/rules.md"
TOLD = RULES.read_text(encoding="utf-8")
RECORD = re.compile(r"\b(?:ADR|RFC)-\d{4}\b")
ROW = re.compile(r"^\| ((?:ADR|RFC)-\d{4}|I\d) \|", re.MULTILINE)


def named() -> Iterator[tuple[str, Path]]:
    """Each record that is named, and where: in the library, its pages, and the model."""
    folders = [ROOT / "impl/threadclaim", ROOT / "docs", ROOT / "spec", ROOT / "conformance"]
    pages = [
        path for folder in folders for path in folder.rglob("*") if path.suffix in {".py", ".md", ".tla"}
    ]
    for path in [ROOT / "README.md", ROOT / "NAMES.md", *pages]:
        if path != RULES:
            yield from ((record, path) for record in RECORD.findall(path.read_text(encoding="utf-8")))


NAMED = dict(named())


@pytest.mark.parametrize("record", sorted(NAMED))
def test_a_record_that_is_named_is_told(record: str) -> None:
    """Whoever reads its number in an error or a docstring finds what it says."""
    assert record in ROW.findall(TOLD), f"{NAMED[record]} names {record}, which docs/rules.md does not tell."


def test_every_row_is_of_a_record_that_is_named_or_an_invariant() -> None:
    """No record is told that nothing is of; and each invariant is, once, in its order."""
    rows = ROW.findall(TOLD)
    assert [row for row in rows if row.startswith("I")] == [f"I{number}" for number in range(1, 8)]
    records = [row for row in rows if not row.startswith("I")]
    assert sorted(records) == sorted(NAMED)
