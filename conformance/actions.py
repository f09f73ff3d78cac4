"""How the world does each action of the model: the only place that says which step is which.

An action is done to a world, by a task or a process of the model, in one of its variants. What the runner
then does may be another action, or no other than it was: `done` names what it amounted to, in order.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.world.gates import Call, StorageDownError
from conformance.world.process import THREAD, Process, Slot
from conformance.world.world import SCOPE, World
from threadclaim.errors import ClaimLost, RequestError
from threadclaim.events import Envelope, MessagePosted, RequestAnswered
from threadclaim.events import Reply as ReplyTo
from threadclaim.handover import ALL
from threadclaim.steps import (
    Abandon,
    Claim,
    Claimed,
    CountTaken,
    EndRun,
    Looked,
    NothingAsked,
    Refused,
    Release,
    Replan,
    Reply,
    StartRun,
)

Done = Sequence[tuple[str, str]]
"""The actions of the model that a step of the world amounted to, in order, each with its actor.

None of them if it changed nothing that the model holds.
"""


class ImpossibleError(Exception):
    """The world cannot do an action there; `instead` is what the actor would do, if it would do anything.

    `is_known` is whether that is the world's own limit: else what the model allows there must be possible.
    """

    def __init__(
        self, action: str, actor: str, why: str, instead: str | None = None, *, is_known: bool = False
    ) -> None:
        """Say which action, whose, and why not."""
        super().__init__(f"{action}({actor}) cannot be done: {why}.")
        self.action, self.actor, self.instead, self.is_known = action, actor, instead, is_known


@dataclass(frozen=True, slots=True)
class Action:
    """How the world does an action of the model.

    `by` is who does it: a task, a process, or nobody; `do` does it, given the world, the actor, and one of
    `variants`, the ways in which it can come about. (Which code does it, `conformance.names` says.)
    """

    name: str
    by: str
    do: Callable[[World, str, str], Done]
    variants: tuple[str, ...] = ("",)


class At:
    """A task of the model in the world: its process, its slot, and what can be done to it."""

    def __init__(self, world: World, action: str, task: str) -> None:
        self.world, self.action, self.task = world, action, task
        self.process = world.process_of(task)
        self.slot = self.process.slot(task)
        if self.process.is_down:
            raise self.impossible("its process is dead")

    def impossible(self, why: str, *, is_known: bool = False) -> ImpossibleError:
        """Why the action cannot be done."""
        call = None if self.process.is_down else self.process.call_of(self.slot)
        instead = None if call is None else call.name
        return ImpossibleError(self.action, self.task, why, instead, is_known=is_known)

    def idle(self) -> None:
        """Expect it to be idle."""
        if not self.slot.is_idle:
            raise self.impossible("the task is busy")

    def command(self, command: Coroutine[Any, Any, object]) -> Call:
        """Have a caller make a command; gives the call that it then waits in."""
        self.world.command(self.process, self.slot, command)
        return self.pending()

    def pending(self, *steps: type[object]) -> Call:
        """The call that it waits in, which must be of one of `steps`."""
        call = self.process.call_of(self.slot)
        if call is None:
            raise self.impossible("the task waits for no call")
        if steps and not isinstance(call.step, steps):
            raise self.impossible(f"the task waits in {call.name}")
        return call

    def let(self, call: Call, *, error: BaseException | None = None, effect: bool = True) -> None:
        """Let a call take effect, or not, and be heard of, or have `error` heard instead."""
        self.world.answer(self.process, call, error, effect=effect)
        self.rest()

    def rest(self) -> None:
        """Let what is no action of the model be done: reading history. Then see who is there."""
        self.process.rest()
        self.process.adopt(self.slot)

    def go_on(self, call: Call) -> str:
        """Let the call that it waits in take effect and be heard of; the action that this was."""
        self.let(call)
        if isinstance(call.error, ClaimLost):
            return "Fenced"
        if isinstance(call.step, StartRun) and self.slot.claimant is not None:
            self.slot.run = self.process.agent.runs.get(call.step.run_id)
            self.slot.input_seq = call.step.input_seq
        if isinstance(call.step, Reply):
            self.slot.replied = call.result is not None
        return _NAMES[type(call.result)] if isinstance(call.step, Claim) else call.name

    def cancel_caller(self) -> None:
        """Cancel whoever waits for the command."""
        caller = self.slot.caller
        if caller is None or caller.done():
            raise self.impossible("nobody waits for it")
        caller.cancel()
        self.world.loop.settle()

    def stop(self) -> None:
        """Have the runner stop what is in the slot; alone, where the runner has something else to stop."""
        claimant = self.slot.claimant
        if claimant is None:
            raise self.impossible("nothing of it goes on")
        if len(self.process.runner._claimants) > 1:
            claimant.halt()
            self.world.loop.settle()
            return
        is_running, wrong = claimant.is_running, self.world.told.wrong

        def hear(stop: asyncio.Task[bool]) -> None:
            if not stop.cancelled() and stop.result() is not is_running:
                wrong.append(f"stop() of {self.task} says {stop.result()}; it ran: {is_running}.")

        stop = self.process.runner.stop(self.world.workspace_of(self.process), THREAD)
        self.world.loop.start(stop, self.process.name).add_done_callback(hear)

    def fire(self, timer: asyncio.TimerHandle | None, what: str) -> None:
        """Let a timer come."""
        if timer is None or timer.cancelled():
            raise self.impossible(f"it has no timer for {what}")
        self.world.loop.fire(timer)


_NAMES: Mapping[type[object], str] = {
    Claimed: "Claim",
    Refused: "Refused",
    NothingAsked: "NothingAsked",
}


# ---- Commands, and the world.


HEARD, CANCELLED, UNHEARD = "", "cancelled", "unheard"
"""How a command's write goes: well; with its caller cancelled as it waits; or with its answer lost."""


def _commanded(at: At, call: Call, action: str, variant: str) -> Done:
    """Let a command's write take effect, so."""
    if variant == CANCELLED:
        at.cancel_caller()
        at.let(call)
        return [(action, at.task), ("Cancel", at.task)]
    if variant == UNHEARD:
        at.let(call, error=StorageDownError())
        return [(action, at.task), ("Fail", at.task)]
    at.let(call)
    return [(action, at.task)]


def _send(world: World, task: str, variant: str) -> Done:
    at = At(world, "Send", task)
    at.idle()
    runner, workspace = at.process.runner, world.workspace_of(at.process)
    return _commanded(at, at.command(runner.send(workspace, THREAD, world.next_text())), "Send", variant)


def _answer(world: World, task: str, variant: str) -> Done:
    at = At(world, "Answer", task)
    at.idle()
    run = world.loop.run(world.workspace.thread(THREAD)).run
    workspace = world.workspace_of(at.process)
    if run is None or not run.open_requests:
        # Where no request is open an answer is refused, and has changed nothing.
        late = {request.id: ReplyTo("late") for request in run.requests} if run is not None else {}
        call = at.command(at.process.runner.answer(workspace, THREAD, late or {"unasked": ReplyTo("so")}))
        at.let(call)
        return [] if isinstance(call.error, RequestError) else [("Answer", task)]
    answers = {request.id: ReplyTo("so") for request in run.open_requests}
    return _commanded(at, at.command(at.process.runner.answer(workspace, THREAD, answers)), "Answer", variant)


def _ask(world: World, task: str, variant: str) -> Done:
    at = At(world, "Ask", task)
    at.idle()
    # The head is a run's own event, which is no position of the model's: a note makes it one.
    done: list[tuple[str, str]] = []
    head = world.loop.run(world.workspace.read(limit=1, last=True))
    if head and not isinstance(head[0].event, MessagePosted | RequestAnswered):
        if world.log.count("note") >= world.constants.max_notes:
            raise at.impossible("the log's head is a run's own event", is_known=True)
        done += _note(world)
    call = at.command(at.process.runner.resume(world.workspace_of(at.process), THREAD))
    return [*done, *_commanded(at, call, "Ask", variant)]


def _post(world: World, *_: str) -> Done:
    world.loop.run(world.workspace.post_message(THREAD, world.next_text()))
    return [("Post", "")]


def _note(world: World, *_: str) -> Done:
    world.loop.run(world.workspace.post_message(THREAD, "notice", kind="notice"))
    return [("Note", "")]


# ---- The claim, the plan, and the writes.


UNREAD, CANCELLED_READING = "unread", "cancelled reading"
"""How the history that a plan then needs is read: not at all; or with the caller cancelled as it waits."""


def going_on(action: str, *steps: type[object]) -> Callable[[World, str, str], Done]:
    """Do the call that a task waits in, which must be of one of `steps`."""

    def do(world: World, task: str, variant: str) -> Done:
        at = At(world, action, task)
        call = at.pending(*steps)
        if variant in {UNREAD, CANCELLED_READING}:
            return _reading(at, call, variant)
        return [(at.go_on(call), task)]

    return do


def _reading(at: At, call: Call, variant: str) -> Done:
    """Do a call, and have the reading of the history that follows it, if it does, go so."""
    found: list[str] = []

    def loads() -> BaseException | None:
        if variant == UNREAD:
            found.append("Fail")
            return StorageDownError()
        if at.slot.caller is not None and at.slot.caller.cancel():
            found.append("Cancel")
        return None

    at.process.as_history_loads = loads
    name = at.go_on(call)
    at.process.as_history_loads = None
    return [(each, at.task) for each in [name, *found]]


def _renew(world: World, task: str, variant: str) -> Done:
    at = At(world, "Renew", task)
    claimant = at.slot.claimant
    if claimant is None:
        raise at.impossible("it holds no claim")
    claim = claimant._claim
    at.fire(world.loop.timer_of(claim._renewals, besides=claim._deadline), "a renewal")
    call = at.process.renewal_of(at.slot)
    if call is None:
        raise at.impossible("no renewal is made")
    if variant == "failed":  # the claim may yet stand: it is tried again, and nothing has changed
        at.let(call, error=StorageDownError(), effect=False)
        return []
    at.let(call)
    if call.result:
        return [("Renew", task)]
    return _stop(at, "LoseClaim")


def _lose_claim(world: World, task: str, _: str) -> Done:
    return _renew(world, task, "")


def _let_go(world: World, task: str, _: str) -> Done:
    at = At(world, "LetGo", task)
    if at.slot.claimant is None:
        raise at.impossible("it holds no claim")
    call = at.process.call_of(at.slot)
    at.fire(at.slot.claimant._claim._deadline, "the end of its claim")
    if call is None or not isinstance(call.step, Abandon | StartRun | Reply | CountTaken):
        return _stop(at, "LetGo")
    # It hears of its write first: a run that has started is stopped then, and recorded so.
    heard = at.go_on(call)
    if heard == "StartRun":
        at.let(at.pending(EndRun))
        return [("StartRun", task), ("EndRun", task)]
    return _break_off(at, heard, "LetGo")


def _stop(at: At, action: str) -> Done:
    """A claimant whose claim is lost stops: after what it waits for, which its fence refuses."""
    call = at.process.call_of(at.slot)
    if call is not None and not isinstance(call.step, Release | EndRun):
        at.let(call)
    return [(action, at.task)]


# ---- A run.


ARRIVES, FAILED = "arrives", "failed"
"""How a watcher's read goes: a message comes that the agent does not take yet; or it fails."""


def _deliver(world: World, task: str, variant: str) -> Done:
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
        raise at.impossible("its watcher has found no message")
    if variant in {ARRIVES, FAILED}:  # the agent has been given nothing
        return []
    before = len(run.delivered)
    run.take()
    at.rest()
    return [("Deliver", task)] * (len(run.delivered) - before)


def _over(at: At, variant: str) -> None:
    """Let a run's agent come to its end."""
    run, claimant = at.slot.run, at.slot.claimant
    if run is None or claimant is None or claimant.run is None or run.is_over:
        raise at.impossible("no run goes on")
    if variant == "stopped":
        at.stop()
        at.rest()
    elif variant == "lost":
        at.fire(claimant._claim._deadline, "the end of its claim")
        at.rest()
    else:
        run.end(variant)
        at.rest()


def _end_call(at: At, trying: str, variant: str) -> Call:
    """The call that records a run's end: of a run that comes to its end now, or is tried again."""
    if at.slot.trying is None:
        _over(at, variant)
    elif at.slot.trying != trying:
        raise at.impossible(f"it is {at.slot.trying}")
    else:
        claimant = at.slot.claimant
        task = None if claimant is None else at.process.runner._claimants.get(claimant)
        deadline = None if claimant is None else claimant._claim._deadline
        at.fire(at.world.loop.timer_of(task, besides=deadline), "another try")
    return at.pending(EndRun)


def _end_run(world: World, task: str, variant: str) -> Done:
    at = At(world, "EndRun", task)
    at.let(_end_call(at, "ending", variant or "completed"))
    return [("EndRun", task)]


def _pause(world: World, task: str, _: str) -> Done:
    at = At(world, "Pause", task)
    at.let(_end_call(at, "pausing", "paused"))
    return [("Pause", task)]


def _end_fails(world: World, task: str, variant: str) -> Done:
    at = At(world, "EndFails", task)
    kind, _, effect = variant.partition(" ")
    kind = "pausing" if at.slot.trying == "pausing" else "ending" if at.slot.trying else kind or "ending"
    call = _end_call(at, kind, "paused" if kind == "pausing" else "completed")
    at.slot.trying = kind
    at.let(call, error=StorageDownError(), effect=effect == "unheard")
    return [("EndFails", task)]


# ---- After it.


def _look_call(world: World, process: Process, action: str) -> Call:
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


def _look_again(world: World, name: str, variant: str) -> Done:
    process = world.processes[name]
    why = process.runner._looks._why.get((SCOPE, THREAD), ALL)
    call = _look_call(world, process, "LookAgain")
    slot = _free_slot(process, variant)
    world.answer(process, call)
    process.adopt(slot)
    # While the claim is held it waits again, which is no step of the model's: nothing has changed.
    waits = isinstance(call.result, Looked) and call.result.is_held and why.goes(call.result.left)
    return [] if waits else [("LookAgain", name)]


def _look_fails(world: World, name: str, _: str) -> Done:
    process = world.processes[name]
    call = _look_call(world, process, "LookFails")
    world.answer(process, call, StorageDownError(), effect=False)
    return [("LookFails", name)]


def _free_slot(process: Process, name: str = "") -> Slot:
    """The slot for a task that a process begins by itself: the named one, or the first that is idle."""
    if name:
        return process.slot(name)
    return next((slot for slot in process.slots if slot.is_idle), process.slots[0])


def _sweep(world: World, process: Process, slot: Slot, action: str, actor: str) -> Done:
    """Have a process sweep the workspace, as a caller of its."""
    world.command(process, slot, process.runner.recover(world.workspace_of(process)))
    call = process.call("stranded")
    if call is None:
        raise ImpossibleError(action, process.name, "its sweep lists nothing")
    world.answer(process, call)
    process.adopt(slot)
    if slot.claimant is not None:
        return [(action, actor)]
    # With nothing left to do a sweep claims nothing; the model's goes to claim, and finds nothing to do.
    return [] if action == "Recover" else [(action, actor), ("NothingAsked", slot.name)]


def _recover(world: World, task: str, _: str) -> Done:
    at = At(world, "Recover", task)
    at.idle()
    return _sweep(world, at.process, at.slot, "Recover", task)


# ---- What goes wrong.


def _cancel(world: World, task: str, variant: str) -> Done:
    at = At(world, "Cancel", task)
    call = at.pending()
    how, _, heard = variant.partition(" ")
    if how == "stopped":
        at.stop()
    else:
        at.cancel_caller()
    if isinstance(call.step, Replan) or (heard and not isinstance(call.step, Claim)):
        return _break_off(at, at.go_on(call), stopped=how == "stopped")
    if heard:
        name = at.go_on(call)
        return [("Cancel" if name == "Claim" else name, task)]
    at.let(call, error=StorageDownError(), effect=False)
    return [("Cancel", task)]


def _break_off(at: At, heard: str, action: str = "Cancel", *, stopped: bool = False) -> Done:
    """A claimant is to end as a write waited: that is heard of first, and then it breaks off.

    A start that is heard of goes on, unless it was stopped; and whoever counted, or was refused, leaves.
    """
    if heard == "StartRun" and stopped:
        at.let(at.pending(EndRun))
        return [("StartRun", at.task), ("EndRun", at.task)]
    if heard in {"StartRun", "CountTaken", "Fenced"}:
        return [(heard, at.task)]
    call = at.process.call_of(at.slot)
    if call is not None and isinstance(call.step, Replan):
        at.let(call)
    return [(action, at.task)] if heard == "Replan" else [(heard, at.task), (action, at.task)]


_CAN_FAIL = (Claim, Replan, Abandon, StartRun, Reply, CountTaken)


def _fail(world: World, task: str, _: str) -> Done:
    at = At(world, "Fail", task)
    at.let(at.pending(*_CAN_FAIL), error=StorageDownError(), effect=False)
    return [("Fail", task)]


def _fail_unheard(world: World, task: str, _: str) -> Done:
    at = At(world, "FailUnheard", task)
    at.let(at.pending(Claim, Abandon, StartRun, Reply, CountTaken), error=StorageDownError())
    return [("FailUnheard", task)]


def _command_fails(world: World, task: str, _: str) -> Done:
    at = At(world, "CommandFails", task)
    at.idle()
    call = at.command(at.process.runner.send(world.workspace_of(at.process), THREAD, "lost"))
    at.let(call, error=StorageDownError(), effect=False)
    return [("CommandFails", task)]


def _release_fails(world: World, task: str, variant: str) -> Done:
    at = At(world, "ReleaseFails", task)
    at.let(at.pending(Release), error=StorageDownError(), effect=variant == "unheard")
    return [("ReleaseFails", task)]


def _lapse(world: World, task: str, _: str) -> Done:
    world.lapse()
    return [("Lapse", task)]


def _expire(world: World, *_: str) -> Done:
    world.lapse()
    return [("Expire", "")]


def _crash(world: World, name: str, _: str) -> Done:
    world.processes[name].crash()
    return [("Crash", name)]


def _restart(world: World, name: str, variant: str) -> Done:
    process = world.processes[name]
    if not process.is_down:
        raise ImpossibleError("Restart", name, "it runs")
    process.restart()
    return _sweep(world, process, _free_slot(process, variant), "Restart", name)


COMMANDED = (HEARD, HEARD, CANCELLED, UNHEARD)
ENDS = ("completed", "failed", "stopped", "lost")
READS = ("",) * 6 + (UNREAD, CANCELLED_READING)

ACTIONS: Mapping[str, Action] = {
    action.name: action
    for action in (
        Action("Send", "task", _send, COMMANDED),
        Action("Answer", "task", _answer, COMMANDED),
        Action("Ask", "task", _ask, COMMANDED),
        Action("Post", "world", _post),
        Action("Note", "world", _note),
        Action("Claim", "task", going_on("Claim", Claim), READS),
        Action("Refused", "task", going_on("Refused", Claim)),
        Action("NothingAsked", "task", going_on("NothingAsked", Claim)),
        Action("Replan", "task", going_on("Replan", Replan), READS),
        Action("Abandon", "task", going_on("Abandon", Abandon)),
        Action("StartRun", "task", going_on("StartRun", StartRun)),
        Action("Reply", "task", going_on("Reply", Reply), READS),
        Action("CountTaken", "task", going_on("CountTaken", CountTaken)),
        Action(
            "Fenced",
            "task",
            going_on("Fenced", Abandon, StartRun, Reply, CountTaken),
        ),
        Action("Renew", "task", _renew, ("", "", "failed")),
        Action("LoseClaim", "task", _lose_claim),
        Action("Deliver", "task", _deliver, ("", "", "", ARRIVES, FAILED)),
        Action("EndRun", "task", _end_run, ENDS),
        Action("Pause", "task", _pause),
        Action("Release", "task", going_on("Release", Release)),
        Action("LookAgain", "process", _look_again),
        Action("Recover", "task", _recover),
        Action(
            "Cancel",
            "task",
            _cancel,
            ("failed", "failed heard", "stopped", "stopped heard"),
        ),
        Action("Fail", "task", _fail),
        Action("CommandFails", "task", _command_fails),
        Action("FailUnheard", "task", _fail_unheard),
        Action(
            "EndFails",
            "task",
            _end_fails,
            ("ending", "ending unheard", "pausing", "pausing unheard"),
        ),
        Action("ReleaseFails", "task", _release_fails, ("", "unheard")),
        Action("LookFails", "process", _look_fails),
        Action("Lapse", "task", _lapse),
        Action("LetGo", "task", _let_go),
        Action("Crash", "process", _crash),
        Action("Expire", "world", _expire),
        Action("Restart", "process", _restart),
    )
}
"""Every action of the model."""
