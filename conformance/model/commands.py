"""Actions of spec/ThreadClaim.tla: commands, a sweep, and what nobody asks for.

Each action has the spec's name in lower case. It returns every state that it leads to; none if its guard
refuses.
"""

from conformance.model.rules import Rules, set_task
from conformance.model.state import State

Next = tuple[State, ...]
"""The states that an action leads to, in an order that is always the same."""


class Commands(Rules):
    """Send, Answer, Ask, Recover; Post, Note."""

    def send(self, s: State, t: str) -> Next:
        """Send."""
        i = self.place[t]
        if s.task[i].at != "idle" or not self.room_for_msg(s):
            return ()
        n = len(s.log) + 1
        return (
            s._replace(
                log=(*s.log, "msg"),
                asked=self.send_asks(s, n),
                task=set_task(s, i, self.calling()),
                want=max(s.want, n),
                waits=0,
            ),
        )

    def answer(self, s: State, t: str) -> Next:
        """Answer."""
        i = self.place[t]
        if s.task[i].at != "idle" or not self.open(s) or not self.room_for_note(s):
            return ()
        n = len(s.log) + 1
        return (
            s._replace(
                log=(*s.log, "note"),
                asked=self.answer_asks(s, n),
                run=s.run._replace(st="answered"),
                task=set_task(s, i, self.calling()),
                want=max(s.want, n),
                waits=0,
            ),
        )

    def ask(self, s: State, t: str) -> Next:
        """Ask."""
        i, n = self.place[t], len(s.log)
        if s.task[i].at != "idle" or n <= s.taken:
            return ()
        return (
            s._replace(
                asked=max(s.asked, n), task=set_task(s, i, self.calling()), want=max(s.want, n), waits=0
            ),
        )

    def recover(self, s: State, t: str) -> Next:
        """Recover."""
        i = self.place[t]
        if s.task[i].at != "idle" or not self.left(s):
            return ()
        return (s._replace(task=set_task(s, i, self.sweep_task())),)

    def post(self, s: State) -> Next:
        """Post."""
        return (s._replace(log=(*s.log, "msg")),) if self.room_for_msg(s) else ()

    def note(self, s: State) -> Next:
        """Note."""
        return (s._replace(log=(*s.log, "note")),) if self.room_for_note(s) else ()
