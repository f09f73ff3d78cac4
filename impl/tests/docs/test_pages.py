"""The documentation: its code runs and prints what it shows, and its tables are current."""

import ast
import json
import re
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, as_module, blocks_of
from threadclaim.limits import table

HERE = Path(__file__).parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
TWICE = (ROOT / "docs/what-may-run-twice.md").read_text(encoding="utf-8")
TESTS = ("test_may_run_twice.py", "test_never_runs_twice.py")
MAX_LINES = 15
"""How long the README's example may be, in lines that are not empty."""


def python(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run Python in a process of its own, in which a warning is an error."""
    return subprocess.run(
        [sys.executable, "-W", "error", *arguments], capture_output=True, text=True, check=False, cwd=cwd
    )


def section(page: str, heading: str) -> str:
    """What a page has under a heading of the second level."""
    return page.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def test_readme_s_example_runs_and_prints_what_it_shows(tmp_path: Path) -> None:
    """As a program of its own, with no key; and it is short."""
    example = blocks_of(README)[0]
    ran = python(str(example_in(tmp_path)), cwd=tmp_path)
    assert (ran.stderr, ran.stdout) == ("", example.prints)
    assert len([line for line in example.code.splitlines() if line.strip()]) <= MAX_LINES


def example_in(folder: Path) -> Path:
    """The README's example as a program, in a folder of its own."""
    program = folder / "example.py"
    program.write_text(blocks_of(README)[0].code, encoding="utf-8")
    return program


def test_readme_s_example_goes_on_where_it_was(tmp_path: Path) -> None:
    """Run twice, its log has the first conversation, and then the second."""
    program = example_in(tmp_path)
    first, second = python(str(program), cwd=tmp_path), python(str(program), cwd=tmp_path)
    assert (second.stderr, second.stdout.startswith(first.stdout)) == ("", True)
    more = second.stdout.removeprefix(first.stdout)
    said = [line.partition("  ")[2] for line in first.stdout.splitlines() if ": " in line]
    assert [line.partition("  ")[2] for line in more.splitlines() if "ann: " in line] == [
        line for line in said if line.startswith("ann: ")
    ]
    assert more.splitlines()[-1].endswith("agent: Booked: and a hotel. (the run ends)")


@pytest.mark.parametrize("entries", [2, 4, 6, 8, 11, 13])
def test_readme_s_example_killed_half_way_loses_nothing(tmp_path: Path, entries: int) -> None:
    """Killed once its log has so many entries, and run again: every message is consumed, and once."""
    program, file = example_in(tmp_path), tmp_path / "trips.db"
    killed = subprocess.Popen([sys.executable, str(program)], cwd=tmp_path, stdout=subprocess.DEVNULL)
    while killed.poll() is None and log_of(file) < entries:
        time.sleep(0.001)
    killed.kill()
    killed.wait()
    there = log_of(file)
    ran = python(str(program), cwd=tmp_path)
    assert (ran.returncode, there >= entries) == (0, True)
    told = json.loads(python("-m", "threadclaim", "show", str(file), "bonn", "--json", "--text").stdout)
    events = [row["text"] for row in told["rows"]]
    consumed = [seq for event in events for seq in event.get("consumes", event.get("delivered", []))]
    consumed += [seq for event in events if (seq := event.get("message_seq")) is not None]
    messages = [row["seq"] for row in told["rows"] if row["event"] == "message_posted"]
    assert (sorted(consumed), len(messages) > 4) == (messages, True)
    assert told["figures"]["asked"] <= told["figures"]["taken"]
    assert not (told["figures"]["claim"] or {}).get("live")


def log_of(file: Path) -> int:
    """How many entries there are, in a file that may not be there yet."""
    try:
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
            (count,) = connection.execute("SELECT count(*) FROM threadclaim_log").fetchone()
            return int(count)
    except sqlite3.OperationalError:
        return 0


def test_readme_s_example_shows_what_a_message_may_do() -> None:
    """The second message steers, the third answers, and the fourth is handed over."""
    shown = blocks_of(README)[0].prints
    _, second, third, fourth = re.findall(r"^ *(\d+)  ann: ", shown, re.MULTILINE)
    assert f"it was steered by {second})" in shown
    assert f"the request is answered, with {third}\n" in shown
    assert f"a run starts, its prompt is {fourth}\n" in shown


def test_agent_page_runs_and_prints_what_it_shows() -> None:
    """Each of its blocks, in order; those that show nothing print nothing."""
    page = ROOT / "docs/agent.md"
    ran = python(str(HERE / "pages.py"), str(page))
    assert ran.stderr == ""
    blocks = blocks_of(page.read_text(encoding="utf-8"))
    printed = dict(zip([block.line for block in blocks], json.loads(ran.stdout), strict=True))
    assert printed == {block.line: block.prints for block in blocks}


def test_agent_page_begins_with_ten_lines() -> None:
    """As its title says."""
    first = blocks_of((ROOT / "docs/agent.md").read_text(encoding="utf-8"))[0]
    assert len([line for line in first.code.splitlines() if line.strip()]) == 10


PAGES = ["README.md", "docs/agent.md"]
"""The pages with blocks of Python."""

CACHE = ROOT / "build" / "mypy-of-pages"
"""What mypy keeps, so that only the first run takes long."""


def mypy(folder: Path, pages: dict[str, str]) -> str:
    """What mypy finds in these pages' code, by their names: nothing, if all is well."""
    for name, page in pages.items():
        (folder / name).write_text(as_module(page), encoding="utf-8")
    settings = folder / "mypy.ini"  # as a reader has it, and not as strict as this project
    settings.write_text(f"[mypy]\nstrict = True\nmypy_path = {ROOT / 'impl'}\n", encoding="utf-8")
    options = ["--config-file", str(settings), "--cache-dir", str(CACHE), "--no-error-summary"]
    return python("-m", "mypy", *options, *(str(folder / name) for name in pages)).stdout


def test_code_is_what_a_strict_type_checker_accepts(tmp_path: Path) -> None:
    """So that what is copied from a page is no reader's first error."""
    pages = {f"{Path(name).stem}.py": (ROOT / name).read_text(encoding="utf-8") for name in PAGES}
    assert mypy(tmp_path, pages) == ""


def test_code_of_a_wrong_type_is_noticed(tmp_path: Path) -> None:
    """On its line of the page, across blocks."""
    page = "# Page\n\n```python\nx = 1\n```\n\n```python\nawait x\nx = ''\n```\n"
    found = mypy(tmp_path, {"wrong.py": page})
    assert [line.partition("wrong.py:")[2].partition(":")[0] for line in found.splitlines()] == ["8", "9"]


def test_readme_shows_the_demo() -> None:
    """What the README shows of it is what it prints."""
    ran = python("-m", "threadclaim", "demo")
    assert ran.stderr == ""
    assert f"```text\n{ran.stdout}```\n" in section(README, "When a process dies")


def test_readme_s_limits_are_current() -> None:
    """The README has the table as the code gives it: `python -c "...; print(table())"` gives it anew."""
    assert f"-->\n{table()}\n" in section(README, "Limits")


@pytest.mark.parametrize(
    "page", ["README.md", "docs/agent.md", "docs/operating.md", "docs/what-may-run-twice.md"]
)
def test_links_lead_somewhere(page: str) -> None:
    """Each link to a file names one that there is."""
    path = ROOT / page
    links = re.findall(r"\]\((?!https?:)([^)#]+)", path.read_text(encoding="utf-8"))
    assert [link for link in links if not (path.parent / link).exists()] == []


@pytest.mark.parametrize("page", ["README.md", "DESIGN.md", "spec/README.md", "impl/tests/README.md"])
def test_commands_are_those_of_a_clone(page: str) -> None:
    """What set-up installs is in .venv, and nowhere else."""
    text = (ROOT / page).read_text(encoding="utf-8")
    commands = re.findall(r"`([^`]*python -m (?:conformance|pytest)[^`]*)`", text)
    assert [command for command in commands if not command.startswith(".venv/bin/python -m ")] == []


# ---- The tables of what may run twice.


def rows_of(page: str) -> list[tuple[str, list[str]]]:
    """The rows of the page's tables: what each is about, and the tests that its last column names."""
    rows = (line.strip("|").split("|") for line in page.splitlines() if line.startswith("| "))
    return [(cells[0].strip(), re.findall(r"`(\w+)`", cells[-1])) for cells in rows if cells[0] != " What "]


def names_in(*names: str) -> list[str]:
    """The tests in these files."""
    return [
        node.name
        for name in names
        for node in ast.parse((HERE / name).read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    ]


def problems(page: str, tests: list[str]) -> list[str]:
    """All that is wrong between the page's rows and the tests, in sentences."""
    named = [test for _, found in rows_of(page) for test in found]
    wrong = [
        f"The row {what!r} names no test of its own." for what, found in rows_of(page) if len(found) != 1
    ]
    wrong += [f"{test} is named, and there is no such test." for test in named if test not in tests]
    wrong += [f"{test} is named by {named.count(test)} rows." for test in tests if named.count(test) != 1]
    return wrong


def test_each_row_has_a_test_of_its_own() -> None:
    """Each names one that there is, and each test is of one row."""
    assert problems(TWICE, names_in(*TESTS)) == []
    assert len(rows_of(TWICE)) == len(names_in(*TESTS))


@pytest.mark.parametrize(
    ("change", "tests"),
    [
        (("`test_a_notice_is_told_once`", "to be done"), []),
        (("test_a_notice_is_told_once", "test_no_such_thing"), []),
        (("", ""), ["test_of_no_row"]),
        (("test_a_notice_is_told_once", "test_a_runs_end_is_recorded_once"), []),
    ],
    ids=["a row without a test", "a test that is not there", "a test without a row", "a test of two rows"],
)
def test_a_row_that_is_wrong_is_told(change: tuple[str, str], tests: list[str]) -> None:
    """The check above can fail."""
    assert problems(TWICE.replace(*change), names_in(*TESTS) + tests) != []


# ---- What is checked with.


def test_a_block_that_prints_something_else_is_noticed(tmp_path: Path) -> None:
    """Blocks share their names, await, and each has its own output."""
    page = tmp_path / "page.md"
    page.write_text(
        "```python\nx = 1\n```\n\n"
        "```python\nimport asyncio\nawait asyncio.sleep(60)\nprint(x)\n```\n```text\n2\n```\n"
    )
    ran = python(str(HERE / "pages.py"), str(page))
    assert json.loads(ran.stdout) == ["", "1\n"]
    assert [block.prints for block in blocks_of(page.read_text())] == ["", "2\n"]


def test_a_block_that_raises_is_told_by_its_page_and_line(tmp_path: Path) -> None:
    """A traceback names the page's own line."""
    page = tmp_path / "page.md"
    page.write_text("Words.\n\n```python\nx = 1\nx.y\n```\n")
    ran = python(str(HERE / "pages.py"), str(page))
    assert ran.returncode == 1
    assert f'File "{page}", line 5' in ran.stderr
