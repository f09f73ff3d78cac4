"""Worlds on durable storages: they go as the model does, in the steps that a world in memory goes."""

from collections.abc import Callable

import pytest

from conformance.beside import DivergedError, UndoneError
from conformance.explore.tally import Tally
from conformance.explore.walk import Walker
from conformance.world.durable import DURABLE, MEMORY, storage_of
from conformance.world.loop import WorldError
from threadclaim.events import Custom, PersonActor
from threadclaim.steps.claims import LookAgain, Looked
from threadclaim.storage import Transaction
from threadclaim.storage.sql.transaction import SqlTransaction

WALKS = 60
"""Within so many walks a storage that breaks a rule is caught."""

Break = Callable[[pytest.MonkeyPatch], None]


@pytest.mark.parametrize("storage", DURABLE)
def test_walks_are_those_over_memory(storage: str) -> None:
    """Step for step, from the same seeds."""
    walked = []
    for kind in (MEMORY, storage):
        walker = Walker(Tally(), make_storage=storage_of(kind))
        walked.append([taken for seed in range(4) for taken in walker.walk(seed, 40).steps])
    assert walked[0] == walked[1]
    assert len(walked[0]) > 100


def renewal_takes(patch: pytest.MonkeyPatch) -> None:
    """A renewal takes a claim that has lapsed."""
    patch.setattr(SqlTransaction, "renew_lease", SqlTransaction.acquire_lease)


def release_of_anybodys(patch: pytest.MonkeyPatch) -> None:
    """A release gives up whoever's claim it is."""
    release = SqlTransaction.release_lease

    async def of_anybodys(tx: SqlTransaction, name: str, holder: str) -> bool:
        return await release(tx, name, await tx.holder(name) or holder)

    patch.setattr(SqlTransaction, "release_lease", of_anybodys)


def nothing_is_kept(patch: pytest.MonkeyPatch) -> None:
    """Cursors are not written."""
    patch.setattr(SqlTransaction, "_cursors", lambda _: [])


def look_writes(patch: pytest.MonkeyPatch) -> None:
    """A look writes, which is to read alone."""
    look = LookAgain.__call__

    async def and_write(step: LookAgain, tx: Transaction) -> Looked:
        await tx.append(Custom("x"), actor=PersonActor("ann"))
        return await look(step, tx)

    patch.setattr(LookAgain, "__call__", and_write)


@pytest.mark.parametrize("break_", [look_writes, renewal_takes, release_of_anybodys, nothing_is_kept])
def test_a_storage_that_breaks_a_rule_is_caught(break_: Break, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the walks over it."""
    break_(monkeypatch)
    walker = Walker(Tally(), make_storage=storage_of("sqlite"))
    with pytest.raises((DivergedError, UndoneError, WorldError)):
        walk_all(walker)


def walk_all(walker: Walker) -> None:
    """Walk until something goes wrong."""
    for seed in range(WALKS):
        walker.walk(seed, 60)
