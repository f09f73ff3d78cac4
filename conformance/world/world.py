"""The world: processes on one storage, and one loop that only does what it is told to."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from itertools import count
from typing import Any, Self

from conformance.model.state import Constants
from conformance.quiet import quiet
from conformance.world.agent import MakeAgent, SteppedAgent, Told
from conformance.world.gates import Call, Crashed, StorageDownError
from conformance.world.loop import SteppedLoop, WorldError
from conformance.world.memory import MakeStorage, WorldStorage
from conformance.world.process import THREAD, MakeRunner, Process, Slot, make_runner
from conformance.world.refuse import refusing
from threadclaim.errors import RequestError
from threadclaim.events import PersonActor
from threadclaim.runner import Sent
from threadclaim.storage import Scope
from threadclaim.storage.protocol import lease_name
from threadclaim.workspace import Workspace

SCOPE = Scope("tenant", "workspace")
ANN = PersonActor("ann")


class World:
    """Some processes, and the thread that they serve. Nothing happens in it but what it is told to do."""

    def __init__(
        self,
        constants: Constants,
        make: MakeRunner = make_runner,
        make_agent: MakeAgent = SteppedAgent,
        make_storage: MakeStorage = WorldStorage,
    ) -> None:
        """Start every process, with the thread empty."""
        self.constants = constants
        self.loop = SteppedLoop()
        self.loop.begin()
        self._until_close = ExitStack()
        self._until_close.enter_context(quiet())
        if make_agent is SteppedAgent:  # pydantic-ai's own takes times and ids, which no state of ours has
            self._until_close.enter_context(refusing(lambda: self.loop.is_stepping))
        self.storage = make_storage()
        self.told = Told()
        self.messages = 0
        self.log: list[str] = []
        """The thread's log as the model counts it, as far as it was read."""
        self.between: Callable[[], None] | None = None
        """What happens once the next call has taken effect, or failed, before its caller hears of it."""
        ids = count(1)
        self.workspace = Workspace(self.storage, SCOPE, ANN, lambda: f"w{next(ids)}")
        self.loop.run(self.workspace.create_thread(THREAD))
        self.processes = {
            name: Process(
                name,
                tuple(task for task in constants.tasks if constants.owner[task] == name),
                self.loop,
                self.storage,
                SCOPE,
                self.told,
                make,
                make_agent,
            )
            for name in constants.procs
        }

    def process_of(self, task: str) -> Process:
        """The process whose task it is."""
        return self.processes[self.constants.owner[task]]

    def next_text(self) -> str:
        """The text of the next message."""
        self.messages += 1
        return f"m{self.messages}"

    def command(self, process: Process, slot: Slot, command: Coroutine[Any, Any, Any]) -> None:
        """Have a caller in `slot` make a command."""
        slot.caller = self.loop.start(command, process.name)
        slot.caller.add_done_callback(lambda caller: self._hear(slot, caller))
        process.adopt(slot)

    def _hear(self, slot: Slot, caller: asyncio.Task[Any]) -> None:
        """Hear what a command came to: of a result, what it committed, and the run that it started."""
        started = None if slot.claimant is None else slot.claimant.run
        if caller.cancelled():
            if not caller.cancelling():
                self.told.wrong.append(f"The caller in {slot.name} hears of a cancellation, of nobody's.")
            return
        if (error := caller.exception()) is not None:
            _expect_of_the_world(error)
            if started is not None:
                self.told.wrong.append(
                    f"The caller in {slot.name} hears of {error!r}, and its run has started."
                )
            return
        result = caller.result()
        if isinstance(result, Sent):
            self.told.committed += result.committed
            if not result.committed:
                self.told.wrong.append(f"The caller in {slot.name} is told that it has committed nothing.")
        runs = result if isinstance(result, list) else [result.run if isinstance(result, Sent) else result]
        told, truly = [[run.run_id for run in each if run is not None] for each in (runs, [started])]
        if told != truly:
            self.told.wrong.append(
                f"The caller in {slot.name} is told of the runs {told}: it started {truly}."
            )

    def answer(
        self, process: Process, call: Call, error: BaseException | None = None, *, effect: bool = True
    ) -> None:
        """Let a call take effect, or not, and then be heard of, or have `error` heard instead."""
        if effect:
            process.storage.take_effect(call)
        between, self.between = self.between, None
        if between is not None:
            loads, process.as_history_loads = process.as_history_loads, None
            between()
            process.as_history_loads = loads
        if not call.heard:
            process.storage.hear(call, error)

    def workspace_of(self, process: Process) -> Workspace:
        """The workspace as a process holds it."""
        return Workspace(process.storage, SCOPE, ANN, process.new_id)

    def lapse(self) -> None:
        """Let the thread's claim lapse."""
        self.storage.lapse(SCOPE, lease_name(THREAD))

    def left(self) -> list[str]:
        """What goes on, or was never heard of, though nothing is left to do: in sentences."""
        going = [f"{task.owner} leaves a task: {task!r}." for task in self.loop.made if not task.done()]
        unheard = [f"{task.owner} hears of no failure of {task!r}." for task in self.loop.unheard()]
        timers = [f"{timer.owner} leaves a timer: {timer!r}." for timer in self.loop.timers]
        calls = [
            f"{process.name} waits in {call.name}."
            for process in self.processes.values()
            for call in process.storage.calls
        ]
        return [*going, *unheard, *timers, *calls]

    def close(self) -> None:
        """End every process, and check that nothing is left, and that nothing went wrong unseen."""
        try:
            for process in self.processes.values():
                if not process.is_down:
                    process.crash()
            self.loop.settle()
            left = [task for task in self.loop.made if not task.done()]
        finally:  # whatever went wrong, the next world begins as this one did
            failures = self.loop.failures
            self.loop.close()
            self._until_close.close()
        if left or failures:
            raise WorldError(f"The world ends with {left} left, and having failed so: {failures}.")

    def __enter__(self) -> Self:
        """The world."""
        return self

    def __exit__(self, *_: object) -> None:
        """End it."""
        self.close()


def _expect_of_the_world(error: BaseException) -> None:
    """Expect a command's failure to be a refusal, or what the world let fail."""
    cancelled = isinstance(error, RuntimeError) and isinstance(error.__cause__, asyncio.CancelledError)
    if not (cancelled or isinstance(error, RequestError | StorageDownError | Crashed)):
        raise AssertionError(f"A command failed of itself: {error!r}.") from error
