"""Transactions that a twin's step runs in: all goes through to the storage's own, but for one thing."""

from typing import Any, cast

from threadclaim.storage.common import thread_of_cursor
from threadclaim.storage.protocol import Transaction
from threadclaim.storage.sql import texts
from threadclaim.storage.sql.transaction import SqlTransaction

WRITTEN_BACK, _, _ = texts.SAVE_CURSOR.rpartition("WHERE")
"""How a cursor is written that may go back."""


class _Through:
    """A transaction on another."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # whatever the transaction has
        return getattr(self._tx, name)


class _Held(_Through):
    """Whoever holds a lease, this holder is told to."""

    def __init__(self, tx: Transaction, holder: str) -> None:
        super().__init__(tx)
        self._holder = holder

    async def holder(self, name: str) -> str:  # noqa: ARG002  # of whichever lease
        """The holder that asks."""
        return self._holder


class _Unsaved(_Through):
    """One cursor is not saved."""

    def __init__(self, tx: Transaction, name: str) -> None:
        super().__init__(tx)
        self._name = name

    async def save_cursor(self, name: str, seq: int) -> None:
        """Save any other."""
        if name != self._name:
            await self._tx.save_cursor(name, seq)


class GoingBack(_Through):
    """A cursor is saved wherever it was."""

    async def save_cursor(self, name: str, seq: int) -> None:
        """Save it, lower too: in memory, or where a row of it is to be written."""
        tx = self._tx
        while isinstance(tx, _Through):
            tx = tx._tx
        if isinstance(tx, SqlTransaction):
            await tx.cursor(name)
            tx._loaded.cursors[name] = seq
            tx._written.cursors.add(name)
            tx._written.threads |= {thread for thread in [thread_of_cursor(name)] if thread is not None}
        else:
            cast("Any", tx)._cursors[name] = seq


def held_by(tx: Transaction, holder: str) -> Transaction:
    """A transaction in which every fence lets `holder` through."""
    return cast("Transaction", _Held(tx, holder))


def not_saving(tx: Transaction, cursor: str) -> Transaction:
    """A transaction that does not save `cursor`."""
    return cast("Transaction", _Unsaved(tx, cursor))


def going_back(tx: Transaction) -> Transaction:
    """A transaction in which cursors go back; a database must write them as `WRITTEN_BACK` says."""
    return cast("Transaction", GoingBack(tx))
