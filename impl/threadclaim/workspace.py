"""What applications hold: the workspaces of a storage, and a handle to one of them, for one actor."""

import asyncio
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Literal, TypeVar

from threadclaim.claim import HeldClaim
from threadclaim.door import check_function, check_storage
from threadclaim.errors import RequestError, ThreadBusy, WrongType, kind_of
from threadclaim.events import Actor, Custom, Envelope, Event, MessagePosted, ToolCalled, ToolReturned
from threadclaim.limits import (
    check_actor,
    check_claim_ttl,
    check_id,
    check_position,
    check_text,
    check_title,
    event_json,
)
from threadclaim.steps import Post
from threadclaim.storage.protocol import UPGRADED, Scope, Step, Storage
from threadclaim.telemetry import log_for
from threadclaim.thread import Thread
from threadclaim.workspace_steps import (
    CreateThread,
    HoldThread,
    LetThread,
    Read,
    ReadCursor,
    ReadHead,
    ReadThread,
    Record,
)

T = TypeVar("T")

Own = ToolCalled | ToolReturned | Custom
"""The events that an application commits itself; the others only the runner commits."""

RESERVED = UPGRADED.removesuffix("upgraded")
"""How the names of the runner's own cursors begin; an application's may not."""


def new_id() -> str:
    """An id that is nobody else's."""
    return uuid.uuid4().hex


@dataclass(frozen=True, slots=True)
class HeldThread:
    """A thread's claim, while its caller holds it (`Workspace.claim_thread`).

    `holder` is who holds it: pass it as `claim` to what is to be refused once it is gone. `lost` is set when
    a renewal finds it gone, or none has succeeded for its whole time to live: then stop what relies on it.
    """

    thread_id: str
    holder: str
    lost: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(frozen=True, slots=True)
class Workspaces:
    """The workspaces of a storage. `new_id` gives the ids of threads, messages and holders that have none."""

    storage: Storage
    new_id: Callable[[], str] = new_id

    def __post_init__(self) -> None:
        """Raise WrongType for what is no storage."""
        check_storage(self.storage)
        check_function("new_id", self.new_id, "nothing, and gives a new id")

    def workspace(self, tenant: str, workspace: str, actor: Actor) -> "Workspace":
        """A tenant's workspace, as `actor`. It need not exist: it begins with what is committed to it first.

        Raises LimitError for an id that no storage could keep.
        """
        check_id("tenant", tenant)
        check_id("workspace", workspace)
        check_actor(actor)
        return Workspace(self.storage, Scope(tenant, workspace), actor, self.new_id)


@dataclass(frozen=True, slots=True)
class Workspace:
    """One workspace, as `actor`, who is on the envelope of all that is committed with it.

    Whatever it refuses (RequestError) has changed nothing. What a storage raises may have taken effect, and
    so may a call that was cancelled. A thread of another workspace is unknown here, whatever its id.
    """

    storage: Storage
    scope: Scope
    actor: Actor
    new_id: Callable[[], str] = new_id

    def as_actor(self, actor: Actor) -> "Workspace":
        """The same workspace, as another actor. Raises LimitError."""
        check_actor(actor)
        return replace(self, actor=actor)

    def check(self, *, thread_id: str | None = None, message: MessagePosted | None = None) -> None:
        """Accept a thread's id, and a message; else raise LimitError. Nothing is read."""
        if thread_id is not None:
            check_id("thread", thread_id)
        if message is not None:
            check_id("message", message.message_id)
            check_text(message.text)

    async def create_thread(self, thread_id: str | None = None, title: str = "") -> Thread:
        """Begin a thread, of a new id unless one is given. Raises UsedThreadId or LimitError."""
        chosen = self.new_id() if thread_id is None else thread_id
        self.check(thread_id=chosen)
        check_title(title)
        return await self._transact(CreateThread(chosen, title, self.actor))

    async def thread(self, thread_id: str) -> Thread:
        """The thread as it stands: its run, and what that waits for. Raises UnknownThread or LimitError."""
        self.check(thread_id=thread_id)
        return await self._transact(ReadThread(thread_id))

    async def post_message(
        self,
        thread_id: str,
        text: str,
        *,
        message_id: str | None = None,
        kind: Literal["message", "notice"] = "message",
    ) -> Envelope:
        """Commit a message and ask for nothing (I5): it starts no turn, and the thread's next consumes it.

        A notice is no turn's input at all. To have a message carried out, send it with a runner. Without a
        `message_id` it is given one. Raises UnknownThread, UsedMessageId or LimitError; RequestError for
        another `kind`.
        """
        if kind not in ("message", "notice"):
            raise RequestError(f"There is no kind {kind!r} of message. Post a 'message' or a 'notice'.")
        message = MessagePosted(self.new_id() if message_id is None else message_id, text, kind)
        self.check(thread_id=thread_id, message=message)
        return await self._transact(Post(thread_id, message, self.actor))

    async def commit(
        self,
        event: Event,
        *,
        thread_id: str | None = None,
        cursor: tuple[str, int] | None = None,
        claim: str | None = None,
    ) -> Envelope:
        """Commit an event of the application's own. `record` says the rest."""
        return (await self.record([event], thread_id=thread_id, cursor=cursor, claim=claim))[0]

    async def record(
        self,
        events: Sequence[Event],
        *,
        thread_id: str | None = None,
        cursor: tuple[str, int] | None = None,
        claim: str | None = None,
    ) -> Sequence[Envelope]:
        """Commit events of the application's own (`Custom`, `ToolCalled`, `ToolReturned`), all or none.

        `cursor`, a name and a seq, is saved in the same transaction, and only moves forward. With `claim`, a
        holder, all is refused (ClaimLost) unless that holder holds the thread.

        Raises UnknownThread or LimitError; RequestError for an event that only the runner commits, a cursor
        of the runner's own, or a claim without a thread.
        """
        if isinstance(events, Own):
            raise WrongType(f"The events are {kind_of(events)}. Give a list of them; `commit` takes one.")
        for event in events:
            _check_own(event)
        if cursor is not None:
            _check_cursor(*cursor)
        if thread_id is None and claim is not None:
            raise RequestError("A claim is of a thread, and none was given. Give the thread's id with it.")
        if claim is not None and not isinstance(claim, str):
            raise WrongType(f"The claim is {kind_of(claim)}. Give its holder: `held.holder`.")
        self.check(thread_id=thread_id)
        return await self._transact(Record(tuple(events), self.actor, thread_id, cursor, claim))

    async def cursor(self, name: str) -> int | None:
        """The seq that a cursor is saved at, or None if it never was. Raises LimitError."""
        check_id("cursor", name)
        return await self._transact(ReadCursor(name))

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

        At most `limit`: the first of them, or with `last` the last. A thread that is unknown has no entries.
        Raises LimitError for a number below 0.
        """
        bounds = {"after_seq": after_seq, "before_seq": before_seq, "limit": limit}
        for what, value in bounds.items():
            if value is not None:
                check_position(what, value)
        if isinstance(threads, str):
            raise RequestError(f"threads is the str {threads!r}. Give a list of threads' ids.")
        for thread_id in threads or ():
            self.check(thread_id=thread_id)
        return await self._transact(Read(after_seq, before_seq, threads, limit, last))

    def subscribe(self, after_seq: int = 0) -> AsyncIterator[Envelope]:
        """Every entry past `after_seq`, in order: what there is, then what comes, with no gap between.

        Raises LimitError. Leaving it, or cancelling whoever follows it, leaves nothing behind.
        """
        check_position("after_seq", after_seq)
        return self.storage.subscribe(self.scope, after_seq)

    async def head(self) -> int:
        """The seq of the log's last entry; 0 if it is empty."""
        return await self._transact(ReadHead())

    def claim_thread(self, thread_id: str, *, ttl: float = 30.0) -> AbstractAsyncContextManager[HeldThread]:
        """Hold a thread around a run that is made without the runner: `async with …claim_thread(id) as held`.

        The claim is renewed every third of `ttl`, its time to live in seconds, and released however the block
        is left. No runner starts a run meanwhile, and none takes the run in the block for a dead one. **A run
        made directly without it cannot be told from a dead run**: the thread's next claimant records it as
        abandoned, while it lives (DESIGN.md, repair j).

        It hands nothing over, as there is no runner here to hand to (repair o). What was asked meanwhile is
        taken by the runners that were refused, which look again within their `claim_ttl`, by the thread's
        next command, or by `Runner.recover`.

        Raises LimitError at once; as it is entered, UnknownThread, or ThreadBusy if another holds the thread.
        Entering it leaves no claim behind if it is cancelled or fails. A release that fails is logged, and
        the claim lapses by itself.
        """
        self.check(thread_id=thread_id)
        check_claim_ttl(ttl)
        return self._hold(HeldThread(thread_id, self.new_id()), ttl)

    @asynccontextmanager
    async def _hold(self, held: HeldThread, ttl: float) -> AsyncGenerator[HeldThread]:
        """Take the claim, keep it, and give it up."""
        claim = HeldClaim(self.storage, self.scope, held.thread_id, held.holder, ttl, held.lost.set)
        asked_at = asyncio.get_running_loop().time()
        await self._take(held, ttl)
        try:
            claim.keep(asked_at)
            yield held
        finally:
            claim.let_go()
            await self._let(held)

    async def _take(self, held: HeldThread, ttl: float) -> None:
        """Take the claim. A call that was cancelled, or failed, may have: give it up first (#250)."""
        try:
            await self._transact(HoldThread(held.thread_id, held.holder, ttl))
        except (RequestError, ThreadBusy):
            raise  # refused: there is nothing to give up
        except BaseException:
            await self._let(held)
            raise

    async def _let(self, held: HeldThread) -> None:
        """Give the claim up. A failure is logged, so that it does not hide what the block came to."""
        try:
            await self._transact(LetThread(held.thread_id, held.holder))
        except Exception:  # noqa: BLE001  # whatever a storage raises, the claim lapses
            log_for(held.thread_id, holder=held.holder).warning(
                "Releasing the claim failed; it is left to lapse.", exc_info=True
            )

    async def _transact(self, step: Step[T]) -> T:
        """Run a step in one transaction of this workspace."""
        return await self.storage.transact(self.scope, step)


def _check_own(event: Event) -> None:
    """Accept an event that an application may commit itself; else raise RequestError."""
    if not isinstance(event, Own):
        raise RequestError(
            f"A {type(event).__name__} is not the application's to commit. Create threads with "
            "create_thread; post messages with post_message, or send them with a runner. What is said of "
            "runs and answers only the runner commits: an answer without its ask would resume nothing."
        )
    event_json(event)


def _check_cursor(name: str, seq: int) -> None:
    """Accept a cursor that an application may save; else raise RequestError."""
    check_id("cursor", name)
    check_position("The cursor's seq", seq)
    if name.startswith(RESERVED):
        raise RequestError(
            f"The cursor {name!r} is the runner's own. Choose a name that does not begin {RESERVED!r}."
        )
