"""What goes on in a run: Deliver, EndRun, Pause, EndFails."""

from conformance.actions.at import At, Done
from conformance.world.gates import Call, StorageDownError
from conformance.world.process import THREAD
from conformance.world.world import World
from threadclaim.events import Envelope
from threadclaim.steps import (
    EndRun,
)

ARRIVES, FAILED, DROPPED = "arrives", "failed", "dropped"
"""How a watcher's read goes: a message comes that the agent does not take yet; or it fails.

Or the agent takes it with a request that is dropped.
"""


def deliver(world: World, task: str, variant: str) -> Done:
    """Let a message arrive, and be taken; or arrive alone, or fail to."""
    at = At(world, "Deliver", task)
    run = at.slot.run
    if run is None or run.is_over:
        raise at.impossible("no run goes on")
    watcher = run.steering._task  # type: ignore[attr-defined]
    arrived = run.steering._arrived  # type: ignore[attr-defined]
    retry = world.loop.timer_of(watcher)
    if retry is not None:
        world.loop.fire(retry)
    call = next((call for call in at.process.storage.calls if call.task is watcher), None)
    if call is not None and isinstance(call.step, Envelope):
        at.let(call, error=StorageDownError() if variant == FAILED else None, effect=False)
    elif not arrived:
        raise at.impossible("its watcher has found no message", is_known=run.has_dropped)
    if variant in {ARRIVES, FAILED}:  # the agent has been given nothing
        return []
    before = len(run.delivered)
    if variant == DROPPED:
        run.drop()
    else:
        run.take()
    at.rest()
    return [("Deliver", task)] * (len(run.delivered) - before)


def over(at: At, variant: str) -> None:
    """Let a run's agent come to its end."""
    run, claimant = at.slot.run, at.slot.claimant
    if run is None or claimant is None or claimant.run is None or run.is_over:
        raise at.impossible("no run goes on")
    running = [each.run for each in at.process.runner._claimants if each.is_running]
    if at.process.runner.running(at.world.workspace_of(at.process), THREAD) not in running:
        at.world.told.wrong.append(f"A run of {at.task} goes on, and its process says that none does.")
    if variant == "stopped":
        at.stop()
        at.rest()
    elif variant == "lost":
        at.fire(claimant._claim._deadline, "the end of its claim")
        at.rest()
    else:
        run.end(variant)
        at.rest()


def end_call(at: At, trying: str, variant: str) -> Call:
    """The call that records a run's end: of a run that comes to its end now, or is tried again."""
    if at.slot.trying is None:
        over(at, variant)
    elif at.slot.trying != trying:
        raise at.impossible(f"it is {at.slot.trying}")
    else:
        claimant = at.slot.claimant
        task = None if claimant is None else at.process.runner._claimants.get(claimant)
        deadline = None if claimant is None else claimant._claim._deadline
        at.fire(at.world.loop.timer_of(task, besides=deadline), "another try")
    return at.pending(EndRun)


def end_run(world: World, task: str, variant: str) -> Done:
    """Let a run come to its end, and that be recorded."""
    at = At(world, "EndRun", task)
    at.let(end_call(at, "ending", variant or "completed"))
    return [("EndRun", task)]


def pause(world: World, task: str, _: str) -> Done:
    """Let a run pause, and that be recorded."""
    at = At(world, "Pause", task)
    at.let(end_call(at, "pausing", "paused"))
    return [("Pause", task)]


def end_fails(world: World, task: str, variant: str) -> Done:
    """Let recording an end fail, with effect or without."""
    at = At(world, "EndFails", task)
    kind, _, effect = variant.partition(" ")
    kind = "pausing" if at.slot.trying == "pausing" else "ending" if at.slot.trying else kind or "ending"
    call = end_call(at, kind, "paused" if kind == "pausing" else "completed")
    at.slot.trying = kind
    at.let(call, error=StorageDownError(), effect=effect == "unheard")
    return [("EndFails", task)]
