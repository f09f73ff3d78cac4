"""The runner: commands that commit and ask, claimants that carry out, hand-overs, looks and sweeps."""

import asyncio
import contextvars
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Self, TypeVar

from threadclaim.answers import check_answers
from threadclaim.claim import is_cancelled
from threadclaim.claimant import Claimant, as_failure
from threadclaim.door import check_function, check_own_storage, check_storage, check_turn
from threadclaim.errors import RequestError, RunnerClosed, UsedMessageId, WrongType, kind_of
from threadclaim.events import AnyAnswer, Envelope, MessagePosted
from threadclaim.handover import ALL, Leaving
from threadclaim.limits import check_claim_ttl, check_id, check_seconds, check_text
from threadclaim.looks import Looks
from threadclaim.run import Means, RunHandle, TurnContext
from threadclaim.steps import Answer, Ask, Send
from threadclaim.storage.common import new_id
from threadclaim.storage.protocol import Scope, Step, Storage
from threadclaim.telemetry import current_traceparent, log_for
from threadclaim.turn import Turn
from threadclaim.workspace import Workspace

T = TypeVar("T")

SWEEPS_AT_ONCE = 16
"""How many threads a sweep claims, and whose turns it has set up, at once."""

NOTHING_READ = Leaving("newer")
"""As whoever fails having read nothing leaves."""

CLAIM_TTL = 30.0
"""How long a claim stands without a renewal, in seconds, unless a runner is told otherwise."""


@dataclass(frozen=True, slots=True)
class Sent:
    """What a command came to.

    `committed` is what it committed: a message, or answers. `run` is the run that it started, which may
    consume an older message first; None if the thread's holder will hand the thread over to the turn that
    consumes it, or, if that holder died, a look will take it (ADR-0055, ADR-0070).
    """

    committed: tuple[Envelope, ...]
    run: RunHandle | None

    @property
    def message(self) -> Envelope:
        """The message that was sent."""
        return self.committed[0]


class Runner:
    """Runs an agent in threads, so that each message is carried out once.

    Any number of runners, in any number of processes, may serve the same threads of one storage: a thread has
    one holder at a time (ADR-0055, ADR-0069). A runner belongs to the event loop that it is first used in.
    Use it with `async with`, or `aclose` it. Each command refuses what is no workspace (WrongType), and a
    workspace of another storage (RequestError).
    """

    def __init__(  # noqa: PLR0913  # each is an option of its own, by keyword
        self,
        agent: Turn,
        storage: Storage,
        *,
        claim_ttl: float = CLAIM_TTL,
        turn_context: TurnContext | None = None,
        close_within: float = 10.0,
        new_id: Callable[[], str] = new_id,
    ) -> None:
        """A runner of `agent` over `storage`.

        Args:
            agent: What carries out a turn: `PydanticAITurn(agent)` for an agent of pydantic-ai's.
            storage: Where the threads live; other runners may serve them from it too.
            claim_ttl: The claims' time to live, in seconds: how long a dead process's thread waits.
            turn_context: What the application sets up around each turn, under the claim. If it raises, the
                turn consumes nothing (ADR-0055 I4).
            close_within: How long `aclose` waits for storage, in seconds.
            new_id: Gives the ids of messages, runs and holders, each of them new to the storage.

        Raises:
            WrongType: if one of these is something else: a bare agent of pydantic-ai's, say.
            LimitError: if `claim_ttl` or `close_within` is against the table of limits.
        """
        check_turn(agent)
        check_storage(storage)
        check_claim_ttl(claim_ttl)
        check_seconds("close_within", close_within)
        check_function("turn_context", turn_context, "a TurnInput, and gives an async context manager")
        check_function("new_id", new_id, "nothing, and gives a new id")
        self._means = Means(storage, agent, claim_ttl, turn_context, new_id)
        self._looks = Looks(storage, claim_ttl, self._take_for_a_look)
        self._claimants: dict[Claimant, asyncio.Task[None]] = {}
        self._close_within = close_within
        self._closed = False
        self._loop: asyncio.AbstractEventLoop | None = None

    # ---- Commands: what each commits and its ask are one write (DESIGN.md, section 2).

    async def send(
        self, workspace: Workspace, thread_id: str, text: str, *, message_id: str | None = None
    ) -> Sent:
        """Send a message to a thread, as the workspace's actor, and have it carried out (ADR-0055).

        It starts a run if the thread is idle, steers the run if one is going, and answers it if it is paused:
        then **its text declines what waits for approval** (I6). Whatever is refused has committed nothing.
        If storage or turn_context raises, or the caller is cancelled, the message may be committed: it is
        carried out then all the same (ADR-0047).

        Args:
            workspace: The workspace, as the actor who sends.
            thread_id: The thread.
            text: What is to be carried out.
            message_id: Used once in a workspace (ADR-0045), so that a retry is no second message: it is
                refused, and the first is carried out, if it was left. Without one it is given one.

        Returns:
            The message, and the run that it started, if it did.

        Raises:
            UnknownThread: if there is no such thread.
            UsedMessageId: if the id is used; its `repeats` is the first, if this is the same message.
            LimitError: if a text or an id is against the limits.
            RunnerClosed: if the runner is closed.
        """
        self._check_open(workspace)
        check_id("thread", thread_id)
        check_text(text)
        if message_id is not None:
            check_id("message", message_id)
        message = MessagePosted(message_id or self._means.new_id(), text)
        posted, run = await self._command(workspace, thread_id, Send(thread_id, message, workspace.actor))
        return Sent((posted,), run)

    async def answer(self, workspace: Workspace, thread_id: str, answers: Mapping[str, AnyAnswer]) -> Sent:
        """Answer open requests of a paused run; it resumes once every request is answered (ADR-0020).

        A run that resumes acts for whoever answered last (ADR-0057). Anybody may answer: who may, the
        application decides. Whatever is refused has committed nothing.

        Args:
            workspace: The workspace, as the actor who answers.
            thread_id: The thread.
            answers: One answer or several, by their requests' ids (`Thread.open_requests`).

        Returns:
            The answers, and the run that they resumed, if they did.

        Raises:
            UnknownThread: if there is no such thread.
            UnknownRequest: if its run has no such request.
            SettledRequest: if one is answered already, or its run is over.
            WrongAnswer: if one does not fit its request, or its form's schema.
            LimitError: if an answer says what JSON cannot.
            RequestError: if there is no answer.
            RunnerClosed: if the runner is closed.
        """
        self._check_open(workspace)
        check_id("thread", thread_id)
        check_answers(answers)
        step = Answer(thread_id, answers, workspace.actor)
        committed, run = await self._command(workspace, thread_id, step)
        return Sent(tuple(committed), run)

    async def resume(self, workspace: Workspace, thread_id: str) -> RunHandle | None:
        """Have carried out whatever the thread's log holds that is not taken: ask up to the log's head.

        So a message that was posted without a runner (I5) is carried out at once. It asks nothing of the
        handle's actor.

        Args:
            workspace: The workspace.
            thread_id: The thread.

        Returns:
            The run that it started, or resumed; None if there was nothing to do, or another holds the thread.

        Raises:
            UnknownThread: if there is no such thread.
            RunnerClosed: if the runner is closed.
        """
        self._check_open(workspace)
        check_id("thread", thread_id)
        _, run = await self._command(workspace, thread_id, Ask(thread_id))
        return run

    async def stop(self, workspace: Workspace, thread_id: str) -> bool:
        """Stop the thread's run, if it is one of this process, and wait until its end is recorded.

        A turn that is still being set up ends too, having consumed nothing (ADR-0055 I4). What is left is
        handed over; the hand-over is not stopped. A run of another process goes on: ask each replica.

        Args:
            workspace: The workspace.
            thread_id: The thread.

        Returns:
            Whether there was a run of this process.

        Raises:
            RunLeft: if the runner is closed meanwhile, and the run does not end in time.
        """
        self._check_workspace(workspace)
        own = (workspace.scope, thread_id)
        halted = [each for each in self._claimants if (each.scope, each.thread_id) == own]
        running = [claimant.run for claimant in halted if claimant.run is not None and claimant.is_running]
        for claimant in halted:
            claimant.halt()
        for run in running:
            await run.wait()
        return bool(running)

    def running(self, workspace: Workspace, thread_id: str) -> RunHandle | None:
        """The thread's run, if it goes on in this process (ADR-0042).

        Args:
            workspace: The workspace.
            thread_id: The thread.

        Returns:
            The run; None if there is none here. Another process may have one: the thread tells.
        """
        self._check_workspace(workspace)
        for claimant in self._claimants:
            if claimant.is_running and (claimant.scope, claimant.thread_id) == (workspace.scope, thread_id):
                return claimant.run
        return None

    async def recover(self, workspace: Workspace) -> list[RunHandle]:
        """Sweep a workspace: carry out what is asked and not taken, and see to runs that dead processes left.

        Call it for each workspace as the application starts, and on a schedule if you like: it is
        idempotent, and any replica may (ADR-0070). It asks nothing of the handle's actor. A thread that is
        claimed, by a dead holder even, is looked at again; one whose turn fails to start is logged, and the
        sweep goes on. If storage raises as it lists the threads, so does this: until a call succeeds, count
        the process as not started.

        Args:
            workspace: The workspace.

        Returns:
            The runs that it started. Nobody need wait for them.

        Raises:
            RunnerClosed: if the runner is closed, or is closed meanwhile.
        """
        self._check_open(workspace)
        try:
            stranded = await self._means.storage.stranded(workspace.scope)
        except asyncio.CancelledError as error:  # nobody's, if nobody cancels the caller: storage failed
            if is_cancelled():
                raise
            raise as_failure(error) from error
        turns = asyncio.Semaphore(SWEEPS_AT_ONCE)  # one that is slow to set up holds up no other
        async with asyncio.TaskGroup() as group:
            sweep = self._sweep
            sweeps = [group.create_task(sweep(workspace.scope, left, turns)) for left in stranded.left]
        runs = [run for swept in sweeps if (run := swept.result()) is not None]
        if self._closed:
            raise RunnerClosed("This runner was closed as it swept; the threads that were left are left so.")
        return runs

    async def _sweep(self, scope: Scope, thread_id: str, turns: asyncio.Semaphore) -> RunHandle | None:
        """Carry one stranded thread out; one thread's failure, logged, is no other's."""
        async with turns:
            if self._closed:
                return None
            try:
                return await self._carry_out(scope, thread_id, context=contextvars.Context())
            except Exception:  # noqa: BLE001  # whatever it failed of
                log_for(thread_id).exception("A thread's turn failed to start; the sweep goes on.")
                return None

    # ---- Its end.

    async def drain(self) -> None:
        """Wait until no hand-over is pending; not for a run that goes on, nor for a look (ADR-0070)."""
        while pending := [claimant for claimant in self._claimants if not claimant.is_running]:
            await asyncio.wait([self._claimants[c] if c.started.done() else c.started for c in pending])

    async def aclose(self) -> None:
        """Close the runner: it starts nothing from now on, and hands nothing over (ADR-0055).

        It cancels hand-overs and looks (ADR-0070), stops the process's runs, records their ends, and
        releases their claims. What storage does not answer within `close_within` seconds, and a run that
        does not end in that time, as a tool in a thread may not, is left as by a crash: its claim lapses by
        itself. Calling it again does nothing new.
        """
        self._closed = True
        waits: set[asyncio.Task[None]] = self._looks.close()
        for claimant in list(self._claimants):
            claimant.halt()
        waits |= set(self._claimants.values())
        if waits:
            await asyncio.wait(waits, timeout=self._close_within)
        for claimant, task in list(self._claimants.items()):
            claimant.give_up()
            task.cancel()

    async def __aenter__(self) -> Self:
        """The runner, which is open."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        await self.aclose()

    # ---- What carries out.

    def _check_workspace(self, workspace: Workspace) -> None:
        """Raise WrongType for what is no workspace, and RequestError for one of another storage."""
        if not isinstance(workspace, Workspace):
            raise WrongType(
                f"The workspace is {kind_of(workspace)}. Give a handle to one: "
                "Workspaces(storage).workspace(tenant, workspace, actor)."
            )
        check_own_storage(workspace.storage, self._means.storage)

    def _check_open(self, workspace: Workspace) -> None:
        """As `_check_workspace`; RunnerClosed if it is closed, RuntimeError in a loop that is not its own."""
        self._check_workspace(workspace)
        if self._closed:
            raise RunnerClosed
        loop = asyncio.get_running_loop()
        self._loop = self._loop or loop
        if self._loop is not loop:
            raise RuntimeError(
                "This runner belongs to another event loop, where its claims and looks are. "
                "Make one for each loop."
            )

    async def _command(
        self, workspace: Workspace, thread_id: str, step: Step[T]
    ) -> tuple[T, RunHandle | None]:
        """Commit, and carry out. A failed write may have taken effect: what it asked for is handed over."""
        scope = workspace.scope
        try:
            committed = await self._means.storage.transact(scope, step)
        except UsedMessageId as used:
            if used.repeats is not None and not self._closed:
                # What the first send asked for may have been left: a retry sees to it, as a sweep would.
                self._begin(Claimant(self._means, scope, thread_id), contextvars.Context())
            raise
        except RequestError:
            raise
        except asyncio.CancelledError as error:
            leaving = ALL if is_cancelled() else NOTHING_READ
            self._break_off(scope, thread_id, leaving)
            if leaving is NOTHING_READ:
                raise as_failure(error) from error
            raise
        except Exception:
            self._break_off(scope, thread_id, NOTHING_READ)
            raise
        return committed, await self._carry_out(scope, thread_id)

    def _break_off(self, scope: Scope, thread_id: str, leaving: Leaving) -> None:
        """Hand over what a command may have asked for whose write broke off; a closed runner leaves it."""
        if not self._closed:
            self._begin(Claimant(self._means, scope, thread_id, broken_off=leaving))

    async def _carry_out(
        self, scope: Scope, thread_id: str, context: contextvars.Context | None = None
    ) -> RunHandle | None:
        """Claim the thread, for a caller who may be cancelled; a runner closed meanwhile starts nothing."""
        if self._closed:
            return None
        command = current_traceparent() if context is None else None
        claimant = Claimant(self._means, scope, thread_id, command=command)
        self._begin(claimant, context)
        try:
            return await asyncio.shield(claimant.started)
        except asyncio.CancelledError:
            claimant.abandon_caller()
            raise

    def _take_for_a_look(self, scope: Scope, thread_id: str, asked: int) -> None:
        """Claim the thread, as a look that has read how far is asked, in the look's own context."""
        self._begin(Claimant(self._means, scope, thread_id, seen=asked))

    def _begin(self, claimant: Claimant, context: contextvars.Context | None = None) -> None:
        """Start a claimant's task, which nobody cancels but a closed runner that has waited long enough."""
        task = asyncio.get_running_loop().create_task(
            self._see_through(claimant), name=f"claimant of {claimant.thread_id}", context=context
        )
        self._claimants[claimant] = task
        task.add_done_callback(lambda _: self._claimants.pop(claimant, None))

    async def _see_through(self, claimant: Claimant) -> None:
        """Let a claimant carry out its turn; then look again, or hand over, in a task of the runner's own."""
        left = await claimant.carry_out()
        if claimant.looks is not None:
            self._looks.arm(claimant.scope, claimant.thread_id, claimant.looks)
        if left is not None and not self._closed:
            self._begin(
                Claimant(self._means, claimant.scope, claimant.thread_id, seen=left.asked),
                contextvars.Context(),
            )
