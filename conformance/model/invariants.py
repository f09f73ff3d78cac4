"""The properties of one state of spec/Properties.tla: each says whether it holds."""

from conformance.model.facts import down, messages, stranded
from conformance.model.state import AT_REST, HAS_CLAIM, Constants, Run, State, Task

_AT = HAS_CLAIM | AT_REST | {"claim"}
_LOOK_DUE = frozenset({"no", "all", "newer"})
_TASK_DUE = frozenset({"", "all", "newer"})
_RUN_ST = frozenset({"idle", "active", "paused", "answered"})
_LOG = frozenset({"msg", "note"})


def type_ok(constants: Constants, state: State) -> bool:
    """TypeOK."""
    last = 2 * constants.max_msgs + constants.max_notes
    return (
        _thread_is_typed(constants, state, last)
        and all(look.due in _LOOK_DUE and look.seen <= last and look.pos <= last for look in state.look)
        and all(_task_is_typed(state, task, last) for task in state.task)
        and _ghosts_are_typed(state, last)
        and _faults_are_typed(constants, state)
    )


def _thread_is_typed(constants: Constants, state: State, last: int) -> bool:
    """TypeOK's part of what is durable."""
    length, run = len(state.log), state.run
    return (
        length <= last
        and _LOG.issuperset(state.log)
        and 0 <= state.asked <= length
        and 0 <= state.taken <= length
        and (state.lease in constants.place or state.lease in {"free", "dead"})
        and run.st in _RUN_ST
        and (run.by == "none" or (run.by in constants.place and run.st == "active"))
    )


def _task_is_typed(state: State, task: Task, last: int) -> bool:
    """TypeOK's part of a task."""
    return (
        task.at in _AT
        and 0 <= task.pos <= last
        and 0 <= task.seen <= last
        and 0 <= task.read <= last
        and all(state.log[place - 1 : place] == ("msg",) for place in task.fed)
        and task.due in _TASK_DUE
        and (task.due != "") == (task.at == "release")
    )


def _ghosts_are_typed(state: State, last: int) -> bool:
    """TypeOK's part of the ghosts."""
    ghosts = state.once | state.twice | state.given | state.again | state.excused | state.unheard
    return 0 <= state.want <= last and 0 <= state.waits <= last and ghosts <= messages(state)


def _faults_are_typed(constants: Constants, state: State) -> bool:
    """TypeOK's part of the faults that may still come."""
    bounds = (constants.max_crash, constants.max_lapse, constants.max_cancel, constants.max_fail)
    return all(0 <= may_come <= bound for may_come, bound in zip(state.faults, bounds, strict=True))


def i1_consumed_at_most_once(_: Constants, state: State) -> bool:
    """I1_ConsumedAtMostOnce."""
    return not state.twice and not state.again


def i1_consumed_is_given(_: Constants, state: State) -> bool:
    """I1_ConsumedIsGiven."""
    return state.once <= state.given | state.unheard


def i2_consumed_with_its_write(_: Constants, state: State) -> bool:
    """I2_ConsumedWithItsWrite."""
    taken, once = state.taken, state.once
    return all(
        (place <= taken) == (place in once) for place, kind in enumerate(state.log, 1) if kind == "msg"
    )


def i3_claim_has_a_task(constants: Constants, state: State) -> bool:
    """I3_ClaimHasATask."""
    place = constants.place.get(state.lease)
    return place is None or state.task[place].at in HAS_CLAIM


def i3_one_active_run(constants: Constants, state: State) -> bool:
    """I3_OneActiveRun."""
    return all(
        state.run == Run("active", name) if state.lease == name else task.lost
        for name, task in zip(constants.tasks, state.task, strict=True)
        if task.at == "running"
    )


def i3_no_stranded_ask(constants: Constants, state: State) -> bool:
    """I3_NoStrandedAsk."""
    if not stranded(state) or any(task.at not in AT_REST for task in state.task):
        return True
    return state.broke and (
        any(look.due != "no" for look in state.look)
        or any(down(constants, state, proc) for proc in constants.procs)
    )


def claims_find_work(_: Constants, state: State) -> bool:
    """ClaimsFindWork."""
    return all(task.at != "count" for task in state.task)
