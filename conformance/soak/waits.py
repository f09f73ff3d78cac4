"""How long a thread waited after its holder was killed, against the two TTLs that the record promises. Pure.

ADR-0070: a message waits up to two `claim_ttl`s from its holder's death, if a process lives that was refused
and looks again; else from when a process starts, and sweeps. So a wait is measured from the later of the
holder's death and the first start after it of a process that lived to the end of the wait: what a process
that was itself killed meanwhile had promised, nobody could keep. It ends with the first write under a new
claim.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from conformance.soak.checker import consumed_by
from conformance.soak.story import Kill, Life, Story
from threadclaim.events import Envelope, RequestAnswered, RunEnded, RunPaused, RunStarted


@dataclass(frozen=True, slots=True)
class Wait:
    """A thread's wait: how many seconds, from when, and after whose death."""

    thread: str
    life: str
    since: float
    seconds: float


def waits(story: Story, ttl: float) -> list[Wait]:
    """Every wait of a thread whose holder was killed while something was left, or came, to do."""
    logs = {
        thread: entries
        for workspace in story.workspaces.values()
        for thread, entries in _by_thread(workspace.entries).items()
    }
    held = list(_held(story))
    found = ((kill, _wait(logs.get(thread, []), thread, kill, story.lives, ttl)) for kill, thread in held)
    return [wait for kill, wait in found if wait is not None and not _is_cut(wait, kill, held)]


def _is_cut(wait: Wait, kill: Kill, held: Sequence[tuple[Kill, str]]) -> bool:
    """Whether who took the thread next was killed too, before it wrote: its own death's wait is the one."""
    return any(
        thread == wait.thread and kill.at < other.at < wait.since + wait.seconds for other, thread in held
    )


def longest(all_waits: Sequence[Wait]) -> float:
    """The longest of them, in seconds."""
    return max((wait.seconds for wait in all_waits), default=0.0)


def _held(story: Story) -> Iterator[tuple[Kill, str]]:
    """Each claim that a kill left without a holder."""
    for kill in story.kills:
        for thread in kill.held:
            yield kill, thread


def _by_thread(entries: Sequence[Envelope]) -> dict[str, list[Envelope]]:
    """The entries of each thread."""
    found: dict[str, list[Envelope]] = {}
    for entry in entries:
        if entry.thread_id is not None:
            found.setdefault(entry.thread_id, []).append(entry)
    return found


def _wait(log: Sequence[Envelope], thread: str, kill: Kill, lives: Sequence[Life], ttl: float) -> Wait | None:
    """The wait after a kill; None if nothing came to do while the dead claim could stand, or to this day."""
    begins = _left_since(log, kill.at)
    if begins is None or begins > kill.at + ttl:
        return None
    ends = next((_at(e) for e in log if _at(e) > begins and _is_under_claim(e)), None)
    if ends is None:
        return None
    # A life that began after the death, and was there as the wait ended.
    starts = [
        life.up for life in lives if kill.at < life.up < ends and (life.died is None or life.died > ends)
    ]
    since = max(begins, min(starts, default=begins))
    return Wait(thread, kill.life, since, ends - since)


def _left_since(log: Sequence[Envelope], at: float) -> float | None:
    """From when on, at or after a time, a thread had something left to do; None if never."""
    unconsumed: set[int] = set()
    is_active = False
    for entry in log:
        if _at(entry) > at and (unconsumed or is_active):
            return at
        if entry.is_message:
            if _at(entry) > at:
                return _at(entry)
            unconsumed.add(entry.seq)
        unconsumed -= set(consumed_by(entry))
        is_active = _is_active_after(entry, is_active=is_active)
    return at if unconsumed or is_active else None


def _is_active_after(entry: Envelope, *, is_active: bool) -> bool:
    """Whether the thread's run is active once an entry is there."""
    if isinstance(entry.event, RunStarted):
        return True
    return is_active and not isinstance(entry.event, RunPaused | RunEnded)


def _is_under_claim(entry: Envelope) -> bool:
    """Whether only a holder writes such an entry."""
    if isinstance(entry.event, RequestAnswered):
        return entry.event.message_seq is not None
    return isinstance(entry.event, RunStarted | RunEnded | RunPaused)


def _at(entry: Envelope) -> float:
    """When an entry was written."""
    return entry.at.timestamp()
