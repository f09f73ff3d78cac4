"""What the tests share: the storages that suites run over, and a loop whose time is virtual."""

import itertools
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.durable import postgres, sqlite
from tests.opened import Lapse, Opened
from tests.outside import OutsideLoop
from threadclaim.events import PersonActor
from threadclaim.storage import InMemoryStorage, Scope, Storage
from threadclaim.workspace import Workspace, Workspaces


@asynccontextmanager
async def _memory(_folder: Path) -> AsyncGenerator[Opened]:
    """An InMemoryStorage. A lease lapses as its time is set back."""
    storage = InMemoryStorage()

    async def lapse(scope: Scope, name: str) -> None:
        leases = storage._scopes[scope].leases  # noqa: SLF001  # no clock lets one lease lapse and no other
        leases[name] = replace(leases[name], until=float("-inf"))

    yield Opened(storage, lapse)
    await storage.aclose()


STORAGES: dict[str, Callable[[Path], AbstractAsyncContextManager[Opened]]] = {
    "memory": _memory,
    "sqlite": sqlite,
    "postgres": postgres,
}
"""Every storage: each suite that uses `storage` runs over each. A factory is given a folder of its own."""


@pytest.fixture
def anyio_backend() -> str | tuple[str, dict[str, Any]]:
    """Async tests run on asyncio; a module that needs time to pass asks for `virtual_time` instead."""
    return "asyncio"


@pytest.fixture(params=list(STORAGES))
async def opened(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Opened]:
    """A new storage of each kind, open for one test."""
    async with STORAGES[request.param](tmp_path) as opened:
        yield opened


@pytest.fixture
def storage(opened: Opened) -> Storage:
    """A new storage of each kind."""
    return opened.storage


@pytest.fixture
def lapse(opened: Opened) -> Lapse:
    """What lets a lease lapse, given its scope and its name."""
    return opened.lapse


@pytest.fixture
def loop_turns(storage: Storage) -> Iterator[int]:
    """Numbers of turns of the loop after which a test does something, without end: each, over memory.

    A file or a server takes some hundreds for what memory takes ten for, and most are of the same await, and
    no two tries take as many. So over those, the numbers are further and further apart.
    """
    return itertools.count() if isinstance(storage, InMemoryStorage) else _further_apart()


def _further_apart() -> Iterator[int]:
    """0, 1, 2 and so on, and from 6 on each about a third more than the one before."""
    turn = 0
    while True:
        yield turn
        turn += max(1, turn // 3)


@pytest.fixture
def scope() -> Scope:
    """The scope that a test works in."""
    return Scope("tenant", "workspace")


@pytest.fixture
def ann(storage: Storage, scope: Scope) -> Workspace:
    """The scope's workspace, as Ann."""
    return Workspaces(storage).workspace(scope.tenant, scope.workspace, PersonActor("ann"))


@pytest.fixture
def virtual_time() -> tuple[str, dict[str, Any]]:
    """A backend on which time passes at once: return it from a module's own `anyio_backend`."""
    return "asyncio", {"loop_factory": OutsideLoop}
