"""The properties of one step, of spec/Properties.tla and spec/DirectRuns.tla: each says whether it holds."""

from conformance.model.state import Constants, Run, State

_FOLLOWS = {
    "idle": {"idle", "active"},
    "active": {"active", "idle", "paused"},
    "paused": {"paused", "answered"},
    "answered": {"answered", "active"},
}
_ENDS = frozenset({"ending", "pausing", "release"})


def i4_failed_turn_consumes_nothing(constants: Constants, before: State, after: State) -> bool:
    """I4_FailedTurnConsumesNothing."""
    if after.once == before.once or (after.run.st in {"active", "answered"} and after.run != before.run):
        return True
    by = constants.place.get(before.run.by)
    return by is not None and after.task[by].at in _ENDS


def i4_failure_hands_over_newer(_: Constants, before: State, after: State) -> bool:
    """I4_FailureHandsOverNewer."""
    return all(
        before.asked > old.read
        for old, new in zip(before.task, after.task, strict=True)
        if old.failed
        and old.at == "release"
        and new.at == "claim"
        and (old.pos == 0 or before.taken < old.pos)
    )


def i5_only_asked_starts(_: Constants, before: State, after: State) -> bool:
    """I5_OnlyAskedStarts."""
    turn = before.run.st, after.run.st
    starts = turn == ("idle", "active") or (turn == ("paused", "answered") and after.once != before.once)
    return not starts or before.want > before.taken


def i6_reply_answers(_: Constants, before: State, after: State) -> bool:
    """I6_ReplyAnswers."""
    return after.run.st != "answered" or before.run.st == "paused" or after.once == before.once


def cursors_only_move_forward(_: Constants, before: State, after: State) -> bool:
    """CursorsOnlyMoveForward."""
    return after.asked >= before.asked and after.taken >= before.taken


def committed_is_asked(_: Constants, before: State, after: State) -> bool:
    """CommittedIsAsked."""
    if after.log == before.log or after.asked == len(after.log):
        return True
    return not any(
        old.at == "idle" and new.at == "claim" for old, new in zip(before.task, after.task, strict=True)
    )


def runs_in_turn(constants: Constants, before: State, after: State) -> bool:
    """RunsInTurn."""
    old, new = before.run, after.run
    if old == new:
        return True
    if new.st not in _FOLLOWS.get(old.st, {new.st}):
        return False
    if old.st == "active":
        return _active_ends_in_turn(constants, before, new)
    return old.st != "answered" or _at(constants, before, new.by) in {"resume", "replied"}


def _active_ends_in_turn(constants: Constants, before: State, new: Run) -> bool:
    """RunsInTurn's part of a run that is active."""
    if new.st == "active":
        return new.by in {before.run.by, "none"}
    return new.st != "paused" or _at(constants, before, before.run.by) in {"running", "pausing"}


def _at(constants: Constants, state: State, by: str) -> str:
    """Where the task called `by` is; empty if there is none."""
    place = constants.place.get(by)
    return "" if place is None else state.task[place].at


# ---- spec/DirectRuns.tla


def _lives(constants: Constants, before: State, after: State, place: int) -> bool:
    """Whether the task's own run is the thread's, and the task takes no step."""
    task = before.task[place]
    return task.at == "direct" and before.run.by == constants.tasks[place] and after.task[place] == task


def held_run_left_alone(constants: Constants, before: State, after: State) -> bool:
    """HeldRunLeftAlone."""
    place = constants.place.get(before.lease)
    return place is None or not _lives(constants, before, after, place) or after.run == before.run


def direct_run_not_abandoned(constants: Constants, before: State, after: State) -> bool:
    """DirectRunNotAbandoned."""
    return after.run.st != "idle" or not any(
        _lives(constants, before, after, place) for place in range(len(constants.tasks))
    )
