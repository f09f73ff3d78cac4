"""Actions of spec/ThreadClaim.tla: the fenced writes, and a run from its start to its recorded end.

Each action has the spec's name in lower case. It returns every state that it leads to; none if its guard
refuses. What a write commits is a method of its own, for its task may not hear of it
(`conformance.model.faults`).
"""

from conformance.model.commands import Next
from conformance.model.rules import Rules, set_task
from conformance.model.state import IDLE, NO_RUN, NOTHING, STARTS, Positions, Run, State, msgs_past


class Runs(Rules):
    """Abandon, StartRun, Reply, CountTaken; Deliver, EndRun, Pause."""

    def consume(self, s: State, messages: Positions) -> State:
        """Consume."""
        return s._replace(once=s.once | messages, twice=s.twice | (s.once & messages))

    def give_but(self, s: State, messages: Positions, excuse: Positions) -> State:
        """GiveBut."""
        return s._replace(
            given=s.given | messages,
            excused=(s.excused - messages) | excuse,
            again=s.again | ((s.given & messages) - (s.excused | excuse)),
        )

    def write_abandon(self, s: State) -> State:
        """WriteAbandon."""
        return s._replace(run=Run(self.abandoned_as(), "none")) if self.abandonable(s) else s

    def write_start(self, s: State, t: str) -> State:
        """WriteStart."""
        after = self.consume(s, s.task[self.place[t]].fed)
        return after._replace(run=Run("active", t), taken=self.start_takes(s, t))

    def write_reply(self, s: State, t: str) -> State:
        """WriteReply."""
        pos = s.task[self.place[t]].pos
        return self.consume(s, frozenset((pos,)))._replace(
            log=(*s.log, "note"),
            asked=self.reply_asks(s),
            taken=max(s.taken, pos),
            run=s.run._replace(st="answered"),
        )

    def write_count(self, s: State, t: str) -> State:
        """WriteCount."""
        return s._replace(taken=self.count_takes(s, t))

    def write_end(self, s: State, t: str, st: str) -> State:
        """WriteEnd."""
        after = s
        if self.end_takes(s, t):
            task = s.task[self.place[t]]
            after = self.consume(s, task.fed)._replace(taken=max(s.taken, task.pos))
        return after._replace(run=NO_RUN._replace(st=st)) if self.ends_run(s, t) else after

    def abandon(self, s: State, t: str) -> Next:
        """Abandon."""
        i = self.place[t]
        if s.task[i].at != "abandon" or not self.abandon_fence(s, t):
            return ()
        return (self.write_abandon(s)._replace(task=set_task(s, i, s.task[i]._replace(at="replan"))),)

    def start_run(self, s: State, t: str) -> Next:
        """StartRun."""
        i = self.place[t]
        if s.task[i].at not in STARTS or not self.start_fence(s, t):
            return ()
        after = self.give_but(self.write_start(s, t), self.start_gives(s, t), NOTHING)
        return (after._replace(task=set_task(s, i, IDLE._replace(at="running", pos=s.task[i].pos))),)

    def reply(self, s: State, t: str) -> Next:
        """Reply."""
        i = self.place[t]
        task = s.task[i]
        if task.at != "reply" or not self.reply_fence(s, t):
            return ()
        if not self.answerable(s):
            return (s._replace(task=set_task(s, i, task._replace(at="replan", pos=0))),)
        after = self.give_but(self.write_reply(s, t), frozenset((task.pos,)), NOTHING)
        return (after._replace(task=set_task(s, i, task._replace(at="replied"))),)

    def count_taken(self, s: State, t: str) -> Next:
        """CountTaken."""
        i = self.place[t]
        if s.task[i].at != "count" or not self.count_fence(s, t):
            return ()
        return (self.write_count(s, t)._replace(task=set_task(s, i, self.leaving(s, t, "all"))),)

    def deliver(self, s: State, t: str) -> Next:
        """Deliver."""
        i = self.place[t]
        task = s.task[i]
        if task.at != "running":
            return ()
        new = msgs_past(s.log, task.pos)
        if not new:
            return ()
        m = new[0]
        after = self.give_but(s, self.deliver_gives(m), NOTHING if s.lease == t else frozenset((m,)))
        return (after._replace(task=set_task(s, i, task._replace(pos=m, fed=task.fed | {m}))),)

    def end_run(self, s: State, t: str) -> Next:
        """EndRun."""
        return self.ends(s, t, "idle") if s.task[self.place[t]].at in {"running", "ending"} else ()

    def pause(self, s: State, t: str) -> Next:
        """Pause."""
        return self.ends(s, t, "paused") if s.task[self.place[t]].at in {"running", "pausing"} else ()

    def ends(self, s: State, t: str, st: str) -> Next:
        """Return the state after the run's end, or its pause, is recorded."""
        after = self.write_end(s, t, st)
        return (after._replace(task=set_task(s, self.place[t], self.leaving(s, t, "all"))),)
