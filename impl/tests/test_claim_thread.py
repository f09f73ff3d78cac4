"""A thread held around a run that is made without the runner; time passes at once here."""

import asyncio
import itertools
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest

from threadclaim.errors import (
    ClaimLost,
    LimitError,
    RequestError,
    ThreadBusy,
    WrongType,
)
from threadclaim.events import (
    Custom,
    MessagePosted,
    PersonActor,
)
from threadclaim.steps import Renew, Send
from threadclaim.storage import InMemoryStorage, Scope, Step, Stranded
from threadclaim.storage.protocol import lease_name
from threadclaim.workspace import HeldThread, Workspace, Workspaces
from threadclaim.workspace_steps import HoldThread, LetThread

pytestmark = pytest.mark.anyio

T = TypeVar("T")
Lapse = Callable[[Scope, str], Awaitable[None]]
ANN, BEN = PersonActor("ann"), PersonActor("ben")
SCOPE = Scope("tenant", "workspace")


@pytest.fixture
def anyio_backend(virtual_time: tuple[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    """Time passes at once."""
    return virtual_time


def loop_time() -> float:
    """The loop's time, by which leases of these tests lapse."""
    return asyncio.get_running_loop().time()


class Faulty:
    """A storage in memory whose calls of some steps fail or wait, before they take effect or after."""

    def __init__(self) -> None:
        """Nothing is wrong at first."""
        self.storage = InMemoryStorage(clock=loop_time)
        self.before: dict[type, Callable[[], Awaitable[None]]] = {}
        self.after: dict[type, Callable[[], Awaitable[None]]] = {}
        self.calls: list[tuple[float, str]] = []
        self.subscribe = self.storage.subscribe
        self.stranded = self.storage.stranded
        self.on_release = self.storage.on_release
        self.aclose = self.storage.aclose

    async def transact(self, scope: Scope, step: Step[T]) -> T:
        """Carry out a step, with what goes wrong around it."""
        self.calls.append((loop_time(), type(step).__name__))
        await self.before.get(type(step), nothing)()
        result = await self.storage.transact(scope, step)
        await self.after.get(type(step), nothing)()
        return result

    async def holder(self) -> str | None:
        """Who holds thread `t`."""
        return await self.storage.transact(SCOPE, lambda tx: tx.holder(lease_name("t")))


async def nothing() -> None:
    """Nothing goes wrong."""


async def fail() -> None:
    """A storage's failure."""
    raise ConnectionError("on purpose")


@pytest.fixture
def faulty() -> Faulty:
    """A storage that things go wrong with."""
    return Faulty()


@pytest.fixture
async def held(faulty: Faulty) -> Workspace:
    """A workspace of that storage, with a thread `t`; its ids are id-0, id-1 and so on."""
    numbers = itertools.count()
    workspaces = Workspaces(faulty, new_id=lambda: f"id-{next(numbers)}")
    workspace = workspaces.workspace(SCOPE.tenant, SCOPE.workspace, ANN)
    await workspace.create_thread("t")
    faulty.calls.clear()
    return workspace


async def test_commit_under_a_claim(ann: Workspace, lapse: Lapse) -> None:
    """With a claim, a commit is refused unless that holder holds the thread; a claim is of a thread."""
    await ann.create_thread("t")
    async with ann.claim_thread("t") as held:
        await ann.commit(Custom("1"), thread_id="t", claim=held.holder)
        with pytest.raises(ClaimLost):
            await ann.commit(Custom("2"), thread_id="t", cursor=("c", 1), claim="another")
        await lapse(SCOPE, lease_name("t"))
        with pytest.raises(ClaimLost):
            await ann.commit(Custom("3"), thread_id="t", cursor=("c", 1), claim=held.holder)
    with pytest.raises(ClaimLost):
        await ann.commit(Custom("4"), thread_id="t", cursor=("c", 1), claim=held.holder)
    with pytest.raises(RequestError, match="of a thread"):
        await ann.commit(Custom("5"), claim=held.holder)
    assert [entry.event for entry in await ann.read(after_seq=1)] == [Custom("1")]
    assert await ann.cursor("c") is None


@pytest.mark.parametrize("ttl", [0, -1, 0.04, float("nan"), float("inf"), True, "30"])
async def test_ttl_that_is_refused(ttl: float, ann: Workspace) -> None:
    """A time to live that no claim can have is refused before anything is taken."""
    await ann.create_thread("t")
    with pytest.raises((LimitError, WrongType), match="time to live"):
        ann.claim_thread("t", ttl=ttl)


async def test_thread_is_held(ann: Workspace) -> None:
    """While a caller holds a thread nobody else can, themselves included; after it, anybody can."""
    await ann.create_thread("t")
    async with ann.claim_thread("t") as held:
        for workspace in (ann, ann.as_actor(BEN)):
            with pytest.raises(ThreadBusy):
                async with workspace.claim_thread("t"):
                    pytest.fail("the thread is held")
        holder = await ann.storage.transact(SCOPE, lambda tx: tx.holder(lease_name("t")))
        assert holder == held.holder
        assert not held.lost.is_set()
    async with ann.claim_thread("t") as again:
        assert again.holder != held.holder


async def test_thread_is_held_though_more_is_asked(ann: Workspace) -> None:
    """Holding a thread takes nothing of what is asked, and its release tells the storage's followers."""
    await ann.create_thread("t")
    await ann.storage.transact(SCOPE, Send("t", MessagePosted("m", "Hello"), ANN))
    told: list[str] = []
    ann.storage.on_release(lambda _, name: told.append(name))
    async with ann.claim_thread("t"):
        assert told == []
    assert told == [lease_name("t")]
    assert await ann.storage.stranded(SCOPE) == Stranded(left=("t",))


@pytest.mark.parametrize("error", [ValueError, ThreadBusy, asyncio.CancelledError])
async def test_released_however_it_is_left(
    error: type[BaseException], held: Workspace, faulty: Faulty
) -> None:
    """Whatever the block raises is raised, and the claim is released."""
    with pytest.raises(error):
        async with held.claim_thread("t"):
            raise error("t")
    assert await faulty.holder() is None
    assert [name for _, name in faulty.calls] == ["HoldThread", "LetThread"]


async def test_renewed_every_third(held: Workspace, faulty: Faulty) -> None:
    """The claim is renewed every third of its time to live, for as long as it is held and no longer."""
    async with held.claim_thread("t", ttl=30.0) as thread:
        await asyncio.sleep(95.0)
        assert not thread.lost.is_set()
        assert await faulty.holder() == thread.holder
    await asyncio.sleep(95.0)
    renewals = [at for at, name in faulty.calls if name == Renew.__name__]
    assert renewals == [10.0 * n for n in range(1, 10)]
    assert await faulty.holder() is None


async def test_renewal_that_fails_is_tried_again(held: Workspace, faulty: Faulty) -> None:
    """A renewal that fails is tried again a third later; as long as not all do, nothing is lost."""
    failures = itertools.cycle([fail, nothing])

    async def some() -> None:
        await next(failures)()

    faulty.before[Renew] = some
    async with held.claim_thread("t", ttl=30.0) as thread:
        await asyncio.sleep(75.0)
        assert not thread.lost.is_set()
        assert await faulty.holder() == thread.holder


async def test_lost_when_no_renewal_succeeds(held: Workspace, faulty: Faulty) -> None:
    """When none has succeeded for a whole time to live the claim is lost; it is never renewed again."""
    faulty.before[Renew] = fail
    async with held.claim_thread("t", ttl=30.0) as thread:
        await thread.lost.wait()
        assert loop_time() == 30.0
        tries = [name for _, name in faulty.calls if name == Renew.__name__]
        faulty.before.clear()
        await asyncio.sleep(60.0)
    assert len(tries) > 3  # one that fails is tried again sooner than the next would come
    assert [name for _, name in faulty.calls if name == Renew.__name__] == tries


async def test_lost_while_a_renewal_hangs(held: Workspace, faulty: Faulty) -> None:
    """A renewal that hangs does not keep the claim's holder from learning that it is lost."""
    never = asyncio.Event()

    async def hang() -> None:
        await never.wait()

    faulty.before[Renew] = hang
    async with held.claim_thread("t", ttl=30.0) as thread:
        await thread.lost.wait()
        assert loop_time() == 30.0


async def test_lost_to_another(held: Workspace, faulty: Faulty) -> None:
    """A renewal that finds the claim another's loses it at once; the block's end leaves the other's."""
    async with held.claim_thread("t", ttl=30.0) as thread:
        await faulty.storage.transact(SCOPE, LetThread("t", thread.holder))
        await faulty.storage.transact(SCOPE, HoldThread("t", "another", 600.0))
        await thread.lost.wait()
        assert loop_time() == 10.0
    assert await faulty.holder() == "another"


@pytest.mark.parametrize("where", ["before", "after"])
async def test_claim_of_a_call_that_failed(where: str, held: Workspace, faulty: Faulty) -> None:
    """A claim whose acquiring call failed, granted or not, is released before that is raised (#250)."""
    getattr(faulty, where)[HoldThread] = fail
    with pytest.raises(ConnectionError, match="on purpose"):
        async with held.claim_thread("t"):
            pytest.fail("it was not granted")
    assert [name for _, name in faulty.calls] == ["HoldThread", "LetThread"]
    assert await faulty.holder() is None


async def enter(held: Workspace, entered: list[HeldThread]) -> None:
    """Hold a thread for good."""
    async with held.claim_thread("t") as thread:
        entered.append(thread)
        await asyncio.sleep(1e9)


async def test_claim_of_a_call_that_was_cancelled(held: Workspace, faulty: Faulty) -> None:
    """At whatever turn of the loop its caller is cancelled, and cancelled again, no claim is left (#250)."""
    entered: list[HeldThread] = []
    for turns in itertools.count(1):
        task = asyncio.create_task(enter(held, entered))
        for _ in range(turns):
            await asyncio.sleep(0)
        was_entered = bool(entered)
        while not task.done():
            task.cancel()
            await asyncio.sleep(0)
        assert task.cancelled()
        assert await faulty.holder() is None
        if was_entered:
            break
    assert turns > 2, "some were cancelled as they took the claim"


async def test_release_that_fails(held: Workspace, faulty: Faulty, caplog: pytest.LogCaptureFixture) -> None:
    """A release that fails is logged, hides nothing that the block raised, and leaves the claim to lapse."""
    faulty.before[LetThread] = fail
    with caplog.at_level(logging.WARNING), pytest.raises(ValueError, match="the block's own"):
        async with held.claim_thread("t", ttl=30.0):
            raise ValueError("the block's own")
    assert "left to lapse" in caplog.text
    assert await faulty.holder() == "id-0"
    await asyncio.sleep(30.0)
    assert await faulty.holder() is None


async def test_release_while_cancelled(held: Workspace, faulty: Faulty) -> None:
    """A caller that is cancelled again as it releases has released all the same."""
    entered: list[HeldThread] = []
    task = asyncio.create_task(enter(held, entered))
    for _ in range(20):
        await asyncio.sleep(0)
    assert entered
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await faulty.holder() is None
