"""The loop of the world: at rest but for what it is told, in asyncio's own order."""

import asyncio

import pytest

from conformance.world.loop import SpinError, SteppedLoop


@pytest.fixture
def loop() -> object:
    """A loop, which is closed at the end."""
    loop = SteppedLoop()
    loop.begin()
    yield loop
    loop.close()


def test_nothing_happens_by_itself(loop: SteppedLoop) -> None:
    """A task goes as far as it can, and a timer does not come."""
    went: list[str] = []

    async def go() -> None:
        went.append("began")
        await asyncio.sleep(1)
        went.append("slept")

    task = loop.start(go(), "p1")
    assert went == ["began"]
    loop.fire(loop.timer_of(task))
    assert went == ["began", "slept"]
    assert task.done()
    assert loop.timers == []


def test_timers_come_in_any_order(loop: SteppedLoop) -> None:
    """Whichever the world lets come, and time stands still."""
    came: list[str] = []
    first = loop.call_later(1, came.append, "first")
    second = loop.call_later(2, came.append, "second")
    loop.fire(second)
    loop.fire(first)
    assert came == ["second", "first"]
    assert loop.time() == 0


def test_a_timer_comes_once_and_not_when_cancelled(loop: SteppedLoop) -> None:
    """Else the world says that there is none."""
    timer = loop.call_later(1, list)
    loop.fire(timer)
    with pytest.raises(LookupError):
        loop.fire(timer)
    cancelled = loop.call_later(1, list)
    cancelled.cancel()
    assert loop.timers == []
    with pytest.raises(LookupError):
        loop.fire(cancelled)


def test_tasks_and_timers_know_whose_they_are(loop: SteppedLoop) -> None:
    """Those of a task's are its owner's, and those of a timer's too."""
    made: list[asyncio.Task[None]] = []

    async def rest() -> None:
        await asyncio.sleep(1)

    def later() -> None:
        made.append(loop.create_task(rest()))

    async def go() -> None:
        made.append(asyncio.get_running_loop().create_task(rest()))
        asyncio.get_running_loop().call_later(5, later)

    assert loop.start(go(), "p1").done()
    loop.fire(loop.timers[0])
    assert [getattr(task, "owner", None) for task in made] == ["p1", "p1"]
    assert {timer.owner for timer in loop.timers} == {"p1"}
    for task in made:
        task.cancel()
    loop.settle()


def test_what_spins_is_found(loop: SteppedLoop) -> None:
    """A callback that always asks for another does not hang the world."""
    spins: list[bool] = []

    def again() -> None:
        if not spins:
            loop.call_soon(again)

    loop.call_soon(again)
    with pytest.raises(SpinError):
        loop.settle()
    spins.append(False)
    loop.settle()


def test_there_are_no_threads(loop: SteppedLoop) -> None:
    """A thread would have an order of its own."""
    with pytest.raises(RuntimeError, match="no threads"):
        loop.run_in_executor(None, list)


def test_what_the_world_does_itself_waits_for_nothing(loop: SteppedLoop) -> None:
    """It is run to its end at once, or is a mistake."""

    async def never() -> None:
        await loop.create_future()

    with pytest.raises(RuntimeError, match="does not come"):
        loop.run(never())
