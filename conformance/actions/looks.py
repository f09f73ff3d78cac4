"""What a process begins by itself: looks and sweeps."""

from conformance.actions.at import At, Done, ImpossibleError
from conformance.world.gates import Call, StorageDownError
from conformance.world.process import THREAD, Process, Slot
from conformance.world.world import SCOPE, World
from threadclaim.handover import ALL
from threadclaim.steps import (
    Looked,
)


def look_call(world: World, process: Process, action: str) -> Call:
    """Let a process's look come; the call that it then waits in."""
    looks = process.runner._looks
    timer = looks._timers.get((SCOPE, THREAD))
    if process.is_down or timer is None:
        raise ImpossibleError(action, process.name, "no look waits")
    world.loop.fire(timer)
    call = process.call("LookAgain")
    if call is None:
        raise ImpossibleError(action, process.name, "its look reads nothing")
    return call


def look_again(world: World, name: str, variant: str) -> Done:
    """Let a process's look come, and read."""
    process = world.processes[name]
    why = process.runner._looks._why.get((SCOPE, THREAD), ALL)
    call = look_call(world, process, "LookAgain")
    slot = free_slot(process, variant)
    world.answer(process, call)
    process.adopt(slot)
    # While the claim is held it waits again, which is no step of the model's: nothing has changed.
    waits = isinstance(call.result, Looked) and call.result.is_held and why.goes(call.result.left)
    return [] if waits else [("LookAgain", name)]


def look_fails(world: World, name: str, _: str) -> Done:
    """Let a process's look come, and fail to read."""
    process = world.processes[name]
    call = look_call(world, process, "LookFails")
    world.answer(process, call, StorageDownError(), effect=False)
    return [("LookFails", name)]


def free_slot(process: Process, name: str = "") -> Slot:
    """The slot for a task that a process begins by itself: the named one, or the first that is idle."""
    if name:
        return process.slot(name)
    return next((slot for slot in process.slots if slot.is_idle), process.slots[0])


def sweep(world: World, process: Process, slot: Slot, action: str, actor: str) -> Done:
    """Have a process sweep the workspace, as a caller of its."""
    world.command(process, slot, process.runner.recover(world.workspace_of(process)))
    call = process.call_of(slot)
    if call is None:
        raise ImpossibleError(action, process.name, "its sweep lists nothing")
    world.answer(process, call)
    process.adopt(slot)
    if slot.claimant is not None:
        return [(action, actor)]
    # With nothing left to do a sweep claims nothing; the model's goes to claim, and finds nothing to do.
    return [] if action == "Recover" else [(action, actor), ("NothingAsked", slot.name)]


UNLISTED = "unlisted"
"""A sweep whose list fails: its caller is to hear of that, and nothing has changed."""


def recover(world: World, task: str, variant: str) -> Done:
    """Sweep the workspace."""
    at = At(world, "Recover", task)
    at.idle()
    if variant == UNLISTED:
        call = at.command(at.process.runner.recover(world.workspace_of(at.process)))
        at.let(call, error=StorageDownError(), effect=False)
        caller = at.slot.caller
        if caller is None or not caller.done() or caller.cancelled() or caller.exception() is None:
            world.told.wrong.append(f"The sweep of {task} could list nothing, and its caller is not told.")
        return []
    return sweep(world, at.process, at.slot, "Recover", task)
