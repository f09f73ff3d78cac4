"""Actions of spec/ThreadClaim.tla: a claim is granted, refused, renewed, lost and released; and looks.

Each action has the spec's name in lower case. It returns every state that it leads to; none if its guard
refuses.
"""

from conformance.model.commands import Next
from conformance.model.rules import LOOK_FOR_ALL, Rules, set_look, set_task
from conformance.model.state import CAN_STOP, IDLE, NO_LOOK, PLANS_OR_RUNS, STARTS, State


class Claims(Rules):
    """Claim, Refused, NothingAsked, Replan, Fenced; Renew, LoseClaim; Release, LookAgain."""

    def claim(self, s: State, t: str) -> Next:
        """Claim."""
        i = self.place[t]
        if s.task[i].at != "claim" or not self.wanted(s) or not self.can_claim(s, t):
            return ()
        plan = self.has_read(s, self.plan(s, t))
        return (s._replace(lease=t, task=set_task(s, i, plan)),)

    def refused(self, s: State, t: str) -> Next:
        """Refused."""
        i = self.place[t]
        if s.task[i].at != "claim" or not self.wanted(s) or self.can_claim(s, t):
            return ()
        look = set_look(s, self.desk_of[t], LOOK_FOR_ALL) if self.refused_looks() else s.look
        return (s._replace(task=set_task(s, i, IDLE), look=look),)

    def nothing_asked(self, s: State, t: str) -> Next:
        """NothingAsked."""
        i = self.place[t]
        if s.task[i].at != "claim" or self.wanted(s):
            return ()
        return (s._replace(task=set_task(s, i, IDLE)),)

    def replan(self, s: State, t: str) -> Next:
        """Replan."""
        i = self.place[t]
        if s.task[i].at != "replan":
            return ()
        return (s._replace(task=set_task(s, i, self.has_read(s, self.plan(s, t)))),)

    def is_fenced(self, s: State, t: str) -> bool:
        """Say whether the task is at a write that its fence refuses: the guard of Fenced."""
        at = s.task[self.place[t]].at
        if at in STARTS:
            return not self.start_fence(s, t)
        if at == "reply":
            return not self.reply_fence(s, t)
        if at == "abandon":
            return not self.abandon_fence(s, t)
        return at == "count" and not self.count_fence(s, t)

    def fenced(self, s: State, t: str) -> Next:
        """Fenced."""
        if not self.is_fenced(s, t):
            return ()
        return (s._replace(task=set_task(s, self.place[t], self.leaving(s, t, self.lost_due()))),)

    def renew(self, s: State, t: str) -> Next:
        """Renew."""
        if s.task[self.place[t]].at not in PLANS_OR_RUNS or not self.can_renew(s, t):
            return ()
        return (s._replace(lease=t),)

    def lose_claim(self, s: State, t: str) -> Next:
        """LoseClaim."""
        i = self.place[t]
        if s.task[i].at not in CAN_STOP or self.can_renew(s, t):
            return ()
        return (s._replace(run=self.lets_go(s, t), task=set_task(s, i, self.stops(s, t))),)

    def release(self, s: State, t: str) -> Next:
        """Release."""
        i = self.place[t]
        task = s.task[i]
        if task.at != "release":
            return ()
        after = self.has_read(s, self.handing_over(s)) if self.goes(s, task) else IDLE
        return (
            s._replace(
                lease="free" if self.frees(s, t) else s.lease,
                run=self.lets_go(s, t),
                task=set_task(s, i, after),
                waits=self.waits(s, t),
            ),
        )

    def look_again(self, s: State, p: str) -> Next:
        """LookAgain."""
        desk = self.desk[p]
        look = s.look[desk]
        if look.due == "no":
            return ()
        after = s._replace(look=set_look(s, desk, NO_LOOK))
        if not self.goes(s, look):
            return (after,)
        return self.looks(s, p, after) if s.lease == "free" else ()

    def looks(self, s: State, p: str, after: State) -> Next:
        """Return `after` with one of the process's idle tasks claiming, for each of these."""
        task = self.has_read(s, self.look_task(s))
        return tuple(
            after._replace(task=set_task(s, i, task)) for i in self.places_of[p] if s.task[i].at == "idle"
        )
