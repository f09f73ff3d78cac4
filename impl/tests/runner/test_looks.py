"""The looks of a process by themselves: one for each thread, armed until it has read, none after a close."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from threadclaim.handover import ALL, Leaving
from threadclaim.looks import Looks
from threadclaim.steps import LookAgain
from threadclaim.storage.protocol import lease_name

if TYPE_CHECKING:
    from tests.runner.conftest import World
    from threadclaim.storage import Scope, Transaction

pytestmark = pytest.mark.anyio

DELAY = 30.0


@dataclass
class Looking:
    """The looks of a process that notes what it takes, and for how far an ask."""

    world: World
    taken: list[tuple[str, int]] = field(default_factory=list)
    looks: Looks = field(init=False)

    def __post_init__(self) -> None:
        """Look at the world's threads."""
        self.looks = Looks(self.world.faulty, DELAY, self._take)

    def _take(self, _: Scope, thread_id: str, asked: int) -> None:
        """Take a thread."""
        self.taken.append((thread_id, asked))

    def arm(self, why: Leaving = ALL) -> None:
        """Look at thread `t` in a while."""
        self.looks.arm(self.world.scope, "t", why)

    def is_armed(self) -> bool:
        """Whether a look waits for thread `t`."""
        return self.looks.is_armed(self.world.scope, "t")


@pytest.fixture
def looking(world: World) -> Looking:
    """The looks of a process."""
    return Looking(world)


async def test_a_look_is_armed_until_it_has_read(looking: Looking) -> None:
    """Not before it is armed, nor once it has taken the thread; in between it is, while it reads too."""
    asked = await looking.world.ask("t")
    assert not looking.is_armed()
    looking.arm()
    looking.arm()
    reading = looking.world.faulty.block(LookAgain)
    await reading.reached.wait()
    assert looking.is_armed()
    assert asyncio.get_running_loop().time() == DELAY
    reading.open.set()
    await looking.world.tick()
    assert not looking.is_armed()
    assert looking.taken == [("t", asked.seq)]
    await asyncio.sleep(10 * DELAY)
    assert looking.world.faulty.count(LookAgain) == 1


async def test_a_look_is_of_one_thread_of_one_workspace(looking: Looking) -> None:
    """A look at another thread is one more, and says nothing of this."""
    await looking.world.ann.create_thread("u")
    looking.looks.arm(looking.world.scope, "u")
    assert not looking.is_armed()
    looking.arm()
    await asyncio.sleep(1.1 * DELAY)
    assert looking.world.faulty.count(LookAgain) == 2
    assert looking.taken == []


@pytest.mark.parametrize("effect", [False, True])
async def test_a_look_under_way_takes_nothing_once_closed(looking: Looking, effect: bool) -> None:
    """It is cancelled as it reads: its call runs to its end, and its thread is left to another process."""
    await looking.world.ask("t")
    reading = looking.world.faulty.block(LookAgain, effect=effect)
    before = asyncio.all_tasks()
    looking.arm()
    await reading.reached.wait()
    looking.looks.close()
    reading.open.set()
    await looking.world.tick()
    assert looking.taken == []
    assert not looking.is_armed()
    assert asyncio.all_tasks() == before


async def test_closed_looks_arm_none(looking: Looking) -> None:
    """Neither one that waits, nor one to come."""
    await looking.world.ask("t")
    looking.arm()
    looking.looks.close()
    looking.arm()
    assert not looking.is_armed()
    await asyncio.sleep(10 * DELAY)
    assert looking.world.faulty.steps == []


@pytest.mark.parametrize(
    ("whys", "takes"),
    [
        ([ALL], True),
        ([Leaving("newer", 99)], False),
        ([Leaving("newer", 99), Leaving("newer", 99)], True),
        ([Leaving("newer", 99), ALL], True),
        ([ALL, Leaving("newer", 99)], True),
        ([Leaving("newer", 99), Leaving("newer", 98)], True),
        ([Leaving("newer", 1)], True),
    ],
)
async def test_a_look_goes_by_the_rule_of_whom_it_is_for(
    looking: Looking, whys: list[Leaving], takes: bool
) -> None:
    """After a failed release by that leaver's; for two, whoever they are, as one that hands over all."""
    await looking.world.ask("t")
    for why in whys:
        looking.arm(why)
    await asyncio.sleep(1.1 * DELAY)
    assert bool(looking.taken) is takes


async def test_a_look_that_waits_again_keeps_its_rule(looking: Looking) -> None:
    """The thread is held at first; then it is free, and nothing newer was asked."""
    asked = await looking.world.die_holding("of the dead")
    assert asked is not None
    looking.arm(Leaving("newer", asked.seq))
    await asyncio.sleep(3.1 * DELAY)
    await looking.world.lapse()
    await asyncio.sleep(3.1 * DELAY)
    assert looking.taken == []


async def test_a_release_brings_a_look_sooner(looking: Looking) -> None:
    """After the holder's hand-over had its turn, and long before its time; another's lease brings none."""
    world = looking.world
    asked = await world.ask("t")
    await world.faulty.inner.transact(world.scope, Hold("other"))
    looking.arm()
    await world.faulty.inner.transact(world.scope, Free("another lease", "other"))
    await asyncio.sleep(DELAY / 10)
    assert world.faulty.count(LookAgain) == 0
    await world.faulty.inner.transact(world.scope, Free(lease_name("t"), "other"))
    assert world.faulty.count(LookAgain) == 0
    await asyncio.sleep(DELAY / 10)
    assert looking.taken == [("t", asked.seq)]


async def test_closed_looks_are_told_of_no_release(looking: Looking, monkeypatch: pytest.MonkeyPatch) -> None:
    """A storage that outlives its runners keeps none of them."""
    told = list[str]()
    monkeypatch.setattr(Looks, "hear_of_release", lambda _looks, _scope, name: told.append(name))
    looks = Looks(looking.world.faulty, DELAY, lambda *_: None)
    for _ in range(2):
        await looking.world.faulty.inner.transact(looking.world.scope, Hold("other"))
        await looking.world.faulty.inner.transact(looking.world.scope, Free(lease_name("t"), "other"))
        looks.close()
    assert told == [lease_name("t")]


async def test_a_release_brings_one_look_and_closed_looks_none(looking: Looking) -> None:
    """One that is armed already comes once; after a close there is nobody to tell."""
    world = looking.world
    await world.ask("t")
    looking.arm()
    for _ in range(3):
        await world.faulty.inner.transact(world.scope, Hold("other"))
        await world.faulty.inner.transact(world.scope, Free(lease_name("t"), "other"))
    await asyncio.sleep(10 * DELAY)
    assert world.faulty.count(LookAgain) == 1
    looking.arm()
    looking.looks.close()
    await world.faulty.inner.transact(world.scope, Hold("other"))
    await world.faulty.inner.transact(world.scope, Free(lease_name("t"), "other"))
    await asyncio.sleep(10 * DELAY)
    assert world.faulty.count(LookAgain) == 1


@dataclass(frozen=True, slots=True)
class Hold:
    """Take thread `t`'s claim, and another lease."""

    holder: str

    async def __call__(self, tx: Transaction) -> None:
        """Take both."""
        assert await tx.acquire_lease(lease_name("t"), self.holder, 1000.0)
        await tx.acquire_lease("another lease", self.holder, 1000.0)


@dataclass(frozen=True, slots=True)
class Free:
    """Give a lease up."""

    name: str
    holder: str

    async def __call__(self, tx: Transaction) -> None:
        """Give it up."""
        assert await tx.release_lease(self.name, self.holder)
