"""A process of the world: a real runner over gated storage, whose tasks fill the model's."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any

from conformance.world.agent import AgentRun, MakeAgent, Told
from conformance.world.gates import Call, GatedStorage
from conformance.world.loop import SteppedLoop, WorldError
from threadclaim.claimant import Claimant
from threadclaim.runner import Runner
from threadclaim.steps import RecordFact
from threadclaim.steps.loads import load_thread
from threadclaim.storage import Scope, Storage, Transaction
from threadclaim.turn import Turn

MOST_READERS = 4
"""How many tasks may have read a history, and not have begun their turns: more than there are."""

THREAD = "t"
"""The one thread of the world."""

MakeRunner = Callable[[Turn, Storage, Callable[[], str]], Runner]
"""Makes the runner of a process: of an agent, over a storage, with a source of ids."""


def make_runner(agent: Turn, storage: Storage, new_id: Callable[[], str]) -> Runner:
    """The library's runner, as it is."""
    return Runner(agent, storage, new_id=new_id)


@dataclass(frozen=True, slots=True)
class _GoesOn:
    """Read whether a segment of a run goes on."""

    run_id: str
    segment: str

    async def __call__(self, tx: Transaction) -> bool:
        run = (await load_thread(tx, THREAD)).active_run
        return run is not None and (run.run_id, run.segment) == (self.run_id, self.segment)


@dataclass(slots=True, eq=False)
class Slot:
    """One task of the model, and what it is of the process's: a command's caller, then its claimant."""

    name: str
    caller: asyncio.Task[Any] | None = None
    claimant: Claimant | None = None
    trying: str | None = None
    """Once recording an end has failed: what is tried again, `ending` or `pausing`."""
    replied: bool = False
    """Whether its claimant has recorded a reply."""
    run: AgentRun | None = None
    """The agent's run that goes on in it, or whose end is not recorded yet."""
    input_seq: int = 0
    """How far that run's start took the thread."""

    def leave(self) -> None:
        """Be idle again."""
        self.claimant = self.trying = self.run = None
        self.replied, self.input_seq = False, 0

    @property
    def is_idle(self) -> bool:
        """Whether nothing of the process is in it."""
        return self.claimant is None and (self.caller is None or self.caller.done())


class Process:
    """A process: its runner, its gated storage, its agent, and its slots. A dead one has none of them."""

    def __init__(  # noqa: PLR0913, PLR0917  # what it is of, and what it is made of
        self,
        name: str,
        slots: tuple[str, ...],
        loop: SteppedLoop,
        storage: Storage,
        scope: Scope,
        told: Told,
        make: MakeRunner,
        make_agent: MakeAgent,
    ) -> None:
        """A process that is started."""
        self.name = name
        self._loop, self._inner, self._scope, self._told = loop, storage, scope, told
        self._make, self._make_agent = make, make_agent
        self._ids = count(1)
        self.slots = [Slot(slot) for slot in slots]
        self.as_history_loads: Callable[[Call], BaseException | None] | None = None
        """Done with the call as a history is about to be read, once: it gives what the read fails of."""
        self.is_down = False
        self._start()

    def _start(self) -> None:
        """Begin with a new runner, as a process that has just started."""
        self.storage = GatedStorage(self._loop, self.name, self._inner, self._scope, THREAD)
        self.agent = self._make_agent(self._told, self.rest)
        self.runner = self._make(self.agent, self.storage, self.new_id)

    def rest(self) -> None:
        """Do all that is ready, and let the run's facts be recorded, which the model knows nothing of."""
        self._loop.settle()
        while (call := self.call("LoadHistory") or self.call("RecordFact")) is not None:
            error = None
            if call.name == "LoadHistory" and self.as_history_loads is not None:
                loads, self.as_history_loads = self.as_history_loads, None
                error = loads(call)
            if error is None:
                self._take_effect(call)
            if call.name == "LoadHistory" and call.error is None and call.done:
                self._told.load(call.result, MOST_READERS)
            self.storage.hear(call, error)

    def _take_effect(self, call: Call) -> None:
        """Let a call take effect; a fact is kept while its own segment goes on, and not after (ADR-0042)."""
        step = call.step
        goes_on = isinstance(step, RecordFact) and self._loop.run(
            self._inner.transact(self._scope, _GoesOn(step.run_id, step.segment))
        )
        self.storage.take_effect(call)
        if isinstance(step, RecordFact) and call.result is not goes_on:
            self._told.wrong.append(f"A fact of {step.run_id} is kept: {call.result}; it goes on: {goes_on}.")

    def new_id(self) -> str:
        """An id that no other process, and this one never again, gives."""
        return f"{self.name}-{next(self._ids)}"

    # ---- What it is doing.

    def slot(self, name: str) -> Slot:
        """The slot of a task of the model."""
        return next(slot for slot in self.slots if slot.name == name)

    def call_of(self, slot: Slot) -> Call | None:
        """The call that a slot's claimant, or its command, waits in."""
        return self._call_in(self.task_of(slot))

    def task_of(self, slot: Slot) -> asyncio.Task[Any] | None:
        """The task that is in a slot: its claimant's, or until there is one its caller's."""
        return slot.caller if slot.claimant is None else self.runner._claimants.get(slot.claimant)

    def renewal_of(self, slot: Slot) -> Call | None:
        """The renewal that a slot's claimant waits for."""
        return self._call_in(None if slot.claimant is None else slot.claimant._claim._renewals)

    def _call_in(self, task: asyncio.Task[Any] | None) -> Call | None:
        """The call that a task waits in."""
        return next((call for call in self.storage.calls if call.task is task), None) if task else None

    def call(self, name: str) -> Call | None:
        """The first call of a step of this name that has no effect yet, whoever waits in it."""
        return next((call for call in self.storage.calls if call.name == name and not call.done), None)

    def adopt(self, slot: Slot) -> None:
        """See which claimants there are now: those that are done leave their slots, a new one is `slot`'s."""
        live = self.runner._claimants
        for each in self.slots:
            if each.claimant is not None and each.claimant not in live:
                each.leave()
        held = {each.claimant for each in self.slots}
        for claimant in [claimant for claimant in live if claimant not in held]:
            if slot.claimant is not None:
                raise WorldError(f"Two claimants of {self.name} in the slot {slot.name}.")
            slot.claimant = claimant

    # ---- What happens to it.

    def crash(self) -> None:
        """Die: nothing of it takes effect any more, and nothing of it is left."""
        self.is_down = True
        dead = [claimant.run for claimant in self.runner._claimants if claimant.is_running]
        self._told.handles = [handle for handle in self._told.handles if handle not in dead]
        tasks = [task for task in self._loop.made if task.owner == self.name and not task.done()]
        self.storage.die()
        for task in tasks:
            task.cancel()
        self._loop.settle()
        for timer in [timer for timer in self._loop.timers if timer.owner == self.name]:
            timer.cancel()
        for task in tasks:
            if not task.done():
                raise WorldError(f"A task of {self.name} outlives it: {task!r}.")
            if not task.cancelled():
                task.exception()  # whatever it died of, nobody is left to hear
        for slot in self.slots:
            slot.caller = None
            slot.leave()

    def restart(self) -> None:
        """Start again, with nothing in memory."""
        self.is_down = False
        self._start()
