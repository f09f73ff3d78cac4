"""What goes wrong: Cancel, failures, lapses, crashes."""

from conformance.actions.at import At, Done, ImpossibleError
from conformance.actions.claims import break_off
from conformance.actions.looks import free_slot, sweep
from conformance.world.gates import StorageDownError
from conformance.world.process import THREAD
from conformance.world.world import World
from threadclaim.steps import (
    Abandon,
    Claim,
    CountTaken,
    Release,
    Replan,
    Reply,
    StartRun,
)


def cancel(world: World, task: str, variant: str) -> Done:
    """Cancel a caller, or stop a claimant, as it waits; what it waits for fails, or is heard of first."""
    at = At(world, "Cancel", task)
    call = at.pending()
    how, _, heard = variant.partition(" ")
    if how == "stopped":
        at.stop()
    else:
        at.cancel_caller()
    if isinstance(call.step, Replan) or (heard and not isinstance(call.step, Claim)):
        return break_off(at, at.go_on(call), stopped=how == "stopped")
    if heard:
        name = at.go_on(call)
        return [("Cancel" if name == "Claim" else name, task)]
    at.let(call, error=StorageDownError(), effect=False)
    return [("Cancel", task)]


CAN_FAIL = (Claim, Replan, Abandon, StartRun, Reply, CountTaken)


def fail(world: World, task: str, _: str) -> Done:
    """Have a call fail, without effect."""
    at = At(world, "Fail", task)
    at.fails(at.pending(*CAN_FAIL), effect=False)
    return [("Fail", task)]


def fail_unheard(world: World, task: str, _: str) -> Done:
    """Have a call take effect, and its answer be lost."""
    at = At(world, "FailUnheard", task)
    at.fails(at.pending(Claim, Abandon, StartRun, Reply, CountTaken))
    return [("FailUnheard", task)]


def command_fails(world: World, task: str, _: str) -> Done:
    """Have the write of a send fail, without effect."""
    at = At(world, "CommandFails", task)
    at.idle()
    call = at.command(at.process.runner.send(world.workspace_of(at.process), THREAD, "lost"))
    at.fails(call, effect=False)
    return [("CommandFails", task)]


def release_fails(world: World, task: str, variant: str) -> Done:
    """Have a release fail, with effect or without."""
    at = At(world, "ReleaseFails", task)
    at.let(at.pending(Release), error=StorageDownError(), effect=variant == "unheard")
    return [("ReleaseFails", task)]


def lapse(world: World, task: str, _: str) -> Done:
    """Let the claim of a live holder lapse."""
    world.lapse()
    return [("Lapse", task)]


def expire(world: World, *_: str) -> Done:
    """Let the claim of a dead holder lapse."""
    world.lapse()
    return [("Expire", "")]


def crash(world: World, name: str, _: str) -> Done:
    """Let a process die."""
    world.processes[name].crash()
    return [("Crash", name)]


def restart(world: World, name: str, variant: str) -> Done:
    """Start a dead process, which sweeps."""
    process = world.processes[name]
    if not process.is_down:
        raise ImpossibleError("Restart", name, "it runs")
    process.restart()
    return sweep(world, process, free_slot(process, variant), "Restart", name)
