"""Twins that do in two transactions what the design does in one, or in another one's."""

import asyncio
from dataclasses import dataclass, replace
from typing import TypeVar

import conformance.beside
import conformance.state
import threadclaim.claimant
import threadclaim.runner
from conformance.actions import ACTIONS, Action, At, Ways, going_on
from conformance.model.state import IDLE, Run, Task
from conformance.mutants.cursors import SendOnly
from conformance.mutants.twin import Put, Twin
from conformance.state import NO_CALLERS, Plain, Reader
from conformance.world.gates import Call
from conformance.world.process import Slot
from conformance.world.world import World
from threadclaim import steps
from threadclaim.carrying import Go
from threadclaim.claim import is_cancelled
from threadclaim.claimant import Claimant, as_failure
from threadclaim.events import MessagePosted
from threadclaim.handover import Leaving, Left
from threadclaim.plan import Plan, ResumePlan, StartPlan, View, plan
from threadclaim.run import RunInput
from threadclaim.runner import NOTHING_READ, Runner, Sent
from threadclaim.steps.loads import load_left, load_thread, save_ask
from threadclaim.storage.protocol import Step, Transaction, asked_cursor, lease_name, taken_cursor
from threadclaim.thread import Thread
from threadclaim.workspace import Workspace

T = TypeVar("T")

_at_call, _run = Reader._at_call, Reader._run

# ---- It reads what to hand over, and then frees the claim


class ReadFirst(steps.Release):
    """The first half of a release: what is left to hand over."""

    async def __call__(self, tx: Transaction) -> Left:
        """It frees nothing."""
        return await load_left(tx, self.thread_id)


@dataclass(frozen=True, slots=True)
class ThenFree:
    """The other half: give up the claim. Gives how far is asked, as whoever it is handed to has it."""

    thread_id: str
    holder: str
    goes: bool

    async def __call__(self, tx: Transaction) -> int:
        """It raises nothing of its own."""
        await tx.release_lease(lease_name(self.thread_id), self.holder)
        return await tx.cursor(asked_cursor(self.thread_id)) or 0


_release = Claimant._release


async def _read_and_free(claimant: Claimant, leaving: Leaving) -> Left | None:
    """Read what is left, and then give up the claim, unless reading failed."""
    left = await _release(claimant, leaving)
    if claimant.looks is not None:
        return left
    asked = await claimant._do(ThenFree(claimant.thread_id, claimant.holder, left is not None))
    return None if left is None else replace(left, asked=asked)


def _read_first(put: Put) -> None:
    put(threadclaim.claimant, "Release", ReadFirst)
    put(Claimant, "_release", _read_and_free)


def _at_free(reader: Reader, slot: Slot, call: Call) -> Task:
    """A task that is about to free its claim, too."""
    if not isinstance(call.step, ThenFree):
        return _at_call(reader, slot, call)
    return reader._leaving(slot)._replace(at="free, go" if call.step.goes else "free, rest")


def _run_let_go(reader: Reader, thread: Thread, holders: dict[str, str], tasks: dict[str, Task]) -> Run:
    """The thread's run: whoever has read what to hand over has let go of it."""
    over = {name: task._replace(at="release", due="all") for name, task in tasks.items() if "free" in task.at}
    return _run(reader, thread, holders, {**tasks, **over})


def _reads_freeing(put: Put) -> None:
    put(Reader, "_at_call", _at_free)
    put(Reader, "_run", _run_let_go)
    put(conformance.state, "NO_CALLERS", NO_CALLERS | {"free, go", "free, rest"})


# ---- It claims, and then asks


@dataclass(frozen=True, slots=True)
class ClaimThenAsk:
    """Claim the thread for a message at `seq` that is not asked for yet; whether it was granted."""

    thread_id: str
    holder: str
    ttl: float
    seq: int

    async def __call__(self, tx: Transaction) -> bool:
        """Whatever is to do there."""
        return await tx.acquire_lease(lease_name(self.thread_id), self.holder, self.ttl)


@dataclass(frozen=True, slots=True)
class AskLate:
    """Ask for the message at `seq`, once its claim was granted, or refused."""

    thread_id: str
    seq: int
    granted: bool

    async def __call__(self, tx: Transaction) -> None:
        """Raises UnknownThread."""
        await save_ask(tx, self.thread_id, self.seq)


class AskingLate(Claimant):
    """A claimant for a message that it asks for itself, in a transaction after its claim."""

    seq = 0
    runner: Runner

    async def _claim_and_turn(self) -> Leaving | None:
        """Claim; refused, look again; ask; and go on from a plan, if there is a claim."""
        asked_at = asyncio.get_running_loop().time()
        granted = await self._do(ClaimThenAsk(self.thread_id, self.holder, self._means.ttl, self.seq))
        if granted:
            self._claim.keep(asked_at)
        else:
            self.runner._looks.arm(self.scope, self.thread_id)
        await self._do(AskLate(self.thread_id, self.seq, granted))
        return await self._plan_and_turn(await self._do(steps.Replan(self.thread_id))) if granted else None


async def _send(
    runner: Runner, workspace: Workspace, thread_id: str, text: str, *, message_id: str | None = None
) -> Sent:
    """Commit a message, and begin to claim for it; nobody waits for that, so nobody is cancelled."""
    message = MessagePosted(message_id or runner._means.new_id(), text)
    step = SendOnly(thread_id, message, workspace.actor)
    try:
        posted = await runner._means.storage.transact(workspace.scope, step)
    except (Exception, asyncio.CancelledError) as error:
        runner._break_off(workspace.scope, thread_id, NOTHING_READ)
        if is_cancelled():
            raise
        raise as_failure(error) from error
    claimant = AskingLate(runner._means, workspace.scope, thread_id)
    claimant.seq, claimant.runner = posted.seq, runner
    runner._begin(claimant)
    return Sent((posted,), None)


def _at_ask(reader: Reader, slot: Slot, call: Call) -> Task:
    """A task that is about to claim, or to ask, for a message of its own, too."""
    match call.step:
        case ClaimThenAsk(seq=seq):
            return IDLE._replace(at="claim, ask", pos=reader.position(seq))
        case AskLate(seq=seq, granted=granted):
            return IDLE._replace(at="ask, replan" if granted else "ask, rest", pos=reader.position(seq))
        case _:
            return _at_call(reader, slot, call)


# ---- It takes as it plans


@dataclass(frozen=True, slots=True)
class Take:
    """Take a thread up to a plan's input, before its turn has started."""

    thread_id: str
    position: int

    async def __call__(self, tx: Transaction) -> None:
        """Raises UnknownThread."""
        await load_thread(tx, self.thread_id)
        await tx.save_cursor(taken_cursor(self.thread_id), self.position)


class TakingAsItPlans(Claimant):
    """A claimant that takes its turn's input with its claim, and nothing with its start."""

    _has_taken = False

    async def _do(self, step: Step[T]) -> T:
        result = await super()._do(step)
        if isinstance(result, steps.Claimed) and not (self._abandoned or self.halted):
            self._has_taken = True
            await self._take(plan(result.view))
        elif isinstance(result, View):
            self._has_taken = False
        return result

    async def _take(self, decided: Plan) -> None:
        """Take what is to be a run's input."""
        match decided:
            case StartPlan(prompt=message):
                await super()._do(Take(self.thread_id, message.seq))
            case ResumePlan(through=position):
                await super()._do(Take(self.thread_id, position))
            case _:
                pass

    async def _record_start(self, given: RunInput, ready: "asyncio.Future[None]") -> Go:
        return await super()._record_start(replace(given, consumes=()) if self._has_taken else given, ready)


class TakersReader(Reader):
    """Reads as consumed what is taken, too: no event says it where a claimant takes what it plans."""

    def read(self) -> Plain:
        """The world as it stands."""
        *rest, once, twice = super().read()
        log, _, taken = rest[:3]
        messages = {place for place, kind in enumerate(log[:taken], 1) if kind == "msg"}
        return (*rest, once | messages, twice)


_claim = ACTIONS["Claim"]


def _claim_and_take(world: World, task: str, variant: str) -> Ways:
    """Claim, and take what the turn is planned to consume."""
    done = _claim.do(world, task, variant)
    at = At(world, "Claim", task)
    call = at.process.call_of(at.slot)
    if call is not None and isinstance(call.step, Take):
        at.let(call)
    return done


TWINS = (
    Twin(
        "ReadsBeforeItFrees",
        "A release reads what is left to hand over, and frees the claim in a transaction after that.",
        _read_first,
        actions={"ThenFree": Action("ThenFree", "task", going_on("ThenFree", ThenFree))},
        next={"free, go": ("ThenFree",), "free, rest": ("ThenFree",)},
        reads=_reads_freeing,
    ),
    Twin(
        "AskedAfterClaim",
        "A send commits its message, claims the thread, and asks in a transaction after that.",
        lambda put: put(Runner, "send", _send),
        actions={
            "ClaimThenAsk": Action("ClaimThenAsk", "task", going_on("ClaimThenAsk", ClaimThenAsk)),
            "AskLate": Action("AskLate", "task", going_on("AskLate", AskLate)),
        },
        next={"claim, ask": ("ClaimThenAsk",), "ask, replan": ("AskLate",), "ask, rest": ("AskLate",)},
        reads=lambda put: put(Reader, "_at_call", _at_ask),
    ),
    Twin(
        "TakenAsItPlans",
        "A claimant takes its turn's input as it plans it, before the turn has started.",
        lambda put: put(threadclaim.runner, "Claimant", TakingAsItPlans),
        actions={"Claim": Action("Claim", "task", _claim_and_take)},
        reads=lambda put: put(conformance.beside, "Reader", TakersReader),
    ),
)
"""These twins."""
