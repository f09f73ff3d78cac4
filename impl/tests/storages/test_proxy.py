"""PostgresStorage through pgbouncer, which gives a connection to somebody else after each transaction.

Where it is not installed (Debian: `apt-get install pgbouncer`), these are skipped, and nothing else is.
"""

import asyncio
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import AsyncExitStack, closing
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.storages.databases import ANN, PostgresDatabase
from threadclaim.events import Custom, MessagePosted, RunEnded
from threadclaim.steps import Claim, Claimed, EndRun, Release, Send, StartRun
from threadclaim.storage import PostgresStorage, Scope, Transaction, check, create_schema, migrate
from threadclaim.workspace import Workspace

PROGRAM = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(PROGRAM is None, reason="pgbouncer is not installed"),
]

SETTINGS = """
[databases]
* = host={host} port={server_port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 2
server_reset_query_always = 0
"""


@pytest.fixture
def dsn(postgres_database: PostgresDatabase) -> Iterator[str]:
    """The DSN of a proxy before the database: many clients share two connections."""
    parts = urlsplit(postgres_database.target)
    host = parts.hostname or parse_qs(parts.query)["host"][0]
    folder = Path(tempfile.mkdtemp(prefix="threadclaim-proxy-"))
    port = _free_port()
    settings = SETTINGS.format(host=host, server_port=parts.port or 5432, port=port)
    # It runs as no superuser, and takes whom it is to connect as from the setting.
    named = f"* = user={parts.username or 'postgres'} "
    (folder / "settings.ini").write_text(settings.replace("* = ", named))
    folder.chmod(0o755)
    proxy = _started(folder, port, _user(host))
    yield f"postgresql://{parts.username or 'postgres'}@127.0.0.1:{port}{parts.path}"
    proxy.terminate()
    proxy.wait(30)
    shutil.rmtree(folder)


def _free_port() -> int:
    """A port that nobody listens on."""
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def _user(host: str) -> int | str | None:
    """As whom it runs: never as root, and as one who may use the server's socket."""
    if os.geteuid() != 0:
        return None
    owner = Path(host).stat().st_uid if host.startswith("/") else 0
    return owner or "nobody"


def _started(folder: Path, port: int, user: int | str | None) -> subprocess.Popen[bytes]:
    """The proxy, once it lets one in."""
    assert PROGRAM is not None
    proxy = subprocess.Popen([PROGRAM, "-q", str(folder / "settings.ini")], user=user)
    while proxy.poll() is None:
        with closing(socket.socket()) as trying:
            if trying.connect_ex(("127.0.0.1", port)) == 0:
                return proxy
    pytest.fail("pgbouncer did not start.")


async def append(tx: Transaction) -> int:
    """Commit an entry; gives its seq."""
    return (await tx.append(Custom("x"), actor=ANN)).seq


async def test_everything_works_through_a_proxy(
    dsn: str, postgres_database: PostgresDatabase, scope: Scope, opened_storages: AsyncExitStack
) -> None:
    """The schema, transactions of several processes at once, a turn's steps, followers, and hints."""
    await create_schema(dsn)
    assert await check(dsn) == 5
    settings = {"connections": 4, "poll_interval": 0.01, "listen_dsn": postgres_database.target}
    storages = [PostgresStorage(dsn, **settings) for _ in range(3)]  # type: ignore[arg-type]  # each has its type
    for storage in storages:
        opened_storages.push_async_callback(storage.aclose)
    first, second, third = storages
    ann = Workspace(first, scope, ANN)
    await ann.create_thread("t")
    sends = [
        storages[number % 3].transact(scope, Send("t", MessagePosted(f"m-{number}", "x"), ANN))
        for number in range(30)
    ]
    others = [storages[number % 3].transact(Scope("other", f"{number % 4}"), append) for number in range(30)]
    sent, counted = await asyncio.gather(asyncio.gather(*sends), asyncio.gather(*others))
    assert sorted(entry.seq for entry in sent) == list(range(2, 32))
    assert max(counted) == 8
    assert isinstance(await second.transact(scope, Claim("t", "h", 600.0)), Claimed)
    await third.transact(scope, StartRun("t", "h", "r", ANN, 2, (2,), resumed=False))
    assert (await first.stranded(scope)).left == ("t",)
    assert await second.transact(scope, EndRun("t", "h", RunEnded("r", "completed"), ANN, 31, b"history"))
    assert not (await third.transact(scope, Release("t", "h"))).is_left
    entries = third.subscribe(scope, 0)
    assert [(await anext(entries)).seq for _ in range(33)] == list(range(1, 34))


async def test_migrating_through_a_proxy(dsn: str) -> None:
    """Its lock is its transaction's, so one does it, and the others find it done."""
    came = await asyncio.gather(*[migrate(dsn) for _ in range(4)])
    assert sorted(len(migrated.ran) for migrated in came) == [0, 0, 0, 5]
    assert (await migrate(dsn, 4)).after == 4


@pytest.mark.usefixtures("cancels_connecting")
async def test_cancelled_calls_through_a_proxy(
    dsn: str, scope: Scope, opened_storages: AsyncExitStack
) -> None:
    """They leave no transaction open on a connection that somebody else is given."""
    await create_schema(dsn)
    storage = PostgresStorage(dsn, connections=3)
    opened_storages.push_async_callback(storage.aclose)
    for number in range(60):
        before = asyncio.all_tasks()
        calling = asyncio.create_task(storage.transact(scope, append))
        for _ in range(7 * number):
            await asyncio.sleep(0)
        for task in asyncio.all_tasks() - before:
            task.cancel()
        await asyncio.gather(calling, return_exceptions=True)
    kept = await Workspace(storage, scope, ANN).read()
    assert [entry.seq for entry in kept] == list(range(1, len(kept) + 1))
    assert await storage.transact(scope, append) == len(kept) + 1


@pytest.mark.usefixtures("cancels_connecting")
async def test_a_first_call_that_is_cancelled_through_a_proxy(
    dsn: str, scope: Scope, opened_storages: AsyncExitStack
) -> None:
    """At each of the first turns of the loop, as its process dies: a storage connects over TCP, and again."""
    await create_schema(dsn)
    for number in range(40):
        storage = PostgresStorage(dsn, connections=1)
        opened_storages.push_async_callback(storage.aclose)
        before = asyncio.all_tasks()
        calling = asyncio.create_task(storage.transact(scope, append))
        for _ in range(number):
            await asyncio.sleep(0)
        for task in asyncio.all_tasks() - before:
            task.cancel()
        await asyncio.gather(calling, return_exceptions=True)
        head = len(await Workspace(storage, scope, ANN).read())
        assert await storage.transact(scope, append) == head + 1
