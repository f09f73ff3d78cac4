"""One case: a scenario, one fault at one of its awaits, and what is to be well after it."""

import asyncio
import contextvars
import uuid
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from conformance.awaits.durable import ReadDurable, reached
from conformance.awaits.faulty import Crashed, Fate, FatedStorage, FatedTurn
from conformance.awaits.numbering import OWNER, Await, Numbering
from conformance.awaits.under_test import UnderTest
from conformance.ledger import consumed_by
from threadclaim.errors import ThreadClaimError
from threadclaim.events import PersonActor
from threadclaim.runner import Runner
from threadclaim.storage import Scope
from threadclaim.storage.protocol import lease_name
from threadclaim.workspace import Workspace

THREAD = "t"
ANN = PersonActor("ann")

FAULTS = {"crash": "crash", "cancel": "cancel", "lapse": "lapse", "lost": "fail"}
"""The faults, and what bounds each in the model."""

_WITHIN = 30.0
"""How long, in seconds, anything may take that is to come: a case that takes longer is stuck."""

_CLAIM_TTL = 6.0
"""A claim's time to live, in seconds: longer than a case takes, and what is tried again is so soon."""

_SWEEPS = 5
"""How many sweeps may find something to do, once nothing goes wrong any more."""


class StuckError(Exception):
    """Something that is to come does not."""


class Process:
    """A process: a runner of its own, whose tasks are known, over the storage under test."""

    def __init__(self, name: str, tested: UnderTest, numbering: Numbering) -> None:
        """Nothing of it goes on."""
        self.name, self.fate = name, Fate()
        self.agent = FatedTurn(self.fate)
        storage = FatedStorage(tested.storage, self.fate)
        self.runner = Runner(self.agent, storage, claim_ttl=_CLAIM_TTL, close_within=_WITHIN)
        self.caller: asyncio.Task[Any] | None = None
        self._numbering = numbering

    def call(self, command: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Have a caller in it make a command."""
        context = contextvars.copy_context()
        context.run(OWNER.set, self.name)
        loop = asyncio.get_running_loop()
        self.caller = context.run(lambda: loop.create_task(command, name="caller"))
        return self.caller

    def crash(self) -> None:
        """Die: nothing of it takes effect any more."""
        self.fate.is_dead = True
        self.runner._looks.close()  # noqa: SLF001  # its timers are no tasks
        for task in self._numbering.tasks:
            task.cancel()

    def cancel(self) -> None:
        """Cancel the caller, if there is one; else stop what goes on, as somebody who stops the run does."""
        if self.caller is not None and not self.caller.done():
            self.caller.cancel()
            return
        for claimant in list(self.runner._claimants):  # noqa: SLF001  # `stop` waits as well
            claimant.halt()

    async def rest(self) -> None:
        """Wait until nothing of it goes on; raises StuckError."""
        self.agent.go_on.set()
        while tasks := [task for task in self._numbering.tasks if self._goes_on(task)]:
            _, late = await asyncio.wait(tasks, timeout=_WITHIN)
            if late:
                raise StuckError(f"{[task.get_name() for task in late]} of a process never end.")
        for task in self._numbering.tasks:
            if task.done() and not task.cancelled():
                task.exception()  # whatever it died of is told by what it leaves

    def _goes_on(self, task: asyncio.Task[Any]) -> bool:
        """Whether a task is to end by itself; a dead process's are all to."""
        return not task.done() and not (task.get_name().startswith("look") and not self.fate.is_dead)


@dataclass(slots=True)
class Case:
    """A new thread, in a workspace of its own, and the process that a scenario is of."""

    tested: UnderTest
    numbering: Numbering
    scope: Scope = field(default_factory=lambda: Scope("awaits", uuid.uuid4().hex))

    def process(self, name: str = "p") -> Process:
        """One more process."""
        return Process(name, self.tested, self.numbering)

    @property
    def workspace(self) -> Workspace:
        """The workspace, as Ann has it, beside all processes."""
        return Workspace(self.tested.storage, self.scope, ANN)

    def workspace_of(self, process: Process) -> Workspace:
        """The workspace as a process has it."""
        return Workspace(FatedStorage(self.tested.storage, process.fate), self.scope, ANN)

    def lapse(self) -> None:
        """Let the claim lapse, now, or as soon as the transaction that writes it is over."""
        name = lease_name(THREAD)
        if not self.tested.lapse(self.scope, name):
            asyncio.get_running_loop().call_later(0.01, self.lapse)

    async def durable_is_wrong(self, fault: str, bounds: tuple[int, int, int]) -> list[str]:
        """What is wrong with the durable state, in a sentence; nothing if the model reaches it."""
        durable = await self.tested.storage.transact(self.scope, ReadDurable(THREAD))
        if durable in reached(FAULTS[fault], *bounds):
            return []
        return [f"The model reaches no state whose durable part is {durable}."]

    async def end_well(self, *, may_lapse: bool) -> list[str]:
        """Let everything fair happen, in a process that starts anew; what is wrong in the end."""
        process = self.process("q")
        for _ in range(_SWEEPS):
            if may_lapse:
                self.lapse()
            for run in await process.runner.recover(self.workspace):
                async with asyncio.timeout(_WITHIN):
                    await run.wait()
            async with asyncio.timeout(_WITHIN):
                await process.runner.drain()
            if not await self._left():
                break
        wrong = [*await self._left(), *await self._consumed_wrongly()]
        await process.runner.aclose()
        return wrong

    async def _left(self) -> list[str]:
        """What is left to do, and whether the thread is claimed."""
        left = (await self.tested.storage.stranded(self.scope)).left
        durable = await self.tested.storage.transact(self.scope, ReadDurable(THREAD))
        told = ["Something is left to do."] if left else []
        return [*told, *(["The claim is held."] if durable.is_claimed else [])]

    async def _consumed_wrongly(self) -> list[str]:
        """What was asked and is not consumed, or is twice."""
        entries = await self.workspace.read()
        times = consumed_by(entries)
        counts = {entry.seq: times[entry.seq] for entry in entries if entry.is_message}
        return [f"Message {seq} is consumed {n} times." for seq, n in counts.items() if n != 1]


Faulty = Callable[[Case, Process], None]


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scenario: what is there before, and the command whose awaits are met.

    `messages`, `answers` and `crashes` are how many it comes to, with what is there before.
    """

    name: str
    prepare: Callable[[Case, Process], Awaitable[None]]
    command: Callable[[Case, Process], Coroutine[Any, Any, Any]]
    messages: int
    answers: int = 0
    crashes: int = 0


@dataclass(frozen=True, slots=True)
class Came:
    """What a case came to: whether its await was met, and what is wrong, in sentences."""

    was_met: bool
    wrong: tuple[str, ...] = ()


def applies(fault: str, at: Await) -> bool:
    """Whether a fault can come to an await: an answer is lost where there is one."""
    return fault != "lost" or at.place in POINTS


POINTS = frozenset(
    {"before the call", "after the call", "the model's first request", "the model's last request"}
)


async def list_awaits(scenario: Scenario, tested: UnderTest, numbering: Numbering) -> list[Await]:
    """Every await of a scenario in which nothing goes wrong."""
    found: list[Await] = []
    case = Case(tested, numbering)
    await _carry_out(scenario, case, found.append)
    numbering.is_on = False
    return found


async def try_fault(
    scenario: Scenario, at: Await, fault: str, tested: UnderTest, numbering: Numbering
) -> Came:
    """Run a scenario with a fault at one await, and say what came of it."""
    case = Case(tested, numbering)
    met: list[Await] = []
    process: list[Process] = []

    def come(where: Await) -> None:
        if where == at and not met:
            met.append(where)
            _do(fault, case, process[0])

    wrong: list[str] = []
    try:
        await _carry_out(scenario, case, come, process)
        wrong += await case.durable_is_wrong(fault, (scenario.messages, scenario.answers, scenario.crashes))
        may_lapse = fault == "crash" or (fault == "lost" and at.step == "Release")
        wrong += await case.end_well(may_lapse=may_lapse)
    except (StuckError, TimeoutError, ThreadClaimError) as error:
        wrong.append(repr(error))
    finally:
        numbering.is_on = False
        for each in process:
            await each.runner.aclose()
    return Came(bool(met), tuple(wrong))


def _do(fault: str, case: Case, process: Process) -> None:
    """Let a fault come."""
    match fault:
        case "crash":
            process.crash()
        case "cancel":
            process.cancel()
        case "lapse":
            case.lapse()
        case _:
            process.fate.loses_answer = True


async def _carry_out(
    scenario: Scenario, case: Case, met: Callable[[Await], None], made: list[Process] | None = None
) -> None:
    """Prepare a scenario, and see its command, and what comes of it, to the end."""
    numbering = case.numbering
    numbering.is_on = False
    numbering.tasks.clear()
    await case.workspace.create_thread(THREAD)
    process = case.process()
    if made is not None:
        made.append(process)
    try:
        async with asyncio.timeout(_WITHIN):
            await scenario.prepare(case, process)
    except TimeoutError as late:
        waiting = [f"{task.get_name()}: {task!r}" for task in numbering.tasks if not task.done()]
        raise StuckError(f"What comes before the command never ends; there wait {waiting}.") from late
    numbering.begin(met)
    caller = process.call(scenario.command(case, process))
    await asyncio.wait([caller], timeout=_WITHIN)
    await process.rest()
    numbering.is_on = False
    if not caller.cancelled():
        error = caller.exception()
        if not isinstance(error, ThreadClaimError | Crashed | None):
            raise StuckError(f"The command failed of itself: {error!r}.")
