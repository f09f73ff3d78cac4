"""Claimants that leave otherwise once they have failed, or were stopped; and what they read then."""

import asyncio
from dataclasses import dataclass

from threadclaim.claimant import Claimant
from threadclaim.handover import ALL, Leaving
from threadclaim.storage.protocol import Transaction, asked_cursor


class Telling(Claimant):
    """A claimant that may leave otherwise than the library's, once it has failed, or was stopped."""

    has_planned = False
    """Whether it came to its plan: else it was broken off as it claimed."""
    _ended_of: BaseException | None = None

    def _check(self) -> None:
        super()._check()
        self.has_planned = True

    async def _claim_and_turn(self) -> Leaving | None:
        try:
            return await super()._claim_and_turn()
        except BaseException as error:
            self._ended_of = error
            raise

    async def _hold(self) -> Leaving | None:
        leaving = await super()._hold()
        if self._broken_off == ALL:  # its command was cancelled, as its write took effect
            return await self.instead(asyncio.CancelledError(), ALL)
        if leaving is None or self._ended_of is None:
            return leaving
        return await self.instead(self._ended_of, leaving)

    @property
    def is_cancelled(self) -> bool:
        """Whether its caller was cancelled, as it waited for a claimant or for the command's own write."""
        return self._abandoned or self._broken_off == ALL

    async def instead(self, error: BaseException, leaving: Leaving) -> Leaving | None:
        """How it leaves that ended of `error`, where the library's leaves as `leaving` says."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class _ReadAsked:
    """Read how far a thread is asked for."""

    thread_id: str

    async def __call__(self, tx: Transaction) -> int:
        """It raises nothing of its own."""
        return await tx.cursor(asked_cursor(self.thread_id)) or 0


async def asked_now(claimant: Claimant) -> int:
    """How far is asked as this is called: read past the process's gates, so as no step of its own."""
    storage = claimant._means.storage
    inner = getattr(storage, "_inner", storage)
    asked: int = await inner.transact(claimant.scope, _ReadAsked(claimant.thread_id))
    return asked
