"""Message ids: each is used once in a workspace, and a retry is told from another message of the same id."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.contract.cast import ANN
from threadclaim.errors import UsedMessageId
from threadclaim.events import Actor, Custom, Envelope, MessagePosted, PersonActor
from threadclaim.steps import Post, Send
from threadclaim.storage import Step, Transaction

if TYPE_CHECKING:
    from tests.contract.conftest import World

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("kind", [Send, Post])
async def test_used_message_id(kind: type[Send | Post], world: World) -> None:
    """A used message id is refused, with the same text or another, in any thread, and changes nothing."""
    sent = await world.send("m-1")
    for thread_id, text in [("t", "Text of m-1"), ("u", "Another")]:
        await world.refuses(UsedMessageId, kind(thread_id, MessagePosted("m-1", text), ANN))
    assert await repeated(world, kind("t", MessagePosted("m-1", "Text of m-1"), ANN)) == sent


@pytest.mark.parametrize(
    ("thread_id", "message", "actor"),
    [
        ("u", MessagePosted("m-1", "Text of m-1"), ANN),
        ("t", MessagePosted("m-1", "Another"), ANN),
        ("t", MessagePosted("m-1", "Text of m-1", "notice"), ANN),
        ("t", MessagePosted("m-1", "Text of m-1"), PersonActor("ben")),
    ],
    ids=["in another thread", "with another text", "as a notice", "by another"],
)
async def test_another_message_of_a_used_id_is_no_retry(
    thread_id: str, message: MessagePosted, actor: Actor, world: World
) -> None:
    """Its caller must not take it for committed; and hears nothing of the message that has the id."""
    await world.send("m-1")
    assert await repeated(world, Send(thread_id, message, actor)) is None


@pytest.mark.parametrize("older", [99, 100, 101, 999])
async def test_a_retry_is_known_behind_many_entries(older: int, world: World) -> None:
    """Of its own thread, up to the last thousand; those of other threads do not count."""
    sent = await world.send("m-1")
    await world.do(lambda tx: append(tx, older, "t"))
    await world.do(lambda tx: append(tx, 50, "u"))
    assert await repeated(world, Send("t", MessagePosted("m-1", "Text of m-1"), ANN)) == sent


async def test_a_retry_that_comes_very_late_is_not_known(world: World) -> None:
    """What is read for it is bounded."""
    await world.send("m-1")
    await world.do(lambda tx: append(tx, 1000, "t"))
    assert await repeated(world, Send("t", MessagePosted("m-1", "Text of m-1"), ANN)) is None


async def append(tx: Transaction, count: int, thread_id: str) -> None:
    """Commit some events of the application's to a thread."""
    for number in range(count):
        await tx.append(Custom("noise", number), actor=ANN, thread_id=thread_id)


async def repeated(world: World, step: Step[object]) -> Envelope | None:
    """What a step is told that its message repeats, as its id is used."""
    with pytest.raises(UsedMessageId) as refused:
        await world.do(step)
    assert ("Nothing was committed" in str(refused.value)) == (refused.value.repeats is None)
    return refused.value.repeats
