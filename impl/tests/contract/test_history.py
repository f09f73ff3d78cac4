"""History: opaque chunks, oldest first, and the log's head as the last was committed."""

import pytest

from threadclaim.events import Custom, PersonActor
from threadclaim.storage import Scope, Storage, Transaction

pytestmark = pytest.mark.anyio

ANN = PersonActor("ann")
CHUNK = bytes(range(256))


async def told_and_history(storage: Storage, scope: Scope, thread_id: str) -> tuple[int, list[bytes]]:
    """What a thread's agent was last told, and its history."""

    async def step(tx: Transaction) -> tuple[int, list[bytes]]:
        return await tx.told(thread_id), list(await tx.history(thread_id))

    return await storage.transact(scope, step)


async def test_no_history(storage: Storage, scope: Scope) -> None:
    """A thread without history has none, and was told nothing."""
    assert await told_and_history(storage, scope, "t") == (0, [])


async def test_history_comes_oldest_first(storage: Storage, scope: Scope) -> None:
    """Chunks are given back as they are, in the order that they were saved, in one transaction or several."""

    async def two(tx: Transaction) -> None:
        await tx.save_history("t", CHUNK)
        await tx.save_history("t", b"")

    async def one(tx: Transaction) -> None:
        await tx.save_history("t", b"last")
        await tx.save_history("u", b"another thread's")

    await storage.transact(scope, two)
    await storage.transact(scope, one)
    assert (await told_and_history(storage, scope, "t"))[1] == [CHUNK, b"", b"last"]
    assert (await told_and_history(storage, scope, "u"))[1] == [b"another thread's"]


async def test_told_is_the_head_as_committed(storage: Storage, scope: Scope) -> None:
    """A chunk has the head with all that its transaction appends; later entries move no `told`."""

    async def step(tx: Transaction) -> None:
        await tx.append(Custom("before"), actor=ANN)
        await tx.save_history("t", CHUNK)
        await tx.append(Custom("after"), actor=ANN)

    async def later(tx: Transaction) -> None:
        await tx.append(Custom("later"), actor=ANN)

    await storage.transact(scope, step)
    assert (await told_and_history(storage, scope, "t"))[0] == 2
    await storage.transact(scope, later)
    assert (await told_and_history(storage, scope, "t"))[0] == 2
    await storage.transact(scope, step)
    assert (await told_and_history(storage, scope, "t"))[0] == 5
    assert (await told_and_history(storage, scope, "u"))[0] == 0


async def test_transaction_sees_its_own_history(storage: Storage, scope: Scope) -> None:
    """A chunk is there at once, for what its transaction loads after."""

    async def step(tx: Transaction) -> tuple[int, list[bytes]]:
        await tx.append(Custom("before"), actor=ANN)
        await tx.save_history("t", CHUNK)
        return await tx.told("t"), list(await tx.history("t"))

    assert await storage.transact(scope, step) == (1, [CHUNK])
