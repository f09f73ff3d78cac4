"""Rules of runs made without the runner, that have no mutant, each broken by hand."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from threadclaim import direct
from threadclaim.errors import ClaimLost, RequestError
from threadclaim.events import RUNNER, Envelope, RunEnded, RunStarted
from threadclaim.steps import DirectStart
from threadclaim.steps.loads import hold_fast, load_thread
from threadclaim.storage import Transaction
from threadclaim.storage.protocol import lease_name
from threadclaim.thread import Run, RunStatus
from threadclaim.workspace import HeldThread, Workspace


def starts_directly_without_its_claim(patch: pytest.MonkeyPatch) -> None:
    """A direct run starts though its caller's claim to the thread has lapsed."""

    async def start(step: DirectStart, tx: Transaction) -> tuple[Envelope, ...]:
        is_held = await tx.holder(lease_name(step.thread_id)) == step.segment
        return await DirectStart.__call__(replace(step, is_held=is_held), tx)

    patch.setattr(direct, "DirectStart", type("DirectStart", (DirectStart,), {"__call__": start}))


def starts_directly_beside_a_pause(patch: pytest.MonkeyPatch) -> None:
    """A direct run starts though the thread's run waits for its answers."""

    async def start(step: DirectStart, tx: Transaction) -> tuple[Envelope, ...]:
        run = (await load_thread(tx, step.thread_id)).run
        if run is None or run.status is not RunStatus.PAUSED:
            return await DirectStart.__call__(step, tx)
        started = RunStarted(step.run_id, step.segment, (), resumed=False)
        await hold_fast(tx, step.thread_id, step.segment)
        await tx.append(started, actor=step.actor, thread_id=step.thread_id, run_id=step.run_id)
        return ()

    patch.setattr(direct, "DirectStart", type("DirectStart", (DirectStart,), {"__call__": start}))


def gives_up_the_thread_in_silence(patch: pytest.MonkeyPatch) -> None:
    """A caller who held the thread leaves its claim to lapse."""

    async def let(_: Workspace, __: HeldThread) -> None:
        """Give nothing up."""

    patch.setattr(Workspace, "_let", let)


def refuses_direct_starts_of_old_threads(patch: pytest.MonkeyPatch) -> None:
    """A direct run is refused though nothing is in its way: the thread has had a run."""

    async def start(step: DirectStart, tx: Transaction) -> tuple[Envelope, ...]:
        if (await load_thread(tx, step.thread_id)).run is not None:
            raise RequestError("It has had one.")
        return await DirectStart.__call__(step, tx)

    patch.setattr(direct, "DirectStart", type("DirectStart", (DirectStart,), {"__call__": start}))


def _starts_otherwise_beside_a_run(
    patch: pytest.MonkeyPatch,
    otherwise: Callable[[DirectStart, Transaction, Run], Awaitable[None]],
) -> None:
    """A direct run starts otherwise where the thread's run is active."""

    async def start(step: DirectStart, tx: Transaction) -> tuple[Envelope, ...]:
        run = (await load_thread(tx, step.thread_id)).active_run
        if run is None:
            return await DirectStart.__call__(step, tx)
        await otherwise(step, tx, run)
        started = RunStarted(step.run_id, step.segment, (), resumed=False)
        await tx.append(started, actor=step.actor, thread_id=step.thread_id, run_id=step.run_id)
        return ()

    patch.setattr(direct, "DirectStart", type("DirectStart", (DirectStart,), {"__call__": start}))


def leaves_dead_runs_to_direct_ones(patch: pytest.MonkeyPatch) -> None:
    """A direct run starts where a dead one was left, whose end nobody records."""

    async def leave(step: DirectStart, tx: Transaction, _: Run) -> None:
        await hold_fast(tx, step.thread_id, step.segment)

    _starts_otherwise_beside_a_run(patch, leave)


def refuses_direct_starts_beside_dead_runs(patch: pytest.MonkeyPatch) -> None:
    """A direct run is refused where a dead one was left."""

    async def refuse(step: DirectStart, tx: Transaction, _: Run) -> None:
        await hold_fast(tx, step.thread_id, step.segment)
        raise RequestError("There is a run.")

    _starts_otherwise_beside_a_run(patch, refuse)


def abandons_directly_without_its_claim(patch: pytest.MonkeyPatch) -> None:
    """A direct run records the end of whatever run is active, though its caller's claim has lapsed."""

    async def abandon(step: DirectStart, tx: Transaction, run: Run) -> None:
        ended = RunEnded(run.run_id, "failed", reason="abandoned", error="Its holder died.")
        await tx.append(ended, actor=RUNNER, thread_id=step.thread_id, run_id=run.run_id)

    _starts_otherwise_beside_a_run(patch, abandon)


def refuses_lapsed_direct_starts_as_bad_input(patch: pytest.MonkeyPatch) -> None:
    """A direct run that is refused because its caller's claim has lapsed is told to be the caller's fault."""

    async def start(step: DirectStart, tx: Transaction) -> tuple[Envelope, ...]:
        try:
            return await DirectStart.__call__(step, tx)
        except ClaimLost as error:
            raise RequestError(str(error)) from error

    patch.setattr(direct, "DirectStart", type("DirectStart", (DirectStart,), {"__call__": start}))
