"""Properties of one step, `[][A]_vars` in spec/Properties.tla and spec/DirectRuns.tla: what breaks them.

Each function has its property's name in lower case, and yields a `Reason` for each thing that breaks it. A
step that changes nothing breaks none.
"""

from collections.abc import Iterator

from conformance.view.invariants import Owners, Reason, counted
from conformance.view.snapshot import Snapshot

_ENDS = frozenset({"ending", "pausing", "release"})


def i4_failed_turn_consumes_nothing(old: Snapshot, new: Snapshot, _: Owners) -> Iterator[Reason]:
    """Properties!I4_FailedTurnConsumesNothing."""
    if new.once == old.once or (new.run.st in {"active", "answered"} and new.run != old.run):
        return
    if old.run.by in new.task and new.task[old.run.by].at in _ENDS:
        return
    yield Reason(
        f"This step consumes {counted(new.once ^ old.once)}, and is no start of a run, no reply, and no"
        " end of a run.",
        ("once", "run.st", "run.by"),
    )


def i4_failure_hands_over_newer(old: Snapshot, new: Snapshot, _: Owners) -> Iterator[Reason]:
    """Properties!I4_FailureHandsOverNewer."""
    for name, task in old.task.items():
        hands_over = task.at == "release" and task.failed and new.task[name].at == "claim"
        unconsumed = task.pos == 0 or old.taken < task.pos
        if hands_over and unconsumed and old.asked <= task.read:
            yield Reason(
                f"{name} failed, having read up to {task.read} as asked, and hands over what it had read.",
                ("asked", f"task[{name}].read", f"task[{name}].failed", f"task[{name}].at"),
            )


def i5_only_asked_starts(old: Snapshot, new: Snapshot, _: Owners) -> Iterator[Reason]:
    """Properties!I5_OnlyAskedStarts."""
    starts = (old.run.st, new.run.st) == ("idle", "active")
    replies = (old.run.st, new.run.st) == ("paused", "answered") and new.once != old.once
    if (starts or replies) and old.want <= old.taken:
        what = "A run starts" if starts else "A message answers the paused run"
        yield Reason(
            f"{what}, and no command has asked for more than was taken before.", ("run.st", "want", "taken")
        )


def i6_reply_answers(old: Snapshot, new: Snapshot, _: Owners) -> Iterator[Reason]:
    """Properties!I6_ReplyAnswers."""
    if new.once != old.once and new.run.st == "answered" and old.run.st != "paused":
        yield Reason(
            f"It consumes {counted(new.once ^ old.once)} as a reply, where no request is open.",
            ("once", "run.st"),
        )


def cursors_only_move_forward(old: Snapshot, new: Snapshot, _: Owners) -> Iterator[Reason]:
    """Properties!CursorsOnlyMoveForward."""
    for cursor, before, after in (("asked", old.asked, new.asked), ("taken", old.taken, new.taken)):
        if after < before:
            yield Reason(f"The cursor {cursor} goes back.", (cursor,))


def committed_is_asked(old: Snapshot, new: Snapshot, _: Owners) -> Iterator[Reason]:
    """Properties!CommittedIsAsked."""
    for name, task in old.task.items():
        commits = new.log != old.log and task.at == "idle" and new.task[name].at == "claim"
        if commits and new.asked != len(new.log):
            yield Reason(
                f"{name}'s command commits position {len(new.log)}, and asks for no more than {new.asked}.",
                ("log", "asked", f"task[{name}].at"),
            )


def runs_in_turn(old: Snapshot, new: Snapshot, _: Owners) -> Iterator[Reason]:
    """Properties!RunsInTurn."""
    if new.run == old.run:
        return
    places = ("run.st", "run.by")
    match old.run.st, new.run.st:
        case ("idle", "idle" | "active") | ("active", "idle") | ("paused", "paused" | "answered"):
            return
        case "active", "active":
            if new.run.by not in {old.run.by, "none"}:
                yield Reason("Another run starts as this one is active.", places)
        case "active", "paused":
            yield from _paused_by_another(old)
        case "answered", "active" | "answered":
            yield from _resumed_by_another(old, new)
        case before, after:
            yield Reason(f"A run that is {before} does not become {after}.", places)


def _paused_by_another(old: Snapshot) -> Iterator[Reason]:
    """A pause's part of RunsInTurn."""
    by = old.task.get(old.run.by)
    if by is None or by.at not in {"running", "pausing"}:
        places = ("run.st", "run.by", *((f"task[{old.run.by}].at",) if by else ()))
        yield Reason("The run pauses, and not by its own task as that runs.", places)


def _resumed_by_another(old: Snapshot, new: Snapshot) -> Iterator[Reason]:
    """A resume's part of RunsInTurn."""
    by = old.task.get(new.run.by)
    if by is None or by.at not in {"resume", "replied"}:
        places = ("run.st", "run.by", *((f"task[{new.run.by}].at",) if by else ()))
        yield Reason("The answered run gives way to another, and is not resumed.", places)


def held_run_left_alone(old: Snapshot, new: Snapshot, _: Owners) -> Iterator[Reason]:
    """DirectRuns!HeldRunLeftAlone."""
    for name, task in old.task.items():
        is_held = task.at == "direct" and old.lease == name and old.run.by == name
        if is_held and new.run != old.run and new.task[name] == task:
            yield Reason(
                f"{name} holds the thread for a run of its own, which somebody else ends.",
                ("run.st", "run.by", "lease", f"task[{name}].at"),
            )


def direct_run_not_abandoned(old: Snapshot, new: Snapshot, _: Owners) -> Iterator[Reason]:
    """DirectRuns!DirectRunNotAbandoned."""
    for name, task in old.task.items():
        lives = task.at == "direct" and old.run.by == name
        if lives and new.run.st == "idle" and new.task[name] == task:
            yield Reason(
                f"{name}'s own run lives, and is recorded as ended by somebody else.",
                ("run.st", "run.by", f"task[{name}].at"),
            )
