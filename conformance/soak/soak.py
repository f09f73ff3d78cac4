"""The soak: senders that retry until they are heard, workers that are killed, and then rest."""

import asyncio
import random
import tempfile
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from conformance.databases import opened
from conformance.soak.crew import Crew, Worker, WorkerDiedError, crew
from conformance.soak.story import AtRest, Kill, Story
from conformance.soak.turn import HOLD, read_notes
from conformance.soak.worker import ANN, TENANT, Settings
from threadclaim.storage import Scope
from threadclaim.storage.sql.base import SqlStorage
from threadclaim.workspace import Workspace

_RETRIES_AFTER = 0.02
"""How long, in seconds, a sender waits until it tries again."""

_ANSWERS = 0.05
"""How often a sender answers what a thread waits for, instead of sending it a message."""

_REST_WITHIN = 60.0
"""How long, in seconds, everything has to come to rest once nobody is killed any more."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done: for how long, by how many, and what is left to the seed.

    `thinks` is how long a sender waits before its next message, at most. `kill_every` is how many seconds
    pass between kills, on average; one in `all_at_once` kills every worker.
    """

    seconds: float
    seed: int = 0
    claim_ttl: float = 1.0
    workers: int = 4
    senders: int = 8
    thinks: float = 0.05
    workspaces: int = 4
    threads: int = 12
    kill_every: float = 1.3
    all_at_once: int = 10

    @property
    def names(self) -> Sequence[str]:
        """The workspaces' names."""
        return [f"w{number}" for number in range(self.workspaces)]

    def threads_of(self, workspace: str) -> Sequence[str]:
        """The threads of a workspace: their names say whose they are."""
        return [f"{workspace}-t{number}" for number in range(self.threads)]


@dataclass(slots=True)
class Soak:
    """A soak under way."""

    plan: Plan
    target: str
    crew: Crew
    storage: SqlStorage
    folder: Path
    given: asyncio.Queue[tuple[str, int]]
    chance: random.Random
    kills: list[Kill] = field(default_factory=list)
    acknowledged: dict[str, set[str]] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=count)
    _restarts: set[asyncio.Task[Worker]] = field(default_factory=set)

    # ---- Its parts, in order.

    async def begin(self) -> None:
        """Make the threads, and start the workers."""
        for name in self.plan.names:
            workspace = self.workspace(name)
            self.acknowledged[name] = set()
            for thread in self.plan.threads_of(name):
                await workspace.create_thread(thread)
        await asyncio.gather(*map(self.crew.start, range(self.plan.workers)))

    async def kill_one_for_certain(self) -> None:
        """Kill a worker whose run holds on, once it was given its prompt and a message that steers it.

        So there is a kill in each soak, however short it is, and steering that is given again.
        """
        name = self.plan.names[0]
        thread = self.plan.threads_of(name)[0]
        await self.send(name, thread, HOLD)
        await self.given.get()
        await self.send(name, thread, "steers")
        await self.given.get()
        (lease,) = [lease for lease in await self.storage.leases(self._scope(name)) if lease.left > 0]
        (holder,) = [w for w in self.crew.alive.values() if w.life.has_made(lease.holder)]
        await self.kill(holder)

    async def go_on(self) -> None:
        """Send, and kill, for as long as the plan says; every sender is heard in the end."""
        loop = asyncio.get_running_loop()
        until = loop.time() + self.plan.seconds
        async with asyncio.TaskGroup() as group:
            for _ in range(self.plan.senders):
                group.create_task(self._send_on(until))
            group.create_task(self._kill_on(until))

    async def rest(self) -> None:
        """Let what is fair happen: sweep until nothing is left to do, and no claim is held; or time is up."""
        if self._restarts:
            await asyncio.wait(self._restarts)
        loop = asyncio.get_running_loop()
        until = loop.time() + _REST_WITHIN
        while loop.time() < until and not await self._is_at_rest():
            for name in self.plan.names:
                worker = self.chance.choice(list(self.crew.alive.values()))
                await worker.do(do="recover", workspace=name)
            await asyncio.sleep(self.plan.claim_ttl / 4)

    async def story(self) -> Story:
        """All that was seen; the workspaces as they are now."""
        workspaces = {name: await self._at_rest(name) for name in self.plan.names}
        given = await asyncio.to_thread(read_notes, self.folder)
        return Story(workspaces, list(self.crew.lives.values()), self.kills, given, self.crew.slowest)

    # ---- Senders.

    async def _send_on(self, until: float) -> None:
        """Send one message after another, to any thread; now and then answer instead."""
        while asyncio.get_running_loop().time() < until:
            name = self.chance.choice(self.plan.names)
            thread = self.chance.choice(self.plan.threads_of(name))
            if self.chance.random() < _ANSWERS:
                await self._tell(do="answer", workspace=name, thread=thread)
            else:
                await self.send(name, thread, "x")
            await asyncio.sleep(self.chance.uniform(0, self.plan.thinks))

    async def send(self, name: str, thread: str, text: str) -> None:
        """Send a message, again and again with the same id, until it is acknowledged."""
        message = f"m{next(self._numbers)}"
        told = {"do": "send", "workspace": name, "thread": thread, "text": text, "message": message}
        while await self._tell(**told) != "done":  # noqa: ASYNC110  # a sender that retries
            await asyncio.sleep(_RETRIES_AFTER)
        self.acknowledged[name].add(message)

    async def _tell(self, **told: object) -> str:
        """Tell any worker; what it came to. It dies, or nobody is there: so it may have."""
        alive = list(self.crew.alive.values())
        if not alive:
            return "failed"
        try:
            return await self.chance.choice(alive).do(**told)
        except WorkerDiedError:
            return "failed"

    # ---- Kills.

    async def _kill_on(self, until: float) -> None:
        """Kill one worker, or all of them, again and again; each is started again a little later."""
        while (now := asyncio.get_running_loop().time()) < until:
            pause = self.chance.uniform(0.5, 1.5) * self.plan.kill_every
            await asyncio.sleep(min(pause, until - now))
            alive = list(self.crew.alive.values())
            if not alive:
                continue
            is_for_all = self.chance.randrange(self.plan.all_at_once) == 0
            await asyncio.gather(*map(self.kill, alive if is_for_all else [self.chance.choice(alive)]))

    async def kill(self, worker: Worker) -> None:
        """Kill a worker, note what it held, and have it started again."""
        died = await self.crew.kill(worker)
        held = [
            thread_of_claim(lease.name)
            for name in self.plan.names
            for lease in await self.storage.leases(self._scope(name))
            if worker.life.has_made(lease.holder)
        ]
        self.kills.append(Kill(worker.life.name, died, held))
        task = asyncio.get_running_loop().create_task(self._start_again(int(worker.life.worker)))
        self._restarts.add(task)
        task.add_done_callback(self._restarts.discard)

    async def _start_again(self, number: int) -> Worker:
        """Start a worker a little later, before the claims of its last life have lapsed or after."""
        await asyncio.sleep(self.chance.uniform(0, 1.2) * self.plan.claim_ttl)
        return await self.crew.start(number)

    # ---- What storage holds.

    def _scope(self, name: str) -> Scope:
        """A workspace's scope."""
        return Scope(TENANT, name)

    def workspace(self, name: str) -> Workspace:
        """A workspace, as whoever looks on has it."""
        return Workspace(self.storage, self._scope(name), ANN)

    async def _is_at_rest(self) -> bool:
        """Whether nothing is left to do, and nobody holds a claim."""
        now = [await self._at_rest(name, log=False) for name in self.plan.names]
        return not any(each.stranded or each.held for each in now)

    async def _at_rest(self, name: str, *, log: bool = True) -> AtRest:
        """A workspace as it is now, with its log or without."""
        scope = self._scope(name)
        leases = [lease for lease in await self.storage.leases(scope) if lease.left > 0]
        return AtRest(
            await self.workspace(name).read() if log else (),
            frozenset(self.acknowledged[name]),
            (await self.storage.stranded(scope)).left,
            {thread_of_claim(lease.name): lease.holder for lease in leases},
        )


def thread_of_claim(lease: str) -> str:
    """The thread whose claim a lease is."""
    return lease.split("/")[1]


@asynccontextmanager
async def soak(plan: Plan, target: str) -> AsyncGenerator[Soak]:
    """A soak over an empty database, that has not begun; nothing of it is left in the end."""
    given: asyncio.Queue[tuple[str, int]] = asyncio.Queue()
    storage = opened(target)
    with tempfile.TemporaryDirectory(prefix="threadclaim-") as name:
        folder = Path(name)
        settings = Settings(
            "", str(folder / "socket"), target, plan.claim_ttl, plan.names, str(folder), plan.seed
        )
        async with crew(settings, lambda thread, seq: given.put_nowait((thread, seq))) as made:
            chance = random.Random(plan.seed)  # noqa: S311  # no secret: the same seed chooses the same
            yield Soak(plan, target, made, storage, folder, given, chance)
        await storage.aclose()


async def run(plan: Plan, target: str) -> Story:
    """Do all of it; gives what was seen."""
    async with soak(plan, target) as under_way:
        await under_way.begin()
        await under_way.kill_one_for_certain()
        await under_way.go_on()
        await under_way.rest()
        story = await under_way.story()
        await under_way.crew.dismiss()
    return story
