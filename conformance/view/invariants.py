"""Properties of one state, as spec/Properties.tla has them: what breaks them, in a sentence and by place.

Each function has its property's name in lower case, and yields a `Reason` for each thing that breaks it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from conformance.view.snapshot import Snapshot, Task

RUNS = frozenset({"running", "ending", "pausing"})
HAS_PLAN = frozenset({"prompt", "resume", "replied", "replan", "abandon", "reply", "count"})
HAS_CLAIM = HAS_PLAN | RUNS | {"release"}
RUN_STATES = frozenset({"idle", "active", "paused", "answered"})


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a property is broken: in a sentence, and the places whose values break it."""

    sentence: str
    places: tuple[str, ...]


Owners = Mapping[str, str]
"""Each task's process."""


def counted(numbers: Iterable[int]) -> str:
    """Return `message 1`, or `messages 1 and 2`."""
    ordered = [str(number) for number in sorted(numbers)]
    if len(ordered) == 1:
        return f"message {ordered[0]}"
    return f"messages {', '.join(ordered[:-1])} and {ordered[-1]}"


def type_ok(now: Snapshot, _: Owners) -> Iterator[Reason]:
    """Properties!TypeOK, but for the bounds of a cfg, which no trace has."""
    yield from _type_of_log(now)
    yield from _type_of_run(now)
    for name, task in now.task.items():
        yield from _type_of_task(now, name, task)
    for name, look in now.look.items():
        if look.due not in {"no", "all", "newer"}:
            yield Reason("A look is due no, all or newer.", (f"look[{name}].due",))
    for ghost in ("once", "twice", "given", "again", "excused", "unheard"):
        if not getattr(now, ghost) <= now.messages:
            yield Reason(f"The ghost {ghost} holds positions of messages only.", (ghost, "log"))


def _type_of_log(now: Snapshot) -> Iterator[Reason]:
    """The log's and the cursors' part of TypeOK."""
    if not set(now.log) <= {"msg", "note"}:
        yield Reason("The log holds messages and notes only.", ("log",))
    for cursor, seq in (("asked", now.asked), ("taken", now.taken)):
        if not 0 <= seq <= len(now.log):
            yield Reason(
                f"The cursor {cursor} is at {seq}, and the log ends at {len(now.log)}.", (cursor, "log")
            )


def _type_of_run(now: Snapshot) -> Iterator[Reason]:
    """The claim's and the run's part of TypeOK."""
    if now.lease not in {*now.task, "free", "dead"}:
        yield Reason("The claim is a task's, or free, or dead.", ("lease",))
    if now.run.st not in RUN_STATES:
        yield Reason("A run is idle, active, paused or answered.", ("run.st",))
    if now.run.by != "none" and (now.run.st != "active" or now.run.by not in now.task):
        yield Reason("Only an active run is by a task.", ("run.st", "run.by"))


def _type_of_task(now: Snapshot, name: str, task: Task) -> Iterator[Reason]:
    """One task's part of TypeOK."""
    place = f"task[{name}]"
    if task.at not in HAS_CLAIM | {"idle", "claim", "down"}:
        yield Reason(f"{name} is about to do what no task does.", (f"{place}.at",))
    if not task.fed <= now.messages:
        yield Reason(f"{name} has been fed what is no message.", (f"{place}.fed", "log"))
    if task.due not in {"", "all", "newer"} or (task.due != "") != (task.at == "release"):
        yield Reason(
            f"Something is due exactly as {name} releases: all, or newer.", (f"{place}.due", f"{place}.at")
        )


def i1_consumed_at_most_once(now: Snapshot, _: Owners) -> Iterator[Reason]:
    """Properties!I1_ConsumedAtMostOnce."""
    if now.twice:
        yield Reason(f"Log writes have consumed {counted(now.twice)} more than once.", ("twice", "once"))
    if now.again:
        yield Reason(
            f"A model was given {counted(now.again)} more than once, and nothing excuses it.",
            ("again", "given", "excused"),
        )


def i1_consumed_is_given(now: Snapshot, _: Owners) -> Iterator[Reason]:
    """Properties!I1_ConsumedIsGiven."""
    if missing := now.once - now.given - now.unheard:
        yield Reason(
            f"A log write has consumed {counted(missing)}, which no model was given.",
            ("once", "given", "unheard"),
        )


def i2_consumed_with_its_write(now: Snapshot, _: Owners) -> Iterator[Reason]:
    """Properties!I2_ConsumedWithItsWrite."""
    past = {seq for seq in now.messages if seq <= now.taken}
    if unconsumed := past - now.once:
        yield Reason(f"taken is past {counted(unconsumed)}, which no write has consumed.", ("taken", "once"))
    if ahead := (now.once & now.messages) - past:
        yield Reason(f"A write has consumed {counted(ahead)}, and taken is not past it.", ("taken", "once"))


def i3_claim_has_a_task(now: Snapshot, _: Owners) -> Iterator[Reason]:
    """Properties!I3_ClaimHasATask."""
    holder = now.task.get(now.lease)
    if holder is not None and holder.at not in HAS_CLAIM:
        yield Reason(
            f"{now.lease} holds the claim, and has no step left that would release it.",
            ("lease", f"task[{now.lease}].at"),
        )


def i3_one_active_run(now: Snapshot, _: Owners) -> Iterator[Reason]:
    """Properties!I3_OneActiveRun."""
    for name, task in now.task.items():
        if task.at != "running":
            continue
        if now.lease == name and (now.run.st, now.run.by) != ("active", name):
            yield Reason(
                f"{name} runs and holds the claim, and the thread's run is not its own.",
                (f"task[{name}].at", "lease", "run.st", "run.by"),
            )
        elif now.lease != name and not task.lost:
            yield Reason(
                f"{name} runs without the claim, which did not lapse as it ran.",
                (f"task[{name}].at", f"task[{name}].lost", "lease"),
            )


def is_stranded(now: Snapshot) -> bool:
    """Properties!Stranded."""
    return now.is_left and not now.is_excused


def is_down(now: Snapshot, process: str, owners: Owners) -> bool:
    """ThreadClaim!Down."""
    return all(task.at == "down" for name, task in now.task.items() if owners[name] == process)


def i3_no_stranded_ask(now: Snapshot, owners: Owners) -> Iterator[Reason]:
    """Properties!I3_NoStrandedAsk."""
    has_task = any(task.at not in {"idle", "down"} for task in now.task.values())
    has_look = any(look.due != "no" or is_down(now, name, owners) for name, look in now.look.items())
    if not is_stranded(now) or has_task or (now.broke and has_look):
        return
    left = (
        f"Asked for up to {now.asked}, and taken up to {now.taken}"
        if now.asked > now.taken
        else f"The thread's run is {now.run.st}"
    )
    after = (
        "and no process has a look or is to start again."
        if now.broke
        else "and no process has died, and no release has failed, so that a look would do."
    )
    tasks = tuple(f"task[{name}].at" for name in now.task)
    yield Reason(
        f"{left}: but no task will see to it, {after}", ("asked", "taken", "run.st", *tasks, "waits", "broke")
    )


def claims_find_work(now: Snapshot, _: Owners) -> Iterator[Reason]:
    """Properties!ClaimsFindWork."""
    for name, task in now.task.items():
        if task.at == "count":
            yield Reason(
                f"{name} has made a claim, and finds nothing but positions to count.",
                (f"task[{name}].at", "asked", "taken"),
            )
