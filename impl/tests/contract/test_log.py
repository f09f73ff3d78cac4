"""The log: entries in order and without gaps, windows of it, and what an entry says."""

from datetime import timedelta
from itertools import product

import pytest
from opentelemetry import trace
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags

from threadclaim.errors import LimitError
from threadclaim.events import (
    RUNNER,
    Actor,
    AgentActor,
    Approve,
    Custom,
    Deny,
    Event,
    ExternalAgentActor,
    FormValues,
    MessagePosted,
    PersonActor,
    Reply,
    Request,
    RequestAnswered,
    RunEnded,
    RunPaused,
    RunStarted,
    ThreadCreated,
    ToolCalled,
    ToolReturned,
)
from threadclaim.storage import Scope, Storage, Transaction
from threadclaim.workspace import Workspace

pytestmark = pytest.mark.anyio

ANN = PersonActor("ann")
EVENTS: list[Event] = [
    ThreadCreated("A title"),
    MessagePosted("m-1", 'Héllo — 你好 🎉\n\t"quoted" \\u0000 back\\slash'),
    MessagePosted("m-2", "A notice", "notice"),
    RunStarted("r-1", "holder-1", (2, 3), resumed=True),
    RunPaused("r-1", (Request("c-1", "form", "ask_form", {"a": [{"b": None}]}, {"type": "object"}),), (4,)),
    RunEnded("r-1", "failed", error="It broke.", reason="broken", delivered=(5,)),
    RequestAnswered("r-1", "c-1", FormValues({"a": 1.5}), 2),
    RequestAnswered("r-1", "c-2", Reply(["a", True])),
    RequestAnswered("r-1", "c-3", Approve()),
    RequestAnswered("r-1", "c-4", Deny("No.")),
    ToolCalled("r-1", "c-5", "search", '{"q": "x"}'),
    ToolReturned("r-1", "c-5", "search", ok=True),
    Custom("theme", {"dark": True}),
]
ACTORS: list[Actor] = [ANN, AgentActor("bot"), ExternalAgentActor("other"), RUNNER]


async def test_empty_log(ann: Workspace) -> None:
    """A workspace without entries has head 0 and nothing to read."""
    assert await ann.head() == 0
    assert await ann.read() == []


async def test_every_event_is_given_back(storage: Storage, scope: Scope) -> None:
    """What is read is what was committed, of every type of event, with all that an envelope says."""

    async def append(tx: Transaction) -> list[object]:
        return [
            await tx.append(event, actor=ACTORS[n % len(ACTORS)], thread_id=f"t-{n % 2}", run_id=f"r-{n}")
            for n, event in enumerate(EVENTS)
        ]

    async def read(tx: Transaction) -> list[object]:
        return list(await tx.read())

    appended = await storage.transact(scope, append)
    entries = await Workspace(storage, scope, ANN).read()
    assert list(entries) == appended == await storage.transact(scope, read)
    assert [entry.event for entry in entries] == EVENTS
    assert [entry.seq for entry in entries] == list(range(1, len(EVENTS) + 1))
    assert [entry.actor for entry in entries] == [ACTORS[n % len(ACTORS)] for n in range(len(EVENTS))]
    assert [entry.thread_id for entry in entries] == [f"t-{n % 2}" for n in range(len(EVENTS))]
    assert [entry.run_id for entry in entries] == [f"r-{n}" for n in range(len(EVENTS))]
    assert len({entry.id for entry in entries}) == len(EVENTS)
    assert {entry.at.utcoffset() for entry in entries} == {timedelta(0)}


async def test_entries_of_no_thread(ann: Workspace) -> None:
    """An entry need be of no thread and no run; no thread's window has it."""
    entry = await ann.commit(Custom("theme"))
    assert (entry.thread_id, entry.run_id, entry.traceparent) == (None, None, None)
    assert await ann.read(threads=["None", "theme"]) == []


async def test_what_is_given_back_is_no_ones_to_change(ann: Workspace) -> None:
    """Changing what was committed, after it was, changes nothing in the log."""
    data = {"list": [1]}
    await ann.commit(Custom("theme", data))
    data["list"].append(2)
    assert [entry.event for entry in await ann.read()] == [Custom("theme", {"list": [1]})]


async def test_windows(storage: Storage, scope: Scope, ann: Workspace) -> None:
    """Every window is what filtering the whole log by its bounds, threads and limit gives."""

    async def append(tx: Transaction) -> None:
        for n in range(9):
            await tx.append(Custom(str(n)), actor=ANN, thread_id=[None, "a", "b", "c"][n * n % 4 or n % 4])

    await storage.transact(scope, append)
    log = await ann.read()
    threads: list[list[str] | None] = [None, [], ["a"], ["a", "b"], ["b", "b", "a"], ["none"]]
    bounds = product(
        [0, 1, 4, 9, 20], [None, 0, 1, 5, 9, 10, 20], threads, [None, 0, 1, 2, 20], [False, True]
    )
    for after, before, of, limit, last in bounds:
        found = [
            entry
            for entry in log
            if entry.seq > after
            and (before is None or entry.seq < before)
            and (of is None or entry.thread_id in of)
        ]
        if limit is not None:
            found = found[len(found) - min(limit, len(found)) :] if last else found[:limit]
        read = await ann.read(after_seq=after, before_seq=before, threads=of, limit=limit, last=last)
        assert list(read) == found, (after, before, of, limit, last)


async def test_traceparent_is_the_callers(ann: Workspace) -> None:
    """An entry has the trace context that was current where it was committed from."""
    context = SpanContext(0xABC, 0xDEF, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))
    with trace.use_span(NonRecordingSpan(context)):
        committed = await ann.commit(Custom("traced"))
    assert committed.traceparent == f"00-{0xABC:032x}-{0xDEF:016x}-01"
    assert list(await ann.read()) == [committed]


@pytest.mark.parametrize(
    "event",
    [
        RunEnded("r", "completed", output="a\0b"),
        RunEnded("r", "completed", output="\ud83c"),
        Custom("x", {"deep": [{"\udfff": 1}]}),
        Custom("x", {"a\0": 1}),
        Custom("x", object()),
    ],
    ids=["nul", "surrogate", "surrogate in a key", "nul in a key", "no JSON"],
)
async def test_event_that_cannot_be_kept(
    event: Event, storage: Storage, scope: Scope, ann: Workspace
) -> None:
    """An event that not every storage can hold is refused by each, with all that its transaction wrote."""

    async def append(tx: Transaction) -> None:
        await tx.append(Custom("before"), actor=ANN)
        await tx.append(event, actor=ANN)

    with pytest.raises(LimitError):
        await storage.transact(scope, append)
    assert await ann.head() == 0
