"""Transactions that a twin's step runs in: all goes through to the storage's own, but for one thing."""

from typing import Any, cast

from threadclaim.storage.protocol import Transaction


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
        """Save it, lower too."""
        cast("Any", self._tx)._cursors[name] = seq


def held_by(tx: Transaction, holder: str) -> Transaction:
    """A transaction in which every fence lets `holder` through."""
    return cast("Transaction", _Held(tx, holder))


def not_saving(tx: Transaction, cursor: str) -> Transaction:
    """A transaction that does not save `cursor`."""
    return cast("Transaction", _Unsaved(tx, cursor))


def going_back(tx: Transaction) -> Transaction:
    """A transaction of `threadclaim.storage.InMemoryStorage` in which cursors go back."""
    return cast("Transaction", GoingBack(tx))
