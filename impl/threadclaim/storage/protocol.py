"""What a storage must do: transactions of a scope one after another, leases, and a log that can be followed.

A storage knows nothing of claims, turns or runs beyond what a row of a thread tells. The protocol's steps are
written once, in `threadclaim.steps`, against `Transaction`; each is one call of `Storage.transact`.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from threadclaim.events import Actor, Envelope, Event
from threadclaim.thread import Thread

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

UPGRADED = "artifactr.runner/upgraded"
"""The cursor that migration 0005 saves: nothing from before it is ever consumed (ADR-0055 I7)."""

_PREFIX = "artifactr.runner/"


def asked_cursor(thread_id: str) -> str:
    """The name of the cursor that says how far a thread is asked for (ADR-0055)."""
    return f"{_PREFIX}{thread_id}/asked"


def taken_cursor(thread_id: str) -> str:
    """The name of the cursor that says how far a thread is taken (ADR-0055)."""
    return f"{_PREFIX}{thread_id}/taken"


def lease_name(thread_id: str) -> str:
    """The name of the lease that is a thread's claim."""
    return f"{_PREFIX}{thread_id}/claim"


def thread_of_lease(name: str) -> str | None:
    """The thread whose claim a lease is; None for every other lease."""
    before, after = lease_name("\0").split("\0")
    thread_id = name.removeprefix(before).removesuffix(after)
    return thread_id if name == lease_name(thread_id) else None


@dataclass(frozen=True, slots=True, order=True)
class Scope:
    """One tenant's workspace: the unit of isolation, ordering and locking."""

    tenant: str
    workspace: str


@dataclass(frozen=True, slots=True)
class Stranded:
    """The threads of a scope that a sweep is for, oldest first.

    `left` have more asked than taken, or a run that is active or answered; `waiting` have more asked than
    taken too, but wait for a form's own answer, so that a sweep would find nothing to do.
    """

    left: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()


class Transaction(Protocol):
    """One transaction of a scope, which no other of that scope runs beside.

    What it loads cannot change before it ends, and includes what it has written. If its step raises, nothing
    that it wrote is kept.
    """

    async def head(self) -> int:
        """The seq of the log's last entry; 0 if it is empty."""

    async def thread(self, thread_id: str) -> Thread | None:
        """The thread, folded from its events; None if there is none."""

    async def cursor(self, name: str) -> int | None:
        """The seq that a cursor is saved at; None if it never was."""

    async def told(self, thread_id: str) -> int:
        """The log's head as the thread's last history was saved: what its agent was last told; 0 if never."""

    async def history(self, thread_id: str) -> Sequence[bytes]:
        """The thread's history, oldest first."""

    async def read(
        self,
        *,
        after_seq: int = 0,
        before_seq: int | None = None,
        threads: Sequence[str] | None = None,
        limit: int | None = None,
        last: bool = False,
    ) -> Sequence[Envelope]:
        """The entries past `after_seq` and before `before_seq`, of `threads` or of all, oldest first.

        At most `limit`: the first of them, or with `last` the last.
        """

    async def is_used(self, message_id: str) -> bool:
        """Whether a message, or a notice, of the workspace has this id."""

    async def append(
        self, event: Event, *, actor: Actor, thread_id: str | None = None, run_id: str | None = None
    ) -> Envelope:
        """Commit an event: it has the next seq, the storage's time, and the current traceparent."""

    async def save_cursor(self, name: str, seq: int) -> None:
        """Save a cursor. It only moves forward: a lower `seq` leaves what is saved."""

    async def save_history(self, thread_id: str, chunk: bytes) -> None:
        """Add to a thread's history, with the log's head as it will be when this transaction is committed."""

    async def holder(self, name: str) -> str | None:
        """Who holds a lease, if it has not lapsed by the storage's clock; None if nobody does."""

    async def acquire_lease(self, name: str, holder: str, ttl: float) -> bool:
        """Take a lease that is free or has lapsed, for `ttl` seconds; whether it was. It renews nothing."""

    async def renew_lease(self, name: str, holder: str, ttl: float) -> bool:
        """Renew a lease that is this holder's and has not lapsed; whether it was. It takes nothing."""

    async def release_lease(self, name: str, holder: str) -> bool:
        """Give up a lease if it is this holder's; whether it was, lapsed or not."""


class Step(Protocol[T_co]):
    """A step of the protocol: what one transaction does. Its class has the name of the model's action."""

    async def __call__(self, tx: Transaction, /) -> T_co:
        """Load, decide and write; whatever it raises rolls the transaction back.

        It changes nothing but the transaction: a storage may run it anew, if it certainly kept nothing.
        """


class Reading:
    """A base of steps that read, and write nothing: such a step needs no turn of its scope.

    A storage may run it beside others, on what was committed at one time during the call.
    """

    __slots__ = ()


Released = Callable[[Scope, str], None]
"""Told of a lease, by its name, that was given up in a scope. It must not raise or wait."""


class Storage(Protocol):
    """Where workspaces live."""

    async def transact(self, scope: Scope, step: Step[T]) -> T:
        """Run a step in one transaction of `scope`, and return what it returned.

        A call that is cancelled runs to its end first; then the cancellation is raised, so it may have taken
        effect. What the step raises is raised, and nothing is kept; what else is raised may have taken
        effect.
        """

    def subscribe(self, scope: Scope, after_seq: int) -> AsyncIterator[Envelope]:
        """Every entry past `after_seq`, in order: what there is, then what comes, with no gap between."""

    async def stranded(self, scope: Scope) -> Stranded:
        """The threads that a sweep is for, read without reading every thread."""

    def on_release(self, told: Released) -> Callable[[], None]:
        """Tell `told` of each lease given up, as far as this storage hears of it; returns how to stop.

        It is a hint: nothing may rest on it.
        """

    async def aclose(self) -> None:
        """Give up what it holds open. Calling it again does nothing."""
