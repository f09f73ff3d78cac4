"""What applications hold: the workspaces of a storage, and a handle to one of them, for one actor."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Literal, TypeVar

from threadclaim.claim import HeldClaim
from threadclaim.door import check_function, check_record, check_storage
from threadclaim.errors import RequestError, ThreadBusy
from threadclaim.events import Actor, Envelope, Event, MessagePosted
from threadclaim.limits import (
    check_actor,
    check_claim_ttl,
    check_id,
    check_position,
    check_text,
    check_title,
)
from threadclaim.steps import Post
from threadclaim.storage.common import new_id
from threadclaim.storage.protocol import Scope, Step, Storage
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

        Nothing is checked of the tenant: whoever may name one is in it (ADR-0005).

        Args:
            tenant: The tenant's id.
            workspace: The workspace's id: the same in another tenant is another workspace.
            actor: Who acts with the handle: `PersonActor("ann")`, say.

        Returns:
            A handle. It costs nothing, so make one for each request.

        Raises:
            LimitError: for an id that no storage could keep.
            WrongType: for what is no id, or no actor.
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
        """The same workspace, as another actor.

        Args:
            actor: Who acts with the handle that is returned.

        Returns:
            Another handle.

        Raises:
            LimitError: for an id that no storage could keep.
            WrongType: for what is no actor.
        """
        check_actor(actor)
        return replace(self, actor=actor)

    def check(self, *, thread_id: str | None = None, message: MessagePosted | None = None) -> None:
        """Accept what is given; nothing is read.

        Args:
            thread_id: A thread's id.
            message: A message.

        Raises:
            LimitError: if one is against the limits.
            WrongType: if one is something else.
        """
        if thread_id is not None:
            check_id("thread", thread_id)
        if message is not None:
            check_id("message", message.message_id)
            check_text(message.text)

    async def create_thread(self, thread_id: str | None = None, title: str = "") -> Thread:
        """Begin a thread.

        Args:
            thread_id: Its id, used once in a workspace; without one it is given one.
            title: Its title, for lists; it may be empty.

        Returns:
            The thread.

        Raises:
            UsedThreadId: if there is one of this id already.
            LimitError: if the id or the title is against the limits.
        """
        chosen = self.new_id() if thread_id is None else thread_id
        self.check(thread_id=chosen)
        check_title(title)
        return await self._transact(CreateThread(chosen, title, self.actor))

    async def thread(self, thread_id: str) -> Thread:
        """The thread as it stands: its run, and what that waits for (`open_requests`).

        Args:
            thread_id: The thread.

        Returns:
            The thread, folded from its events (ADR-0019).

        Raises:
            UnknownThread: if there is none of this id.
            LimitError: if the id is against the limits.
        """
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
        """Commit a message and ask for nothing (ADR-0055 I5): the thread's next turn consumes it.

        It starts no turn; in a paused thread the next command takes it for the reply (I6). To have a message
        carried out, send it with a runner.

        Args:
            thread_id: The thread.
            text: What it says.
            message_id: As for `Runner.send`.
            kind: A "notice" is no turn's input (ADR-0051): agents may be told of it beside their prompt.

        Returns:
            The message as it was committed.

        Raises:
            UnknownThread: if there is no such thread.
            UsedMessageId: if the id is used; its `repeats` is the first, if this is the same message.
            LimitError: if a text or an id is against the limits.
            RequestError: for another kind.
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
        """Commit an event of the application's own: `record` says the rest.

        Args:
            event: The event.
            thread_id: As for `record`, like `cursor` and `claim`.
            cursor: See there.
            claim: See there.

        Returns:
            It as it was committed.
        """
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

        Args:
            events: The events, in order.
            thread_id: The thread that they are of; none for the workspace's own.
            cursor: A name and a seq, saved in the same transaction (ADR-0055); it only moves forward.
            claim: A holder, `held.holder` say: all is refused unless it holds the thread (ADR-0069).

        Returns:
            They as they were committed.

        Raises:
            UnknownThread: if there is no such thread.
            ClaimLost: if `claim` holds the thread no more.
            LimitError: if an event, or the cursor, is against the limits.
            RequestError: for an event that only the runner commits, a cursor of the runner's own, or a claim
                without a thread.
        """
        check_record(events, thread_id, cursor, claim)
        self.check(thread_id=thread_id)
        return await self._transact(Record(tuple(events), self.actor, thread_id, cursor, claim))

    async def cursor(self, name: str) -> int | None:
        """Where a cursor of the application's is (ADR-0055): it is saved with `commit` or `record`.

        Args:
            name: The cursor's name.

        Returns:
            The seq that it is saved at, or None if it never was.

        Raises:
            LimitError: if the name is against the limits.
        """
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
        """Read a window of the log, oldest entry first; `subscribe` follows it (ADR-0019).

        It is what a client shows at first: `read(threads=["t"], limit=50, last=True)`, and older ones with
        `before_seq`. Read no more than you need: without a `limit` it is all of it.

        Args:
            after_seq: Only entries past this one.
            before_seq: Only entries before this one.
            threads: Only entries of these threads; without it, of all, and of none.
            limit: At most so many: the first of them.
            last: The last of them instead.

        Returns:
            The entries.

        Raises:
            LimitError: for a number below 0, or an id against the limits.
            RequestError: for a str where a list of ids is expected.
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
        """Every entry past `after_seq`, in order: what there is, then what comes, without a gap (ADR-0021).

        It never ends by itself. Leaving it, or cancelling whoever follows it, leaves nothing behind.

        Args:
            after_seq: The last entry that the client has; 0 for all.

        Returns:
            An iterator over the workspace's entries, of all threads.

        Raises:
            LimitError: for what is no position.
        """
        check_position("after_seq", after_seq)
        return self.storage.subscribe(self.scope, after_seq)

    async def head(self) -> int:
        """The seq of the log's last entry; 0 if it is empty."""
        return await self._transact(ReadHead())

    def claim_thread(self, thread_id: str, *, ttl: float = 30.0) -> AbstractAsyncContextManager[HeldThread]:
        """Hold a thread around a run that is made without the runner: `async with …claim_thread(id) as held`.

        The claim is renewed every third of `ttl`, and released however the block is left. No runner starts a
        run meanwhile, and none takes the run in the block for a dead one. **A run made directly without it
        cannot be told from a dead run**: the thread's next claimant records it as abandoned, while it lives
        (DESIGN.md, repair j).

        It hands nothing over, as there is no runner here to hand to (repair o). What was asked meanwhile is
        taken by the runners that were refused, which look again within their `claim_ttl` (ADR-0070), by the
        thread's next command, or by `Runner.recover`.

        Args:
            thread_id: The thread.
            ttl: The claim's time to live, in seconds.

        Returns:
            What to enter; entering it takes the claim, and gives a `HeldThread`. It leaves no claim behind if
            it is cancelled or fails. A release that fails is logged, and the claim lapses by itself.

        Raises:
            LimitError: at once, if the id or the time is against the limits.
            UnknownThread: as it is entered, if there is no such thread.
            ThreadBusy: as it is entered, if another holds it.
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
