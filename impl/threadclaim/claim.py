"""A claim that is held: renewed every third of its time to live.

It is lost once no renewal has succeeded for all of that time.
"""

import asyncio
import contextvars
from collections.abc import Callable
from contextlib import suppress

from threadclaim.steps import Renew
from threadclaim.storage.protocol import Scope, Storage
from threadclaim.telemetry import log_for

RENEWALS_IN_A_TTL = 3
RETRIES_IN_A_TTL = 12
"""How often a renewal that failed would be tried again in a time to live."""


class HeldClaim:
    """A thread's claim while one task holds it (ADR-0055, context 0042).

    `lost` is whether it is gone: a renewal found it so, or none succeeded for a whole `ttl`, by the loop's
    clock and counted from before each call. It then calls `on_lost`, once, and is never renewed again.
    """

    def __init__(  # noqa: PLR0913, PLR0917  # a lease's call has four of them, and its loss has one
        self,
        storage: Storage,
        scope: Scope,
        thread_id: str,
        holder: str,
        ttl: float,
        on_lost: Callable[[], None],
    ) -> None:
        """Hold nothing yet; `ttl` is in seconds."""
        self.thread_id, self.holder, self.ttl = thread_id, holder, ttl
        self._gone = asyncio.Event()
        self._storage, self._scope, self._on_lost = storage, scope, on_lost
        self._deadline: asyncio.TimerHandle | None = None
        self._renewals: asyncio.Task[None] | None = None

    @property
    def lost(self) -> bool:
        """Whether the claim is gone."""
        return self._gone.is_set()

    async def lost_within(self, seconds: float) -> bool:
        """Wait for so long, or until the claim is lost; whether it is."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._gone.wait()
        return self.lost

    def keep(self, asked_at: float) -> None:
        """Begin to renew a claim that was granted to a call made at `asked_at`, the loop's time."""
        self._expect(asked_at)
        self._renewals = asyncio.get_running_loop().create_task(
            self._renew(),
            name=f"renewals of {self.thread_id}",
            context=contextvars.Context(),  # the runner's own work, in no trace of a command's
        )

    def let_go(self) -> None:
        """Renew no more. A renewal under way goes on to its end, which takes nothing back."""
        if self._deadline is not None:
            self._deadline.cancel()
        if self._renewals is not None:
            self._renewals.cancel()

    def _expect(self, asked_at: float) -> None:
        """Count the time to live from a call made at `asked_at`."""
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = asyncio.get_running_loop().call_at(asked_at + self.ttl, self._lose)

    def _lose(self) -> None:
        """The claim is gone. ThreadClaim!LoseClaim; by this process's own clock, ThreadClaim!LetGo."""
        if not self.lost:
            self._gone.set()
            self.let_go()
            self._on_lost()

    async def _renew(self) -> None:
        """Renew, again and again; one that failed is tried again sooner. ThreadClaim!Renew."""
        pause = self.ttl / RENEWALS_IN_A_TTL
        while not self.lost:
            await asyncio.sleep(pause)
            asked_at = asyncio.get_running_loop().time()
            renewed = await self._renewed()
            pause = self.ttl / (RENEWALS_IN_A_TTL if renewed else RETRIES_IN_A_TTL)
            if renewed:
                self._expect(asked_at)
            elif renewed is False:
                self._lose()

    async def _renewed(self) -> bool | None:
        """Whether the claim stands, or None if storage did not say: it may yet stand, until its deadline."""
        try:
            return await self._storage.transact(self._scope, Renew(self.thread_id, self.holder, self.ttl))
        except (Exception, asyncio.CancelledError):
            if is_cancelled():
                raise
            log_for(self.thread_id, holder=self.holder).warning(
                "Renewing the claim failed; it is tried again.", exc_info=True
            )
            return None


def is_cancelled() -> bool:
    """Whether somebody cancels the current task: else a CancelledError is a failure (ADR-0055 I4)."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
