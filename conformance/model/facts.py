"""What the properties of spec/Properties.tla speak of, in one state."""

from conformance.model.state import AT_REST, RUNS, Constants, Look, State, Task, left


def messages(state: State) -> frozenset[int]:
    """Return the positions of all messages: `Msgs` of the spec."""
    return frozenset(place for place, kind in enumerate(state.log, 1) if kind == "msg")


def excused(state: State) -> bool:
    """Say whether a failed turn has left all that is asked to the next command: `Excused` of the spec."""
    return 0 < state.waits >= state.asked


def stranded(state: State) -> bool:
    """Say whether more is left to do than a failure left to the next command: `Stranded` of the spec."""
    return left(state) and not excused(state)


def unconsumed(state: State) -> frozenset[int]:
    """Return the messages asked for that no log write consumed: `Unconsumed` of the spec."""
    asked = range(state.waits + 1, state.asked + 1)
    return frozenset(place for place in asked if state.log[place - 1 : place] == ("msg",)) - state.once


def dead(constants: Constants, state: State) -> bool:
    """Say whether a run is active that no task carries any more: `Dead` of the spec."""
    run = state.run
    return run.st == "active" and (
        run.by not in constants.place or state.task[constants.place[run.by]].at not in RUNS
    )


def down(constants: Constants, state: State, proc: str) -> bool:
    """Say whether the process is down: `Down` of the spec."""
    return all(state.task[place].at == "down" for place in constants.places_of[proc])


def seen_to(constants: Constants, state: State) -> bool:
    """Say whether somebody will see to what is left to do, or leave it to the next command.

    That is a task, save one that will release its claim and do neither; a look that will claim; or a process
    that is down, for it sweeps as it starts.
    """
    return (
        any(task.at not in AT_REST and (task.at != "release" or _settles(state, task)) for task in state.task)
        or any(look.due != "no" and _goes(state, look) for look in state.look)
        or any(down(constants, state, proc) for proc in constants.procs)
    )


def _settles(state: State, task: Task) -> bool:
    """Whether a release hands over what is left, or leaves it to the next command."""
    return _goes(state, task) or (task.failed and state.asked <= task.read)


def _goes(state: State, due: Task | Look) -> bool:
    """Whether a release, or a look, hands over what is left: `Goes` of the spec."""
    return due.due != "newer" or 0 < due.pos <= state.taken or state.asked > due.seen
