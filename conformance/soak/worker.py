"""A worker process: a runner over a durable storage, which does what it is told over a socket.

It sweeps as it starts, as an application does. What it is told, and says, are lines of JSON.
"""

import asyncio
import json
import os
import random
import time
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from conformance.databases import opened
from conformance.quiet import quiet
from conformance.soak.turn import Notes, SoakTurn
from threadclaim.errors import RequestError, UsedMessageId
from threadclaim.events import Envelope, PersonActor, Reply
from threadclaim.runner import Runner
from threadclaim.storage import Scope, Step, Storage, Stranded
from threadclaim.storage.protocol import Released
from threadclaim.turn import TurnInput
from threadclaim.workspace import Workspace

T = TypeVar("T")

TENANT = "soak"
ANN = PersonActor("ann")


@dataclass(frozen=True, slots=True)
class Settings:
    """What a worker is started with: its life's name, where it is told what to do, and what it works on.

    `folder` is where it notes what its models were given.
    """

    life: str
    socket: str
    target: str
    claim_ttl: float
    workspaces: Sequence[str]
    folder: str
    seed: int

    def new_id(self) -> str:
        """An id that is nobody else's, and says whose it is."""
        return f"{self.life}-{uuid.uuid4().hex}"


class Timed:
    """A storage over another that tells how long its slowest call took, each time that a slower one comes."""

    def __init__(self, inner: Storage, slowest: Callable[[float], None]) -> None:
        """Nothing was called yet."""
        self.inner, self._tell, self._slowest = inner, slowest, 0.0

    async def transact(self, scope: Scope, step: Step[T]) -> T:
        """Run a step, by the clock."""
        began = time.perf_counter()
        try:
            return await self.inner.transact(scope, step)
        finally:
            took = time.perf_counter() - began
            if took > self._slowest:
                self._slowest = took
                self._tell(took)

    def subscribe(self, scope: Scope, after_seq: int) -> AsyncIterator[Envelope]:
        """Follow the log."""
        return self.inner.subscribe(scope, after_seq)

    async def stranded(self, scope: Scope) -> Stranded:
        """List what is stranded."""
        return await self.inner.stranded(scope)

    def on_release(self, told: Released) -> Callable[[], None]:
        """Tell of releases."""
        return self.inner.on_release(told)

    async def aclose(self) -> None:
        """Close the storage below."""
        await self.inner.aclose()


class _Worker:
    """The worker, connected."""

    def __init__(self, settings: Settings, writer: asyncio.StreamWriter) -> None:
        self._settings, self._writer = settings, writer
        self._storage = Timed(opened(settings.target), lambda seconds: self.say(slowest=seconds))
        notes = Notes(Path(settings.folder) / f"{settings.life}.jsonl", settings.life)
        # A seed of its own for each life: chance must not repeat what a dead one did.
        agent = SoakTurn(notes, random.Random(f"{settings.seed} {settings.life}"), self._given)  # noqa: S311  # no secret
        self._runner = Runner(
            agent, self._storage, claim_ttl=settings.claim_ttl, new_id=settings.new_id, close_within=5.0
        )
        self._tasks: set[asyncio.Task[None]] = set()

    def say(self, **said: object) -> None:
        """Say something to whoever started it."""
        self._writer.write(json.dumps(said).encode() + b"\n")

    def _given(self, turn: TurnInput, seq: int) -> None:
        """Tell of a message that a run which holds on was given."""
        self.say(given=seq, thread=turn.thread_id)

    async def work(self, reader: asyncio.StreamReader) -> None:
        """Sweep, and do what it is told, until nobody is there to tell."""
        self.say(up=self._settings.life, pid=os.getpid(), at=time.time())
        async with self._runner:
            for name in self._settings.workspaces:
                self._begin({"do": "recover", "workspace": name, "number": 0})
            while line := await reader.readline():
                self._begin(json.loads(line))
            for task in self._tasks:
                task.cancel()
        await self._storage.aclose()

    def _begin(self, told: Mapping[str, Any]) -> None:
        """Do it beside the rest."""
        task = asyncio.get_running_loop().create_task(self._do(told))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _do(self, told: Mapping[str, Any]) -> None:
        """Do it, and say what it came to: `done`, `refused` for good, or `failed`, which may pass."""
        workspace = Workspace(
            self._storage, Scope(TENANT, told["workspace"]), ANN, new_id=self._settings.new_id
        )
        why = ""
        try:
            await self._carry_out(workspace, told)
            came = "done"
        except UsedMessageId:
            came = "done"  # an earlier try was kept, and its answer lost
        except RequestError as error:
            came, why = "refused", str(error)
        except Exception as error:  # noqa: BLE001  # whatever it is, it is told, and tried again
            came, why = "failed", repr(error)
        self.say(number=told["number"], came=came, why=why)

    async def _carry_out(self, workspace: Workspace, told: Mapping[str, Any]) -> None:
        """Send, answer, or sweep."""
        match told["do"]:
            case "send":
                await self._runner.send(workspace, told["thread"], told["text"], message_id=told["message"])
            case "answer":
                run = (await workspace.thread(told["thread"])).run
                answers = {request.id: Reply("so") for request in (run.open_requests if run else ())}
                if answers:
                    await self._runner.answer(workspace, told["thread"], answers)
            case _:
                await self._runner.recover(workspace)


async def _connected(settings: Settings) -> None:
    """Connect, and work."""
    reader, writer = await asyncio.open_unix_connection(settings.socket)
    await _Worker(settings, writer).work(reader)


def work(settings: Settings) -> None:
    """Be a worker, until told to end, or killed."""
    with quiet():
        asyncio.run(_connected(settings))
