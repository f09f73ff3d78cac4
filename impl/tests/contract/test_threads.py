"""A thread's row: folded from its events as they are committed, and its messages."""

import pytest

from threadclaim.events import (
    Custom,
    Envelope,
    Event,
    MessagePosted,
    PersonActor,
    Reply,
    Request,
    RequestAnswered,
    RunEnded,
    RunPaused,
    RunStarted,
    ThreadCreated,
)
from threadclaim.storage import Scope, Storage, Transaction
from threadclaim.thread import Thread

pytestmark = pytest.mark.anyio

ANN = PersonActor("ann")
REQUESTS = (
    Request("c-1", "question", "ask", {"q": ["why"]}),
    Request("c-2", "form", "ask_form", {}, {"a": 1}),
)
LIFE: list[Event] = [
    ThreadCreated("A title"),
    MessagePosted("m-1", "Hello"),
    RunStarted("r-1", "holder-1", (2,)),
    RunPaused("r-1", REQUESTS),
    RequestAnswered("r-1", "c-1", Reply("because")),
    RequestAnswered("r-1", "c-2", Reply("b")),
    RunStarted("r-1", "holder-2", (), resumed=True),
    RunEnded("r-1", "completed"),
    RunEnded("r-0", "failed"),
]


async def append(storage: Storage, scope: Scope, *events: Event, thread_id: str = "t") -> None:
    """Commit events of a thread."""

    async def step(tx: Transaction) -> None:
        for event in events:
            await tx.append(event, actor=ANN, thread_id=thread_id)

    await storage.transact(scope, step)


async def thread(storage: Storage, scope: Scope, thread_id: str = "t") -> Thread | None:
    """The thread as a transaction loads it."""

    async def step(tx: Transaction) -> Thread | None:
        return await tx.thread(thread_id)

    return await storage.transact(scope, step)


async def test_thread_is_its_events_folded(storage: Storage, scope: Scope) -> None:
    """After each event, in a transaction of its own, the row is the fold of all its events so far."""
    await append(storage, scope, Custom("before"))
    folded = Thread("t", created=2)
    for event in LIFE:
        await append(storage, scope, event)
        await append(storage, scope, ThreadCreated(), RunStarted("r-9", "x"), thread_id="another")
        entry = next(entry for entry in reversed(await read(storage, scope)) if entry.thread_id == "t")
        folded = folded.after(entry)
        assert await thread(storage, scope) == folded


async def read(storage: Storage, scope: Scope) -> list[Envelope]:
    """The log."""

    async def step(tx: Transaction) -> list[Envelope]:
        return list(await tx.read())

    return await storage.transact(scope, step)


async def test_transaction_sees_its_own_thread(storage: Storage, scope: Scope) -> None:
    """A thread is there at once, run and all, for what its transaction loads after."""

    async def step(tx: Transaction) -> list[Thread | None]:
        seen = [await tx.thread("t")]
        for event in LIFE[:4]:
            await tx.append(event, actor=ANN, thread_id="t")
            seen.append(await tx.thread("t"))
        return seen

    nothing, created, posted, started, paused = await storage.transact(scope, step)
    assert nothing is None
    assert created == posted == Thread("t", created=1)
    assert started is not None
    assert started.active_run is not None
    assert paused is not None
    assert paused.run is not None
    assert paused.run.open_requests == REQUESTS
    assert await thread(storage, scope) == paused


async def test_unknown_thread(storage: Storage, scope: Scope) -> None:
    """There is no thread that was not created, whatever else is of its id."""
    await append(storage, scope, Custom("x"))
    assert await thread(storage, scope) is None
    assert await thread(storage, scope, "T") is None


async def test_transaction_sees_its_own_messages(storage: Storage, scope: Scope) -> None:
    """A message, its id and its place are there at once, after those that were committed before."""
    await append(storage, scope, ThreadCreated(), MessagePosted("m-2", "2"))

    async def step(tx: Transaction) -> list[object]:
        await tx.append(MessagePosted("n", "a notice", "notice"), actor=ANN, thread_id="t")
        await tx.append(MessagePosted("m-4", "4"), actor=ANN, thread_id="t")
        await tx.append(MessagePosted("a", "another's"), actor=ANN, thread_id="another")
        own = [await tx.is_used(message_id) for message_id in ("m-2", "n", "m-4", "a", "b")]
        messages = [entry.seq for entry in await tx.read(threads=["t"]) if entry.is_message]
        return [*own, messages, await tx.head()]

    assert await storage.transact(scope, step) == [True, True, True, True, False, [2, 4], 5]


async def test_message_ids_are_used_once_in_a_workspace(storage: Storage, scope: Scope) -> None:
    """An id is used by a message or a notice of any thread, to the letter."""
    await append(storage, scope, MessagePosted("m", "a message"))
    await append(storage, scope, MessagePosted("n", "a notice", "notice"), thread_id="another")

    async def step(tx: Transaction) -> list[bool]:
        return [await tx.is_used(message_id) for message_id in ("m", "n", "M", "m ", "")]

    assert await storage.transact(scope, step) == [True, True, False, False, False]
