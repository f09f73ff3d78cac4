"""Twins whose looks and sweeps do not come, or come otherwise; and to whom a run is nobody's business."""

import asyncio
from unittest.mock import patch

import threadclaim.looks
import threadclaim.storage.memory_scope
import threadclaim.storage.sql.transaction
from conformance.actions import ACTIONS, Action, Ways
from conformance.mutants.asking import AskForAll
from conformance.mutants.twin import Put, Twin
from conformance.world.durable import DurableWorldStorage
from conformance.world.memory import StorageOfAWorld, WorldStorage
from conformance.world.process import THREAD
from conformance.world.world import SCOPE, World
from threadclaim import steps
from threadclaim.claimant import Claimant, as_failure
from threadclaim.handover import ALL, Leaving, Left
from threadclaim.plan import LeavePlan, View, plan
from threadclaim.run import RunHandle
from threadclaim.runner import Runner
from threadclaim.storage import Scope, Stranded
from threadclaim.storage.common import Standing
from threadclaim.storage.protocol import Transaction
from threadclaim.thread import RunStatus, Thread
from threadclaim.workspace import Workspace

# ---- What arms a look

_claim_and_turn = Claimant._claim_and_turn
_release = Claimant._release


async def _refused_for_good(claimant: Claimant) -> Leaving | None:
    """Claim, and look no more if that is refused."""
    leaving = await _claim_and_turn(claimant)
    claimant.looks = None
    return leaving


async def _released_for_good(claimant: Claimant, leaving: Leaving) -> Left | None:
    """Release, and look no more if that fails."""
    left = await _release(claimant, leaving)
    claimant.looks = None
    return left


async def _looks_for_all(claimant: Claimant, leaving: Leaving) -> Left | None:
    """Release; if that fails, look for all that is left."""
    left = await _release(claimant, leaving)
    claimant.looks = claimant.looks and ALL
    return left


# ---- What a look does


class LookOnce(steps.LookAgain):
    """A look that is over once it finds the claim held."""

    async def __call__(self, tx: Transaction) -> steps.Looked:
        """As the library's; held, it finds nothing left."""
        looked = await super().__call__(tx)
        if not looked.is_held:
            return looked
        return steps.Looked(Left(looked.left.asked, looked.left.taken, is_left=False), is_held=False)


_take_for_a_look = Runner._take_for_a_look


def _take_unread(runner: Runner, scope: Scope, thread_id: str, asked: int) -> None:  # noqa: ARG001  # forgotten
    """Claim for a look, as if it had read nothing."""
    _take_for_a_look(runner, scope, thread_id, 0)


# ---- Sweeps


async def _sweeps_nothing(runner: Runner, workspace: Workspace) -> list[RunHandle]:
    """List the threads, and carry out none."""
    try:
        await runner._means.storage.stranded(workspace.scope)
    except asyncio.CancelledError as error:  # nobody cancels a caller as its sweep lists
        raise as_failure(error) from error
    return []


_restart = ACTIONS["Restart"]


def _restart_unswept(world: World, process: str, variant: str) -> Ways:
    """Start a process, whose sweep claims nothing; with nothing left, the library's would not either."""
    is_left = world.loop.run(world.storage.stranded(SCOPE)).left
    done = _restart.do(world, process, variant)
    return [("Restart", process)] if is_left else done


_UNSWEPT = Action("Restart", "process", _restart_unswept)

_KINDS: tuple[type[StorageOfAWorld], ...] = (WorldStorage, DurableWorldStorage)
_stranded = {kind: kind.stranded for kind in _KINDS}


async def _asks_for_all(storage: StorageOfAWorld, scope: Scope) -> Stranded:
    """Ask for the thread, and list those that a sweep is for then."""
    await storage.transact(scope, AskForAll(THREAD))
    return await _stranded[type(storage)](storage, scope)


def _ask_as_they_list(put: Put) -> None:
    for kind in _KINDS:
        put(kind, "stranded", _asks_for_all)


def _restart_unasking(world: World, process: str, variant: str) -> Ways:
    """Start a process, whose sweep asks for nothing: the mutant's only asks in `Recover`."""
    kind = type(world.storage)
    with patch.object(kind, "stranded", _stranded[kind]):
        return _restart.do(world, process, variant)


# ---- What is left to do

_SEEN_TO = (RunStatus.ACTIVE, RunStatus.ANSWERED)


def _stands(view: View) -> Standing | None:
    """Where a thread stands for a sweep, which lists it as the library's does: no claimant takes it then."""
    run = view.thread.run
    if view.asked <= view.taken and (run is None or run.status not in _SEEN_TO):
        return None
    return "waiting" if isinstance(plan(view), LeavePlan) else "left"


def _sees_to(put: Put, status: RunStatus) -> None:
    """Have runs of this status seen to, and no others."""
    put(
        Thread,
        "has_run_to_see_to",
        property(lambda thread: thread.run is not None and thread.run.status is status),
    )
    for where in (threadclaim.storage.memory_scope, threadclaim.storage.sql.transaction):
        put(where, "standing", _stands)


def _answered_is_nothing(put: Put) -> None:
    _sees_to(put, RunStatus.ACTIVE)


def _no_look(put: Put) -> None:
    put(Claimant, "_claim_and_turn", _refused_for_good)


def _no_look_no_sweep(put: Put) -> None:
    _no_look(put)
    put(Runner, "recover", _sweeps_nothing)


_ANSWERED = "An answered run is nothing to do, unless more is asked than taken."

TWINS = (
    Twin("NoLookAgain", "A claimant that is refused does not look again.", _no_look),
    Twin(
        "NoLookNoSweep",
        "A claimant that is refused does not look again, and a process that starts sweeps nothing.",
        _no_look_no_sweep,
        actions={"Restart": _UNSWEPT},
    ),
    Twin(
        "NoSweep",
        "A process that starts sweeps nothing.",
        lambda put: put(Runner, "recover", _sweeps_nothing),
        actions={"Restart": _UNSWEPT},
    ),
    Twin(
        "NoLookAfterFailedRelease",
        "A release that fails arms no look.",
        lambda put: put(Claimant, "_release", _released_for_good),
    ),
    Twin(
        "FailedReleaseLooksForAll",
        "After a failed release, a look hands over all that is left, whatever that release would have.",
        lambda put: put(Claimant, "_release", _looks_for_all),
    ),
    Twin(
        "LookGivesUp",
        "A look that finds the claim held is over.",
        lambda put: put(threadclaim.looks, "LookAgain", LookOnce),
    ),
    Twin(
        "LookReadsNothing",
        "A look claims as if it had read nothing, so that its failure hands over what it found.",
        lambda put: put(Runner, "_take_for_a_look", _take_unread),
    ),
    Twin(
        "RecoverAsks",
        "A sweep asks for all that the log has.",
        _ask_as_they_list,
        actions={"Restart": Action("Restart", "process", _restart_unasking)},
    ),
    Twin(
        "DeadRunStays",
        "A run left active is nothing to do, unless more is asked than taken.",
        lambda put: _sees_to(put, RunStatus.ANSWERED),
    ),
    Twin("RepliedRunStays", _ANSWERED, _answered_is_nothing),
    Twin("RepliedRunStaysCancel", _ANSWERED, _answered_is_nothing),
)
"""These twins."""
