"""The tests' README: every line of what went wrong before is there, with tests that there are."""

import ast
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
LINES = range(1, 33)
_ROW = re.compile(r"^\| (?P<number>\d+) \| (?P<what>[^|]+) \| (?P<tests>[^|]+) \|$", re.MULTILINE)
_NAMED_AFTER = re.compile(r"test_r(?P<number>\d\d)_")

Table = list[tuple[int, list[str]]]


def table_of(page: str) -> Table:
    """The rows of the README's table: a line's number, and its tests."""
    return [(int(row["number"]), re.findall(r"`([^`]+)`", row["tests"])) for row in _ROW.finditer(page)]


def named_tests(folder: Path) -> set[str]:
    """Every test below a folder, as the table names them: `runner/test_claims.py::test_name`."""
    return {
        f"{file.relative_to(folder).as_posix()}::{node.name}"
        for file in folder.rglob("test_*.py")
        for node in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    }


def problems(table: Table, tests: set[str]) -> list[str]:
    """All that is wrong with the table, in sentences."""
    numbers = [number for number, _ in table]
    found = [] if numbers == list(LINES) else [f"The lines are not 1 to {LINES[-1]}, in order: {numbers}."]
    for number, named in table:
        found += [f"Line {number} names {test}, which there is not." for test in named if test not in tests]
        if not any(of_line(test) == number for test in named):
            found.append(f"Line {number} has no test that is named after it, test_r{number:02}_.")
    listed: Mapping[int, list[str]] = dict(table)
    for test in sorted(tests):
        after = of_line(test)
        if after is not None and test not in listed.get(after, []):
            found.append(f"{test} is not in line {after}.")
    return found


def of_line(test: str) -> int | None:
    """The number of the line that a test is named after, if it is."""
    match = _NAMED_AFTER.search(test)
    return None if match is None else int(match["number"])


def read() -> str:
    """The README."""
    return (TESTS / "README.md").read_text(encoding="utf-8")


def test_every_line_has_tests_that_there_are() -> None:
    """Each of the 32, once and in order; and each test named after a line is in it."""
    assert problems(table_of(read()), named_tests(TESTS)) == []


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("| 7 |", "| 6 |", "not 1 to 32"),
        ("| 32 |", "| thirty-two |", "not 1 to 32"),
        ("::test_r05_a_send_that", "::test_r05_a_sent_that", "Line 5 names"),
        ("runner/test_regressions.py::test_r15", "runner/test_claims.py::test_r15", "Line 15 names"),
        ("::test_r08_", "::test_r07_", "Line 8 has no test"),
        ("`runner/test_regressions_found.py::test_r19_a_claim_granted_to_a_cancelled", "`", "line 19"),
    ],
)
def test_a_table_that_is_wrong_is_noticed(old: str, new: str, problem: str) -> None:
    """A line that is missing or twice, a test that was renamed, moved or left out."""
    page = read()
    assert old in page
    assert any(problem in found for found in problems(table_of(page.replace(old, new)), named_tests(TESTS)))


def test_every_folder_and_file_that_it_names_is_there() -> None:
    """Of the table of folders; `docs/` too."""
    for name in re.findall(r"^\| `([\w.]+/?)` \|", read(), re.MULTILINE):
        assert (TESTS / name).exists(), name
