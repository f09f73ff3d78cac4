"""Actions of spec/ThreadClaim.tla: what goes wrong.

Each action has the spec's name in lower case. It returns every state that it leads to; none if its guard
refuses.
"""

from conformance.model.commands import Next
from conformance.model.rules import once_less, set_look, set_task
from conformance.model.runs import Runs
from conformance.model.state import CAN_FAIL, CAN_STOP, IDLE, NO_LOOK, RUNS, STARTS, State, Task

DOWN = IDLE._replace(at="down")


class Cancels(Runs):
    """Cancel."""

    def cancel(self, s: State, t: str) -> Next:
        """Cancel."""
        i = self.place[t]
        task = s.task[i]
        faults = once_less(s.faults, "cancel") if task.cmd else None
        if faults is None:
            return ()
        if task.at != "claim":
            leaving = self.leaving(s, t, self.cancel_due())
            return (s._replace(task=set_task(s, i, leaving), faults=faults),)
        unclaimed = self.unclaimed(s, t, self.cancel_due())
        after = s._replace(task=set_task(s, i, unclaimed), faults=faults)
        granted = self.granted(s, t)
        return (after,) if granted == s.lease else (after, after._replace(lease=granted))


class Failures(Runs):
    """Fail, CommandFails, FailUnheard, EndFails, ReleaseFails, LookFails."""

    def fail(self, s: State, t: str) -> Next:
        """Fail."""
        i = self.place[t]
        at = s.task[i].at
        faults = once_less(s.faults, "fail") if at in CAN_FAIL else None
        if faults is None:
            return ()
        over = self.unclaimed(s, t, "newer") if at == "claim" else self.leaving(s, t, "newer")
        after = over if at == "replied" else self.has_failed(s, t, over)
        return (s._replace(task=set_task(s, i, after), faults=faults),)

    def command_fails(self, s: State, t: str) -> Next:
        """CommandFails."""
        i = self.place[t]
        faults = once_less(s.faults, "fail") if s.task[i].at == "idle" else None
        if faults is None:
            return ()
        after = self.has_failed(s, t, self.leaving(s, t, "newer"))
        return (s._replace(task=set_task(s, i, after), faults=faults),)

    def fail_unheard(self, s: State, t: str) -> Next:
        """FailUnheard."""
        i = self.place[t]
        at = s.task[i].at
        faults = once_less(s.faults, "fail") if at in CAN_FAIL else None
        written = None if faults is None else self.written_unheard(s, t, at)
        if faults is None or written is None:
            return ()
        over = self.unclaimed(s, t, "newer") if at == "claim" else self.leaving(s, t, "newer")
        after = over if at in STARTS or at == "reply" else self.has_failed(s, t, over)
        return (written._replace(task=set_task(s, i, after), faults=faults),)

    def written_unheard(self, s: State, t: str, at: str) -> State | None:
        """Return the state with the write at which the task is; None if it would have no effect."""
        if at == "claim":
            return s._replace(lease=t) if self.wanted(s) and self.can_claim(s, t) else None
        if at in STARTS:
            return self.started_unheard(s, t)
        if at == "reply":
            return self.replied_unheard(s, t)
        if at == "abandon":
            return self.write_abandon(s) if self.abandon_fence(s, t) else None
        return self.write_count(s, t) if at == "count" and self.count_fence(s, t) else None

    def started_unheard(self, s: State, t: str) -> State | None:
        """Return the state with the start written that nobody heard of; None if its fence refuses it."""
        if not self.start_fence(s, t):
            return None
        return self.write_start(s, t)._replace(unheard=s.unheard | s.task[self.place[t]].fed)

    def replied_unheard(self, s: State, t: str) -> State | None:
        """Return the state with the reply written that nobody heard of; None if it would have no effect."""
        if not self.reply_fence(s, t) or not self.answerable(s):
            return None
        return self.write_reply(s, t)._replace(unheard=s.unheard | {s.task[self.place[t]].pos})

    def end_fails(self, s: State, t: str) -> Next:
        """EndFails."""
        i = self.place[t]
        at = s.task[i].at
        faults = once_less(s.faults, "fail") if at in RUNS else None
        if faults is None:
            return ()
        states: list[State] = []
        for st in ("idle", "paused"):
            if at in {"running", self.ends_at(st)}:
                task = set_task(s, i, self.end_again(s, t, st))
                states += (
                    self.write_end(s, t, st)._replace(task=task, faults=faults),
                    s._replace(task=task, faults=faults),
                )
        return tuple(dict.fromkeys(states))  # a run that had ended already gives the same state twice

    def release_fails(self, s: State, t: str) -> Next:
        """ReleaseFails."""
        i = self.place[t]
        task = s.task[i]
        faults = once_less(s.faults, "fail") if task.at == "release" else None
        if faults is None:
            return ()
        desk = self.desk_of[t]
        after = s._replace(
            run=self.lets_go(s, t),
            task=set_task(s, i, IDLE),
            look=set_look(s, desk, self.armed(s.look[desk], task)) if self.release_looks() else s.look,
            waits=self.waits(s, t),
            broke=True,
            faults=faults,
        )
        return tuple(after._replace(lease=lease) for lease in self.leases_after(s, t))

    def leases_after(self, s: State, t: str) -> tuple[str, ...]:
        """Return what the lease may be once a release has failed."""
        return ("free", "dead") if self.frees(s, t) else (s.lease,)

    def look_fails(self, s: State, p: str) -> Next:
        """LookFails."""
        desk = self.desk[p]
        faults = once_less(s.faults, "fail") if s.look[desk].due != "no" else None
        if faults is None:
            return ()
        waits = max(s.waits, s.asked) if s.broke and self.left(s) else s.waits
        return (s._replace(look=set_look(s, desk, NO_LOOK), waits=waits, faults=faults),)


class Losses(Runs):
    """Lapse, LetGo; Crash, Expire, Restart."""

    def lapse(self, s: State, t: str) -> Next:
        """Lapse."""
        faults = once_less(s.faults, "lapse") if s.lease == t else None
        if faults is None:
            return ()
        i = self.place[t]
        task = s.task[i]
        return (
            s._replace(
                lease="free",
                task=set_task(s, i, task._replace(lost=task.at in RUNS)),
                excused=s.excused | self.unrecorded(s, t),
                faults=faults,
            ),
        )

    def let_go(self, s: State, t: str) -> Next:
        """LetGo."""
        i = self.place[t]
        faults = once_less(s.faults, "lapse") if s.lease == t and s.task[i].at in CAN_STOP else None
        if faults is None:
            return ()
        return (
            s._replace(
                run=self.lets_go(s, t),
                task=set_task(s, i, self.stops(s, t)),
                excused=s.excused | self.unrecorded(s, t),
                faults=faults,
            ),
        )

    def crash(self, s: State, p: str) -> Next:
        """Crash."""
        faults = None if self.down(s, p) else once_less(s.faults, "crash")
        if faults is None:
            return ()
        lost = [self.unrecorded(s, t) for t in self.tasks_of[p]]
        return (
            s._replace(
                lease="dead" if s.lease in self.tasks_of[p] else s.lease,
                run=s.run._replace(by="none") if s.run.by in self.tasks_of[p] else s.run,
                task=self.all_of(s, p, DOWN),
                look=set_look(s, self.desk[p], NO_LOOK),
                excused=s.excused.union(*lost),
                broke=True,
                faults=faults,
            ),
        )

    def expire(self, s: State) -> Next:
        """Expire."""
        return (s._replace(lease="free"),) if s.lease == "dead" else ()

    def restart(self, s: State, p: str) -> Next:
        """Restart."""
        if not self.down(s, p):
            return ()
        up = s._replace(task=self.all_of(s, p, IDLE))
        return tuple(up._replace(task=set_task(up, i, self.sweep_task())) for i in self.places_of[p])

    def down(self, s: State, p: str) -> bool:
        """Down."""
        return all(s.task[i].at == "down" for i in self.places_of[p])

    def all_of(self, s: State, p: str, task: Task) -> tuple[Task, ...]:
        """Return `State.task` with `task` for each of the process's tasks."""
        tasks = list(s.task)
        for i in self.places_of[p]:
            tasks[i] = task
        return tuple(tasks)
