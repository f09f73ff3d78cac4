"""The world: processes on one storage, and one loop that only does what it is told to."""

import asyncio
from collections.abc import Coroutine
from typing import Any, Self

from conformance.model.state import Constants
from conformance.world.agent import Told
from conformance.world.gates import Crashed, StorageDownError
from conformance.world.loop import SteppedLoop
from conformance.world.memory import WorldStorage
from conformance.world.process import THREAD, MakeRunner, Process, Slot, make_runner
from threadclaim.events import PersonActor
from threadclaim.storage import Scope
from threadclaim.storage.protocol import lease_name
from threadclaim.workspace import Workspace, Workspaces

SCOPE = Scope("tenant", "workspace")
ANN = PersonActor("ann")


class World:
    """Some processes, and the thread that they serve. Nothing happens in it but what it is told to do."""

    def __init__(self, constants: Constants, make: MakeRunner = make_runner) -> None:
        """Start every process, with the thread empty."""
        self.constants = constants
        self.loop = SteppedLoop()
        self.loop.begin()
        self.storage = WorldStorage()
        self.told = Told()
        self.messages = 0
        self.log: list[str] = []
        """The thread's log as the model counts it, as far as it was read."""
        self.workspace: Workspace = Workspaces(self.storage).workspace(SCOPE.tenant, SCOPE.workspace, ANN)
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
        slot.caller.add_done_callback(_hear)
        process.adopt(slot)

    def workspace_of(self, process: Process) -> Workspace:
        """The workspace as a process holds it."""
        return Workspace(process.storage, SCOPE, ANN)

    def lapse(self) -> None:
        """Let the thread's claim lapse."""
        self.storage.lapse(SCOPE, lease_name(THREAD))

    def close(self) -> None:
        """End every process, and check that nothing is left, and that nothing went wrong unseen."""
        for process in self.processes.values():
            if not process.is_down:
                process.crash()
        self.loop.settle()
        left = asyncio.all_tasks(self.loop)
        failures = self.loop.failures
        self.loop.close()
        if left or failures:
            raise RuntimeError(f"The world ends with {left} left, and having failed so: {failures}.")

    def __enter__(self) -> Self:
        """The world."""
        return self

    def __exit__(self, *_: object) -> None:
        """End it."""
        self.close()


def _hear(caller: asyncio.Task[Any]) -> None:
    """Hear what a command came to: a result, its cancellation, or what the world let fail."""
    if not caller.cancelled():
        error = caller.exception()
        if not isinstance(error, StorageDownError | Crashed | None):
            raise AssertionError(f"A command failed of itself: {error!r}.") from error
