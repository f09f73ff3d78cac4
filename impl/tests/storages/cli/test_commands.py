"""`migrate` and `check`, what a DSN may be, and what is said of whatever cannot be used."""

import sqlite3
import subprocess
import sys
import tomllib
from contextlib import closing
from pathlib import Path

import pytest

from tests.storages.cli.conftest import Run
from tests.storages.databases import Database
from threadclaim.cli.databases import target_of
from threadclaim.errors import RequestError
from threadclaim.storage.sql.steps_of_schema import newest

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).resolve().parents[4]
NEWEST = newest("sqlite")
COMMANDS = [
    ["check"],
    ["threads"],
    ["show", "t"],
    ["recover", "--runner", "tests.storages.cli.applications:make"],
    ["prune", "--keep-days", "1"],
]


def with_dsn(command: list[str], dsn: str) -> list[str]:
    """A command's arguments, with its DSN in its place."""
    return [command[0], dsn, *command[1:]]


async def test_the_schema_is_made_and_checked(database: Database, run: Run) -> None:
    """Up, again, down, and up: each says what it did."""
    up = await run("migrate", database.target)
    assert (up.code, f"went up from version 0 to {NEWEST}: 0001_log, " in up.out) == (0, True)
    again = await run("migrate", database.target)
    assert again.out == f"The schema is of version {NEWEST} already: nothing was to be done.\n"
    assert (await run("check", database.target)).out == f"The schema fits: it is of version {NEWEST}.\n"
    down = await run("migrate", database.target, "--to", "4", "--json")
    assert (down.json["figures"], down.json["rows"][-1]) == (
        {"before": NEWEST, "after": 4},
        {"migration": "0005_upgrade_point"},
    )
    older = await run("check", database.target)
    assert (older.code, f"is of version 4, and this threadclaim needs {NEWEST}" in older.out) == (1, True)
    assert (await run("check", database.target, "--json")).json == {
        "ok": False,
        "command": "check",
        "figures": {"version": 4, "needed": NEWEST},
        "rows": [],
    }


async def test_a_version_that_there_is_not(database: Database, run: Run) -> None:
    """Is refused, and so is what is no number."""
    ran = await run("migrate", database.target, "--to", "99")
    assert (ran.code, ran.err) == (
        2,
        f"threadclaim migrate: There is no version 99 of the schema. Migrate to one from 0 to {NEWEST}.\n",
    )
    assert (await run("migrate", database.target, "--to", "x")).code == 2


@pytest.mark.parametrize("version", [0, 3, 99])
async def test_a_schema_that_does_not_fit(database: Database, run: Run, version: int) -> None:
    """Missing, older or newer: `check` says no, the others cannot be carried out, each in a sentence."""
    await run("migrate", database.target, *(["--to", str(version)] if version < NEWEST else []))
    if version > NEWEST:
        await database.run(f"INSERT INTO threadclaim_schema (version) VALUES ({version})")  # noqa: S608  # a constant
    for command in COMMANDS:
        ran = await run(*with_dsn(command, database.target))
        said = ran.out if command == ["check"] else ran.err
        assert (ran.code, said.count("\n"), "schema" in said) == (1 if command == ["check"] else 2, 1, True)


@pytest.mark.parametrize("command", [*COMMANDS, ["migrate"]])
@pytest.mark.parametrize(
    ("dsn", "sentence"),
    [
        ("", "The DSN is empty. Give the path of a SQLite file"),
        ("mysql://host/x", "mysql:// names no database that is supported. Give"),
        ("postgresql+asyncpg://host/x", "postgresql+asyncpg:// names no database that is supported. Give"),
        ("sqlite://", "names no file. Give sqlite:///PATH"),
        ("sqlite://host/x.db", "names no file. Give sqlite:///PATH"),
        (":memory:", "names no file"),
        ("postgresql://ann:geheim@127.0.0.1:1/x", "does not answer"),
        ("postgresql://ann:geheim@127.0.0.1:port/x", "is no DSN that can be read"),
        ("postgresql://ann:ge@heim@127.0.0.1:1/x", "://ann:…@127.0.0.1:1/x"),
        ("postgresql://ann:ge/heim@127.0.0.1:1/x", "is no DSN that can be read"),
        ("postgresql://ann:ge#heim@127.0.0.1:1/x", "is no DSN that can be read"),
        ("postgresql://ann:ge?heim@127.0.0.1:1/x", "is no DSN that can be read"),
    ],
)
async def test_a_dsn_that_is_wrong(run: Run, command: list[str], dsn: str, sentence: str) -> None:
    """Each command says so in one sentence, and no password."""
    ran = await run(*with_dsn(command, dsn))
    assert (ran.code, ran.out, sentence in ran.err, ran.err.count("\n")) == (2, "", True, 1)
    assert "heim" not in ran.err


@pytest.mark.parametrize("command", COMMANDS)
async def test_looking_makes_no_file(run: Run, tmp_path: Path, command: list[str]) -> None:
    """A path that is wrong is said to be; only `migrate` makes a file."""
    path = tmp_path / "nowhere.db"
    ran = await run(*with_dsn(command, str(path)))
    assert (ran.code, ran.out, path.exists()) == (2, "", False)
    assert f"There is no file {path}. Correct the path, or make it: `threadclaim migrate`." in ran.err


@pytest.mark.parametrize("command", COMMANDS)
async def test_an_empty_file_is_left_empty(run: Run, tmp_path: Path, command: list[str]) -> None:
    """It has no schema, and looking makes none."""
    path = tmp_path / "empty.db"
    path.touch()
    ran = await run(*with_dsn(command, str(path)))
    assert (ran.code, path.stat().st_size) == (1 if command == ["check"] else 2, 0)
    assert "threadclaim migrate" in ran.err + ran.out


@pytest.mark.parametrize("command", COMMANDS)
async def test_a_database_without_the_schema_is_given_none(
    run: Run, tmp_path: Path, command: list[str]
) -> None:
    """By looking, though it has no tables at all, and a storage would make them."""
    path = tmp_path / "bare.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    assert path.stat().st_size > 0
    ran = await run(*with_dsn(command, str(path)))
    assert ran.code != 0
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == []


@pytest.mark.parametrize("command", [*COMMANDS, ["migrate"]])
async def test_a_file_that_is_no_database(run: Run, tmp_path: Path, command: list[str]) -> None:
    """It is left as it is; so is a folder."""
    path = tmp_path / "notes.txt"
    path.write_text("no database " * 100, encoding="utf-8")
    for target, sentence in (
        (path, "no SQLite database"),
        (tmp_path, "is no file" if command != ["migrate"] else "cannot be opened"),
    ):
        ran = await run(*with_dsn(command, str(target)))
        assert (ran.code, ran.out, sentence in ran.err, ran.err.count("\n")) == (2, "", True, 1)
    assert path.read_text(encoding="utf-8").startswith("no database")


@pytest.mark.parametrize(
    ("dsn", "target"),
    [
        ("threads.db", "threads.db"),
        ("sqlite:///threads.db", "threads.db"),
        ("sqlite:////var/threads.db", "/var/threads.db"),
        ("SQLITE:///a b%20.db", "a b%20.db"),
        ("file:threads.db?mode=ro", "file:threads.db?mode=ro"),
        ("postgresql://host/x", "postgresql://host/x"),
        ("POSTGRES://host/x", "postgres://host/x"),
    ],
)
def test_what_a_dsn_names(dsn: str, target: str) -> None:
    """A path, a URL of SQLite's as elsewhere, or a server's DSN."""
    assert target_of(dsn) == target


def test_a_dsn_that_names_nothing() -> None:
    """Is the caller's fault."""
    with pytest.raises(RequestError, match="three slashes"):
        target_of("sqlite:///")


async def test_a_database_of_somebody_else(run: Run, tmp_path: Path) -> None:
    """A SQLite file without a schema of ours: `check` says how to make it, and nothing is made."""
    path = tmp_path / "other.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE other (x)")
    connection.close()
    ran = await run("check", str(path))
    assert (ran.code, "There is no schema of threadclaim's" in ran.out) == (1, True)
    listed = await run("threads", str(path))
    assert (listed.code, "Make it: `threadclaim migrate`" in listed.err) == (2, True)


def test_without_a_driver_it_is_said_what_to_install() -> None:
    """And the other storage goes on."""
    program = (
        "import sys; sys.modules['asyncpg'] = None; from threadclaim.__main__ import main; "
        "sys.exit(main(['threads', 'postgresql://host/x']))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (2, "", 1)
    assert "pip install 'threadclaim[postgres]'" in ran.stderr


def test_the_program_has_a_name() -> None:
    """`threadclaim` is what `python -m threadclaim` is."""
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
    assert scripts == {"threadclaim": "threadclaim.cli.main:main"}


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    """Loading none of what they need: no driver, no framework."""
    program = (
        "import sys; from threadclaim.__main__ import main; main([]); "
        "print(*{'asyncpg', 'pydantic_ai'} & sys.modules.keys())"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    *helped, loaded = ran.stdout.splitlines()
    assert loaded == ""
    for command in ("migrate", "check", "threads", "show", "recover", "prune", "demo"):
        assert any(line.strip().startswith(command) for line in helped)
    assert capsys.readouterr().out == ""
