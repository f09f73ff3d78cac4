"""Runs made without the runner, as spec/DirectRuns.tla has them, in the world; and the twins of its mutants.

A caller holds the thread by `Workspace.claim_thread`, and makes a run of its own by `run_directly`.
"""

import asyncio
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakKeyDictionary

import conformance.beside
import conformance.explore.walk
import threadclaim.claimant
import threadclaim.direct
import threadclaim.steps.commands
import threadclaim.workspace
from conformance.actions import Action, At, Done
from conformance.explore.candidates import COMMAND, ON, Candidate, candidates
from conformance.model.state import IDLE, Constants, Run, State, Task
from conformance.mutants.fences import AbandonActive, unfenced_abandon
from conformance.mutants.readers import OwnersReader, holder
from conformance.mutants.stopping import AT_ITS_WRITE
from conformance.mutants.twin import Put, Twin
from conformance.world.gates import Call
from conformance.world.process import THREAD, Process, Slot
from conformance.world.world import SCOPE, World
from threadclaim import steps, workspace_steps
from threadclaim.direct import run_directly
from threadclaim.errors import ClaimLost, RequestError
from threadclaim.events import Envelope
from threadclaim.storage.protocol import Transaction, asked_cursor
from threadclaim.thread import RunStatus, Thread
from threadclaim.turn import Completed, Facts, Outcome, Steering, TurnInput
from threadclaim.workspace import HeldThread, Workspace


class DirectAgent:
    """The agent of a direct run: it waits until the world ends it, and says what history to keep of it."""

    def __init__(self) -> None:
        self.ending: asyncio.Future[bytes | None] = asyncio.get_running_loop().create_future()
        self.runs = False

    async def run(self, turn: TurnInput, steering: Steering, facts: Facts) -> Outcome:  # noqa: ARG002  # it only waits
        """Wait."""
        self.runs = True
        return Completed("done", await self.ending)


@dataclass(slots=True, eq=False)
class Caller:
    """A caller who holds the thread, or does not, and runs the agents that the world tells it to."""

    workspace: Workspace
    task: asyncio.Task[Any] | None = None
    held: HeldThread | None = None
    agent: DirectAgent | None = None
    segment: str = ""
    at: str = "idle"
    told: asyncio.Future[DirectAgent | None] = field(default_factory=asyncio.Future)
    refused: RequestError | ClaimLost | None = None

    async def hold(self, block: AbstractAsyncContextManager[HeldThread]) -> None:
        """Run in the block each agent that it is told to, until it is told None, or a start is refused."""
        try:
            async with block as self.held:
                while (agent := await self.told) is not None:
                    self.told = asyncio.get_running_loop().create_future()
                    await run_directly(self.workspace, THREAD, agent, "direct", held=self.held)
        except (RequestError, ClaimLost) as refusal:
            self.refused = refusal


_callers: WeakKeyDictionary[World, dict[str, Caller]] = WeakKeyDictionary()
"""The callers of each world, by their tasks' names; those that are over, too."""


def caller_of(world: World, slot: Slot) -> Caller | None:
    """Who is in a slot for a run of its own."""
    caller = _callers.get(world, {}).get(slot.name)
    return caller if caller is not None and slot.caller is not None and caller.task is slot.caller else None


def _begin(at: At) -> Caller:
    """Have a caller in a slot, who enters `Workspace.claim_thread`."""
    at.idle()
    workspace = at.world.workspace_of(at.process)
    caller = Caller(workspace)
    at.world.command(at.process, at.slot, caller.hold(workspace.claim_thread(THREAD)))
    caller.task = at.slot.caller
    _callers.setdefault(at.world, {})[at.task] = caller
    at.let(at.pending())
    caller.at = "holding"
    return caller


def _caller(at: At, where: str) -> Caller:
    """Who is in a slot, and at this."""
    caller = caller_of(at.world, at.slot)
    if caller is None or caller.at != where:
        raise at.impossible(f"no caller is {where}")
    return caller


def _hold_thread(world: World, task: str, _: str) -> Done:
    at = At(world, "HoldThread", task)
    if world.loop.run(world.storage.transact(SCOPE, holder)) is not None:
        raise at.impossible("the thread is held")
    _begin(at)
    return [("HoldThread", task)]


def _start(at: At, caller: Caller) -> Done:
    """Have a caller start its run; one that is refused leaves.

    A run that is active then is a dead one's, which its start records as ended first.
    """
    run = at.world.loop.run(at.world.workspace.thread(THREAD)).run
    caller.agent = DirectAgent()
    caller.told.set_result(caller.agent)
    at.world.loop.settle()
    at.rest()
    call = at.process.call("DirectStart")
    if call is None or not isinstance(call.step, steps.DirectStart):
        raise at.impossible("no run is started")
    caller.segment, caller.at = call.step.segment, "direct"
    held_by = at.world.loop.run(at.world.storage.transact(SCOPE, holder))
    abandons = run is not None and run.status is RunStatus.ACTIVE
    waits = run is not None and not abandons and run.status is not RunStatus.ENDED
    due = ClaimLost if held_by != caller.segment else RequestError if waits else None
    at.let(call)
    if caller.agent.runs:
        return [*([("DirectAbandon", at.task)] if abandons else []), ("DirectStart", at.task)]
    caller.at = "holding"
    at.let(at.pending(workspace_steps.LetThread))
    if due is None or type(caller.refused) is not due:
        why = "nothing is in its way" if due is None else f"not {due.__name__}"
        at.world.told.wrong.append(f"A start by {at.task} comes to {caller.refused!r}, and {why}.")
    return [("LetThread", at.task)]


def _direct_start(world: World, task: str, _: str) -> Done:
    at = At(world, "DirectStart", task)
    return _start(at, _caller(at, "holding"))


def _unheld_start(world: World, task: str, _: str) -> Done:
    """Start a run at once, in a claim that holds nothing."""
    at = At(world, "DirectStart", task)
    if not at.slot.is_idle:
        raise at.impossible("the task is busy", is_known=True)
    return _start(at, _begin(at))


async def _is_asked(tx: Transaction) -> bool:
    """Whether the thread was ever asked for."""
    return await tx.cursor(asked_cursor(THREAD)) is not None


def _direct_end(world: World, task: str, _: str) -> Done:
    """Have a caller's run come to its end; its history says that its agent was told of all the log.

    It is kept only where somebody has asked: else it is where the thread starts from (I7), and the model has
    no such thread.
    """
    at = At(world, "DirectEnd", task)
    caller = _caller(at, "direct")
    if caller.agent is None:
        raise at.impossible("it has no agent")
    tells = world.loop.run(world.storage.transact(SCOPE, _is_asked))
    caller.agent.ending.set_result(b"told" if tells else None)
    world.loop.settle()
    at.let(next(call for call in at.process.storage.calls if _is_end_of(call, caller)))
    caller.at = "holding"
    return [("DirectEnd", task)]


def _is_end_of(call: Call, caller: Caller) -> bool:
    """Whether a call records the end of a caller's run."""
    return isinstance(call.step, steps.EndRun) and call.step.segment == caller.segment


def _let_thread(world: World, task: str, _: str) -> Done:
    at = At(world, "LetThread", task)
    caller = _caller(at, "holding")
    caller.told.set_result(None)
    world.loop.settle()
    at.let(at.pending())
    return [("LetThread", task)]


# ---- How the world is read


class DirectReader(OwnersReader):
    """Reads callers, too."""

    def owner_of(self, held_by: str) -> str | None:
        """The caller that holds the thread."""
        found = (
            name
            for name, caller in self._callers()
            if caller.held is not None and caller.held.holder == held_by
        )
        return next(found, None)

    def _callers(self) -> Iterator[tuple[str, Caller]]:
        """Who is in which slot."""
        for process in self.world.processes.values():
            for slot in process.slots:
                caller = caller_of(self.world, slot)
                if caller is not None and caller.at != "idle" and not process.is_down:
                    yield slot.name, caller

    def _explain_timers(self) -> None:
        """Expect what the world does; a caller's claim, which only its block knows, has timers too."""
        if not any(self._callers()):
            super()._explain_timers()

    def _task(self, process: Process, slot: Slot) -> Task:
        caller = caller_of(self.world, slot)
        if caller is None or process.is_down or caller.task is None or caller.task.done():
            return super()._task(process, slot)
        return IDLE._replace(at=caller.at)

    def _run(self, thread: Thread, holders: dict[str, str], tasks: dict[str, Task]) -> Run:
        own = {caller.segment: name for name, caller in self._callers() if caller.at == "direct"}
        return super()._run(thread, {**holders, **own}, tasks)


_HOLDS = {"idle": COMMAND, "active": 6 * ON}
"""How likely a caller holds the thread, by what its run is at."""


def _with_callers(constants: Constants, state: State) -> Iterator[Candidate]:
    """What could be done next: idle tasks may hold the thread, or start a run without it."""
    yield from candidates(constants, state)
    for name, task in zip(constants.tasks, state.task, strict=True):
        if task.at == "idle":
            # Beside a run that waits, a start is refused; a dead one is left active for a short time.
            yield "HoldThread", name, _HOLDS.get(state.run.st, ON)
            yield "DirectStart", name, COMMAND  # of a mutant that does not hold the thread


def _reads_direct(put: Put) -> None:
    put(conformance.beside, "Reader", DirectReader)
    put(conformance.explore.walk, "candidates", _with_callers)


# ---- The twins


async def _ask_only(tx: Transaction, thread_id: str, seq: int) -> None:
    """Ask, and leave what is taken unsaved."""
    await tx.save_cursor(asked_cursor(thread_id), seq)


class HoldNothing(workspace_steps.HoldThread):
    """A claim of a caller's that is none."""

    async def __call__(self, tx: Transaction) -> None:
        """It takes nothing."""


class StartUnheld(steps.DirectStart):
    """A start of a direct run that no fence refuses."""

    async def __call__(self, tx: Transaction) -> tuple[Envelope, ...]:
        """As the library's, of a caller without a claim."""
        return await steps.DirectStart.__call__(replace(self, is_held=False), tx)


def _holds_nothing(put: Put) -> None:
    put(threadclaim.workspace, "HoldThread", HoldNothing)
    put(threadclaim.direct, "DirectStart", StartUnheld)
    put(threadclaim.claimant, "Abandon", AbandonActive)


def _nothing(_: Put) -> None:
    """Put nothing."""


DIRECT_RUNS = {
    "HoldThread": Action("HoldThread", "task", _hold_thread),
    "DirectAbandon": Action("DirectAbandon", "task", _direct_start),
    "DirectStart": Action("DirectStart", "task", _direct_start),
    "DirectEnd": Action("DirectEnd", "task", _direct_end),
    "LetThread": Action("LetThread", "task", _let_thread),
}
"""The actions of spec/DirectRuns.tla."""

NEXT_DIRECT = {"holding": ("LetThread", "DirectAbandon", "DirectStart"), "direct": ("DirectEnd",)}
"""What their tasks go on with; the first is fair."""

LIBRARY = Twin(
    "",
    "The library as it is, in a world with runs made without the runner.",
    _nothing,
    actions=DIRECT_RUNS,
    next=NEXT_DIRECT,
    reads=_reads_direct,
)
"""No twin: what walks with direct runs are walked on, and the traces of `DirectRuns` that must be refused."""

TWINS = (
    Twin(
        "DirectRunUnheld",
        "Whoever enters `claim_thread` holds nothing, and their run starts all the same.",
        _holds_nothing,
        actions={
            **DIRECT_RUNS,
            "DirectStart": Action("DirectStart", "task", _unheld_start),
        },
        next=NEXT_DIRECT,
        reads=_reads_direct,
    ),
    Twin(
        "NoFenceOnAbandonHeld",
        "A run is recorded as abandoned, whichever is active, and whoever holds the claim by then.",
        unfenced_abandon,
        actions={**DIRECT_RUNS, **AT_ITS_WRITE},
        next=NEXT_DIRECT,
        reads=_reads_direct,
    ),
    Twin(
        "StartsFromLastTold",
        "An ask leaves taken unsaved, so that the thread starts from what its agent was last told.",
        lambda put: put(threadclaim.steps.commands, "save_ask", _ask_only),
        actions=DIRECT_RUNS,
        next=NEXT_DIRECT,
        reads=_reads_direct,
    ),
)
"""These twins."""
