"""Leases: exclusive until they lapse; taking, renewing and giving up are three things."""

from collections.abc import Awaitable, Callable

import pytest

from threadclaim.storage import Scope, Storage, Transaction

pytestmark = pytest.mark.anyio

Lapse = Callable[[Scope, str], Awaitable[None]]
TTL = 600.0


class Leases:
    """A scope's leases, each call a transaction."""

    def __init__(self, storage: Storage, scope: Scope) -> None:
        """Of this scope."""
        self._storage, self._scope = storage, scope

    async def acquire(self, name: str, holder: str) -> bool:
        """Take a lease."""

        async def step(tx: Transaction) -> bool:
            return await tx.acquire_lease(name, holder, TTL)

        return await self._storage.transact(self._scope, step)

    async def renew(self, name: str, holder: str) -> bool:
        """Renew a lease."""

        async def step(tx: Transaction) -> bool:
            return await tx.renew_lease(name, holder, TTL)

        return await self._storage.transact(self._scope, step)

    async def release(self, name: str, holder: str) -> bool:
        """Give a lease up."""

        async def step(tx: Transaction) -> bool:
            return await tx.release_lease(name, holder)

        return await self._storage.transact(self._scope, step)

    async def holder(self, name: str) -> str | None:
        """Who holds a lease."""

        async def step(tx: Transaction) -> str | None:
            return await tx.holder(name)

        return await self._storage.transact(self._scope, step)


@pytest.fixture
def leases(storage: Storage, scope: Scope) -> Leases:
    """The scope's leases."""
    return Leases(storage, scope)


async def test_lease_is_exclusive(leases: Leases) -> None:
    """A lease that is held is taken by nobody, its own holder included, who can renew it."""
    assert await leases.holder("l") is None
    assert await leases.acquire("l", "ann")
    assert await leases.holder("l") == "ann"
    assert not await leases.acquire("l", "ben")
    assert not await leases.acquire("l", "ann")
    assert await leases.renew("l", "ann")
    assert await leases.holder("l") == "ann"


async def test_only_the_holder_renews(leases: Leases) -> None:
    """A renewal by another is refused, and so is one of a lease that nobody holds: it takes nothing."""
    assert not await leases.renew("l", "ann")
    assert await leases.holder("l") is None
    await leases.acquire("l", "ann")
    assert not await leases.renew("l", "ben")
    assert await leases.holder("l") == "ann"


async def test_only_the_holder_releases(leases: Leases) -> None:
    """A release by another is refused; once released, a lease is free, and is not released again."""
    await leases.acquire("l", "ann")
    assert not await leases.release("l", "ben")
    assert await leases.holder("l") == "ann"
    assert await leases.release("l", "ann")
    assert await leases.holder("l") is None
    assert not await leases.release("l", "ann")
    assert await leases.acquire("l", "ben")


async def test_lapsed_lease_is_held_by_nobody(leases: Leases, lapse: Lapse, scope: Scope) -> None:
    """A lease that has lapsed has no holder, is not renewed even though nobody took it, and can be taken."""
    await leases.acquire("l", "ann")
    await lapse(scope, "l")
    assert await leases.holder("l") is None
    assert not await leases.renew("l", "ann")
    assert await leases.holder("l") is None
    assert await leases.acquire("l", "ben")
    assert await leases.holder("l") == "ben"


async def test_lapsed_lease_is_taken_again_by_its_holder(leases: Leases, lapse: Lapse, scope: Scope) -> None:
    """Who held a lapsed lease may take it, as anybody may."""
    await leases.acquire("l", "ann")
    await lapse(scope, "l")
    assert await leases.acquire("l", "ann")
    assert await leases.holder("l") == "ann"


async def test_lapsed_lease_is_released_by_its_holder(leases: Leases, lapse: Lapse, scope: Scope) -> None:
    """Giving up one's own lease works, lapsed or not; it is not one's own once another has taken it."""
    await leases.acquire("l", "ann")
    await lapse(scope, "l")
    assert await leases.release("l", "ann")
    await leases.acquire("l", "ann")
    await lapse(scope, "l")
    await leases.acquire("l", "ben")
    assert not await leases.release("l", "ann")
    assert await leases.holder("l") == "ben"


async def test_renewal_after_lapse_use_and_release(leases: Leases, lapse: Lapse, scope: Scope) -> None:
    """A stalled holder's renewal does not take back a lease that lapsed, was used by another and released."""
    await leases.acquire("l", "ann")
    await lapse(scope, "l")
    await leases.acquire("l", "ben")
    await leases.release("l", "ben")
    assert not await leases.renew("l", "ann")
    assert await leases.holder("l") is None


async def test_leases_have_names(leases: Leases, lapse: Lapse, scope: Scope) -> None:
    """What happens to one lease happens to no other."""
    await leases.acquire("l", "ann")
    await leases.acquire("L", "ben")
    await lapse(scope, "l")
    assert await leases.holder("L") == "ben"
    assert await leases.release("L", "ben")
    assert await leases.acquire("l", "ben")


async def test_transaction_sees_its_own_leases(storage: Storage, scope: Scope) -> None:
    """A lease that a transaction takes, renews or gives up is so at once, for what it loads after."""

    async def step(tx: Transaction) -> list[object]:
        return [
            await tx.acquire_lease("l", "ann", TTL),
            await tx.acquire_lease("l", "ben", TTL),
            await tx.holder("l"),
            await tx.renew_lease("l", "ann", TTL),
            await tx.release_lease("l", "ann"),
            await tx.release_lease("l", "ann"),
            await tx.holder("l"),
            await tx.acquire_lease("l", "ben", TTL),
            await tx.holder("l"),
        ]

    assert await storage.transact(scope, step) == [True, False, "ann", True, True, False, None, True, "ben"]


async def test_release_is_told_after_its_commit(storage: Storage, scope: Scope, leases: Leases) -> None:
    """Whoever asked is told of each lease that was given up, and of no other call; until they stop."""
    told: list[tuple[Scope, str]] = []
    stop = storage.on_release(lambda scope, name: told.append((scope, name)))
    await leases.acquire("l", "ann")
    await leases.renew("l", "ann")
    await leases.release("l", "ben")
    assert told == []
    await leases.release("l", "ann")
    assert told == [(scope, "l")]
    stop()
    stop()
    await leases.acquire("l", "ann")
    await leases.release("l", "ann")
    assert told == [(scope, "l")]


async def test_release_that_is_rolled_back_is_not_told(
    storage: Storage, scope: Scope, leases: Leases
) -> None:
    """A release whose transaction fails has not happened: nobody is told, and the lease is held."""
    told: list[str] = []
    storage.on_release(lambda _, name: told.append(name))
    await leases.acquire("l", "ann")

    async def step(tx: Transaction) -> None:
        await tx.release_lease("l", "ann")
        raise ValueError("on purpose")

    with pytest.raises(ValueError, match="on purpose"):
        await storage.transact(scope, step)
    assert told == []
    assert await leases.holder("l") == "ann"
