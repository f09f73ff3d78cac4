"""The steps of the protocol under a claim: runs, replies and counts, each all or nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import pytest

from tests.contract.cast import ANN, APPROVAL, BEN, FORM, QUESTION, TTL
from threadclaim.events import (
    RUNNER,
    AnyAnswer,
    Approve,
    Deny,
    FormValues,
    MessagePosted,
    Request,
    RequestAnswered,
    RunEnded,
    RunPaused,
    RunStarted,
)
from threadclaim.events import Reply as ReplyTo
from threadclaim.handover import Left
from threadclaim.plan import ResumePlan, plan
from threadclaim.steps import (
    Abandon,
    Answer,
    Ask,
    Claim,
    CountTaken,
    EndRun,
    Looked,
    NothingAsked,
    Post,
    Release,
    Reply,
    Send,
    StartRun,
)
from threadclaim.storage import Scope, Stranded
from threadclaim.storage.protocol import lease_name
from threadclaim.thread import RunStatus
from threadclaim.workspace import Workspace

if TYPE_CHECKING:
    from tests.contract.conftest import World

pytestmark = pytest.mark.anyio

Lapse = Callable[[Scope, str], Awaitable[None]]


async def test_start_takes_its_input(world: World) -> None:
    """I2: a start is recorded with its holder and what it consumes, and takes it, in one write."""
    prompt = await world.send("m-1")
    await world.claim("h-1")
    await world.start("h-1", "r-1", prompt)
    assert await world.events(3) == [RunStarted("r-1", "h-1", (3,), resumed=False)]
    assert (await world.taken(), await world.status()) == (3, RunStatus.ACTIVE)


async def test_start_takes_no_more_than_its_input(world: World) -> None:
    """I2: a start takes up to its input's position; what came since, message or not, stays to be taken."""
    prompt = await world.send("m-1")
    await world.note()
    await world.send("u-1", "u")
    await world.do(Post("t", MessagePosted("n-1", "A notice", "notice"), ANN))
    second = await world.send("m-2")
    await world.claim("h-1")
    await world.start("h-1", "r-1", prompt)
    assert await world.taken() == prompt.seq
    assert (await world.read()).messages == (second,)
    assert await world.look() == Looked(Left(second.seq, prompt.seq, is_left=True), is_held=True)


async def test_pause_and_end_take_what_was_delivered(world: World) -> None:
    """A pause, or an end, keeps its history, and takes what was delivered, up to its position and no more."""
    prompt = await world.send("m-1")
    await world.claim("h-1")
    await world.start("h-1", "r-1", prompt)
    delivered = await world.send("m-2")
    await world.note("u")
    await world.send("m-3")
    assert await world.pause("h-1", "r-1", delivered.seq, QUESTION)
    assert (await world.taken(), await world.status()) == (delivered.seq, RunStatus.PAUSED)
    assert [message.seq for message in (await world.read()).messages] == [7]
    assert list(await world.storage.transact(world.scope, lambda tx: tx.history("t"))) == [b"paused"]
    await world.do(Answer("t", {"q": ReplyTo("x")}, ANN))
    await world.do(StartRun("t", "h-1", "r-1", ANN, delivered.seq, (), resumed=True))
    await world.do(EndRun("t", "h-1", RunEnded("r-1", "completed"), ANN, 7, b"ended"))
    assert (await world.taken(), await world.status()) == (7, RunStatus.ENDED)
    history = await world.storage.transact(world.scope, lambda tx: tx.history("t"))
    assert list(history) == [b"paused", b"ended"]


async def test_end_of_a_direct_run_takes_nothing(world: World) -> None:
    """A direct run's end keeps history and saves no position; what its agent was told counts as taken."""
    await world.post("m-1")
    await world.start_direct("r-1")
    assert await world.end_direct(RunEnded("r-1", "completed")) is True
    assert await world.taken() is None
    assert (await world.read()).taken == 5
    assert await world.look() == Looked(Left(0, 5, is_left=False), is_held=False)


async def test_end_of_another_segment_is_refused(world: World, lapse: Lapse) -> None:
    """Repairs a and d: an end, or a pause, of a run that another abandoned or resumed keeps nothing."""
    await world.paused(QUESTION)
    await world.do(Answer("t", {"q": ReplyTo("x")}, ANN))
    await world.claim("h-2")
    await world.do(StartRun("t", "h-2", "r-1", ANN, 6, (), resumed=True))
    before = await world.everything()
    late: list[RunEnded | RunPaused] = [RunEnded("r-1", "completed"), RunPaused("r-1", (QUESTION,))]
    for event in late:
        assert await world.do(EndRun("t", "h-1", event, ANN, 99, b"late")) is False
    other = EndRun("t", "h-2", RunEnded("r-2", "completed"), ANN, 99, b"late")
    assert await world.do(other) is False
    assert await world.everything() == before
    await lapse(world.scope, lease_name("t"))
    await world.claim("h-3")
    assert await world.do(Abandon("t", "h-3", "r-1")) is True
    before = await world.everything()
    for event in late:
        assert await world.do(EndRun("t", "h-2", event, ANN, 99, b"late")) is False
    assert await world.everything() == before


async def test_end_recorded_again_is_refused(world: World) -> None:
    """Repair m: the second try of an end that took effect is refused, and moves nothing."""
    prompt = await world.send("m-1")
    await world.claim("h-1")
    await world.start("h-1", "r-1", prompt)
    end = EndRun("t", "h-1", RunEnded("r-1", "completed"), ANN, prompt.seq, b"once")
    assert await world.do(end) is True
    before = await world.everything()
    assert await world.do(end) is False
    assert await world.everything() == before


async def test_abandon(world: World, lapse: Lapse) -> None:
    """A run that a dead holder left active is recorded as failed, by the runner; an ended one is left so."""
    prompt = await world.send("m-1")
    await world.claim("h-1")
    await world.start("h-1", "r-1", prompt)
    await lapse(world.scope, lease_name("t"))
    await world.claim("h-2")
    assert await world.do(Abandon("t", "h-2", "another")) is False
    assert await world.do(Abandon("t", "h-2", "r-1")) is True
    (entry,) = await Workspace(world.storage, world.scope, ANN).read(after_seq=4)
    assert isinstance(entry.event, RunEnded)
    assert (entry.event.outcome, entry.event.reason, entry.actor) == ("failed", "abandoned", RUNNER)
    assert await world.status() is RunStatus.ENDED
    before = await world.everything()
    assert await world.do(Abandon("t", "h-2", "r-1")) is False
    assert await world.everything() == before


async def test_reply(world: World) -> None:
    """A reply answers, and takes its message, in one write; it asks for nothing."""
    await world.paused(QUESTION, APPROVAL)
    message = await world.send("m-2")
    await world.claim("h-2")
    answers: tuple[tuple[Request, AnyAnswer], ...] = ((QUESTION, ReplyTo("x")), (APPROVAL, Deny("x")))
    replied = await world.storage.transact(world.scope, Reply("t", "h-2", "r-1", message, answers))
    assert replied == (await world.thread()).run
    assert await world.events(message.seq) == [
        RequestAnswered("r-1", "q", ReplyTo("x"), message.seq),
        RequestAnswered("r-1", "a", Deny("x"), message.seq),
    ]
    assert (await world.asked(), await world.taken()) == (message.seq, message.seq)
    assert await world.status() is RunStatus.ANSWERED


async def answered_by_a_reply(world: World) -> int:
    """A run that a reply has answered, whose claim is released; ben posted before it. Gives what it took."""
    await world.paused(QUESTION)
    message = await world.send("m-2")
    await world.post("m-3", BEN)
    await world.claim("h-2")
    await world.do(Reply("t", "h-2", "r-1", message, ((QUESTION, ReplyTo("x")),)))
    await world.do(Release("t", "h-2"))
    return message.seq


async def test_replied_run_is_left(world: World) -> None:
    """Repair b: a run that a reply answered, its claimant dead, is left and stranded with nothing asked."""
    taken = await answered_by_a_reply(world)
    assert await world.look() == Looked(Left(taken, taken, is_left=True), is_held=False)
    assert await world.storage.stranded(world.scope) == Stranded(left=("t",))
    view = await world.claim("h-3")
    assert view.is_left
    decided = plan(view)
    assert isinstance(decided, ResumePlan)
    assert (decided.actor, decided.messages, decided.through) == (ANN, (), taken)


async def test_reply_does_not_ask_for_what_was_posted(world: World) -> None:
    """I5, repair b: once its run is over, a message that was posted before the answers starts no turn."""
    taken = await answered_by_a_reply(world)
    await world.claim("h-3")
    await world.do(StartRun("t", "h-3", "r-1", ANN, taken, (), resumed=True))
    await world.do(EndRun("t", "h-3", RunEnded("r-1", "completed"), ANN, taken))
    assert await world.do(Release("t", "h-3")) == Left(taken, taken, is_left=False)
    assert await world.do(Claim("t", "h-4", TTL)) == NothingAsked()
    assert await world.storage.stranded(world.scope) == Stranded()
    assert [message.seq for message in (await world.read()).messages] == [taken + 1]


async def test_reply_that_an_answer_came_before(world: World) -> None:
    """What was answered first stays so; with nothing left to answer, the message is left too."""
    await world.paused(QUESTION, APPROVAL)
    message = await world.send("m-2")
    await world.claim("h-2")
    await world.do(Answer("t", {"q": ReplyTo("first")}, BEN))
    answers: tuple[tuple[Request, AnyAnswer], ...] = ((QUESTION, ReplyTo("x")), (APPROVAL, Deny("x")))
    assert await world.do(Reply("t", "h-2", "r-1", message, answers)) == (await world.thread()).run
    assert (await world.events(message.seq))[1:] == [RequestAnswered("r-1", "a", Deny("x"), message.seq)]
    before = await world.everything()
    assert await world.do(Reply("t", "h-2", "r-1", message, answers)) is None
    assert await world.do(Reply("t", "h-2", "r-0", message, answers)) is None
    assert await world.everything() == before


async def test_reply_beside_a_form(world: World) -> None:
    """A reply that leaves a form open takes its message; the run stays paused."""
    await world.paused(QUESTION, FORM)
    message = await world.send("m-2")
    await world.claim("h-2")
    await world.do(Reply("t", "h-2", "r-1", message, ((QUESTION, ReplyTo("x")),)))
    assert (await world.taken(), await world.status()) == (message.seq, RunStatus.PAUSED)
    await world.do(Answer("t", {"f": FormValues({"a": 1})}, ANN))
    assert await world.status() is RunStatus.ANSWERED


async def test_count_takes_what_was_read(world: World) -> None:
    """Repair n: a count takes the position it is given, and no more, however far the log has come."""
    await world.do(Ask("t"))
    view = await world.claim("h-1")
    await world.note("u")
    await world.do(CountTaken("t", "h-1", view.head))
    assert await world.taken() == 2


async def test_each_step_is_all_or_nothing(world: World) -> None:
    """I2, regression 12: a step broken off at any write keeps nothing: no position moves without it."""
    assert await world.broken_off(Send("t", MessagePosted("m-1", "Hello"), ANN)) == 3
    assert await world.broken_off(Claim("t", "h-1", TTL)) == 1
    assert await world.broken_off(StartRun("t", "h-1", "r-1", ANN, 3, (3,), resumed=False)) == 2
    paused = RunPaused("r-1", (QUESTION, APPROVAL))
    assert await world.broken_off(EndRun("t", "h-1", paused, ANN, 4, b"chunk")) == 3
    message = await world.send("m-2")
    answers: tuple[tuple[Request, AnyAnswer], ...] = ((QUESTION, ReplyTo("x")), (APPROVAL, Deny("x")))
    assert await world.broken_off(Reply("t", "h-1", "r-1", message, answers)) == 3
    assert await world.broken_off(StartRun("t", "h-1", "r-1", ANN, 8, (), resumed=True)) == 2
    assert await world.broken_off(Abandon("t", "h-1", "r-1")) == 1
    assert await world.broken_off(Ask("t")) == 1
    assert await world.broken_off(CountTaken("t", "h-1", 10)) == 1
    assert await world.broken_off(Release("t", "h-1")) == 1


async def test_answers_are_all_or_nothing(world: World) -> None:
    """Answers and their ask are one write."""
    await world.paused(QUESTION, APPROVAL)
    step = Answer("t", {"q": ReplyTo("x"), "a": Approve()}, ANN)
    assert await world.broken_off(step) == 3
