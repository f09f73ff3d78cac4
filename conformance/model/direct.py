"""spec/DirectRuns.tla in Python: the model with runs made without the runner, by who holds the thread."""

from collections.abc import Callable, Mapping
from typing import ClassVar

from conformance.model.commands import Next
from conformance.model.model import ACTIONS, Actor, Model
from conformance.model.rules import set_task
from conformance.model.state import IDLE, NO_RUN, Constants, Run, State

HOLDING = IDLE._replace(at="holding")


class DirectModel(Model):
    """The model, with HoldThread, DirectAbandon, DirectStart, DirectEnd and LetThread."""

    ACTIONS: ClassVar[Mapping[str, Actor]] = {
        **ACTIONS,
        "HoldThread": "task",
        "DirectAbandon": "task",
        "DirectStart": "task",
        "DirectEnd": "task",
        "LetThread": "task",
    }

    def hold_thread(self, s: State, t: str) -> Next:
        """HoldThread."""
        i = self.place[t]
        if s.task[i].at != "idle" or s.lease != "free":
            return ()
        return (s._replace(lease=t, task=set_task(s, i, HOLDING)),)

    def held(self, s: State, t: str) -> bool:
        """Held."""
        return s.task[self.place[t]].at == "holding" and s.lease == t

    def direct_abandon(self, s: State, t: str) -> Next:
        """DirectAbandon."""
        return (s._replace(run=NO_RUN),) if self.held(s, t) and s.run.st == "active" else ()

    def direct_start(self, s: State, t: str) -> Next:
        """DirectStart."""
        if not self.held(s, t) or s.run.st != "idle":
            return ()
        task = set_task(s, self.place[t], IDLE._replace(at="direct"))
        return (s._replace(run=Run("active", t), task=task),)

    def direct_told(self, s: State) -> int:
        """DirectTold."""
        return s.taken

    def direct_end(self, s: State, t: str) -> Next:
        """DirectEnd."""
        i = self.place[t]
        if s.task[i].at != "direct":
            return ()
        run = NO_RUN if self.ends_run(s, t) else s.run
        return (s._replace(taken=self.direct_told(s), run=run, task=set_task(s, i, HOLDING)),)

    def let_thread(self, s: State, t: str) -> Next:
        """LetThread."""
        i = self.place[t]
        if s.task[i].at != "holding":
            return ()
        return (s._replace(lease="free" if s.lease == t else s.lease, task=set_task(s, i, IDLE)),)


def held_run_left_alone(constants: Constants, before: State, after: State) -> bool:
    """HeldRunLeftAlone: a direct run whose caller holds the thread is ended by nobody else."""
    return all(
        after.run == before.run or now != was
        for task, was, now in zip(constants.tasks, before.task, after.task, strict=True)
        if was.at == "direct" and before.lease == task == before.run.by
    )


def direct_run_not_abandoned(constants: Constants, before: State, after: State) -> bool:
    """DirectRunNotAbandoned: no direct run that lives is recorded as ended by somebody else."""
    return all(
        after.run.st != "idle" or now != was
        for task, was, now in zip(constants.tasks, before.task, after.task, strict=True)
        if was.at == "direct" and before.run.by == task
    )


PROPERTIES: Mapping[str, Callable[[Constants, State, State], bool]] = {
    "HeldRunLeftAlone": held_run_left_alone,
    "DirectRunNotAbandoned": direct_run_not_abandoned,
}
"""The properties of spec/DirectRuns.tla, each of a step."""
