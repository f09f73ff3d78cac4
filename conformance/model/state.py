"""A state of spec/ThreadClaim.tla: its variables and its constants, by the spec's names, as values that hash.

A task and a process is its name, a string. So a `lease` is a task's name, `"free"` or `"dead"`, and `run.by`
is a task's name or `"none"`. Positions are counted from 1, as TLA+ counts them; 0 is none.
"""

import string
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypedDict, Unpack

from frozendict import frozendict

Positions = frozenset[int]

NOTHING: Positions = frozenset()
"""No position."""
MANY = 99
"""A bound on faults that is none: `Many` of the spec."""

STARTS = frozenset({"prompt", "resume", "replied"})
RUNS = frozenset({"running", "ending", "pausing"})
HAS_PLAN = STARTS | {"replan", "abandon", "reply", "count"}
HAS_CLAIM = HAS_PLAN | RUNS | {"release"}
PLANS_OR_RUNS = HAS_PLAN | RUNS
CAN_STOP = HAS_PLAN | {"ending", "pausing"}
CAN_FAIL = HAS_PLAN | {"claim"}
AT_REST = frozenset({"idle", "down"})


class Task(NamedTuple):
    """A task, as the comment at `Idle` in the spec has it.

    Attributes:
        at: Its next step.
        cmd: Whether it is a caller's, who may be cancelled; else the Runner's own.
        pos: The position of its input, or the head it read; then its watcher's; after a failure, that of the
            input which a write may have consumed unheard.
        fed: Messages that its start will consume; then, those that its watcher delivered.
        seen: `asked`, as it last read it.
        due: What it hands over: `"all"` that is asked, or what is `"newer"` than it has seen; else empty.
        lost: A ghost: was its claim lost as it ran?
        read: A ghost: `asked`, as it did last read it.
        failed: A ghost: did it fail, having consumed nothing?
    """

    at: str
    cmd: bool
    pos: int
    fed: Positions
    seen: int
    due: str
    lost: bool
    read: int
    failed: bool


class Look(NamedTuple):
    """A process's timer to look at the thread again.

    Attributes:
        due: What it hands over, `"all"` or what is `"newer"`; `"no"` if there is no timer.
        seen: What the task whose release failed had seen asked.
        pos: The position of that task's input.
    """

    due: str
    seen: int
    pos: int


class Run(NamedTuple):
    """The thread's last run, as the log tells it.

    Attributes:
        st: `"idle"` (none, or ended), `"active"`, `"paused"` (requests open) or `"answered"`.
        by: The task that started it, or `"none"` once that task has let go of it.
    """

    st: str
    by: str


class Faults(NamedTuple):
    """How many faults of each kind may still come; `MANY` is any number."""

    crash: int
    lapse: int
    cancel: int
    fail: int


class State(NamedTuple):
    """Every variable of the spec; what each of them is, the spec says at `VARIABLES`.

    `task` and `look` are functions there; here they are in the order of `Constants.tasks` and
    `Constants.procs`.
    """

    log: tuple[str, ...]
    asked: int
    taken: int
    lease: str
    run: Run
    task: tuple[Task, ...]
    look: tuple[Look, ...]
    once: Positions
    twice: Positions
    given: Positions
    again: Positions
    excused: Positions
    unheard: Positions
    want: int
    waits: int
    broke: bool
    faults: Faults


IDLE = Task(at="idle", cmd=False, pos=0, fed=NOTHING, seen=0, due="", lost=False, read=0, failed=False)
"""A task with nothing to do."""
NO_LOOK = Look("no", 0, 0)
"""A process without a timer."""
NO_RUN = Run("idle", "none")
"""A thread without a run, or whose run has ended."""


class Bounds(TypedDict, total=False):
    """The bounds on the world: see `Constants`."""

    max_msgs: int
    max_notes: int
    max_crash: int
    max_lapse: int
    max_cancel: int
    max_fail: int


NO_ROOM = Bounds(max_msgs=0, max_notes=0, max_crash=0, max_lapse=0, max_cancel=0, max_fail=0)
"""Bounds within which nothing happens."""


@dataclass(frozen=True)
class Constants:
    """The constants of the spec: who there is, and the bounds on the world.

    Attributes:
        procs: The processes, in the order of `State.look`.
        tasks: Their tasks, in the order of `State.task`.
        owner: Each task's process.
        max_msgs: How many messages the log may come to hold.
        max_notes: How many notes commands and the world may add.
        max_crash: How many times a process may die.
        max_lapse: How many times a claim may be lost by a live holder.
        max_cancel: How many times a caller may be cancelled; `MANY` is any number.
        max_fail: How many times a transaction may fail; `MANY` is any number.
    """

    procs: tuple[str, ...]
    tasks: tuple[str, ...]
    owner: Mapping[str, str]
    max_msgs: int
    max_notes: int
    max_crash: int
    max_lapse: int
    max_cancel: int
    max_fail: int

    @classmethod
    def of(
        cls,
        processes: int = 2,
        tasks: int = 1,
        **bounds: Unpack[Bounds],
    ) -> "Constants":
        """Return constants for so many processes of so many tasks each, named as spec/*.cfg name them.

        A process of one task is that task: `p1`, `p2`, and so on. Else the processes are `p`, `q` and so on,
        and the tasks of `p` are `p1`, `p2` and so on. A bound that is not given is 0.

        Raises:
            ValueError: There is no process, or a process has no task, or there are no names for so many.
        """
        owner = _names(processes, tasks)
        return cls(
            procs=tuple(dict.fromkeys(owner.values())),
            tasks=tuple(owner),
            owner=frozendict(owner),
            **(NO_ROOM | bounds),
        )

    @cached_property
    def place(self) -> Mapping[str, int]:
        """Where each task is in `State.task`."""
        return {task: place for place, task in enumerate(self.tasks)}

    @cached_property
    def desk(self) -> Mapping[str, int]:
        """Where each process is in `State.look`."""
        return {proc: place for place, proc in enumerate(self.procs)}

    @cached_property
    def places_of(self) -> Mapping[str, tuple[int, ...]]:
        """Where each process's tasks are in `State.task`."""
        return {
            proc: tuple(place for place, task in enumerate(self.tasks) if self.owner[task] == proc)
            for proc in self.procs
        }


def _names(processes: int, tasks: int) -> dict[str, str]:
    """The tasks' names, and their processes'."""
    letters = string.ascii_lowercase[string.ascii_lowercase.index("p") :]
    if processes < 1 or tasks < 1:
        raise ValueError(f"{processes} processes of {tasks} tasks: there must be one of each at least.")
    if tasks == 1:
        return {f"p{number}": f"p{number}" for number in range(1, processes + 1)}
    if processes > len(letters):
        raise ValueError(f"There are names for {len(letters)} processes of several tasks, not {processes}.")
    return {f"{proc}{number}": proc for proc in letters[:processes] for number in range(1, tasks + 1)}


def msgs_past(log: tuple[str, ...], position: int) -> list[int]:
    """Return the positions of the messages past `position`, in order: `MsgsPast` of the spec."""
    return [place for place, kind in enumerate(log[position:], position + 1) if kind == "msg"]


def left(state: State) -> bool:
    """Say whether anything is left to do: `Left` of the spec.

    That is more asked than taken; or a run left active, to be recorded; or one whose requests are answered,
    to be resumed.
    """
    return state.asked > state.taken or state.run.st in {"active", "answered"}
