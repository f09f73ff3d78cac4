"""A claim that is held: renewed every third of its time to live.

It is lost once no renewal has succeeded for all of that time.
"""

import asyncio
import logging
from collections.abc import Callable

from threadclaim.steps import Renew
from threadclaim.storage.protocol import Scope, Storage

_log = logging.getLogger(__name__)

RENEWALS_IN_A_TTL = 3


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
        self.lost = False
        self._storage, self._scope, self._on_lost = storage, scope, on_lost
        self._deadline: asyncio.TimerHandle | None = None
        self._renewals: asyncio.Task[None] | None = None

    def keep(self, asked_at: float) -> None:
        """Begin to renew a claim that was granted to a call made at `asked_at`, the loop's time."""
        self._expect(asked_at)
        name = f"renewals of {self.thread_id}"
        self._renewals = asyncio.get_running_loop().create_task(self._renew(), name=name)

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
        """The claim is gone."""
        if not self.lost:
            self.lost = True
            self.let_go()
            self._on_lost()

    async def _renew(self) -> None:
        """Renew, again and again. ThreadClaim!Renew, ThreadClaim!LoseClaim."""
        loop = asyncio.get_running_loop()
        while not self.lost:
            await asyncio.sleep(self.ttl / RENEWALS_IN_A_TTL)
            asked_at = loop.time()
            try:
                renewed = await self._storage.transact(
                    self._scope, Renew(self.thread_id, self.holder, self.ttl)
                )
            except (Exception, asyncio.CancelledError):  # the claim may yet stand: until its deadline
                if is_cancelled():
                    raise
                _log.warning(
                    "Renewing the claim failed; it is tried again.", exc_info=True, extra=self._extra
                )
                continue
            if renewed:
                self._expect(asked_at)
            else:
                self._lose()

    @property
    def _extra(self) -> dict[str, str]:
        """What a log record says of the claim."""
        return {"thread_id": self.thread_id, "holder": self.holder}


def is_cancelled() -> bool:
    """Whether somebody cancels the current task: else a CancelledError is a failure (ADR-0055 I4)."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
