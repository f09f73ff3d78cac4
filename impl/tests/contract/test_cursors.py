"""Named cursors, which only move forward."""

import pytest

from threadclaim.storage import Scope, Storage, Transaction

pytestmark = pytest.mark.anyio


async def save(storage: Storage, scope: Scope, name: str, *seqs: int) -> int | None:
    """Save a cursor time and again in one transaction; what it then has, as that transaction sees it."""

    async def step(tx: Transaction) -> int | None:
        for seq in seqs:
            await tx.save_cursor(name, seq)
        return await tx.cursor(name)

    return await storage.transact(scope, step)


async def test_cursor_never_saved(storage: Storage, scope: Scope) -> None:
    """A cursor that was never saved is None, and no 0."""
    assert await save(storage, scope, "a") is None
    assert await save(storage, scope, "a", 0) == 0
    assert await save(storage, scope, "a") == 0


async def test_cursor_only_moves_forward(storage: Storage, scope: Scope) -> None:
    """A lower seq leaves what is saved, whether by this transaction or one before; a higher one moves it."""
    assert await save(storage, scope, "a", 5, 3) == 5
    assert await save(storage, scope, "a") == 5
    assert await save(storage, scope, "a", 4) == 5
    assert await save(storage, scope, "a") == 5
    assert await save(storage, scope, "a", 4, 7, 6) == 7
    assert await save(storage, scope, "a") == 7


async def test_cursor_holds_64_bits(storage: Storage, scope: Scope) -> None:
    """The highest position that the limits allow is kept."""
    await save(storage, scope, "a", 2**63 - 1)
    assert await save(storage, scope, "a", 1) == 2**63 - 1


async def test_cursors_have_names(storage: Storage, scope: Scope) -> None:
    """A cursor moves no other, however alike their names are."""
    names = ["a", "A", "a/", "a ", "á", "artifactr.runner/a/asked", "artifactr.runner/a/taken"]
    for seq, name in enumerate(names):
        await save(storage, scope, name, seq)
    assert [await save(storage, scope, name) for name in names] == list(range(len(names)))
