"""The steps of the protocol that command, claim, release and look: what each changes, refuses and gives."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import pytest

from tests.contract.cast import ANN, APPROVAL, BEN, QUESTION, TTL
from threadclaim.errors import (
    ClaimLost,
    RequestError,
    SettledRequest,
    UnknownRequest,
    UnknownThread,
    WrongAnswer,
)
from threadclaim.events import (
    AnyAnswer,
    Approve,
    Deny,
    MessagePosted,
    RequestAnswered,
    RunEnded,
    RunPaused,
)
from threadclaim.events import Reply as ReplyTo
from threadclaim.handover import Left
from threadclaim.plan import View
from threadclaim.steps import (
    Abandon,
    Answer,
    Ask,
    Claim,
    CountTaken,
    EndRun,
    LookAgain,
    Looked,
    NothingAsked,
    Post,
    Refused,
    Release,
    Renew,
    Replan,
    Reply,
    Send,
    StartRun,
)
from threadclaim.storage import Scope, Step, Stranded
from threadclaim.storage.protocol import UPGRADED, lease_name, taken_cursor
from threadclaim.thread import RunStatus
from threadclaim.workspace_steps import HoldThread, LetThread

if TYPE_CHECKING:
    from tests.contract.conftest import World

pytestmark = pytest.mark.anyio

Lapse = Callable[[Scope, str], Awaitable[None]]


async def test_send_commits_and_asks(world: World) -> None:
    """Send commits a message, and asks up to it, in one write; it takes nothing."""
    sent = await world.send("m-1")
    assert (sent.seq, sent.actor, sent.thread_id) == (3, ANN, "t")
    assert sent.event == MessagePosted("m-1", "Text of m-1")
    assert (await world.asked(), await world.taken(), await world.asked("u")) == (3, 0, None)
    assert await world.storage.stranded(world.scope) == Stranded(left=("t",))


async def test_post_asks_for_nothing(world: World) -> None:
    """I5: a message committed directly, and a notice, ask for nothing."""
    await world.do(Post("t", MessagePosted("m-1", "Hello"), ANN))
    await world.do(Post("t", MessagePosted("n-1", "Hello", "notice"), ANN))
    assert (await world.asked(), await world.taken()) == (None, None)
    assert await world.do(Claim("t", "h-1", TTL)) == NothingAsked()
    assert await world.storage.stranded(world.scope) == Stranded()


async def test_unknown_thread(world: World) -> None:
    """Every step of a thread that there is not is refused, and changes nothing."""
    message = MessagePosted("m-1", "Hello")
    steps: list[Step[object]] = [
        Send("none", message, ANN),
        Post("none", message, ANN),
        Answer("none", {"q": ReplyTo("x")}, ANN),
        Ask("none"),
        Claim("none", "h-1", TTL),
        Replan("none"),
        Release("none", "h-1"),
        LookAgain("none"),
        EndRun("none", "h-1", RunEnded("r-1", "completed"), ANN, 1, None),
    ]
    for step in steps:
        await world.refuses(UnknownThread, step)


async def test_answer_commits_and_asks(world: World) -> None:
    """Answers are committed in order, with their author, and asked up to the last; then all is answered."""
    await world.paused(QUESTION, APPROVAL)
    step = Answer("t", {"a": Deny("No."), "q": ReplyTo("x")}, BEN)
    committed = await world.storage.transact(world.scope, step)
    assert [entry.event for entry in committed] == [
        RequestAnswered("r-1", "a", Deny("No.")),
        RequestAnswered("r-1", "q", ReplyTo("x")),
    ]
    assert {entry.actor for entry in committed} == {BEN}
    assert {entry.run_id for entry in committed} == {"r-1"}
    assert await world.asked() == committed[-1].seq
    assert await world.status() is RunStatus.ANSWERED


async def test_answers_come_one_by_one(world: World) -> None:
    """A run is answered once its last request is; each answer asks."""
    await world.paused(QUESTION, APPROVAL)
    await world.do(Answer("t", {"q": ReplyTo("x")}, ANN))
    assert await world.status() is RunStatus.PAUSED
    assert await world.asked() == 6
    await world.do(Answer("t", {"a": Approve()}, ANN))
    assert await world.status() is RunStatus.ANSWERED
    assert await world.asked() == 7


async def test_answer_that_is_refused(world: World) -> None:
    """Answers to no request, or with one to a settled one among them, commit none of them."""
    answers: dict[str, AnyAnswer] = {"q": ReplyTo("x")}
    await world.refuses(UnknownRequest, Answer("t", answers, ANN))
    await world.paused(QUESTION, APPROVAL)
    await world.refuses(UnknownRequest, Answer("t", {**answers, "none": ReplyTo("x")}, ANN))
    await world.refuses(WrongAnswer, Answer("t", {**answers, "a": ReplyTo("x")}, ANN))
    await world.do(Answer("t", {"a": Approve()}, ANN))
    await world.refuses(SettledRequest, Answer("t", {**answers, "a": Deny("No.")}, ANN))
    await world.do(Answer("t", answers, ANN))
    await world.refuses(SettledRequest, Answer("t", answers, ANN))


async def test_no_answers_are_refused(world: World) -> None:
    """To answer with nothing is refused, and changes nothing, whether anything is open or not."""
    await world.refuses(RequestError, Answer("t", {}, ANN))
    await world.paused(QUESTION)
    await world.refuses(RequestError, Answer("t", {}, ANN))


async def test_ask_asks_up_to_the_head(world: World) -> None:
    """`resume` asks up to the log's head, which may be another thread's entry, and never back."""
    await world.note("u")
    assert await world.do(Ask("t")) == 3
    assert (await world.asked(), await world.asked("u")) == (3, None)
    assert await world.do(Ask("t")) == 3
    assert await world.asked() == 3


FIRST_ASKS: dict[str, Step[object]] = {
    "send": Send("t", MessagePosted("m-1", "Hello"), ANN),
    "answer": Answer("t", {"q": ReplyTo("x")}, ANN),
    "resume": Ask("t"),
}


@pytest.mark.parametrize("first", FIRST_ASKS)
async def test_first_ask_saves_taken(first: str, world: World) -> None:
    """Repair p: a first ask saves `taken` where it is, here what its agent was told; a later one does not."""
    await world.start_direct("r-1")
    assert await world.end_direct(RunPaused("r-1", (QUESTION,)))
    assert (await world.asked(), await world.taken(), (await world.read()).taken) == (None, None, 4)
    await world.do(FIRST_ASKS[first])
    assert await world.taken() == 4
    await world.do(lambda tx: tx.save_history("t", b"told more"))
    await world.send("m-2")
    await world.do(Ask("t"))
    assert (await world.taken(), (await world.read()).taken) == (4, 4)


async def test_first_ask_saves_the_upgrade_point(world: World) -> None:
    """Repair p: of a thread from before the upgrade, a first ask saves the upgrade point as `taken`."""
    await world.post("m-1")
    await world.do(lambda tx: tx.save_cursor(UPGRADED, 3))
    await world.send("m-2")
    assert (await world.asked(), await world.taken()) == (4, 3)


async def test_message_sent_beside_a_direct_run_is_not_lost(world: World) -> None:
    """Repair p: a direct run's history does not count a message that was sent as it went on."""
    await world.do(HoldThread("t", "caller", TTL))
    await world.start_direct("r-1")
    sent = await world.send("m-1")
    assert await world.do(Claim("t", "h-1", TTL)) == Refused()
    assert await world.end_direct(RunEnded("r-1", "completed"))
    await world.do(LetThread("t", "caller"))
    assert await world.look() == Looked(Left(sent.seq, 0, is_left=True), is_held=False)
    assert (await world.claim("h-1")).messages == (sent,)


async def test_claim_is_granted_with_what_there_is(world: World) -> None:
    """A claim gives both positions, the head, and the thread's entries past `taken`, of no other thread."""
    sent = await world.send("m-1")
    await world.send("u-1", "u")
    posted = await world.storage.transact(world.scope, Post("t", MessagePosted("m-2", "Hello"), BEN))
    view = await world.claim("h-1")
    assert (view.asked, view.taken, view.head) == (3, 0, 5)
    assert view.messages == (sent, posted)
    assert [entry.seq for entry in view.entries] == [1, 3, 5]
    assert await world.holder() == "h-1"
    assert await world.do(Replan("t")) == view


async def test_claim_is_refused(world: World, lapse: Lapse) -> None:
    """A claim that is held is refused to everybody, its holder too, until it lapses."""
    await world.send("m-1")
    await world.claim("h-1")
    for holder in ("h-2", "h-1"):
        assert await world.do(Claim("t", holder, TTL)) == Refused()
    assert await world.holder() == "h-1"
    await lapse(world.scope, lease_name("t"))
    await world.claim("h-2")
    assert await world.holder() == "h-2"


async def test_one_of_many_claims_is_granted(world: World) -> None:
    """Of twenty claims at once, one is granted."""
    await world.send("m-1")
    claims = [world.do(Claim("t", f"h-{n}", TTL)) for n in range(20)]
    came = [type(claim) for claim in await asyncio.gather(*claims)]
    assert sorted(kind.__name__ for kind in came) == ["Claimed"] + ["Refused"] * 19


async def test_no_claim_for_nothing(world: World) -> None:
    """With nothing left to do no claim is made; a run left active is something to do (repair f)."""
    assert await world.do(Claim("t", "h-1", TTL)) == NothingAsked()
    assert await world.holder() is None
    prompt = await world.send("m-1")
    await world.claim("h-1")
    await world.start("h-1", "r-1", prompt)
    await world.do(Release("t", "h-1"))
    view = await world.claim("h-2")
    assert view.asked <= view.taken
    assert view.thread.active_run is not None


async def test_claim_for_an_answered_run(world: World) -> None:
    """A paused run is nothing to do; once it is answered it is, though nothing is asked (repair b)."""
    await world.paused(QUESTION)
    assert await world.do(Claim("t", "h-2", TTL)) == NothingAsked()
    answer = RequestAnswered("r-1", "q", ReplyTo("x"))
    await world.do(lambda tx: tx.append(answer, actor=ANN, thread_id="t", run_id="r-1"))
    view = await world.claim("h-2")
    assert view.asked <= view.taken
    assert view.thread.run is not None
    assert view.thread.run.status is RunStatus.ANSWERED


async def test_effective_taken(world: World) -> None:
    """I7: never before the upgrade point; else its own position, or without one what its agent was told."""
    await world.post("m-1")
    await world.post("m-2")
    await world.do(lambda tx: tx.save_cursor(UPGRADED, 3))
    view = await world.read()
    assert (view.taken, [message.seq for message in view.messages]) == (3, [4])
    await world.do(lambda tx: tx.save_history("t", b"a direct run's"))
    assert await world.read() == View(view.thread, 0, 4, 4, [])
    await world.post("m-3")
    await world.do(lambda tx: tx.save_cursor(taken_cursor("t"), 2))
    own = await world.read()
    assert (own.taken, [message.seq for message in own.messages]) == (3, [4, 5])
    await world.do(lambda tx: tx.save_cursor(UPGRADED, 4))
    assert (await world.read()).taken == 4
    assert (await world.look()).left.taken == 4
    assert (await world.storage.transact(world.scope, Release("t", "h-1"))).taken == 4


async def test_fence(world: World, lapse: Lapse) -> None:
    """ADR-0069: each write under a claim is refused, changing nothing, if another holds it or nobody does."""
    await world.paused(QUESTION)
    message = await world.send("m-2")
    fenced: list[Step[object]] = [
        StartRun("t", "h-2", "r-2", ANN, message.seq, (message.seq,), resumed=False),
        Reply("t", "h-2", "r-1", message, ((QUESTION, ReplyTo("x")),)),
        Abandon("t", "h-2", "r-1"),
        CountTaken("t", "h-2", message.seq),
    ]
    for step in fenced:
        await world.refuses(ClaimLost, step)
    await world.claim("h-2")
    await lapse(world.scope, lease_name("t"))
    for step in fenced:
        await world.refuses(ClaimLost, step)
    await world.claim("h-3")
    for step in fenced:
        await world.refuses(ClaimLost, step)
    await world.do(Release("t", "h-3"))
    await world.claim("h-1")
    for step in fenced:
        await world.refuses(ClaimLost, step)


async def test_old_holder_stays_fenced(world: World, lapse: Lapse) -> None:
    """A claim that its process lost and took again is a new holder's: the old one is refused."""
    message = await world.send("m-1")
    await world.claim("h-1")
    await lapse(world.scope, lease_name("t"))
    assert await world.do(Renew("t", "h-1", TTL)) is False
    await world.claim("h-2")
    assert await world.do(Renew("t", "h-1", TTL)) is False
    start = StartRun("t", "h-1", "r-1", ANN, message.seq, (message.seq,), resumed=False)
    await world.refuses(ClaimLost, start)
    await world.do(Release("t", "h-1"))
    assert await world.holder() == "h-2"
    assert await world.do(Renew("t", "h-2", TTL)) is True


async def test_release_reads_what_is_left(world: World) -> None:
    """A release gives up its own claim only, and reads both positions and whether anything is left."""
    prompt = await world.send("m-1")
    await world.claim("h-1")
    await world.start("h-1", "r-1", prompt)
    await world.send("m-2")
    assert await world.do(Release("t", "h-2")) == Left(5, 3, is_left=True)
    assert await world.holder() == "h-1"
    assert await world.do(Release("t", "h-1")) == Left(5, 3, is_left=True)
    assert await world.holder() is None
    assert await world.do(Release("t", "h-1")) == Left(5, 3, is_left=True)


async def test_release_reads_a_run_to_see_to(world: World) -> None:
    """With all taken, a run is left while it is active or answered, and not while it is paused or ended."""
    prompt = await world.send("m-1")
    release = Release("t", "h-1")
    await world.claim("h-1")
    await world.start("h-1", "r-1", prompt)
    assert await world.do(release) == Left(3, 3, is_left=True)
    assert await world.pause("h-1", "r-1", prompt.seq, QUESTION)
    assert await world.do(release) == Left(3, 3, is_left=False)
    reply = await world.send("m-2")
    await world.claim("h-2")
    await world.do(Reply("t", "h-2", "r-1", reply, ((QUESTION, ReplyTo("x")),)))
    assert await world.do(release) == Left(6, 6, is_left=True)
    await world.do(StartRun("t", "h-2", "r-1", ANN, reply.seq, (), resumed=True))
    await world.do(EndRun("t", "h-2", RunEnded("r-1", "completed"), ANN, reply.seq))
    assert await world.do(release) == Left(6, 6, is_left=False)


async def test_look(world: World, lapse: Lapse) -> None:
    """A look reads both positions, whether anything is left, and if the claim is held; it changes nothing."""
    assert await world.do(LookAgain("t")) == Looked(Left(0, 0, is_left=False), is_held=False)
    await world.send("m-1")
    assert await world.do(LookAgain("t")) == Looked(Left(3, 0, is_left=True), is_held=False)
    await world.claim("h-1")
    before = await world.everything()
    assert await world.do(LookAgain("t")) == Looked(Left(3, 0, is_left=True), is_held=True)
    assert await world.everything() == before
    await lapse(world.scope, lease_name("t"))
    assert await world.do(LookAgain("t")) == Looked(Left(3, 0, is_left=True), is_held=False)
