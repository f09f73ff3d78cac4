"""One busy workspace against many: the same threads and turns, in one workspace or each in its own.

A workspace's transactions are serialized, so in one they wait for each other. Both are measured in one run,
in turns, so that what else the machine does is the same for both.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from conformance.databases import opened
from threadclaim.events import PersonActor
from threadclaim.runner import Runner
from threadclaim.storage import Scope, Step, Transaction
from threadclaim.storage.sql.base import SqlStorage
from threadclaim.testing import ScriptedTurn
from threadclaim.workspace import Workspace

T = TypeVar("T")

ANN = PersonActor("ann")

PROCESSES = 4
"""How many runners, each with a storage of its own, serve the threads: as processes do, on one loop."""


@dataclass(frozen=True, slots=True)
class Shape:
    """So many workspaces of so many threads each."""

    workspaces: int
    threads: int

    def __str__(self) -> str:
        """Say it."""
        return f"{self.workspaces} x {self.threads}"

    @property
    def places(self) -> Sequence[tuple[str, str]]:
        """Each thread, with its workspace."""
        return [(f"w{w}", f"t{t}") for w in range(self.workspaces) for t in range(self.threads)]


@dataclass(slots=True)
class Measured:
    """What came of one shape: how long each send, and each transaction's wait for its scope, took; in all."""

    turns: int = 0
    seconds: float = 0.0
    sends: list[float] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)

    @property
    def turns_per_second(self) -> float:
        """How many turns ended in a second."""
        return self.turns / self.seconds if self.seconds else 0.0


def share(values: Sequence[float], part: float) -> float:
    """The value that so large a part is not above, in milliseconds."""
    ordered = sorted(values)
    return ordered[min(int(part * len(ordered)), len(ordered) - 1)] * 1000 if ordered else 0.0


class _Watched:
    """How long transactions wait: from when they are asked for until their step begins."""

    def __init__(self, storage: SqlStorage, waits: list[float]) -> None:
        transact = storage.transact

        async def watched(scope: Scope, step: Step[T]) -> T:
            return await transact(scope, _Timed(step, waits))

        storage.transact = watched  # type: ignore[method-assign]  # it is the runners' too


class _Timed(Generic[T]):
    """A step that notes when it begins: its workspace is locked then."""

    def __init__(self, step: Step[T], waits: list[float]) -> None:
        self._step, self._waits, self._asked = step, waits, time.perf_counter()

    async def __call__(self, tx: Transaction, /) -> T:
        """Note it, and do the step."""
        self._waits.append(time.perf_counter() - self._asked)
        return await self._step(tx)


class Bench:
    """The threads of one shape, served by runners over a database."""

    def __init__(self, shape: Shape, target: str, connections: int, *, prepared: bool = False) -> None:
        """Nothing is made yet. Each runner's storage has so many connections, and statements `prepared`."""
        self.shape, self.measured = shape, Measured()
        self._storages = [
            opened(target, connections=connections, prepared=prepared) for _ in range(PROCESSES)
        ]
        self._runners = [Runner(ScriptedTurn(), storage) for storage in self._storages]
        self._name = str(shape)
        for storage in self._storages:
            _Watched(storage, self.measured.waits)

    def _workspace(self, storage: SqlStorage, name: str) -> Workspace:
        """A workspace."""
        return Workspace(storage, Scope(self._name, name), ANN)

    async def begin(self) -> None:
        """Make the threads; nothing of it is measured."""
        for name, thread in self.shape.places:
            await self._workspace(self._storages[0], name).create_thread(thread)
        self.measured.waits.clear()

    async def round(self) -> None:
        """One turn of each thread, all at once: a message is sent, and its run ends."""
        began = time.perf_counter()
        await asyncio.gather(*(self._turn(n, *place) for n, place in enumerate(self.shape.places)))
        await asyncio.gather(*(runner.drain() for runner in self._runners))
        self.measured.seconds += time.perf_counter() - began

    async def _turn(self, number: int, name: str, thread: str) -> None:
        """Send a message, and wait for its run."""
        at = number % PROCESSES
        began = time.perf_counter()
        sent = await self._runners[at].send(self._workspace(self._storages[at], name), thread, "x")
        self.measured.sends.append(time.perf_counter() - began)
        if sent.run is not None:
            await sent.run.wait()
            self.measured.turns += 1

    async def end(self) -> None:
        """Close all of it."""
        for runner in self._runners:
            await runner.aclose()
        for storage in self._storages:
            await storage.aclose()


async def side_by_side(
    target: str, shapes: Sequence[Shape], rounds: int, connections: int, *, prepared: bool = False
) -> list[Bench]:
    """Measure shapes in one run, a round of each after one of the other; the first of each is not counted."""
    benches = [Bench(shape, target, connections, prepared=prepared) for shape in shapes]
    for bench in benches:
        await bench.begin()
        await bench.round()
        bench.measured.turns, bench.measured.seconds = 0, 0.0
        bench.measured.sends.clear()
        bench.measured.waits.clear()
    for _ in range(rounds):
        for bench in benches:
            await bench.round()
    for bench in benches:
        await bench.end()
    return benches
