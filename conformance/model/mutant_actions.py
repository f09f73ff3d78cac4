"""The actions of spec/mutants/Mutants.tla: each function has the action's name in lower case.

Some replace an action of the design; those of a Spec of its own come beside the design's.
"""

from conformance.model.commands import Next
from conformance.model.model import Model
from conformance.model.rules import LOOK_FOR_ALL, set_look, set_task
from conformance.model.state import IDLE, NO_LOOK, NOTHING, State


def claim_and_take(model: Model, s: State, t: str) -> Next:
    """ClaimAndTake."""
    i = model.place[t]
    if s.task[i].at != "claim" or not model.wanted(s) or not model.can_claim(s, t):
        return ()
    plan = model.plan(s, t)
    taken = max(s.taken, plan.pos) if plan.at in {"prompt", "resume"} else s.taken
    after = model.consume(s, plan.fed)
    return (after._replace(taken=taken, lease=t, task=set_task(s, i, plan._replace(fed=NOTHING))),)


def look_once(model: Model, s: State, p: str) -> Next:
    """LookOnce."""
    desk = model.desk[p]
    look = s.look[desk]
    if look.due == "no":
        return ()
    after = s._replace(look=set_look(s, desk, NO_LOOK))
    return model.looks(s, p, after) if model.goes(s, look) and s.lease == "free" else (after,)


def recover_asking(model: Model, s: State, t: str) -> Next:
    """RecoverAsking."""
    i = model.place[t]
    if s.task[i].at != "idle" or len(s.log) <= s.taken:
        return ()
    return (s._replace(asked=len(s.log), task=set_task(s, i, model.sweep_task())),)


def release_and_ask(model: Model, s: State, t: str) -> Next:
    """ReleaseAndAsk."""
    i = model.place[t]
    if s.task[i].at != "release":
        return ()
    goes = len(s.log) > s.taken or model.left(s)
    return (
        s._replace(
            asked=len(s.log),
            lease="free" if model.frees(s, t) else s.lease,
            run=model.lets_go(s, t),
            task=set_task(s, i, model.has_read(s, model.handing_over(s)) if goes else IDLE),
            waits=model.waits(s, t),
        ),
    )


# ---- ReadFirstSpec: the cursors are read before the claim is given up


def read_first(model: Model, s: State, t: str) -> Next:
    """ReadFirst."""
    i = model.place[t]
    task = s.task[i]
    if task.at != "release":
        return ()
    after = task._replace(at="free, go" if model.goes(s, task) else "free, rest")
    return (s._replace(run=model.lets_go(s, t), task=set_task(s, i, after), waits=model.waits(s, t)),)


def then_free(model: Model, s: State, t: str) -> Next:
    """ThenFree."""
    i = model.place[t]
    at = s.task[i].at
    if at not in {"free, go", "free, rest"}:
        return ()
    after = model.handing_over(s) if at == "free, go" else IDLE
    return (s._replace(lease="free" if s.lease == t else s.lease, task=set_task(s, i, after)),)


# ---- AskLateSpec: a send claims first, and saves its ask then


def send_then_claim(model: Model, s: State, t: str) -> Next:
    """SendThenClaim."""
    i = model.place[t]
    if s.task[i].at != "idle" or not model.room_for_msg(s):
        return ()
    after = IDLE._replace(at="claim, ask", pos=len(s.log) + 1)
    return (s._replace(log=(*s.log, "msg"), task=set_task(s, i, after)),)


def claim_then_ask(model: Model, s: State, t: str) -> Next:
    """ClaimThenAsk."""
    i = model.place[t]
    task = s.task[i]
    if task.at != "claim, ask":
        return ()
    if s.lease == "free":
        return (s._replace(lease=t, task=set_task(s, i, task._replace(at="ask, replan"))),)
    look = set_look(s, model.desk_of[t], LOOK_FOR_ALL)
    return (s._replace(look=look, task=set_task(s, i, task._replace(at="ask, rest"))),)


def ask_late(model: Model, s: State, t: str) -> Next:
    """AskLate."""
    i = model.place[t]
    task = s.task[i]
    if task.at not in {"ask, replan", "ask, rest"}:
        return ()
    after = IDLE._replace(at="replan") if task.at == "ask, replan" else IDLE
    return (s._replace(asked=max(s.asked, task.pos), task=set_task(s, i, after)),)
