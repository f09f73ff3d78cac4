"""What every command shows: tables, failures, and one JSON shape."""

import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from conformance.report import Column, Failure, Outcome, make_console, make_table, print_failures


def printed(*things: object, width: int = 80, terminal: bool = False) -> str:
    """What a console prints."""
    out = StringIO()
    console = Console(file=out, width=width, force_terminal=terminal, highlight=False)
    for thing in things:
        console.print(thing)
    return out.getvalue()


def test_the_json_has_four_parts(tmp_path: Path) -> None:
    """Whether all is well, the command, its figures, its rows; the folder is made for it."""
    outcome = Outcome(True, "models", {"models": 1}, [{"cfg": "A", "depth": None, "ok": True, "why": "„so“"}])
    file = tmp_path / "new" / "out.json"
    outcome.save(file)
    text = file.read_text(encoding="utf-8")
    assert text == outcome.as_json()
    assert text.endswith("}\n")
    assert "„so“" in text
    assert list(json.loads(text)) == ["ok", "command", "figures", "rows"]
    assert json.loads(text)["rows"] == [{"cfg": "A", "depth": None, "ok": True, "why": "„so“"}]


def test_numbers_stand_to_the_right() -> None:
    """A column of numbers is aligned at its right, one of words at its left."""
    table = make_table(
        [Column("name"), Column("states", number=True)], [(True, ("a", "7")), (True, ("bb", "1,234"))]
    )
    lines = [line.rstrip() for line in printed(table).splitlines()]
    assert any(line.startswith("a ") and line.endswith("    7") for line in lines)
    assert any(line.startswith("bb ") and line.endswith("1,234") for line in lines)


def test_what_is_not_as_expected_stands_out() -> None:
    """Only the row that is not as expected is red."""
    table = make_table([Column("name")], [(True, ("good",)), (False, ("bad",))])
    lines = printed(table, terminal=True).splitlines()
    assert ["\x1b[1;31m" in line for line in lines if "good" in line or "bad" in line] == [False, True]


def test_a_cell_is_no_markup() -> None:
    """Square brackets in a cell are printed as they are."""
    assert "[][Next]_vars" in printed(make_table([Column("name")], [(True, ("[][Next]_vars",))]))


def test_a_row_fits_its_columns() -> None:
    """A row with a cell too many is an error in us."""
    with pytest.raises(ValueError, match="A row has 2 cells for 1 columns: a, b"):
        make_table([Column("name")], [(True, ("a", "b"))])


def test_a_failure_says_what_why_and_how() -> None:
    """Its name, each reason, its story further in, and the command; nothing is cut where the line ends."""
    long = "The number of states changed. " * 5
    out = StringIO()
    failure = Failure("mutants/[x]", [long.strip(), "And more."], "make it again", "State 1\n\n  x = 0")
    print_failures(Console(file=out, width=60), [failure], 7)
    lines = out.getvalue().splitlines()
    assert lines[0] == "1 of 7 not as expected:"
    assert lines[2:] == [
        "mutants/[x]",
        f"  {long.strip()}",
        "  And more.",
        "    State 1",
        "",
        "      x = 0",
        "  Again: make it again",
    ]


def test_no_failure_prints_nothing() -> None:
    """A command without failures has no such part."""
    out = StringIO()
    print_failures(Console(file=out), [], 7)
    assert out.getvalue() == ""


def test_the_console_is_wide_where_it_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a log every table has room."""
    monkeypatch.delenv("COLUMNS", raising=False)
    assert make_console().width == 160


@pytest.mark.parametrize(
    ("columns", "width"), [("72", 72), ("300", 300), ("0", 160), ("wide", 160), ("", 160)]
)
def test_the_console_is_as_wide_as_columns_says(
    columns: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it is piped, too; what is no width says nothing."""
    monkeypatch.setenv("COLUMNS", columns)
    assert make_console().width == width
