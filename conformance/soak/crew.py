"""The crew: worker processes as the soak sees them. It starts them, tells them what to do, and kills them."""

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

from conformance.soak.story import Life
from conformance.soak.worker import Settings

_STARTS_WITHIN = 60.0
"""How long, in seconds, a worker may take to be there."""


_ROOT = Path(__file__).resolve().parents[2]
"""Where `conformance` is found."""


class WorkerDiedError(Exception):
    """The worker died before it said what something came to: it may have taken effect."""


@dataclass(slots=True)
class Worker:
    """A worker process that was alive when last heard of."""

    life: Life
    pid: int
    writer: asyncio.StreamWriter
    waiting: dict[int, asyncio.Future[str]] = field(default_factory=dict)
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    async def do(self, **told: object) -> str:
        """Tell it to do something; what it came to. Raises WorkerDiedError."""
        if self.ended.is_set():
            raise WorkerDiedError(self.life.name)
        number = next(self._numbers)
        self.waiting[number] = asyncio.get_running_loop().create_future()
        self.writer.write(json.dumps({"number": number, **told}).encode() + b"\n")
        try:
            return await self.waiting[number]
        finally:
            self.waiting.pop(number, None)

    def hear(self, number: int, came: str) -> None:
        """Pass on what something came to."""
        waiter = self.waiting.get(number)
        if waiter is not None and not waiter.done():
            waiter.set_result(came)

    def bury(self) -> None:
        """Tell everyone who waits that it is dead."""
        self.ended.set()
        for waiter in self.waiting.values():
            if not waiter.done():
                waiter.set_exception(WorkerDiedError(self.life.name))
        self.writer.close()


class Crew:
    """All workers, dead ones among them."""

    def __init__(
        self, settings: Settings, nursery: asyncio.subprocess.Process, given: Callable[[str, int], None]
    ) -> None:
        """Nobody is there yet; `given` is told of messages that runs which hold on were given."""
        self._settings, self._nursery, self._given = settings, nursery, given
        self._starts: dict[int, int] = {}
        self._expected: dict[str, asyncio.Future[Worker]] = {}
        self.alive: dict[str, Worker] = {}
        self.lives: dict[str, Life] = {}
        self.slowest = 0.0
        """How long, in seconds, the slowest storage call of a worker took."""

    async def start(self, number: int) -> Worker:
        """Start a worker, for the first time or again; it is there when this returns."""
        self._starts[number] = self._starts.get(number, 0) + 1
        life = f"{number}.{self._starts[number]}"
        expected: asyncio.Future[Worker] = asyncio.get_running_loop().create_future()
        self._expected[life] = expected
        assert self._nursery.stdin is not None  # noqa: S101  # for the types: it is a pipe
        line = json.dumps(asdict(replace(self._settings, life=life)))
        self._nursery.stdin.write(line.encode() + b"\n")
        async with asyncio.timeout(_STARTS_WITHIN):
            return await expected

    async def meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Talk with a worker that has connected, until it dies."""
        first = json.loads(await reader.readline())
        life = Life(first["up"], first["at"])
        worker = Worker(life, first["pid"], writer)
        self.alive[life.name], self.lives[life.name] = worker, life
        self._expected.pop(life.name).set_result(worker)
        try:
            while line := await reader.readline():
                if not line.endswith(b"\n"):
                    break  # it died as it spoke
                self._hear(worker, json.loads(line))
        except ConnectionError:
            pass  # so it died
        finally:
            del self.alive[life.name]
            worker.bury()

    def _hear(self, worker: Worker, said: dict[str, Any]) -> None:
        """Hear what a worker says."""
        if "given" in said:
            self._given(said["thread"], said["given"])
        elif "slowest" in said:
            self.slowest = max(self.slowest, said["slowest"])
        else:
            worker.hear(said["number"], said["came"])

    async def kill(self, worker: Worker) -> float:
        """Kill a worker with SIGKILL; when it was dead for certain."""
        if not worker.ended.is_set():  # its process is there, so its number is nobody else's
            os.kill(worker.pid, signal.SIGKILL)
        await worker.ended.wait()
        died = time.time()
        self.lives[worker.life.name] = replace(worker.life, died=died)
        return died

    async def dismiss(self) -> None:
        """Let every worker end in order."""
        workers = list(self.alive.values())
        for worker in workers:
            worker.writer.write_eof()
        for worker in workers:
            await worker.ended.wait()


@asynccontextmanager
async def crew(settings: Settings, given: Callable[[str, int], None]) -> AsyncGenerator[Crew]:
    """A crew without workers; those that are left in the end die with it."""
    nursery = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "conformance.soak.nursery",
        stdin=asyncio.subprocess.PIPE,
        cwd=_ROOT,
    )
    made = Crew(settings, nursery, given)
    server = await asyncio.start_unix_server(made.meet, settings.socket)
    try:
        yield made
    finally:
        for worker in list(made.alive.values()):
            await made.kill(worker)
        server.close()
        assert nursery.stdin is not None  # noqa: S101  # for the types: it is a pipe
        nursery.stdin.close()
        await nursery.wait()
