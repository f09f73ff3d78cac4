"""What an action is, and a task of the model in the world, with what can be done to it."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from conformance.world.gates import Call, StorageDownError
from conformance.world.process import THREAD
from conformance.world.world import World
from threadclaim.claimant import Claimant
from threadclaim.errors import ClaimLost
from threadclaim.run import RunHandle
from threadclaim.steps import (
    Claim,
    Claimed,
    NothingAsked,
    Refused,
    Reply,
    StartRun,
)

HEARING, HAVING_READ = "cancelled hearing", "cancelled having read"
"""How variants begin in which the caller is cancelled in the midst of hearing, or of what it has read."""

Done = Sequence[tuple[str, str]]
"""The actions of the model that a step of the world amounted to, in order, each with its actor.

None of them if it changed nothing that the model holds.
"""


class Either(tuple[Done, ...]):  # noqa: SLOT001  # a tuple has none either
    """What a step may have amounted to, one way or another: the state that the world is in says which."""


Ways = Done | Either


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
    `variants`, the ways in which it can come about. (Which code does it, `conformance.names` says.) Between
    another's effect and its answer it comes about as one of the `plain` ones, which amount to one thing.
    """

    name: str
    by: str
    do: Callable[[World, str, str], Ways]
    variants: tuple[str, ...] = ("",)

    @property
    def plain(self) -> tuple[str, ...]:
        """The variants of which it is clear what they amount to."""
        return tuple(variant for variant in self.variants if not variant.startswith((HEARING, HAVING_READ)))


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
            if self.slot.claimant.run is not None:
                self._wait_and_give_up(self.slot.claimant.run)
        if isinstance(call.step, Reply):
            self.slot.replied = call.result is not None
        return _NAMES[type(call.result)] if isinstance(call.step, Claim) else call.name

    def _wait_and_give_up(self, run: RunHandle) -> None:
        """Have somebody wait for a run that has started, and be cancelled: that stops nothing (ADR-0010)."""
        self.world.told.handles.append(run)
        self.world.loop.start(run.wait(), None).cancel()
        self.world.loop.settle()
        if run.ended.cancelled():
            self.world.told.wrong.append(f"A waiter of {run.run_id} was cancelled, and all others with it.")

    def fails(self, call: Call, *, effect: bool = True) -> None:
        """Have a call fail, with effect or without: whoever waits for what it is part of is told."""
        caller = self.slot.caller
        waits = caller is not None and not caller.done()
        self.let(call, error=StorageDownError(), effect=effect)
        if caller is None or not waits or not caller.done() or caller.cancelled() or caller.exception():
            return
        if not isinstance(caller.result(), list):  # a sweep goes on where a thread's turn fails (ADR-0070)
            self.world.told.wrong.append(f"The caller in {self.task} is not told that {call.name} failed.")

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
            self._expect_to_halt_all()
            claimant.halt()
            self.world.loop.settle()
            return
        is_running, wrong = claimant.is_running, self.world.told.wrong

        def hear(stop: asyncio.Task[bool]) -> None:
            if not stop.cancelled() and stop.result() is not is_running:
                wrong.append(f"stop() of {self.task} says {stop.result()}; it ran: {is_running}.")
            if claimant.is_running:
                wrong.append(f"stop() of {self.task} is over before the run's end is recorded.")

        stop = self.process.runner.stop(self.world.workspace_of(self.process), THREAD)
        self.world.loop.start(stop, self.process.name).add_done_callback(hear)

    def _expect_to_halt_all(self) -> None:
        """Expect `stop` to halt all that goes on in the thread, and have it halt nothing."""
        claimants, halted = list(self.process.runner._claimants), list[Claimant]()
        stop = self.process.runner.stop(self.world.workspace_of(self.process), THREAD)
        with patch.object(Claimant, "halt", lambda each: halted.append(each)), suppress(StopIteration):  # noqa: PLW0108  # a builtin is no method
            stop.send(None)
        stop.close()
        if halted != claimants:
            self.world.told.wrong.append(f"stop() halts {len(halted)} of the {len(claimants)} that go on.")

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
