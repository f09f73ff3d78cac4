"""What an attack on the library found, each as a test of its whole kind."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from threadclaim.errors import (
    ClaimLost,
    RequestError,
    RunFailure,
    RunLeft,
    WrongAnswer,
)
from threadclaim.events import Custom, FormValues, Reply, Request, RunEnded
from threadclaim.runner import Runner
from threadclaim.steps import Claim, LookAgain, StartRun
from threadclaim.testing import Complete, Raise, Take
from threadclaim.turn import Completed, Failed, Paused, Stopped

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from tests.runner.conftest import World
    from threadclaim.turn import Facts, Outcome, Steering, TurnInput

pytestmark = pytest.mark.anyio

TTL = 30.0


async def ends(world: World) -> list[RunEnded]:
    """The ends of the thread's runs."""
    return [e.event for e in await world.ann.read(threads=["t"]) if isinstance(e.event, RunEnded)]


# ---- What a turn says that it delivered.


async def test_what_a_turn_passes_over_is_given_again_with_all_after_it(world: World) -> None:
    """One position cannot pass over it: of one that is lost and one that is given, neither counts."""
    runner, first, second = world.runner(), world.gate(), world.gate()
    world.agent.then(first.wait, Take(answered=False), second.wait, Take(), Complete())
    one = await runner.send(world.ann, "t", "one")
    await first.reached.wait()
    two = await runner.send(world.ann, "t", "two")
    await world.tick()
    first.open.set()
    await second.reached.wait()
    three = await runner.send(world.ann, "t", "three")
    await world.tick()
    second.open.set()
    await world.expect_once(one.message, two.message, three.message)


class Garbage:
    """A turn that comes to what no turn may."""

    def __init__(self, outcome: Any) -> None:  # noqa: ANN401  # anything
        self.outcome = outcome

    async def run(self, turn: TurnInput, steering: Steering, facts: Facts) -> Outcome:  # noqa: ARG002  # it does nothing
        """Return it."""
        found: Outcome = self.outcome
        return found


@pytest.mark.parametrize(
    "outcome",
    [
        None,
        "done",
        Completed(5, None),  # type: ignore[arg-type]
        Completed("done", "history"),  # type: ignore[arg-type]
        Completed("done", 3),  # type: ignore[arg-type]
        Completed("done", None, None),  # type: ignore[arg-type]
        Completed("done", None, ("5",)),  # type: ignore[arg-type]
        Failed(ValueError("no")),  # type: ignore[arg-type]
        Failed("no", reason=5),  # type: ignore[arg-type]
        Paused(("question",), None),  # type: ignore[arg-type]
        Stopped(),
    ],
)
async def test_a_turn_that_returns_garbage_has_failed(world: World, outcome: Any) -> None:  # noqa: ANN401  # anything
    """At once, with a sentence, to whoever waits and in the log; the thread is free."""
    async with Runner(Garbage(outcome), world.faulty) as runner:
        sent = await runner.send(world.ann, "t", "one")
        assert sent.run is not None
        assert isinstance(await sent.run.wait(), Failed)
        await runner.drain()
    assert [end.outcome for end in await ends(world)] == ["failed"]
    assert await world.is_at_rest()


@pytest.mark.parametrize("delivered", [(10**6,), (-1,), (1,), (0, 2)])
async def test_a_turn_that_names_what_it_was_not_given_moves_nothing(
    world: World, delivered: tuple[int, ...]
) -> None:
    """The thread's next message starts a turn."""
    async with Runner(Garbage(Completed("done", None, delivered)), world.faulty) as runner:
        one = await runner.send(world.ann, "t", "one")
        assert one.run is not None
        await one.run.wait()
        await runner.drain()
        two = await runner.send(world.ann, "t", "two")
        assert two.run is not None
        await two.run.wait()
    assert await world.consumed() == [one.message.seq, two.message.seq]


class SpeechlessError(Exception):
    """An exception whose text is broken."""

    def __str__(self) -> str:
        """Raise."""
        raise ValueError


async def test_an_exception_that_cannot_say_what_it_is_is_told_by_its_type(world: World) -> None:
    """It fails the run, and hides nothing."""
    world.agent.then(Raise(SpeechlessError()))
    sent = await world.runner().send(world.ann, "t", "one")
    await world.expect_once(sent.message)
    assert [end.error for end in await ends(world)] == ["SpeechlessError"]


async def test_a_failures_reason_is_kept_wherever_it_comes_from(world: World) -> None:
    """Out of a turn that raises it."""
    world.agent.then(Raise(RunFailure("no", reason="quota")))
    sent = await world.runner().send(world.ann, "t", "one")
    await world.expect_once(sent.message)
    assert await world.ends() == ["quota"]


# ---- What surrounds a turn.


@asynccontextmanager
async def timed_out(_turn: TurnInput) -> AsyncGenerator[None]:
    """A context that gives the turn a second."""
    async with asyncio.timeout(1):
        yield


@asynccontextmanager
async def failed_after(_turn: TurnInput) -> AsyncGenerator[None]:
    """The same, of anyio's."""
    with anyio.fail_after(1):
        yield


@asynccontextmanager
async def moved_on(_turn: TurnInput) -> AsyncGenerator[None]:
    """One that swallows what it cancels."""
    with anyio.move_on_after(1):
        yield


@asynccontextmanager
async def grouped(_turn: TurnInput) -> AsyncGenerator[None]:
    """One with a task that fails beside the turn."""

    async def fail() -> None:
        await asyncio.sleep(1)
        raise OSError

    async with asyncio.TaskGroup() as group:
        group.create_task(fail())
        yield


CONTEXTS = [timed_out, failed_after, moved_on, grouped]


@pytest.mark.parametrize("context", CONTEXTS)
async def test_a_context_that_ends_as_a_start_is_recorded_fails_the_run(world: World, context: Any) -> None:  # noqa: ANN401
    """Whoever waits is told, nothing of the run is left alive, and the thread is free."""
    runner = world.runner(turn_context=context)
    before = asyncio.all_tasks()
    starting = world.faulty.block(StartRun, effect=True)
    sending = asyncio.ensure_future(runner.send(world.ann, "t", "one"))
    await starting.reached.wait()
    await asyncio.sleep(2)
    starting.open.set()
    sent = await sending
    assert sent.run is not None
    assert isinstance(await sent.run.wait(), Failed)
    await runner.drain()
    await world.tick()
    assert asyncio.all_tasks() == before
    assert [end.outcome for end in await ends(world)] == ["failed"]
    assert await world.is_at_rest()


@pytest.mark.parametrize("context", CONTEXTS)
async def test_a_context_that_ends_as_the_turn_goes_on_fails_it(world: World, context: Any) -> None:  # noqa: ANN401
    """Nobody stopped it: so it was not stopped, and what it was given is kept."""
    runner = world.runner(turn_context=context)
    world.held()
    sent = await runner.send(world.ann, "t", "one")
    await asyncio.sleep(2)
    await world.expect_once(sent.message)
    assert [end.outcome for end in await ends(world)] == ["failed"]


async def test_a_claim_that_the_set_up_relies_on_is_not_the_threads(world: World) -> None:
    """Its loss fails the turn, which the sender is told; nothing is tried again without end (I4)."""
    await world.ann.create_thread("other")
    tries = 0

    @asynccontextmanager
    async def relying(_turn: TurnInput) -> AsyncGenerator[None]:
        nonlocal tries
        tries += 1
        await world.ann.commit(Custom("x"), thread_id="other", claim="a holder of long ago")
        yield

    runner = world.runner(turn_context=relying)
    with pytest.raises(ClaimLost):
        await runner.send(world.ann, "t", "one")
    await runner.drain()
    assert tries == 1


async def test_a_set_up_that_hangs_is_stopped_and_holds_up_no_other_thread(world: World) -> None:
    """A sweep takes the threads beside it; `stop` ends it, having consumed nothing."""
    await world.ann.create_thread("u")
    asked = [await world.ask("t"), await world.ask("u")]
    hung: list[str] = []

    @asynccontextmanager
    async def hanging(turn: TurnInput) -> AsyncGenerator[None]:
        if turn.thread_id == "t" and not hung:
            hung.append(turn.thread_id)
            await asyncio.Event().wait()
        yield

    runner = world.runner(turn_context=hanging)
    sweeping = asyncio.ensure_future(runner.recover(world.ann))
    await asyncio.sleep(1)
    assert [run.prompt for run in world.agent.runs] == [(asked[1].seq,)]
    assert not await runner.stop(world.ann, "t")
    await sweeping
    await world.expect_once(asked[0])


# ---- The end of a runner.


async def test_closing_releases_nothing_while_a_tool_is_alive(world: World) -> None:
    """It outlives `close_within`: no other runner starts a run beside it until its claim lapses."""
    running = world.gate()
    world.agent.then(running.stubborn)
    runner = world.runner(close_within=1.0)
    sent = await runner.send(world.ann, "t", "one")
    await running.reached.wait()
    await runner.aclose()
    assert sent.run is not None
    with pytest.raises(RunLeft):
        await sent.run.wait()
    assert await world.holder() is not None
    await world.tick()
    beside = world.runner()
    assert (await beside.send(world.ann, "t", "two")).run is None
    assert len(world.agent.runs) == 1
    await world.lapse()
    await asyncio.sleep(2 * TTL)
    assert len(world.agent.runs) == 2


async def test_a_send_that_was_committed_does_not_say_that_it_was_not(world: World) -> None:
    """Its runner is closed while its claimant waits for storage: the next process carries it out."""
    runner = world.runner(close_within=1.0)
    claiming = world.faulty.block(Claim)
    sending = asyncio.ensure_future(runner.send(world.ann, "t", "one"))
    await claiming.reached.wait()
    await runner.aclose()
    sent = await sending
    assert sent.run is None
    assert await world.asked() == sent.message.seq


# ---- Looks.


@pytest.mark.parametrize("fails", [False, True])
async def test_a_refusal_while_a_look_reads_arms_another(world: World, fails: bool) -> None:
    """The look may have read before what was refused was asked; the holder dies, and the message is taken."""
    await world.die_holding("asked of the dead")
    runner = world.runner()
    await runner.send(world.ann, "t", "one")
    looking = world.faulty.block(LookAgain, effect=True, error=OSError if fails else None)
    await looking.reached.wait()
    refused = await runner.send(world.ann, "t", "two")
    assert refused.run is None
    looking.open.set()
    await world.lapse()
    await asyncio.sleep(3 * TTL)
    await world.settle()
    assert refused.message.seq in await world.consumed()
    assert await world.is_at_rest()


# ---- The door.


@pytest.mark.parametrize(
    ("answers", "error"),
    [
        ({"f": "yes"}, WrongAnswer),
        ({"f": FormValues(None)}, WrongAnswer),  # type: ignore[arg-type]
        ({"f": FormValues([1, 2])}, WrongAnswer),  # type: ignore[arg-type]
        ({1: Reply("x"), "f": Reply("x")}, RequestError),
        ([Reply("x")], RequestError),
        ("f", RequestError),
    ],
)
async def test_answers_that_are_none_are_refused_at_the_door(
    world: World,
    answers: Any,  # noqa: ANN401  # anything
    error: type[Exception],
) -> None:
    """No storage is called, and nothing is handed over."""
    runner = world.runner()
    await world.paused(runner, Request("f", "form", "ask_form"))
    calls = len(world.faulty.steps)
    with pytest.raises(error):
        await runner.answer(world.ann, "t", answers)
    assert len(world.faulty.steps) == calls


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "http://127.0.0.1:1/schema"},
        {"$ref": "file:///etc/hostname"},
        {"$ref": "#/nope"},
        {"$ref": "#"},
        {"$schema": []},
        {"type": 5},
    ],
)
async def test_a_schema_that_is_none_or_looks_elsewhere_refuses_the_values(
    world: World, schema: dict[str, Any]
) -> None:
    """It may be the model's own: nothing is fetched, and the answer is told to be wrong, in a sentence."""
    runner = world.runner()
    await world.paused(runner, Request("f", "form", "ask_form", {}, schema))
    with pytest.raises(WrongAnswer, match="schema"):
        await runner.answer(world.ann, "t", {"f": FormValues({"name": "x"})})


async def test_a_text_is_no_list_of_threads(world: World) -> None:
    """Its letters are not their ids."""
    with pytest.raises(RequestError, match="Give a list"):
        await world.ann.read(threads="xy")


async def test_a_runner_is_one_loops(world: World) -> None:
    """In another it says so, at once."""
    runner = world.runner()
    await runner.send(world.ann, "t", "one")
    await world.settle()

    def elsewhere() -> None:
        asyncio.run(runner.send(world.ann, "t", "two"))

    with pytest.raises(RuntimeError, match="another event loop"):
        run_in_a_loop_of_its_own(elsewhere)


def run_in_a_loop_of_its_own(call: Any) -> None:  # noqa: ANN401  # any call
    """Call what runs a loop, as from another thread."""
    import threading  # noqa: PLC0415  # only here

    raised: list[BaseException] = []

    def target() -> None:
        try:
            call()
        except BaseException as error:  # noqa: BLE001  # it is raised where it is heard
            raised.append(error)

    thread = threading.Thread(target=target)
    thread.start()
    thread.join()
    for error in raised:
        raise error
