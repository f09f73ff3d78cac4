"""A database with a workspace that has a thread of each state, and what runs a command over it."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.storages.databases import ANN, Database, Open
from threadclaim.__main__ import main
from threadclaim.events import MessagePosted, Request
from threadclaim.runner import Runner
from threadclaim.steps import Send
from threadclaim.storage import create_schema
from threadclaim.storage.sql.base import SqlStorage
from threadclaim.testing import Call, Complete, Fail, Pause, ScriptedTurn, Wait
from threadclaim.workspace import Workspace, Workspaces

SECRET = "a secret that no command prints"  # noqa: S105  # no password
QUESTION = Request("q1", "question", "ask", {"question": SECRET})
FORM = Request("f1", "form", "ask_form", {"title": SECRET}, {"type": "object"})


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command came to."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """What it printed, as JSON."""
        said: dict[str, Any] = json.loads(self.out)
        return said


Run = Callable[..., Awaitable[Ran]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command, as in a process of its own: on a thread with a loop of its own."""

    async def run_(*arguments: str) -> Ran:
        capsys.readouterr()
        try:
            code = await asyncio.to_thread(main, arguments)
        except SystemExit as exited:
            code = int(exited.code or 0)
        return Ran(code, *capsys.readouterr())

    return run_


@pytest.fixture
async def made(database: Database) -> Database:
    """A database with the schema."""
    await create_schema(database.target)
    return database


@pytest.fixture
def storage(made: Database, open_storage: Open) -> SqlStorage:
    """A storage over it."""
    assert made.target
    return open_storage()


@pytest.fixture
def trips(storage: SqlStorage) -> Workspace:
    """A workspace, as Ann."""
    return Workspaces(storage).workspace("acme", "trips", ANN)


async def ask(workspace: Workspace, thread_id: str, message_id: str, text: str = SECRET) -> int:
    """Commit a message and ask for it, as of a process that dies then; gives its seq."""
    step = Send(thread_id, MessagePosted(message_id, text), workspace.actor)
    return (await workspace.storage.transact(workspace.scope, step)).seq


async def take(workspace: Workspace, thread_id: str, *turns: Any) -> None:  # noqa: ANN401  # each a script
    """Have a message carried out by a scripted turn, and the run ended."""
    async with Runner(ScriptedTurn(*turns), workspace.storage) as runner:
        sent = await runner.send(workspace, thread_id, SECRET)
        assert sent.run is not None
        await sent.run.wait()
        await runner.drain()


@pytest.fixture
async def states(trips: Workspace) -> AsyncGenerator[Workspace]:
    """The workspace, with a thread of each state, which has its name."""
    async with AsyncExitStack() as stack:
        for state in ("idle", "left", "running", "claimed", "waiting", "paused"):
            await trips.create_thread(state, title=SECRET)
        await take(trips, "idle", [Call("search", args=f'"{SECRET}"'), Complete(SECRET)])
        await ask(trips, "left", "m-left")
        await take(trips, "waiting", [Pause((FORM,))])
        async with Runner(ScriptedTurn(), trips.storage) as runner:
            assert (await runner.send(trips, "waiting", SECRET)).run is None
            await runner.drain()
        await take(trips, "paused", [Pause((QUESTION,))])
        await stack.enter_async_context(trips.claim_thread("claimed", ttl=600.0))
        until, reached = asyncio.Event(), asyncio.Event()
        turn = ScriptedTurn([Wait(until, reached), Fail(SECRET, reason="no_train")])
        runner = await stack.enter_async_context(Runner(turn, trips.storage, claim_ttl=600.0))
        await runner.send(trips, "running", SECRET)
        await reached.wait()
        yield trips
        until.set()
        run = runner.running(trips, "running")
        if run is not None:
            await run.wait()


def long_ago() -> datetime:
    """The time of entries that are older than any retention here."""
    return datetime(2020, 1, 1, tzinfo=UTC)
