"""Twins that keep a claim which they must give up, or give up one that is not theirs."""

import conformance.beside
import threadclaim.claimant
import threadclaim.runner
from conformance.actions import ACTIONS, Action, ImpossibleError, Ways
from conformance.mutants.leaving import Telling, asked_now
from conformance.mutants.readers import OwnersReader, holder
from conformance.mutants.twin import Put, Twin
from conformance.state import Plain, Reader
from conformance.world.process import Process
from conformance.world.world import SCOPE, World
from threadclaim import steps
from threadclaim.claimant import Claimant
from threadclaim.handover import ALL, Leaving, Left
from threadclaim.runner import Runner
from threadclaim.steps.loads import load_thread, load_view
from threadclaim.storage.protocol import Transaction, lease_name
from threadclaim.thread import RunStatus

# ---- A claim that is left behind


class _Keeping(Telling):
    """A claimant that, broken off as it claims, takes its claim not to be granted, and claims again."""

    _again: Left | None = None

    @property
    def left_its_claim(self) -> bool:
        """Whether it did so."""
        return self._again is not None

    def keeps(self) -> bool:
        """Whether it does so now."""
        raise NotImplementedError

    async def instead(self, error: BaseException, leaving: Leaving) -> Leaving | None:  # noqa: ARG002  # of any
        """Release nothing where it was broken off as it claimed."""
        if self.has_planned or not self.keeps():
            return leaving
        self._again = Left(await asked_now(self), 0, is_left=True)
        return None

    async def carry_out(self) -> Left | None:
        """As the library's, and then hand over."""
        return await super().carry_out() or self._again


class KeepsIfCancelled(_Keeping):
    """It does so if its caller was cancelled."""

    def keeps(self) -> bool:
        """Whether its caller was cancelled."""
        return self.is_cancelled or self.halted


class KeepsIfFailed(_Keeping):
    """It does so if its claim failed."""

    def keeps(self) -> bool:
        """Whether nobody stopped it."""
        return not self.is_cancelled and not self.halted


class KeepingReader(OwnersReader):
    """Reads a claim that was left behind as its task's still, for as long as its process lives."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._kept: dict[str, tuple[Process, Runner, str, Claimant]] = {}

    def read(self) -> Plain:
        """The world as it stands, without ghosts."""
        for process in self.world.processes.values():
            for slot in process.slots:
                if slot.claimant is not None:
                    self._kept[slot.claimant.holder] = (process, process.runner, slot.name, slot.claimant)
        return super().read()

    def owner_of(self, held_by: str) -> str | None:
        """The task that left its claim behind."""
        if held_by not in self._kept:
            return None
        process, runner, name, claimant = self._kept[held_by]
        left_it = isinstance(claimant, _Keeping) and claimant.left_its_claim
        return name if left_it and not process.is_down and process.runner is runner else None


def _reads_kept(put: Put) -> None:
    put(conformance.beside, "Reader", KeepingReader)


# ---- An ask outside the try


class OutsideTry(Telling):
    """A claimant that, broken off as it claims, releases what was granted, and hands nothing over."""

    async def instead(self, error: BaseException, leaving: Leaving) -> Leaving:  # noqa: ARG002  # of any
        """Leave from outside the block that hands over."""
        if self.has_planned:
            return leaving
        return Leaving("outside", leaving.seen, leaving.input_seq)  # type: ignore[arg-type]  # its own


_goes, _rule = Leaving.goes, Reader._rule


def _goes_if_inside(leaving: Leaving, left: Left) -> bool:
    """Hand over only what leaves from inside."""
    return str(leaving.due) != "outside" and _goes(leaving, left)


def _rule_outside(reader: Reader, leaving: Leaving) -> tuple[str, int, int]:
    """How somebody leaves, from outside too."""
    due, seen, pos = _rule(reader, leaving)
    return (due if str(leaving.due) != "outside" else "outside", seen, pos)


def _outside_try(put: Put) -> None:
    put(threadclaim.runner, "Claimant", OutsideTry)
    put(Leaving, "goes", _goes_if_inside)


# ---- A claim of somebody else's

_alive: set[str] = set()
_leaving: set[str] = set()


class Known(Claimant):
    """A claimant whose holder the steps here know to be alive; and, as it gives up its claim, leaving."""

    async def carry_out(self) -> Left | None:
        """As the library's."""
        _alive.add(self.holder)
        try:
            return await super().carry_out()
        finally:
            _alive.discard(self.holder)

    async def _release(self, leaving: Leaving) -> Left | None:
        if leaving == ALL:
            _leaving.add(self.holder)
        try:
            return await super()._release(leaving)
        finally:
            _leaving.discard(self.holder)


class ReleaseAny(steps.Release):
    """A release of whoever's claim it is, but for a dead one's."""

    async def __call__(self, tx: Transaction) -> Left:
        """As the library's, of whoever holds the thread."""
        name = lease_name(self.thread_id)
        held_by = await tx.holder(name)
        if held_by in _alive:
            await tx.release_lease(name, str(held_by))
        return await super().__call__(tx)


_WAITS = (RunStatus.PAUSED, RunStatus.ANSWERED)


class ClaimAsRun(steps.Claim):
    """A claim under the run's id: it renews what another segment of a run that waits still holds."""

    async def __call__(self, tx: Transaction) -> steps.Claimed | steps.Refused | steps.NothingAsked:
        """As the library's, once it has the claim of a segment that is leaving."""
        view, name = await load_view(tx, self.thread_id), lease_name(self.thread_id)
        run, held_by = view.thread.run, await tx.holder(name)
        if view.is_left and run is not None and run.status in _WAITS and held_by in _leaving:
            await tx.release_lease(name, str(held_by))
        return await super().__call__(tx)


class ReleaseAsRun(steps.Release):
    """A release of the run's id: it takes the claim from another segment of the same run."""

    async def __call__(self, tx: Transaction) -> Left:
        """As the library's; and, over with its turn, of whoever holds the claim for the same run."""
        run, name = (await load_thread(tx, self.thread_id)).run, lease_name(self.thread_id)
        held_by = await tx.holder(name)
        if run is not None and self.holder in _leaving and held_by in _alive:
            is_its = run.status is RunStatus.ACTIVE and run.segment == held_by and held_by not in _leaving
            if is_its or run.status in _WAITS:
                await tx.release_lease(name, str(held_by))
        return await super().__call__(tx)


def _release_any(put: Put) -> None:
    put(threadclaim.runner, "Claimant", Known)
    put(threadclaim.claimant, "Release", ReleaseAny)


def _run_id_as_holder(put: Put) -> None:
    put(threadclaim.runner, "Claimant", Known)
    put(threadclaim.claimant, "Claim", ClaimAsRun)
    put(threadclaim.claimant, "Release", ReleaseAsRun)


_release_fails = ACTIONS["ReleaseFails"]


def _release_fails_of_its_own(world: World, task: str, variant: str) -> Ways:
    """Fail a release without effect only of its own claim: the mutant has another's dead by that."""
    claimant = world.process_of(task).slot(task).claimant
    held_by = world.loop.run(world.storage.transact(SCOPE, holder))
    if variant != "unheard" and claimant is not None and held_by not in {claimant.holder, None}:
        why = "the claim is another's, and would only seem to be dead"
        raise ImpossibleError("ReleaseFails", task, why, is_known=True)
    return _release_fails.do(world, task, variant)


_OF_ITS_OWN = Action("ReleaseFails", "task", _release_fails_of_its_own, _release_fails.variants)

TWINS = (
    Twin(
        "CancelledGrantKeepsClaim",
        "A claim that was granted to a call which was cancelled is taken not to be, and is made again.",
        lambda put: put(threadclaim.runner, "Claimant", KeepsIfCancelled),
        reads=_reads_kept,
    ),
    Twin(
        "FailedGrantKeepsClaim",
        "A claim that was granted to a call which failed is taken not to be, and is made again.",
        lambda put: put(threadclaim.runner, "Claimant", KeepsIfFailed),
        reads=_reads_kept,
    ),
    Twin(
        "AskOutsideTry",
        "A command that is cancelled, or fails, as it claims hands nothing over.",
        _outside_try,
        reads=lambda put: put(Reader, "_rule", _rule_outside),
    ),
    Twin(
        "ReleasesAnyClaim",
        "A release gives up the thread's claim, whoever holds it.",
        _release_any,
        actions={"ReleaseFails": _OF_ITS_OWN},
    ),
    Twin(
        "RunIdAsHolder",
        "Segments of one run share a claim: a resume renews the last one's, which then gives it up.",
        _run_id_as_holder,
        actions={"ReleaseFails": _OF_ITS_OWN},
    ),
)
"""These twins."""
