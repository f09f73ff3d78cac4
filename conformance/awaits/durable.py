"""What is durable of a thread, read as a state of the model has it; and which of those the model reaches.

Positions are counted as the model counts them: messages, and notes (`conformance.state` says more).
"""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from conformance.model.model import Model
from conformance.model.search import renamings
from conformance.model.state import Constants, State
from threadclaim.events import MessagePosted, RequestAnswered
from threadclaim.steps.loads import load_taken, load_thread
from threadclaim.storage.protocol import Transaction, asked_cursor, lease_name
from threadclaim.thread import RunStatus


class Durable(NamedTuple):
    """The durable part of a state: the log, both positions, whether the thread is claimed, and its run."""

    log: tuple[str, ...]
    asked: int
    taken: int
    is_claimed: bool
    run: str


@dataclass(frozen=True, slots=True)
class ReadDurable:
    """Read it, in one transaction."""

    thread_id: str

    async def __call__(self, tx: Transaction) -> Durable:
        """Raises UnknownThread."""
        entries = [e for e in await tx.read() if isinstance(e.event, MessagePosted | RequestAnswered)]
        seqs = [entry.seq for entry in entries]
        run = (await load_thread(tx, self.thread_id)).run
        return Durable(
            tuple("msg" if entry.is_message else "note" for entry in entries),
            bisect_right(seqs, await tx.cursor(asked_cursor(self.thread_id)) or 0),
            bisect_right(seqs, await load_taken(tx, self.thread_id)),
            await tx.holder(lease_name(self.thread_id)) is not None,
            "idle" if run is None or run.status is RunStatus.ENDED else run.status.value,
        )


def durable_of(state: State) -> Durable:
    """The durable part of a state of the model."""
    return Durable(state.log, state.asked, state.taken, state.lease != "free", state.run.st)


@cache
def reached(fault: str, messages: int, notes: int, crashes: int) -> frozenset[Durable]:
    """What the model reaches with so many messages, and answers, and one fault of a kind.

    A kind is `crash`, `lapse`, `cancel` or `fail`; before it there may have been so many crashes.
    """
    bounds = {"max_msgs": messages, "max_notes": notes, "max_crash": crashes}
    bounds[f"max_{fault}"] = bounds.get(f"max_{fault}", 0) + 1
    model = Model(Constants.of(1, 2, **bounds))
    return frozenset(map(durable_of, _states(model)))


def _states(model: Model) -> Iterator[State]:
    """Every state that the model reaches, of those that are the same but for names the first."""
    same = renamings(model.constants)
    level = [model.init()]
    known = set(level)
    while level:
        yield from level
        following: list[State] = []
        for state in level:
            for _, _, after in model.successors(state):
                if after not in known and not any(rename(after) in known for rename in same):
                    known.add(after)
                    following.append(after)
        level = following
