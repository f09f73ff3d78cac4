"""What is SQLite's own: files that are none, locks, disks that are full, and processes that share a file."""

import asyncio
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import override

from tests.storages.databases import append, head
from threadclaim.errors import (
    RequestError,
    SchemaMismatch,
    StorageError,
    StorageUnavailable,
    StorageUnsuitable,
    WrongType,
)
from threadclaim.events import Custom, MessagePosted, PersonActor
from threadclaim.steps import Send
from threadclaim.storage import Scope, SqliteStorage, Transaction
from threadclaim.storage.sqlite.failures import patiently
from threadclaim.workspace import Workspace

pytestmark = pytest.mark.anyio

ANN = PersonActor("ann")
OTHER = Scope("tenant", "another")
Open = Callable[..., SqliteStorage]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the file is to be."""
    return tmp_path / "threadclaim.db"


@pytest.fixture
def open_file(path: Path, opened_storages: AsyncExitStack) -> Open:
    """Opens a storage over the file, as of one more process; it is closed in the end."""

    def open_(**settings: Any) -> SqliteStorage:  # noqa: ANN401  # each setting has a type of its own
        storage = SqliteStorage(settings.pop("path", path), **settings)
        opened_storages.push_async_callback(storage.aclose)
        return storage

    return open_


@contextmanager
def locked(path: Path) -> Iterator[sqlite3.Connection]:
    """Hold the file's lock, as another process."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield connection
        connection.rollback()


def free(path: Path) -> bool:
    """Whether nobody has the file's lock, or reads a snapshot of it."""
    with closing(sqlite3.connect(path, timeout=0.0, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.rollback()
        busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return bool(busy == 0)


# ---- Files.


@pytest.mark.parametrize("path", ["", ":memory:", "file::memory:?cache=shared", "file:x?mode=memory"])
def test_no_file(path: str) -> None:
    """A database in memory is no storage that lasts: there is one that is made for it."""
    with pytest.raises(RequestError, match="InMemoryStorage"):
        SqliteStorage(path)


@pytest.mark.parametrize("path", [None, b"x.db", 5])
def test_what_is_no_path(path: Any) -> None:  # noqa: ANN401  # whatever somebody gives
    """It is refused at once, and named."""
    with pytest.raises(WrongType, match=r"The path is .*\. Give the path of a file"):
        SqliteStorage(path)


@pytest.mark.parametrize("path", ["a\0b", "postgresql://x/y"])
def test_what_names_no_file(path: str) -> None:
    """A NUL, or a DSN of PostgreSQL's, is refused at once."""
    with pytest.raises(RequestError, match=r"no file's path|no path"):
        SqliteStorage(path)


@pytest.mark.parametrize(
    "settings",
    [{"connections": 2.5}, {"connections": None}, {"now": 5}, {"new_id": "x"}, {"poll_interval": "1"}],
)
def test_settings_of_a_wrong_kind(settings: dict[str, Any], tmp_path: Path) -> None:
    """They are refused at once, by their names."""
    with pytest.raises(WrongType, match=f"^{next(iter(settings))} is "):
        SqliteStorage(tmp_path / "x.db", **settings)


@pytest.mark.parametrize("settings", [{"connections": 0}, {"busy_timeout": -1.0}, {"poll_interval": 0}])
def test_bad_settings(path: Path, settings: dict[str, Any]) -> None:
    """What cannot be meant is refused at once."""
    with pytest.raises(RequestError):
        SqliteStorage(path, **settings)


def test_sqlite_that_is_too_old(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said which is needed."""
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 34, 1))
    with pytest.raises(StorageUnsuitable, match=r"3\.35"):
        SqliteStorage(path)


@pytest.fixture
def text(path: Path) -> Iterator[str]:
    """A text in the file's place, which is left as it is."""
    text = "Not a database, but a text that is long enough to be taken for one.\n" * 100
    path.write_text(text)
    yield text
    assert path.read_text() == text


@pytest.mark.usefixtures("text")
async def test_a_file_that_is_no_database(scope: Scope, open_file: Open) -> None:
    """It is left as it is."""
    with pytest.raises(StorageUnsuitable, match="no SQLite database"):
        await open_file().transact(scope, head)


async def test_a_folder_that_is_not_there(tmp_path: Path, scope: Scope, open_file: Open) -> None:
    """The folder is the operator's to make."""
    with pytest.raises(StorageUnsuitable, match="folder"):
        await open_file(path=tmp_path / "none" / "x.db").transact(scope, head)


async def test_another_applications_file(path: Path, scope: Scope, open_file: Open) -> None:
    """Nothing is added to a file that has something in it, unless its schema is asked for."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE mine (x)")
    with pytest.raises(SchemaMismatch, match="no schema of threadclaim's"):
        await open_file().transact(scope, head)


async def test_a_file_that_is_kept(scope: Scope, open_file: Open) -> None:
    """What one storage committed, the next finds."""
    first = open_file()
    assert await first.transact(scope, append) == 1
    await first.aclose()
    assert await open_file().transact(scope, append) == 2


async def test_read_only(path: Path, scope: Scope, open_file: Open) -> None:
    """It can be read, and a write is refused with a sentence; nothing is kept of it."""
    await open_file().transact(scope, append)
    reading = open_file(path=f"file:{path}?mode=ro")
    assert await reading.transact(scope, head) == 1
    with pytest.raises(StorageUnavailable, match="read-only"):
        await reading.transact(scope, append)
    assert await reading.transact(scope, head) == 1


class SmallStorage(SqliteStorage):
    """A storage whose file may not grow."""

    @override
    def _open(self) -> sqlite3.Connection:
        connection = super()._open()
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages + 4}")
        return connection


async def test_full(path: Path, scope: Scope, open_file: Open) -> None:
    """A write that has no room keeps nothing; what was acknowledged is kept, and it goes on with room."""
    await open_file().transact(scope, append)
    small = SmallStorage(path)
    came = [
        (await asyncio.gather(small.transact(scope, _append_much), return_exceptions=True))[0]
        for _ in range(20)
    ]
    kept = max(seq for seq in came if isinstance(seq, int))
    refused = [error for error in came if isinstance(error, BaseException)]
    assert 1 < kept < 21
    assert {type(error) for error in refused} == {StorageUnavailable}
    assert "full" in str(refused[0])
    assert await small.transact(scope, head) == kept
    await small.aclose()
    assert await open_file().transact(scope, append) == kept + 1


async def _append_much(tx: Transaction) -> int:
    """Commit an entry that takes room."""
    return (await tx.append(Custom("x", "y" * 5000), actor=ANN)).seq


# ---- Locks.


async def test_locked_by_another(path: Path, scope: Scope, open_file: Open) -> None:
    """A write waits for `busy_timeout`, and says so then; once the lock is free, it goes on by itself."""
    storage = open_file(busy_timeout=0.05)
    await storage.transact(scope, append)
    with locked(path):
        with pytest.raises(StorageUnavailable, match="busy_timeout"):
            await storage.transact(scope, append)
        assert await storage.transact(scope, head) == 1, "Readers do not wait."
        assert len(await Workspace(storage, scope, ANN).read()) == 1
        assert await storage.leases(scope) == []
    assert await storage.transact(scope, append) == 2


async def test_a_write_waits_for_the_lock(path: Path, scope: Scope, open_file: Open) -> None:
    """With patience, it is kept once the other is done."""
    storage = open_file()
    await storage.transact(scope, append)
    with locked(path):
        writing = asyncio.create_task(storage.transact(scope, append))
        for _ in range(100):
            await asyncio.sleep(0)
        assert not writing.done()
    assert await writing == 2


async def test_a_step_that_waits_holds_no_lock(scope: Scope, open_file: Open) -> None:
    """Meanwhile other processes write, even to its own scope: then it is run anew, and sees it."""
    slow, other = open_file(), open_file()
    await slow.transact(scope, append)
    begun, go_on, heads = asyncio.Event(), asyncio.Event(), []

    async def step(tx: Transaction) -> int:
        heads.append(await tx.head())
        begun.set()
        await go_on.wait()
        return await append(tx)

    waiting = asyncio.create_task(slow.transact(scope, step))
    await begun.wait()
    assert await other.transact(OTHER, append) == 1
    assert await other.transact(scope, append) == 2
    go_on.set()
    assert await waiting == 3
    assert heads == [1, 2]


async def test_another_scopes_writes_have_no_step_run_anew(path: Path, scope: Scope, open_file: Open) -> None:
    """Only its own scope's do."""
    slow, other = open_file(), open_file()
    begun, go_on, heads = asyncio.Event(), asyncio.Event(), []

    async def step(tx: Transaction) -> int:
        heads.append(await tx.head())
        begun.set()
        await go_on.wait()
        return await append(tx)

    waiting = asyncio.create_task(slow.transact(scope, step))
    await begun.wait()
    assert await other.transact(OTHER, append) == 1
    go_on.set()
    assert await waiting == 1
    assert heads == [0]
    assert free(path)


async def test_two_processes_send_to_one_workspace(path: Path, scope: Scope, open_file: Open) -> None:
    """Each message is committed once, the log has no gap, and each thread is asked up to its last."""
    storages = [open_file(), open_file()]
    ann = Workspace(storages[0], scope, ANN)
    await ann.create_thread("t")
    sends = [
        storages[number % 2].transact(scope, Send("t", MessagePosted(f"m-{number}", "x"), ANN))
        for number in range(60)
    ]
    sent = await asyncio.gather(*sends)
    assert sorted(entry.seq for entry in sent) == list(range(2, 62))
    assert [entry.seq for entry in await ann.read()] == list(range(1, 62))
    assert free(path)


PROGRAM = """
import asyncio, sys
from threadclaim.events import Custom, PersonActor
from threadclaim.storage import Scope, SqliteStorage

async def main():
    storage = SqliteStorage(sys.argv[1])
    sys.stdin.readline()  # all begin at once
    for _ in range(5):
        await storage.transact(Scope("t", "w"), lambda tx: tx.append(Custom("x"), actor=PersonActor("ann")))
    await storage.aclose()

print("ready", flush=True)
asyncio.run(main())
"""


def test_eight_processes_open_a_fresh_file_at_once(path: Path) -> None:
    """All succeed: one makes the schema, and each commits."""
    arguments = [sys.executable, "-c", PROGRAM, str(path)]
    processes = [
        subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(8)
    ]
    for process in processes:
        assert process.stdout is not None
        process.stdout.readline()
    for process in processes:
        assert process.stdin is not None
        process.stdin.write(b"go\n")
        process.stdin.flush()
    told = [process.communicate(timeout=120)[1] for process in processes]
    assert told == [b""] * 8
    assert [process.returncode for process in processes] == [0] * 8
    with closing(sqlite3.connect(path)) as connection:
        seqs = [seq for (seq,) in connection.execute("SELECT seq FROM threadclaim_log ORDER BY seq")]
    assert seqs == list(range(1, 41))


# ---- Ends.


async def test_cancelled_sends_leave_no_lock(path: Path, scope: Scope, open_file: Open) -> None:
    """At whatever turn of the loop, by its task or as its process dies: all or nothing is kept."""
    storage = open_file(connections=2)
    ann = Workspace(storage, scope, ANN)
    await ann.create_thread("t")
    for turns in range(0, 400, 2):
        before = asyncio.all_tasks()
        sending = asyncio.create_task(
            storage.transact(scope, Send("t", MessagePosted(f"m-{turns}", "x"), ANN))
        )
        for _ in range(turns):
            await asyncio.sleep(0)
        dying = asyncio.all_tasks() - before if turns % 4 else {sending}
        for task in dying:
            task.cancel()
        await asyncio.gather(sending, return_exceptions=True)
    kept = await ann.read()
    assert [entry.seq for entry in kept] == list(range(1, len(kept) + 1))
    assert free(path)


async def test_closing_is_bounded(scope: Scope, open_file: Open) -> None:
    """A file that does not answer does not keep a process from going on."""
    storage, hangs = open_file(close_within=0.01, connections=1), threading.Event()
    await storage.transact(scope, append)
    storage._idle[0].later(lambda _: hangs.wait())  # noqa: SLF001  # no disk hangs as it is told
    try:
        await storage.aclose()
    finally:
        hangs.set()


async def test_closing_under_a_transaction(scope: Scope, open_file: Open, path: Path) -> None:
    """What has not committed by then keeps nothing, and says so; nobody waits forever."""
    storage = open_file()
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slow(tx: Transaction) -> int:
        begun.set()
        await go_on.wait()
        return await append(tx)

    calling = asyncio.create_task(storage.transact(scope, slow))
    await begun.wait()
    await storage.aclose()
    go_on.set()
    with pytest.raises(StorageUnavailable, match="closed"):
        await calling
    assert await open_file().transact(scope, head) == 0
    assert free(path)


async def test_closed(scope: Scope, open_file: Open) -> None:
    """A storage that is closed says so."""
    storage = open_file()
    await storage.transact(scope, append)
    await storage.aclose()
    with pytest.raises(StorageError, match="closed"):
        await storage.transact(scope, append)
    with pytest.raises(StorageError, match="closed"):
        await storage.stranded(scope)


async def test_waiting_for_the_lock_is_patient() -> None:
    """What is busy is tried again, and what is wrong is not."""
    tries = []

    def busy() -> None:
        tries.append(1)
        if len(tries) < 5:
            error = sqlite3.OperationalError("database is locked")
            error.sqlite_errorcode = sqlite3.SQLITE_BUSY
            raise error

    patiently(busy, 30.0)
    assert len(tries) == 5
    with closing(sqlite3.connect(":memory:")) as connection, pytest.raises(sqlite3.OperationalError):
        patiently(lambda: connection.execute("nonsense"), 30.0)


@pytest.mark.parametrize("error", [sqlite3.OperationalError("mine"), OSError("mine")])
async def test_what_a_step_raises_is_its_own(scope: Scope, open_file: Open, error: Exception) -> None:
    """Whatever it looks like, it is raised as it is."""

    async def step(tx: Transaction) -> None:
        await append(tx)
        raise error

    storage = open_file()
    with pytest.raises(type(error)) as raised:
        await storage.transact(scope, step)
    assert raised.value is error
    assert await storage.transact(scope, head) == 0
