"""The steps that take a claim, keep it and give it up, and what each reads in the same transaction."""

from dataclasses import dataclass

from threadclaim.handover import Left
from threadclaim.plan import View
from threadclaim.steps.loads import hold_fast, load_left, load_view
from threadclaim.storage.protocol import Reading, Transaction, lease_name, taken_cursor


@dataclass(frozen=True, slots=True)
class Claimed:
    """The claim was granted; this is what its holder plans from."""

    view: View


@dataclass(frozen=True, slots=True)
class Refused:
    """ThreadClaim!Refused: another holds the claim."""


@dataclass(frozen=True, slots=True)
class NothingAsked:
    """ThreadClaim!NothingAsked: nothing is left to do, and no claim was made."""


@dataclass(frozen=True, slots=True)
class Claim:
    """ThreadClaim!Claim: take the thread's claim, if it is free and anything is left to do, and read.

    `ttl` is the claim's time to live in seconds.
    """

    thread_id: str
    holder: str
    ttl: float

    async def __call__(self, tx: Transaction) -> Claimed | Refused | NothingAsked:
        """Raises UnknownThread."""
        view = await load_view(tx, self.thread_id)
        if not view.is_left:
            return NothingAsked()
        if not await tx.acquire_lease(lease_name(self.thread_id), self.holder, self.ttl):
            return Refused()
        return Claimed(view)


@dataclass(frozen=True, slots=True)
class Replan:
    """ThreadClaim!Replan: read again, under the claim."""

    thread_id: str

    async def __call__(self, tx: Transaction) -> View:
        """Raises UnknownThread."""
        return await load_view(tx, self.thread_id)


@dataclass(frozen=True, slots=True)
class CountTaken:
    """ThreadClaim!CountTaken: with no message to consume, what was read counts as taken, and no more."""

    thread_id: str
    holder: str
    position: int

    async def __call__(self, tx: Transaction) -> None:
        """Raises ClaimLost."""
        await hold_fast(tx, self.thread_id, self.holder)
        await tx.save_cursor(taken_cursor(self.thread_id), self.position)


@dataclass(frozen=True, slots=True)
class Renew:
    """ThreadClaim!Renew: renew the claim for `ttl` seconds; False if it is gone (ThreadClaim!LoseClaim)."""

    thread_id: str
    holder: str
    ttl: float

    async def __call__(self, tx: Transaction) -> bool:
        """It takes nothing: a claim that has lapsed stays so."""
        return await tx.renew_lease(lease_name(self.thread_id), self.holder, self.ttl)


@dataclass(frozen=True, slots=True)
class Release:
    """ThreadClaim!Release: give up the claim, if it is this holder's, and read what is left to hand over."""

    thread_id: str
    holder: str

    async def __call__(self, tx: Transaction) -> Left:
        """Raises UnknownThread."""
        await tx.release_lease(lease_name(self.thread_id), self.holder)
        return await load_left(tx, self.thread_id)


@dataclass(frozen=True, slots=True)
class Looked:
    """What a look read: what is left, and whether the claim is held."""

    left: Left
    is_held: bool


@dataclass(frozen=True, slots=True)
class LookAgain(Reading):
    """ThreadClaim!LookAgain: read the positions and the claim, before claiming."""

    thread_id: str

    async def __call__(self, tx: Transaction) -> Looked:
        """Raises UnknownThread."""
        left = await load_left(tx, self.thread_id)
        return Looked(left, await tx.holder(lease_name(self.thread_id)) is not None)
