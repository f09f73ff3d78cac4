"""What the words in lanes, columns and notes mean: each variable, as spec/ThreadClaim.tla has it."""

from collections.abc import Iterable, Mapping

WORDS: Mapping[str, str] = {
    "log": "the thread's messages (msg) and notes, each with its position",
    "asked": "how far somebody wants the thread carried out: a position in the log",
    "taken": "how far it has been carried out",
    "run": "the thread's last run: idle, active, paused or answered; by its task, until that lets go of it",
    "claim": "who holds the thread: a task, free, or dead until it lapses",
    "at": "first in a lane: what the task does next",
    "cmd": "whether the task is a caller's, who may be cancelled",
    "pos": "the position of the task's input, or the head that it read; then how far its watcher is",
    "fed": "the messages that the task's start will consume; then those that its watcher delivered",
    "seen": "asked, as the task last read it",
    "due": "what the task hands over: all that is asked, or what is newer than it has seen",
    "look": "the process's timer to look at the thread again: for all, for what is newer, or no timer",
    "lost": "a note: whether the task's claim was lost as it ran",
    "read": "a note: asked, as the task did last read it",
    "failed": "a note: whether the task failed, having consumed nothing",
    "once": "a note: the messages that a write to the log consumed",
    "twice": "a note: those consumed more than once",
    "given": "a note: the messages that were given to an agent's model",
    "again": "a note: those given more than once, without an excuse",
    "excused": "a note: steering that was given and not recorded, as its run died or its claim was lost",
    "unheard": "a note: messages consumed by a write whose task never heard of it",
    "want": "a note: the furthest position that a command asked for",
    "waits": "a note: how far a failed turn left what was asked to the next command",
    "broke": "a note: whether a process died or a release failed, so that a look may be all there is",
    "faults": "how many more crashes, lapses, cancellations and failures may come; 99 is any number",
}
"""Each word, with what it means, in the order in which they are told."""

_SHOWN_AS = {"lease": "claim"}
_GROUPS = frozenset({"run", "faults"})


def word_of(place: str) -> str:
    """Return the word by which a place of a state is shown: `pos` for `task[p1].pos`, `claim` for `lease`."""
    variable, field = place.partition("[")[0].partition(".")[0], place.rpartition(".")[2]
    if variable in _GROUPS:
        return variable
    if variable == "look" and field == "due":
        return "look"
    return _SHOWN_AS.get(field, field)


def meanings(places: Iterable[str]) -> dict[str, str]:
    """Return what each word means by which these places are shown; another model's variable has no word."""
    shown = {word_of(place) for place in places}
    return {word: meaning for word, meaning in WORDS.items() if word in shown}
