"""Workspaces: handles, threads, direct commits, cursors and reading."""

from collections.abc import Awaitable, Callable

import pytest

from threadclaim.errors import (
    LimitError,
    RequestError,
    UnknownThread,
    UsedMessageId,
    UsedThreadId,
)
from threadclaim.events import (
    AgentActor,
    Custom,
    Event,
    MessagePosted,
    PersonActor,
    Reply,
    RequestAnswered,
    RunEnded,
    RunPaused,
    RunStarted,
    ThreadCreated,
    ToolCalled,
    ToolReturned,
)
from threadclaim.storage import Scope, Storage, Stranded
from threadclaim.storage.protocol import UPGRADED, asked_cursor, taken_cursor
from threadclaim.workspace import Workspace, Workspaces

pytestmark = pytest.mark.anyio

ANN, BEN = PersonActor("ann"), PersonActor("ben")
SCOPE = Scope("tenant", "workspace")


async def asked(workspace: Workspace, thread_id: str) -> int | None:
    """How far a thread is asked for."""
    return await workspace.cursor(asked_cursor(thread_id))


async def test_handle(storage: Storage, ann: Workspace) -> None:
    """A handle has a scope and an actor; as another actor it is the same workspace, and is left as it is."""
    ben = ann.as_actor(BEN)
    assert (ben.scope, ben.actor, ben.storage) == (SCOPE, BEN, storage)
    assert ann.actor == ANN
    await ann.create_thread("t")
    assert (await ben.post_message("t", "Hello")).actor == BEN
    assert (await ann.post_message("t", "Hello")).actor == ANN


@pytest.mark.parametrize("bad", ["", "a" * 1001, "a\0", "\ud800"])
async def test_bad_ids_are_refused_at_the_door(bad: str, storage: Storage, ann: Workspace) -> None:
    """No handle, thread, message or cursor has an id that not every storage can hold; nothing changes."""
    workspaces = Workspaces(storage)
    await ann.create_thread("t")
    with pytest.raises(LimitError, match="tenant"):
        workspaces.workspace(bad, "w", ANN)
    with pytest.raises(LimitError, match="workspace"):
        workspaces.workspace("t", bad, ANN)
    with pytest.raises(LimitError, match="actor"):
        workspaces.workspace("t", "w", PersonActor(bad))
    with pytest.raises(LimitError, match="actor"):
        ann.as_actor(AgentActor(bad))
    with pytest.raises(LimitError, match="thread"):
        ann.claim_thread(bad)
    calls: list[tuple[str, Callable[[], Awaitable[object]]]] = [
        ("thread", lambda: ann.create_thread(bad)),
        ("thread", lambda: ann.thread(bad)),
        ("thread", lambda: ann.post_message(bad, "Hello")),
        ("message", lambda: ann.post_message("t", "Hello", message_id=bad)),
        ("thread", lambda: ann.commit(Custom("x"), thread_id=bad)),
        ("cursor", lambda: ann.commit(Custom("x"), cursor=(bad, 1))),
        ("cursor", lambda: ann.cursor(bad)),
        ("thread", lambda: ann.read(threads=["t", bad])),
    ]
    for what, call in calls:
        with pytest.raises(LimitError, match=f"The {what}'s"):
            await call()
    assert await ann.head() == 1


@pytest.mark.parametrize("bad", ["", " \n", "a" * (1024 * 1024 + 1), "a\0", "\ud800"])
async def test_bad_text_is_refused_at_the_door(bad: str, ann: Workspace) -> None:
    """Text that is blank, too long, or not for every storage is refused; its message id stays free."""
    await ann.create_thread("t")
    with pytest.raises(LimitError):
        await ann.post_message("t", bad, message_id="m")
    with pytest.raises(LimitError):
        await ann.post_message("t", bad, message_id="m", kind="notice")
    with pytest.raises(LimitError):
        ann.check(thread_id="t", message=MessagePosted("m", bad))
    assert await ann.head() == 1
    await ann.post_message("t", "Hello", message_id="m")


async def test_bad_numbers_are_refused_at_the_door(ann: Workspace) -> None:
    """No window or subscription begins before the log's first entry, and no cursor is saved there."""
    calls: list[Callable[[], Awaitable[object]]] = [
        lambda: ann.read(after_seq=-1),
        lambda: ann.read(before_seq=-1),
        lambda: ann.read(limit=-1),
        lambda: ann.record([], cursor=("c", -1)),
        lambda: ann.record([], cursor=("c", 2**63)),
    ]
    for call in calls:
        with pytest.raises(LimitError, match="position"):
            await call()
    with pytest.raises(LimitError, match="after_seq"):
        ann.subscribe(-1)
    assert await ann.cursor("c") is None


async def test_create_thread(ann: Workspace) -> None:
    """A thread begins in the log, with its title and its author; without an id it is given one."""
    thread = await ann.create_thread("t", "A title")
    assert (thread.thread_id, thread.created, thread.run) == ("t", 1, None)
    (entry,) = await ann.read()
    assert (entry.event, entry.actor, entry.thread_id) == (ThreadCreated("A title"), ANN, "t")
    assert await ann.thread("t") == thread
    one, another = await ann.create_thread(), await ann.create_thread()
    assert len({"t", one.thread_id, another.thread_id}) == 3
    assert await ann.thread(another.thread_id) == another


async def test_create_thread_again(ann: Workspace) -> None:
    """A thread of the same id is refused, and nothing changes; another workspace may have one."""
    await ann.create_thread("t", "A title")
    with pytest.raises(UsedThreadId, match="'t'"):
        await ann.create_thread("t", "Another")
    with pytest.raises(LimitError, match="title"):
        await ann.create_thread("u", "a" * 1001)
    assert await ann.head() == 1
    await Workspace(ann.storage, Scope("tenant", "another"), ANN).create_thread("t")


async def test_unknown_thread(storage: Storage, ann: Workspace) -> None:
    """A thread of another tenant or workspace is unknown, whatever its id, to every call."""
    for scope in (Scope("tenant", "another"), Scope("another", "workspace")):
        await Workspace(storage, scope, ANN).create_thread("t")
    calls: list[Callable[[], Awaitable[object]]] = [
        lambda: ann.thread("t"),
        lambda: ann.post_message("t", "Hello"),
        lambda: ann.commit(Custom("x"), thread_id="t", cursor=("c", 1)),
        lambda: ann.claim_thread("t").__aenter__(),
    ]
    for call in calls:
        with pytest.raises(UnknownThread, match="'t'"):
            await call()
    assert await ann.head() == 0
    assert await ann.cursor("c") is None
    assert await ann.read(threads=["t"]) == []


async def test_post_message(storage: Storage, ann: Workspace) -> None:
    """I5: a message or a notice posted directly is committed and asks for nothing; a used id is refused."""
    await ann.create_thread("t")
    posted = await ann.post_message("t", "Hello", message_id="m")
    assert (posted.event, posted.seq, posted.is_message) == (MessagePosted("m", "Hello"), 2, True)
    notice = await ann.post_message("t", "Hello", kind="notice")
    assert not notice.is_message
    assert isinstance(notice.event, MessagePosted)
    for text in ("Hello", "Another"):
        with pytest.raises(UsedMessageId):
            await ann.post_message("t", text, message_id="m")
    with pytest.raises(UsedMessageId):
        await ann.post_message("t", "Hello", message_id=notice.event.message_id)
    with pytest.raises(RequestError, match="'letter'"):
        await ann.post_message("t", "Hello", kind="letter")  # type: ignore[arg-type]  # what is refused
    assert await ann.head() == 3
    assert await asked(ann, "t") is None
    assert await storage.stranded(SCOPE) == Stranded()


async def test_commit_and_record(ann: Workspace) -> None:
    """An application commits events of its own, one or several, of a thread or none; a run's with its run."""
    await ann.create_thread("t")
    custom = await ann.commit(Custom("theme", {"dark": True}), thread_id="t")
    assert (custom.event, custom.thread_id, custom.run_id) == (Custom("theme", {"dark": True}), "t", None)
    facts: list[Event] = [ToolCalled("r", "c", "search", "{}"), ToolReturned("r", "c", "search", ok=True)]
    recorded = await ann.record(facts, thread_id="t")
    assert [(entry.event, entry.run_id, entry.seq) for entry in recorded] == [
        (facts[0], "r", 3),
        (facts[1], "r", 4),
    ]
    assert list(await ann.read(after_seq=2)) == list(recorded)


async def test_cursor_is_saved_with_the_write(ann: Workspace) -> None:
    """A cursor is saved with what is committed, or alone; it only moves forward."""
    await ann.commit(Custom("x"), cursor=("mirror", 7))
    assert await ann.cursor("mirror") == 7
    await ann.record([], cursor=("mirror", 3))
    assert await ann.cursor("mirror") == 7
    with pytest.raises(UnknownThread):
        await ann.commit(Custom("x"), thread_id="none", cursor=("mirror", 9))
    assert await ann.cursor("mirror") == 7
    assert await ann.cursor("another") is None


@pytest.mark.parametrize(
    "event",
    [
        ThreadCreated(),
        MessagePosted("m", "Hello"),
        RunStarted("r", "h"),
        RunPaused("r", ()),
        RunEnded("r", "completed"),
        RequestAnswered("r", "q", Reply("x")),
    ],
    ids=lambda event: event.type,
)
async def test_events_that_are_the_runners(event: Event, ann: Workspace) -> None:
    """What only the runner commits is refused, alone or among others, and nothing of it is committed."""
    await ann.create_thread("t")
    with pytest.raises(RequestError, match=type(event).__name__):
        await ann.commit(event, thread_id="t")
    with pytest.raises(RequestError, match=type(event).__name__):
        await ann.record([Custom("x"), event], thread_id="t", cursor=("c", 1))
    assert await ann.head() == 1
    assert await ann.cursor("c") is None


@pytest.mark.parametrize("name", [UPGRADED, asked_cursor("t"), taken_cursor("t"), "artifactr.runner/x"])
async def test_cursors_that_are_the_runners(name: str, ann: Workspace) -> None:
    """A cursor of the runner's own is not the application's to move."""
    await ann.create_thread("t")
    with pytest.raises(RequestError, match="runner's own"):
        await ann.commit(Custom("x"), thread_id="t", cursor=(name, 99))
    assert (await ann.head(), await ann.cursor(name)) == (1, None)


async def test_event_that_cannot_be_kept(ann: Workspace) -> None:
    """An event that not every storage can hold is refused, with those beside it."""
    with pytest.raises(LimitError):
        await ann.record([Custom("x"), Custom("y", "\0")])
    assert await ann.head() == 0


async def test_subscribe_and_head(ann: Workspace) -> None:
    """A subscription is the storage's, from a position on; the head is the last entry's."""
    await ann.record([Custom("1"), Custom("2")])
    assert await ann.head() == 2
    assert (await anext(ann.subscribe(1))).seq == 2
    assert (await anext(ann.subscribe())).seq == 1
