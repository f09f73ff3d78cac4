"""The plans of spec/mutants/Mutants.tla: each function has the operator's name in lower case."""

from conformance.model.model import Model
from conformance.model.state import State, Task, msgs_past


def _resume(model: Model, s: State, t: str) -> Task:
    """What all plans but one do with an answered run."""
    return model.to(s, t, "resume", len(s.log), frozenset(msgs_past(s.log, s.taken)))


def _otherwise(model: Model, s: State, t: str, place: int) -> Task:
    """Otherwise; `place` says which message is `first`: 0 for Oldest, -1 for Newest."""
    new = msgs_past(s.log, s.taken)
    if not new:
        return model.to(s, t, "count", len(s.log))
    if s.run.st == "paused":
        return model.to(s, t, "reply", new[0])
    return model.to(s, t, "prompt", new[place], frozenset((new[place],)))


def plan_no_abandon(model: Model, s: State, t: str) -> Task:
    """PlanNoAbandon."""
    if s.run.st == "answered":
        return _resume(model, s, t)
    return model.leaving(s, t, "all") if s.asked <= s.taken else _otherwise(model, s, t, 0)


def plan_unasked(model: Model, s: State, t: str) -> Task:
    """PlanUnasked."""
    if s.run.st == "active":
        return model.to(s, t, "abandon", 0)
    return _resume(model, s, t) if s.run.st == "answered" else _otherwise(model, s, t, 0)


def plan_newest(model: Model, s: State, t: str) -> Task:
    """PlanNewest."""
    if s.run.st == "active":
        return model.to(s, t, "abandon", 0)
    if s.run.st == "answered":
        return _resume(model, s, t)
    return model.leaving(s, t, "all") if s.asked <= s.taken else _otherwise(model, s, t, -1)


def plan_counts(model: Model, s: State, t: str) -> Task:
    """PlanCounts."""
    if s.run.st == "active":
        return model.to(s, t, "abandon", 0)
    if s.run.st == "answered":
        return _resume(model, s, t)
    return model.leaving(s, t, "all") if s.asked <= s.taken else model.to(s, t, "count", len(s.log))


def plan_forgets(model: Model, s: State, t: str) -> Task:
    """PlanForgets."""
    if s.run.st == "active":
        return model.to(s, t, "abandon", 0)
    if s.run.st == "answered" and not msgs_past(s.log, s.taken):
        return model.to(s, t, "resume", len(s.log))
    return model.leaving(s, t, "all") if s.asked <= s.taken else _otherwise(model, s, t, 0)
