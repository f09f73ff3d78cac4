"""What is refused at the runner's door: the caller's faults, which change nothing and start nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from threadclaim.errors import (
    LimitError,
    RequestError,
    SettledRequest,
    UnknownRequest,
    UnknownThread,
    UsedMessageId,
    WrongAnswer,
)
from threadclaim.events import AnyAnswer, Approve, Deny, FormValues, PersonActor, Reply, Request
from threadclaim.limits import MAX_ID_LENGTH, MAX_TEXT_BYTES
from threadclaim.runner import Runner
from threadclaim.workspace import Workspaces

if TYPE_CHECKING:
    from tests.runner.conftest import World

pytestmark = pytest.mark.anyio

QUESTION = Request("q", "question", "ask")
APPROVAL = Request("a", "approval", "delete")
FORM = Request("f", "form", "ask_form", schema={"type": "object", "required": ["name"]})


async def expect_refused(world: World, runner: Runner, error: type[Exception], **given: object) -> None:
    """Expect a send to be refused, having changed nothing and started nothing."""
    head, calls = await world.ann.head(), len(world.agent.runs)
    arguments: dict[str, object] = {"thread_id": "t", "text": "text", **given}
    with pytest.raises(error):
        await runner.send(world.ann, **arguments)  # type: ignore[arg-type]  # some are what no type allows
    await world.settle()
    assert await world.ann.head() == head
    assert len(world.agent.runs) == calls
    assert await world.is_at_rest()


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\t",
        "a\0b",
        "\ud800",
        "x" * (MAX_TEXT_BYTES + 1),
        "é" * (MAX_TEXT_BYTES // 2 + 1),
        b"bytes",
        None,
    ],
)
async def test_a_text_beyond_the_limits_is_refused(world: World, text: object) -> None:
    """Empty or blank, with a NUL or a lone surrogate, too long in bytes, or no text."""
    await expect_refused(world, world.runner(), LimitError, text=text)


@pytest.mark.parametrize("given", ["", "a\0b", "\udfff", "x" * (MAX_ID_LENGTH + 1), 7])
@pytest.mark.parametrize("name", ["message_id", "thread_id"])
async def test_an_id_beyond_the_limits_is_refused(world: World, name: str, given: object) -> None:
    """A message's and a thread's."""
    await expect_refused(world, world.runner(), LimitError, **{name: given})


async def test_what_is_just_within_the_limits_is_carried_out(world: World) -> None:
    """The longest text, the longest id."""
    sent = await world.runner().send(world.ann, "t", "x" * MAX_TEXT_BYTES, message_id="i" * MAX_ID_LENGTH)
    await world.expect_once(sent.message)


async def test_an_unknown_thread_is_refused_by_every_command(world: World) -> None:
    """Another workspace's is unknown here, whatever its id."""
    elsewhere = Workspaces(world.ann.storage).workspace("tenant", "elsewhere", PersonActor("ann"))
    await elsewhere.create_thread("theirs")
    runner = world.runner()
    for thread_id in ("unknown", "theirs"):
        for command in (
            runner.send(world.ann, thread_id, "text"),
            runner.answer(world.ann, thread_id, {"q": Reply("yes")}),
            runner.answer(world.ann, thread_id, {}),
            runner.resume(world.ann, thread_id),
        ):
            with pytest.raises(UnknownThread):
                await command
        assert runner.running(world.ann, thread_id) is None
    assert await world.runner().recover(world.ann) == []


async def test_a_used_message_id_is_refused(world: World) -> None:
    """Of a message that was sent, or posted directly."""
    runner = world.runner()
    await runner.send(world.ann, "t", "text", message_id="sent")
    await world.ann.post_message("t", "text", message_id="posted")
    await world.settle()
    await world.settle()
    for message_id in ("sent", "posted"):
        with pytest.raises(UsedMessageId):
            await runner.send(world.ann, "t", "text", message_id=message_id)
    await world.settle()
    assert len(world.agent.runs) == 1


async def test_a_retry_at_once_is_refused_and_the_first_carried_out(world: World) -> None:
    """Two sends of one id: one is committed."""
    runner = world.runner()
    sent = await runner.send(world.ann, "t", "text", message_id="m")
    with pytest.raises(UsedMessageId):
        await runner.send(world.ann, "t", "text", message_id="m")
    await world.expect_once(sent.message)


@pytest.mark.parametrize(
    ("answers", "error"),
    [
        ({}, RequestError),
        ({"x": Reply("yes")}, UnknownRequest),
        ({"q": Reply("yes"), "x": Reply("yes")}, UnknownRequest),
        ({"q": Approve()}, WrongAnswer),
        ({"q": FormValues({})}, WrongAnswer),
        ({"a": Reply("yes")}, WrongAnswer),
        ({"f": Reply("yes")}, WrongAnswer),
        ({"f": Deny("no")}, WrongAnswer),
        ({"f": FormValues({})}, WrongAnswer),
        ({"q": Reply("yes"), "f": FormValues({})}, WrongAnswer),
        ({"q": Reply("a\0b")}, RequestError),
        ({"q": Reply(object())}, RequestError),
    ],
)
async def test_an_answer_that_does_not_fit_is_refused(
    world: World, answers: dict[str, AnyAnswer], error: type[Exception]
) -> None:
    """Nothing of it is committed, and the run stays paused; the right answers then resume it."""
    runner = world.runner()
    await world.paused(runner, QUESTION, APPROVAL, FORM)
    head = await world.ann.head()
    with pytest.raises(error):
        await runner.answer(world.ann, "t", answers)
    await world.settle()
    assert await world.ann.head() == head
    assert len(world.agent.runs) == 1
    right: dict[str, AnyAnswer] = {"q": Reply("yes"), "a": Approve(), "f": FormValues({"name": "x"})}
    assert (await runner.answer(world.ann, "t", right)).run is not None


async def test_an_answer_to_a_settled_request_is_refused(world: World) -> None:
    """Answered already, while the run is still paused, as it goes on, and once it has ended."""
    runner = world.runner()
    await world.paused(runner, QUESTION, APPROVAL)
    await runner.answer(world.ann, "t", {"q": Reply("yes")})
    await world.settle()
    resumed = world.held()
    late: list[dict[str, AnyAnswer]] = [{"q": Reply("no")}, {"q": Reply("no"), "a": Approve()}]
    for answers in late:
        with pytest.raises(SettledRequest):
            await runner.answer(world.ann, "t", answers)
    await runner.answer(world.ann, "t", {"a": Approve()})
    await resumed.reached.wait()
    with pytest.raises(SettledRequest):
        await runner.answer(world.ann, "t", {"a": Deny("no")})
    resumed.open.set()
    await world.settle()
    with pytest.raises(SettledRequest):
        await runner.answer(world.ann, "t", {"a": Deny("no")})
    assert world.agent.runs[1].answers == {"q": Reply("yes"), "a": Approve()}


@pytest.mark.parametrize("answers", [{}, {"q": Reply("yes")}])
async def test_an_answer_with_no_run_is_refused(world: World, answers: dict[str, AnyAnswer]) -> None:
    """There is nothing to answer."""
    with pytest.raises(RequestError):
        await world.runner().answer(world.ann, "t", answers)


@pytest.mark.parametrize("ttl", [0, 0.01, -1.0, float("inf"), float("nan")])
async def test_a_claim_ttl_beyond_the_limits_is_refused(world: World, ttl: float) -> None:
    """As the runner is made."""
    with pytest.raises(LimitError):
        world.runner(ttl=ttl)
