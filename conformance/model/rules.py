"""The operators of spec/ThreadClaim.tla that its actions are built of.

Each is a method with the spec's name in lower case, so that a mutant is a subclass; what it does, the spec
says. It takes the state, and the task's name where the spec has `t`.
"""

from conformance.model.state import (
    HAS_PLAN,
    IDLE,
    MANY,
    NO_LOOK,
    NOTHING,
    RUNS,
    STARTS,
    Constants,
    Faults,
    Look,
    Positions,
    Run,
    State,
    Task,
    left,
    msgs_past,
)

LEAVING_ALL = IDLE._replace(at="release", due="all")
LOOK_FOR_ALL = NO_LOOK._replace(due="all")


def set_task(state: State, place: int, task: Task) -> tuple[Task, ...]:
    """Return `State.task` with another task at `place`."""
    tasks = state.task
    return (*tasks[:place], task, *tasks[place + 1 :])


def set_look(state: State, place: int, look: Look) -> tuple[Look, ...]:
    """Return `State.look` with another look at `place`."""
    looks = state.look
    return (*looks[:place], look, *looks[place + 1 :])


def once_less(faults: Faults, fault: str) -> Faults | None:
    """Return the faults that may come after this one; None if it may not come: `May` of the spec."""
    may_come: int = getattr(faults, fault)
    if may_come == MANY:
        return faults
    return faults._replace(**{fault: may_come - 1}) if may_come > 0 else None


class Rules:
    """The operators, within the bounds of `constants`."""

    def __init__(self, constants: Constants) -> None:
        self.constants = constants
        self.place = constants.place
        self.desk = constants.desk
        self.desk_of = {task: constants.desk[proc] for task, proc in constants.owner.items()}
        self.places_of = constants.places_of
        self.tasks_of = {
            proc: tuple(constants.tasks[place] for place in places) for proc, places in self.places_of.items()
        }
        self._fails = constants.max_fail > 0
        self._calling = IDLE._replace(at="claim", cmd=constants.max_cancel > 0)

    # ---- Tasks

    def seen(self, s: State) -> int:
        """Seen."""
        return s.asked if self._fails else 0

    def calling(self) -> Task:
        """Calling."""
        return self._calling

    def handing_over(self, s: State) -> Task:
        """HandingOver."""
        return Task("claim", False, 0, NOTHING, self.seen(s), "", False, 0, False)

    def look_task(self, s: State) -> Task:
        """LookTask."""
        return self.handing_over(s)

    def sweep_task(self) -> Task:
        """SweepTask."""
        return self.calling()

    def failure_saw(self, s: State, t: str) -> int:
        """FailureSaw."""
        return s.task[self.place[t]].seen

    def leaving(self, s: State, t: str, due: str) -> Task:
        """Leaving."""
        if due == "all":
            return LEAVING_ALL
        task = s.task[self.place[t]]
        pos = task.pos if task.at in STARTS or task.at == "reply" else 0
        return Task("release", False, pos, NOTHING, self.failure_saw(s, t), due, False, 0, False)

    def has_read(self, s: State, task: Task) -> Task:
        """HasRead."""
        return task._replace(read=0 if task.at == "release" else self.seen(s))

    def has_failed(self, s: State, t: str, task: Task) -> Task:
        """HasFailed."""
        return task._replace(failed=True, read=s.task[self.place[t]].read)

    # ---- Commands

    def room_for_msg(self, s: State) -> bool:
        """RoomForMsg."""
        return s.log.count("msg") < self.constants.max_msgs

    def room_for_note(self, s: State) -> bool:
        """RoomForNote."""
        return s.log.count("note") < self.constants.max_notes

    def send_asks(self, s: State, n: int) -> int:
        """SendAsks."""
        return max(s.asked, n)

    def answer_asks(self, s: State, n: int) -> int:
        """AnswerAsks."""
        return max(s.asked, n)

    def open(self, s: State) -> bool:
        """Open."""
        return s.run.st == "paused"

    # ---- The claim, and the plan

    def left(self, s: State) -> bool:
        """Left."""
        return left(s)

    def plan_sees(self, s: State) -> int:
        """PlanSees."""
        return self.seen(s)

    def plan(self, s: State, t: str) -> Task:
        """Plan."""
        if s.run.st == "active":
            return self.to(s, t, "abandon", 0)
        if s.run.st == "answered":
            return self.to(s, t, "resume", len(s.log), frozenset(msgs_past(s.log, s.taken)))
        if s.asked <= s.taken:
            return self.leaving(s, t, "all")
        new = msgs_past(s.log, s.taken)
        if not new:
            return self.to(s, t, "count", len(s.log))
        if s.run.st == "paused":
            return self.to(s, t, "reply", new[0])
        return self.to(s, t, "prompt", new[0], frozenset(new[:1]))

    def to(self, s: State, t: str, at: str, pos: int, fed: Positions = NOTHING) -> Task:
        """`to` of Plan: what the task has planned."""
        task = s.task[self.place[t]]
        return task._replace(at=at, pos=pos, fed=fed, seen=self.plan_sees(s))

    def can_claim(self, s: State, t: str) -> bool:  # noqa: ARG002 - RunIdCanClaim is of a task
        """CanClaim."""
        return s.lease == "free"

    def refused_looks(self) -> bool:
        """RefusedLooks."""
        return True

    def wanted(self, s: State) -> bool:
        """Wanted."""
        return self.left(s)

    # ---- The fenced writes

    def start_fence(self, s: State, t: str) -> bool:
        """StartFence."""
        return s.lease == t

    def reply_fence(self, s: State, t: str) -> bool:
        """ReplyFence."""
        return s.lease == t

    def abandon_fence(self, s: State, t: str) -> bool:
        """AbandonFence."""
        return s.lease == t

    def count_fence(self, s: State, t: str) -> bool:
        """CountFence."""
        return s.lease == t

    def abandonable(self, s: State) -> bool:
        """Abandonable."""
        return s.run.st == "active"

    def answerable(self, s: State) -> bool:
        """Answerable."""
        return s.run.st == "paused"

    def start_takes(self, s: State, t: str) -> int:
        """StartTakes."""
        return max(s.taken, s.task[self.place[t]].pos)

    def start_gives(self, s: State, t: str) -> Positions:
        """StartGives."""
        return s.task[self.place[t]].fed

    def abandoned_as(self) -> str:
        """AbandonedAs."""
        return "idle"

    def reply_asks(self, s: State) -> int:
        """ReplyAsks."""
        return s.asked

    def count_takes(self, s: State, t: str) -> int:
        """CountTakes."""
        return max(s.taken, s.task[self.place[t]].pos)

    # ---- Renewal, and what a task leaves behind

    def lost_due(self) -> str:
        """LostDue."""
        return "all"

    def can_renew(self, s: State, t: str) -> bool:
        """CanRenew."""
        return s.lease == t

    def lets_go(self, s: State, t: str) -> Run:
        """LetsGo: the run after it."""
        return s.run._replace(by="none") if s.run.by == t else s.run

    def stops(self, s: State, t: str) -> Task:
        """Stops: the task after it."""
        has_plan = s.task[self.place[t]].at in HAS_PLAN
        return self.leaving(s, t, self.lost_due() if has_plan else "all")

    def unrecorded(self, s: State, t: str) -> Positions:
        """Unrecorded."""
        task = s.task[self.place[t]]
        return task.fed if task.at in RUNS and self.ends_run(s, t) else NOTHING

    # ---- A run

    def ends_run(self, s: State, t: str) -> bool:
        """EndsRun."""
        return s.run.by == t

    def end_takes(self, s: State, t: str) -> bool:
        """EndTakes."""
        return self.ends_run(s, t)

    def deliver_gives(self, m: int) -> Positions:
        """DeliverGives."""
        return frozenset((m,))

    def ends_at(self, st: str) -> str:
        """EndsAt."""
        return "pausing" if st == "paused" else "ending"

    def end_again(self, s: State, t: str, st: str) -> Task:
        """EndAgain."""
        return s.task[self.place[t]]._replace(at=self.ends_at(st))

    # ---- Release, hand over, look again

    def frees(self, s: State, t: str) -> bool:
        """Frees."""
        return s.lease == t

    def unheard(self, s: State, r: Task | Look) -> bool:
        """Unheard."""
        return 0 < r.pos <= s.taken

    def goes(self, s: State, r: Task | Look) -> bool:
        """Goes."""
        return self.left(s) and (r.due != "newer" or self.unheard(s, r) or s.asked > r.seen)

    def left_so(self, s: State, t: str) -> bool:
        """LeftSo."""
        task = s.task[self.place[t]]
        return task.failed and s.asked <= task.read and self.left(s)

    def waits(self, s: State, t: str) -> int:
        """Waits: `waits` after it."""
        return max(s.waits, s.asked) if self.left_so(s, t) else s.waits

    def release_looks(self) -> bool:
        """ReleaseLooks."""
        return True

    def armed(self, look: Look, r: Task) -> Look:
        """Armed."""
        return Look(r.due, r.seen, r.pos) if look.due == "no" else LOOK_FOR_ALL

    # ---- What goes wrong

    def unclaimed(self, s: State, t: str, due: str) -> Task:
        """Unclaimed."""
        return self.leaving(s, t, due)

    def granted(self, s: State, t: str) -> str:
        """Granted."""
        return t if self.wanted(s) and self.can_claim(s, t) else s.lease

    def cancel_due(self) -> str:
        """CancelDue."""
        return "all"
