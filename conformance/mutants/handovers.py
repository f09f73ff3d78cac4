"""Twins that hand over more, or less, than what is left when they leave."""

from dataclasses import replace

import threadclaim.claimant
import threadclaim.runner
from conformance.actions import ACTIONS, Action, At, Ways
from conformance.model.state import Run as RunOf
from conformance.model.state import Task
from conformance.mutants.asking import AskForAll
from conformance.mutants.leaving import Telling, asked_now
from conformance.mutants.stopping import AT_ITS_WRITE
from conformance.mutants.twin import Put, Twin
from conformance.state import Reader
from conformance.world.world import World
from threadclaim import steps
from threadclaim.carrying import HaltedError
from threadclaim.claimant import Claimant
from threadclaim.errors import ClaimLost
from threadclaim.handover import ALL, Leaving, Left
from threadclaim.run import Means
from threadclaim.storage.protocol import Scope
from threadclaim.thread import Thread

# ---- What goes


def _unheard(leaving: Leaving, left: Left) -> bool:
    """Whether a write of its own consumed its input, and it did not hear of it."""
    return 0 < leaving.input_seq <= left.taken


def nothing(_: Leaving, _left: Left) -> bool:
    """Nothing goes."""
    return False


def everything(_: Leaving, left: Left) -> bool:
    """All goes, after a failure that consumed nothing too."""
    return left.is_left


def unless_failed(leaving: Leaving, left: Left) -> bool:
    """Nothing goes after a failure that consumed nothing."""
    return left.is_left and (leaving.due == "all" or _unheard(leaving, left))


_goes = Leaving.goes


def if_asked(leaving: Leaving, left: Left) -> bool:
    """Only what is asked goes, no run that is active or answered."""
    return left.asked > left.taken and _goes(leaving, left)


def as_heard(leaving: Leaving, left: Left) -> bool:
    """Whoever heard of no write has made none."""
    return _goes(replace(leaving, input_seq=0), left)


# ---- How one leaves


class CancelledAsFailed(Telling):
    """A claimant that leaves as after a failure when its caller is cancelled."""

    async def instead(self, error: BaseException, leaving: Leaving) -> Leaving:
        """Leave what was asked before to the next command."""
        failed = (self.is_cancelled or self.halted) and not isinstance(error, ClaimLost)
        return Leaving("newer", self.seen, self._input_seq) if failed else leaving


class LostAsFailed(Telling):
    """A claimant that leaves as after a failure when its claim is lost."""

    async def instead(self, error: BaseException, leaving: Leaving) -> Leaving:
        """Leave what was asked before to the next command."""
        lost = isinstance(error, ClaimLost) or (isinstance(error, HaltedError) and self._claim.lost)
        return Leaving("newer", self.seen, self._input_seq) if lost else leaving


class AsItLeaves(Claimant):
    """A claimant that hands over what is asked after it failed, not what was asked after it read."""

    async def _hold(self) -> Leaving | None:
        """As the library's; a failure has seen all that is asked as it leaves."""
        leaving = await super()._hold()
        if leaving is None or leaving.due == "all":
            return leaving
        return replace(leaving, seen=await asked_now(self))


class SeesNothing(Claimant):
    """A claimant that does not note how far is asked as it reads its plan."""

    _was_read = 0
    _began = False

    def __init__(  # noqa: PLR0913  # as the library's
        self,
        means: Means,
        scope: Scope,
        thread_id: str,
        *,
        seen: int = 0,
        broken_off: Leaving | None = None,
        command: str | None = None,
    ) -> None:
        super().__init__(means, scope, thread_id, seen=seen, broken_off=broken_off, command=command)
        self._began = True

    @property
    def seen(self) -> int:
        """How far was asked as it was begun; once it has planned, nothing."""
        return self._was_read

    @seen.setter
    def seen(self, asked: int) -> None:
        """Note it only as it is begun."""
        self._was_read = 0 if self._began else asked


# ---- What a release does


_release = Claimant._release


async def _release_and_ask(claimant: Claimant, leaving: Leaving) -> Left | None:
    """Release, ask for all that the log has, and hand it over, however the claimant leaves."""
    left = await _release(claimant, ALL)
    if claimant.looks is not None:
        claimant.looks = leaving
        return None
    asked, is_more = await claimant._do(AskForAll(claimant.thread_id))
    return Left(asked, 0, is_left=True) if left is not None or is_more else None


_RELEASE = ACTIONS["Release"]


def _release_then_ask(world: World, task: str, variant: str) -> Ways:
    """Release, and ask: to the mutant it is one transaction."""
    done = _RELEASE.do(world, task, variant)
    at = At(world, "Release", task)
    call = at.process.call_of(at.slot)
    if call is not None and isinstance(call.step, AskForAll):
        at.let(call)
    return done


_recorded = Claimant._recorded


async def _recorded_once(claimant: Claimant, step: steps.EndRun) -> bool:
    """Record an end, and let it be, recorded or not."""
    await _recorded(claimant, step)
    return True


_run = Reader._run


def _run_not_let_go(reader: Reader, thread: Thread, holders: dict[str, str], tasks: dict[str, Task]) -> RunOf:
    """The thread's run: whoever leaves it active, and has its claim, lets go of both together."""
    gone = {name: task if _has_lost(reader, name) else task._replace(due="") for name, task in tasks.items()}
    return _run(reader, thread, holders, gone)


def _has_lost(reader: Reader, task: str) -> bool:
    """Whether a task's claim is lost."""
    claimant = reader.world.process_of(task).slot(task).claimant
    return claimant is not None and claimant._claim.lost


def _unheard_is_failure(put: Put) -> None:
    put(Leaving, "goes", as_heard)


_BELIEVES = "A claimant whose write took effect, and who did not hear of it, leaves as after a failure."

TWINS = (
    Twin("NoHandOver", "Nothing is handed over.", lambda put: put(Leaving, "goes", nothing)),
    Twin(
        "FailureHandsOverAll",
        "A failure that consumed nothing hands over all that is left.",
        lambda put: put(Leaving, "goes", everything),
    ),
    Twin(
        "FailureHandsOverNothing",
        "A failure that consumed nothing hands over nothing, whatever was asked since it read.",
        lambda put: put(Leaving, "goes", unless_failed),
    ),
    Twin(
        "CancelledSweepLeavesRun",
        "A run that is active or answered is handed over only where more is asked than taken.",
        lambda put: put(Leaving, "goes", if_asked),
    ),
    Twin("UnheardStartIsFailure", _BELIEVES, _unheard_is_failure),
    Twin("UnheardStartStays", _BELIEVES, _unheard_is_failure),
    Twin(
        "CancelIsFailure",
        "A claimant whose caller was cancelled leaves as after a failure.",
        lambda put: put(threadclaim.runner, "Claimant", CancelledAsFailed),
    ),
    Twin(
        "LostIsFailure",
        "A claimant whose claim is lost leaves as after a failure.",
        lambda put: put(threadclaim.runner, "Claimant", LostAsFailed),
        actions=AT_ITS_WRITE,
    ),
    Twin(
        "FailureForgetsWhatItRead",
        "A failure hands over what is asked after it left, and not what was asked after it read.",
        lambda put: put(threadclaim.runner, "Claimant", AsItLeaves),
    ),
    Twin(
        "FailureHandsOverOlder",
        "A claimant does not note how far is asked as it reads its plan, so its failure hands that over.",
        lambda put: put(threadclaim.runner, "Claimant", SeesNothing),
    ),
    Twin(
        "HandOverAsks",
        "A release asks for all that the log has.",
        lambda put: put(Claimant, "_release", _release_and_ask),
        actions={"Release": Action("Release", "task", _release_then_ask)},
    ),
    Twin(
        "FailedEndGivesUp",
        "A run's end that could not be recorded is not tried again.",
        lambda put: put(Claimant, "_recorded", _recorded_once),
        reads=lambda put: put(Reader, "_run", _run_not_let_go),
    ),
)
"""These twins."""
