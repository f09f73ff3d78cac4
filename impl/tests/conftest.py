"""What the tests share: the storages that suites run over, and a loop whose time is not the world's."""

import asyncio
import selectors
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from threadclaim.events import PersonActor
from threadclaim.storage import InMemoryStorage, Scope, Storage
from threadclaim.workspace import Workspace, Workspaces

Lapse = Callable[[Scope, str], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Opened:
    """A storage to test, and how to let one of its leases lapse, by its name, without waiting."""

    storage: Storage
    lapse: Lapse


@asynccontextmanager
async def _memory(_folder: Path) -> AsyncGenerator[Opened]:
    """An InMemoryStorage. A lease lapses as its time is set back."""
    storage = InMemoryStorage()

    async def lapse(scope: Scope, name: str) -> None:
        leases = storage._scopes[scope].leases  # noqa: SLF001  # no clock lets one lease lapse and no other
        leases[name] = replace(leases[name], until=float("-inf"))

    yield Opened(storage, lapse)
    await storage.aclose()


STORAGES: dict[str, Callable[[Path], AbstractAsyncContextManager[Opened]]] = {"memory": _memory}
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
def scope() -> Scope:
    """The scope that a test works in."""
    return Scope("tenant", "workspace")


@pytest.fixture
def ann(storage: Storage, scope: Scope) -> Workspace:
    """The scope's workspace, as Ann."""
    return Workspaces(storage).workspace(scope.tenant, scope.workspace, PersonActor("ann"))


class _Hurried(selectors.DefaultSelector):
    """A selector that never waits: the loop asks for a wait when nothing is ready, and its time moves on."""

    def __init__(self) -> None:
        """Begin at time 0."""
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Look for what is ready; with nothing ready, let `timeout` pass at once."""
        if timeout is None:
            raise RuntimeError("Nothing is ready and no timer is set: the test waits for what cannot come.")
        ready = super().select(0)
        if not ready:
            self.now += max(timeout, 0)
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop whose timers come once nothing else is ready, in order. No other thread is served."""

    def __init__(self) -> None:
        """Begin at time 0."""
        self._hurried = _Hurried()
        super().__init__(self._hurried)

    def time(self) -> float:
        """The virtual time, in seconds."""
        return self._hurried.now


@pytest.fixture
def virtual_time() -> tuple[str, dict[str, Any]]:
    """A backend on which time passes at once: return it from a module's own `anyio_backend`."""
    return "asyncio", {"loop_factory": VirtualLoop}
