"""Properties of how a trace goes on for ever, in spec/Properties.tla: what breaks them.

`P ~> Q` is broken where P holds once, and Q neither then nor later; later is also all of the loop, again and
again. `[]<>Q` is `~Q ~> Q`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from conformance.view.invariants import RUNS, Owners, Reason, is_down, is_stranded
from conformance.view.snapshot import Snapshot

Predicate = Callable[[Snapshot, Owners], bool]


@dataclass(frozen=True, slots=True)
class Lasso:
    """A trace's states, and the index of the one that comes after the last."""

    states: Sequence[Snapshot]
    loop: int
    owners: Owners


@dataclass(frozen=True, slots=True)
class Never:
    """What never comes: why, and the index of the first state from which on it does not."""

    reason: Reason
    since: int


def never_after(lasso: Lasso, once: Predicate, then: Predicate) -> int | None:
    """Return the first index where `once` holds, and `then` neither there nor later; None if none is."""
    waiting: int | None = None
    for index, state in enumerate(lasso.states):
        if then(state, lasso.owners):
            waiting = None
        elif waiting is None and once(state, lasso.owners):
            waiting = index
    comes_again = any(then(state, lasso.owners) for state in lasso.states[lasso.loop :])
    return None if comes_again else waiting


def _leads_to(lasso: Lasso, once: Predicate, then: Predicate, reason: Reason) -> Iterator[Never]:
    """Yield what breaks `once ~> then`."""
    since = never_after(lasso, once, then)
    if since is not None:
        yield Never(reason, since)


def _again(lasso: Lasso, holds: Predicate, reason: Reason) -> Iterator[Never]:
    """Yield what breaks `[]<>holds`."""
    yield from _leads_to(lasso, lambda now, owners: not holds(now, owners), holds, reason)


def _settled(now: Snapshot) -> int:
    """Up to where what was asked is taken, or left to the next command."""
    return max(now.taken, now.waits)


def asked_is_taken(lasso: Lasso) -> Iterator[Never]:
    """Properties!AskedIsTaken."""
    last = lasso.states[-1]
    yield from _again(
        lasso,
        lambda now, _: now.asked <= _settled(now),
        Reason(
            f"Up to {last.asked} stays asked for, and no more than up to {last.taken} is ever taken.",
            ("asked", "taken", "waits", *_what_might_take(last)),
        ),
    )


def _unconsumed(now: Snapshot) -> frozenset[int]:
    """Properties!Unconsumed."""
    return frozenset(seq for seq in now.messages if now.waits < seq <= now.asked) - now.once


def sent_is_taken(lasso: Lasso) -> Iterator[Never]:
    """Properties!SentIsTaken."""
    last = lasso.states[-1]
    left = ", ".join(map(str, sorted(_unconsumed(last))))
    yield from _again(
        lasso,
        lambda now, _: not _unconsumed(now),
        Reason(
            f"Of the messages asked for, {left} is never consumed.",
            ("log", "asked", "taken", "once", "waits"),
        ),
    )


def refused_is_taken(lasso: Lasso) -> Iterator[Never]:
    """Properties!RefusedIsTaken."""
    last = lasso.states[-1]
    for process in last.look:
        yield from _leads_to(
            lasso,
            _is_refused(process),
            _is_taken_or_down(process),
            Reason(
                f"{process} was refused and lives, and what is asked is never taken.",
                ("asked", "taken", "run.st", f"look[{process}].due", *_what_might_take(last)),
            ),
        )


def _is_refused(process: str) -> Predicate:
    """What RefusedIsTaken begins with."""
    return lambda now, _: now.look[process].due == "all" and is_stranded(now)


def _is_taken_or_down(process: str) -> Predicate:
    """What RefusedIsTaken leads to."""
    return lambda now, owners: not is_stranded(now) or is_down(now, process, owners)


def replied_resumes(lasso: Lasso) -> Iterator[Never]:
    """Properties!RepliedResumes."""
    yield from _again(
        lasso,
        lambda now, _: now.run.st != "answered" or now.is_excused,
        Reason(
            "The run's requests are answered, and it never resumes.",
            ("run.st", "waits", *_what_might_take(lasso.states[-1])),
        ),
    )


def _is_dead(now: Snapshot) -> bool:
    """Properties!Dead."""
    by = now.task.get(now.run.by)
    return now.run.st == "active" and (by is None or by.at not in RUNS)


def dead_run_ends(lasso: Lasso) -> Iterator[Never]:
    """Properties!DeadRunEnds."""
    yield from _again(
        lasso,
        lambda now, _: not _is_dead(now) or now.is_excused,
        Reason(
            "No task carries the active run any more, and it is never recorded as ended.",
            ("run.st", "run.by", "waits", *_what_might_take(lasso.states[-1])),
        ),
    )


def i4_never_spins(lasso: Lasso) -> Iterator[Never]:
    """Properties!I4_NeverSpins."""
    loop = lasso.states[lasso.loop :]
    busy = sorted({name for now in loop for name, task in now.task.items() if task.at != "idle"})
    if busy:
        yield Never(
            Reason(
                f"The loop comes round for ever, and {' and '.join(busy)} is never at rest for good.",
                tuple(f"task[{name}].at" for name in busy),
            ),
            lasso.loop,
        )


def _what_might_take(now: Snapshot) -> tuple[str, ...]:
    """The places that say whether a task or a look is left."""
    return (*(f"task[{name}].at" for name in now.task), *(f"look[{name}].due" for name in now.look))
