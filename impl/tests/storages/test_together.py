"""How PostgresStorage writes all of a transaction in one statement."""

import pytest

from tests.storages.databases import ANN, Database, Open
from threadclaim.events import Custom
from threadclaim.storage import Scope, Transaction, create_schema
from threadclaim.storage.postgres.session import together

pytestmark = pytest.mark.anyio


def test_parameters_are_moved() -> None:
    """Each text has its own, one after another; the first is everybody's, and a text may use one twice."""
    text = together(("A $1 $2 $3", "B $1 $2 $2", "C $1", "D $2 $1"))
    assert text == ("WITH w0 AS (A $1 $2 $3), w1 AS (B $1 $4 $4), w2 AS (C $1), w3 AS (D $5 $1) SELECT 1")


@pytest.mark.parametrize("rows", [1, 5, 40])
async def test_few_rows_or_many(database: Database, scope: Scope, open_storage: Open, rows: int) -> None:
    """In one statement or in several, all is kept, or nothing."""
    await create_schema(database.target)
    storage = open_storage()

    async def append(tx: Transaction) -> None:
        for number in range(rows):
            await tx.append(Custom(f"x{number}"), actor=ANN)
            await tx.save_cursor(f"c{number}", number + 1)
            await tx.acquire_lease(f"l{number}", "ann", 600.0)

    async def append_and_fail(tx: Transaction) -> None:
        await append(tx)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await storage.transact(scope, append_and_fail)
    await storage.transact(scope, append)
    entries = await storage.transact(scope, lambda tx: tx.read())
    assert [entry.seq for entry in entries] == list(range(1, rows + 1))
    assert await storage.transact(scope, lambda tx: tx.cursor(f"c{rows - 1}")) == rows
    assert len(await storage.leases(scope)) == rows
