"""The world as a state of the model: every variable but the ghosts, read from storage and from the runners.

Positions in the log are counted as the model counts them: messages, and notes. A run's own events are
no position here (spec/ThreadClaim.tla leaves them out), and a cursor that stands on one counts as on the
last position before it.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from conformance.ledger import consumed_by
from conformance.model.state import IDLE, NO_LOOK, Look, Run, State, Task
from conformance.world.gates import Call
from conformance.world.loop import WorldError
from conformance.world.process import THREAD, Process, Slot
from conformance.world.world import SCOPE, World
from threadclaim.claim import HeldClaim
from threadclaim.events import Envelope, MessagePosted, RequestAnswered
from threadclaim.handover import Leaving
from threadclaim.steps import Abandon, Claim, CountTaken, EndRun, Release, Replan, Reply, StartRun
from threadclaim.steps.loads import load_taken, load_thread
from threadclaim.storage.protocol import Reading, Transaction, asked_cursor, lease_name
from threadclaim.thread import RunStatus, Thread

DOWN = IDLE._replace(at="down")

MOMENTS = 0.001
"""More seconds than all the moments that pass in a world; less than any time that matters."""

Plain = tuple[Any, ...]
"""What the world can show of a state: all but the ghosts that speak of agents, and of what was excused."""


def plain(state: State) -> Plain:
    """What the world can show of a state of the model."""
    return (*state[:5], tuple([_plain(task) for task in state.task]), state.look, state.once, state.twice)


def _plain(task: Task) -> Plain:
    """A task without its ghosts, which are its last three fields."""
    return task[:6]


PLAIN_NAMES = ("log", "asked", "taken", "lease", "run", "task", "look", "once", "twice")
"""What `plain` tells, in its order."""


_Stored = tuple[Sequence[Envelope], int, int, str | None, Thread]
"""What storage holds of the thread: what is new in the log, asked, taken, the claim's holder, the thread."""


@dataclass(frozen=True, slots=True)
class _Read(Reading):
    """Read what storage holds of the thread, and the log past an entry."""

    after: int

    async def __call__(self, tx: Transaction) -> _Stored:
        return (
            await tx.read(after_seq=self.after),
            await tx.cursor(asked_cursor(THREAD)) or 0,
            await load_taken(tx, THREAD),
            await tx.holder(lease_name(THREAD)),
            await load_thread(tx, THREAD),
        )


class Reader:
    """Reads one world, as often as asked."""

    def __init__(self, world: World) -> None:
        """Nothing is read yet."""
        self.world = world
        self.log = world.log
        self.seqs: list[int] = []
        self.head = 0
        self._consumed: Counter[int] = Counter()
        self.once = self.twice = frozenset[int]()
        """The positions of the messages that the log says were consumed, and of those consumed twice."""
        self._calls, self._counted_log = -1, tuple(self.log)
        self._stored: _Stored
        slots = {slot.name: (process, slot) for process in world.processes.values() for slot in process.slots}
        self._slots = [(name, *slots[name]) for name in world.constants.tasks]
        self._processes = [world.processes[name] for name in world.constants.procs]

    def read(self) -> Plain:
        """The world as it stands, without ghosts."""
        world = self.world
        if world.storage.calls != self._calls:
            self._stored = world.loop.run(world.storage.transact(SCOPE, _Read(self.head)))
            self._calls = world.storage.calls
            self._count(self._stored[0])
        _, asked, taken, holder, thread = self._stored
        holders = {slot.claimant.holder: name for name, _, slot in self._slots if slot.claimant is not None}
        read = {name: self._task(process, slot) for name, process, slot in self._slots}
        for process in self._processes:
            if process.storage.calls:
                self._explain(process)
        if world.loop.timers:
            self._explain_timers()
            self._expect_in_time(holder)
        return (
            self._counted_log,
            self.position(asked),
            self.position(taken),
            "free" if holder is None else holders.get(holder, "dead"),
            self._run(thread, holders, read),
            tuple([_plain(task) for task in read.values()]),
            tuple([self._look(process) for process in self._processes]),
            self.once,
            self.twice,
        )

    def position(self, seq: int) -> int:
        """A place in the world's log as one in the model's."""
        return bisect_right(self.seqs, seq)

    def _count(self, entries: Sequence[Envelope]) -> None:
        """Add entries to the model's log, if they are positions there."""
        for entry in entries:
            self.head = entry.seq
            if isinstance(entry.event, MessagePosted | RequestAnswered):
                self.log.append("msg" if entry.is_message else "note")
                self.seqs.append(entry.seq)
        self._counted_log = tuple(self.log)
        if consumed := consumed_by(entries):
            self._consumed += consumed
            self.once = frozenset(map(self.position, self._consumed))
            self.twice = frozenset(self.position(seq) for seq, times in self._consumed.items() if times > 1)

    @staticmethod
    def _explain(process: Process) -> None:
        """Expect every call that waits to be one of a task of the model's, or what its watcher has found."""
        tasks = [process.task_of(slot) for slot in process.slots]
        tasks += [getattr(slot.run.steering, "_task", None) for slot in process.slots if slot.run is not None]
        for call in process.storage.calls:
            if call.task not in tasks:
                raise WorldError(f"{process.name} waits in {call.name}, for no task of the model's.")

    def _explain_timers(self) -> None:
        """Expect every timer to be a look's, or of a claimant or what goes on for it."""
        known: set[object] = set()
        for process in self._processes:
            known |= set(process.runner._looks._timers.values())
        for _, process, slot in self._slots:
            if slot.claimant is not None:
                claim = slot.claimant._claim
                known |= {claim._deadline, claim._renewals, process.task_of(slot)}
            if slot.run is not None:
                known.add(getattr(slot.run.steering, "_task", None))
        for timer in self.world.loop.timers:
            if timer not in known and timer.task not in known:
                raise WorldError(f"{timer.owner} has a timer that nothing explains: {timer!r}.")

    def _expect_in_time(self, holder: str | None) -> None:
        """Expect no holder to count on its claim for longer than storage has it, nor for much less."""
        until = None if holder is None else self.world.storage.until(SCOPE, lease_name(THREAD))
        for name, _, slot in self._slots:
            if slot.claimant is not None and slot.claimant.holder == holder and until is not None:
                self._expect_of_claim(name, slot.claimant._claim, until)

    def _expect_of_claim(self, name: str, claim: HeldClaim, until: float) -> None:
        """Expect that of a claim which storage has until then; and that it is renewed before."""
        loop, ends = self.world.loop, claim._deadline
        if claim.lost or ends is None or ends not in loop.timers:
            return
        if ends.when() > until:
            raise WorldError(f"{name} counts on its claim for {ends.when() - until} s too long.")
        if until > ends.when() + MOMENTS:  # were it to die, its thread would wait for that
            raise WorldError(f"Storage has the claim of {name} for {until - ends.when()} s too long.")
        renewal = loop.timer_of(claim._renewals, besides=ends)
        if renewal is not None and renewal.when() >= ends.when():
            raise WorldError(f"{name} would renew its claim no sooner than it ends.")

    def _run(self, thread: Thread, holders: dict[str, str], tasks: dict[str, Task]) -> Run:
        """The thread's run; by nobody once its task has let go of it."""
        run = thread.run
        if run is None or run.status is RunStatus.ENDED:
            return Run("idle", "none")
        by = holders.get(run.segment)
        if run.status is not RunStatus.ACTIVE or by is None:
            return Run(run.status.value, "none")
        # A task that leaves has let go of its run, but for one whose start's answer was lost.
        has_let_go = tasks[by].at == "release" and tasks[by].due == "all"
        return Run("active", "none" if has_let_go else by)

    # ---- Tasks.

    def _task(self, process: Process, slot: Slot) -> Task:
        """What a task of the model is at."""
        if process.is_down:
            return DOWN
        if slot.claimant is None:
            return IDLE
        call = process.call_of(slot)
        task = self._at_call(slot, call) if call is not None else self._running(slot)
        is_callers = slot.caller is not None and not slot.caller.done() and task.at not in NO_CALLERS
        return task._replace(cmd=is_callers and self.world.constants.max_cancel > 0)

    def _running(self, slot: Slot) -> Task:
        """A task whose run goes on, or whose end is to be recorded."""
        if slot.run is None:
            raise WorldError(f"{slot.name} waits, and for no call that is known.")
        if slot.claimant is not None and slot.claimant.run is not None and slot.claimant.run.ended.done():
            raise WorldError(f"The run in {slot.name} is said to be over before its end is recorded.")
        fed = frozenset(map(self.position, slot.run.delivered))
        pos = max((self.position(slot.input_seq), *fed))
        return IDLE._replace(at=slot.trying or "running", pos=pos, fed=fed)

    def _at_call(self, slot: Slot, call: Call) -> Task:  # noqa: C901, PLR0911  # one for each call
        """A task that waits for a call to take effect."""
        seen = self._seen(slot)
        match call.step:
            case Claim():
                return IDLE._replace(at="claim", seen=seen)
            case Replan():
                return IDLE._replace(at="replan", seen=seen)
            case Abandon():
                return IDLE._replace(at="abandon", seen=seen)
            case CountTaken(position=seq):
                return IDLE._replace(at="count", seen=seen, pos=self.position(seq))
            case Reply(message=message):
                return IDLE._replace(at="reply", seen=seen, pos=self.position(message.seq))
            case StartRun(input_seq=seq, consumes=consumes, resumed=resumed):
                at = "prompt" if not resumed else "replied" if slot.replied else "resume"
                fed = frozenset(map(self.position, consumes))
                return IDLE._replace(at=at, seen=seen, pos=self.position(seq), fed=fed)
            case EndRun():
                return self._running(slot)
            case Release():
                return self._leaving(slot)
            case _:
                raise WorldError(f"{slot.name} waits in {call.name}, which is no step of the model's task.")

    def _leaving(self, slot: Slot) -> Task:
        """A task that leaves."""
        leaving = None if slot.claimant is None else slot.claimant.leaving
        if leaving is None:
            raise WorldError(f"{slot.name} releases its claim, and does not say how it leaves.")
        due, seen, pos = self._rule(leaving)
        return IDLE._replace(at="release", due=due, seen=seen, pos=pos)

    def _rule(self, leaving: Leaving) -> tuple[str, int, int]:
        """How somebody leaves, as the model tells it."""
        if leaving.due == "all":
            return "all", 0, 0
        return "newer", self._counted(leaving.seen), self.position(leaving.input_seq)

    def _seen(self, slot: Slot) -> int:
        """How far was asked as a claimant last read it; the model keeps that only where something fails."""
        return 0 if slot.claimant is None else self._counted(slot.claimant.seen)

    def _counted(self, seq: int) -> int:
        """A position that only failures make anything of."""
        return self.position(seq) if self.world.constants.max_fail > 0 else 0

    def _look(self, process: Process) -> Look:
        """A process's look."""
        if process.is_down:
            return NO_LOOK
        looks = process.runner._looks
        if not looks.is_armed(SCOPE, THREAD):
            return NO_LOOK
        return Look(*self._rule(looks._why[SCOPE, THREAD]))


NO_CALLERS = frozenset({"release", "running", "ending", "pausing", "idle", "down"})
"""Where a task is nobody's caller's any more."""
