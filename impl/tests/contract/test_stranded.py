"""What a sweep is for: threads with more asked than taken, or a run to see to, and those that wait."""

from collections.abc import Sequence
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from threadclaim.events import (
    Custom,
    Event,
    FormValues,
    MessagePosted,
    PersonActor,
    Reply,
    Request,
    RequestAnswered,
    RunEnded,
    RunPaused,
    RunStarted,
)
from threadclaim.plan import LeavePlan, plan
from threadclaim.steps.loads import load_view
from threadclaim.storage import Scope, Storage, Stranded, Transaction
from threadclaim.storage.protocol import UPGRADED, asked_cursor, taken_cursor
from threadclaim.workspace import Workspace

pytestmark = pytest.mark.anyio

ANN = PersonActor("ann")
FORM = Request("f", "form", "ask_form")
QUESTION = Request("q", "question", "ask")
Write = tuple[str, str, int]
SERIES = count()
"""Numbers the series of writes: each has a scope of its own."""


async def write(storage: Storage, scope: Scope, thread_id: str, *events: Event, **cursors: int) -> None:
    """Commit events of a thread and save its `asked`, its `taken` or the upgrade point, at once."""
    names = {"asked": asked_cursor(thread_id), "taken": taken_cursor(thread_id), "upgraded": UPGRADED}

    async def step(tx: Transaction) -> None:
        for event in events:
            await tx.append(event, actor=ANN, thread_id=thread_id)
        for which, seq in cursors.items():
            await tx.save_cursor(names[which], seq)

    await storage.transact(scope, step)


async def test_nothing_is_stranded_at_first(storage: Storage, scope: Scope, ann: Workspace) -> None:
    """A thread that nobody asked for is not stranded, whatever it holds."""
    assert await storage.stranded(scope) == Stranded()
    await ann.create_thread("t")
    await ann.post_message("t", "Hello")
    assert await storage.stranded(scope) == Stranded()


async def test_asked_and_not_taken(storage: Storage, scope: Scope, ann: Workspace) -> None:
    """A thread is stranded while more is asked than taken; the threads come oldest first."""
    for thread_id in "bac":
        await ann.create_thread(thread_id)
    for thread_id in "cab":
        await write(storage, scope, thread_id, MessagePosted(thread_id, "Hello"), asked=6)
    assert await storage.stranded(scope) == Stranded(left=("b", "a", "c"))
    await write(storage, scope, "a", taken=5)
    assert await storage.stranded(scope) == Stranded(left=("b", "a", "c"))
    await write(storage, scope, "a", taken=6)
    assert await storage.stranded(scope) == Stranded(left=("b", "c"))


async def test_run_left_active(storage: Storage, scope: Scope, ann: Workspace) -> None:
    """A thread whose run is active is stranded though all is taken, until the run ends or pauses."""
    await ann.create_thread("t")
    await ann.create_thread("u")
    await write(storage, scope, "u", RunStarted("r", "h"))
    await write(storage, scope, "t", RunStarted("r", "h"))
    assert await storage.stranded(scope) == Stranded(left=("t", "u"))
    await write(storage, scope, "t", RunEnded("r", "completed"))
    await write(storage, scope, "u", RunPaused("r", (FORM,)))
    assert await storage.stranded(scope) == Stranded()


async def test_run_answered(storage: Storage, scope: Scope, ann: Workspace) -> None:
    """Repair b: a thread whose run is answered is stranded though nothing is asked, until its run is over."""
    await ann.create_thread("t")
    await ann.create_thread("u")
    for thread_id in "ut":
        await write(storage, scope, thread_id, RunStarted("r", "h"), RunPaused("r", (FORM, QUESTION)))
    await write(storage, scope, "t", RequestAnswered("r", "q", Reply("x")), taken=7)
    assert await storage.stranded(scope) == Stranded()
    await write(storage, scope, "t", RequestAnswered("r", "f", FormValues({})))
    assert await storage.stranded(scope) == Stranded(left=("t",))
    await write(storage, scope, "t", taken=8)
    assert await storage.stranded(scope) == Stranded(left=("t",))
    await write(storage, scope, "t", RunStarted("r", "h", resumed=True))
    assert await storage.stranded(scope) == Stranded(left=("t",))
    await write(storage, scope, "t", RunEnded("r", "completed"))
    assert await storage.stranded(scope) == Stranded()


async def test_waiting_for_a_form(storage: Storage, scope: Scope, ann: Workspace) -> None:
    """With only forms open and only messages left a thread waits; it is left once they are answered."""
    await ann.create_thread("t")
    await write(storage, scope, "t", RunStarted("r", "h"), RunPaused("r", (FORM,)), taken=3)
    assert await storage.stranded(scope) == Stranded()
    await write(storage, scope, "t", MessagePosted("m", "Hello"), asked=4)
    assert await storage.stranded(scope) == Stranded(waiting=("t",))
    await write(storage, scope, "t", RequestAnswered("r", "f", FormValues({})), asked=5)
    assert await storage.stranded(scope) == Stranded(left=("t",))


async def test_positions_to_count_are_left(storage: Storage, scope: Scope, ann: Workspace) -> None:
    """With only forms open and positions to count before its message it is left; once counted, it waits."""
    await ann.create_thread("t")
    await write(storage, scope, "t", RunStarted("r", "h"), RunPaused("r", (FORM,)), taken=3)
    await write(storage, scope, "t", Custom("4"), MessagePosted("m", "Hello"), asked=5)
    assert await storage.stranded(scope) == Stranded(left=("t",))
    await write(storage, scope, "t", taken=4)
    assert await storage.stranded(scope) == Stranded(waiting=("t",))


async def test_question_beside_a_form(storage: Storage, scope: Scope, ann: Workspace) -> None:
    """With a question open beside a form, a message answers it: the thread is left."""
    await ann.create_thread("t")
    await write(storage, scope, "t", RunStarted("r", "h"), RunPaused("r", (FORM, QUESTION)), taken=3)
    await write(storage, scope, "t", MessagePosted("m", "Hello"), asked=4)
    assert await storage.stranded(scope) == Stranded(left=("t",))


async def test_upgrade_point(storage: Storage, scope: Scope, ann: Workspace) -> None:
    """What is asked from before the upgrade point is taken, by threads with a position or without."""
    for thread_id in "abc":
        await ann.create_thread(thread_id)
    await write(storage, scope, "a", MessagePosted("a", "Hello"), asked=4)
    await write(storage, scope, "b", MessagePosted("b", "Hello"), asked=5, taken=1)
    assert await storage.stranded(scope) == Stranded(left=("a", "b"))
    await write(storage, scope, "c", upgraded=5)
    assert await storage.stranded(scope) == Stranded()
    await write(storage, scope, "c", MessagePosted("c", "Hello"), asked=6)
    assert await storage.stranded(scope) == Stranded(left=("c",))


async def test_told_counts_without_a_position(storage: Storage, scope: Scope, ann: Workspace) -> None:
    """A thread without a position of its own starts from what its agent was last told."""
    await ann.create_thread("t")
    await write(storage, scope, "t", MessagePosted("m", "Hello"), asked=2)
    await storage.transact(scope, lambda tx: tx.save_history("t", b"a direct run's"))
    assert await storage.stranded(scope) == Stranded()
    await write(storage, scope, "t", MessagePosted("n", "Hello"), asked=3)
    assert await storage.stranded(scope) == Stranded(left=("t",))


async def expected(storage: Storage, scope: Scope, thread_ids: Sequence[str]) -> Stranded:
    """What is stranded, by reading every thread and deciding as its holder would."""

    async def step(tx: Transaction) -> Stranded:
        views = {thread_id: await load_view(tx, thread_id) for thread_id in thread_ids}
        stranded = [thread_id for thread_id in thread_ids if views[thread_id].is_left]
        waiting = [thread_id for thread_id in stranded if isinstance(plan(views[thread_id]), LeavePlan)]
        return Stranded(tuple(t for t in stranded if t not in waiting), tuple(waiting))

    return await storage.transact(scope, step)


WRITES: dict[str, Event] = {
    "note": Custom("x"),
    "start": RunStarted("r", "h"),
    "pause": RunPaused("r", (FORM, QUESTION)),
    "form": RunPaused("r", (FORM,)),
    "answer form": RequestAnswered("r", "f", FormValues({})),
    "answer question": RequestAnswered("r", "q", FormValues({})),
    "end": RunEnded("r", "completed"),
}


async def carry_out(storage: Storage, scope: Scope, number: int, one: Write) -> None:
    """Carry out one of the random writes."""
    thread_id, what, seq = one
    if what == "told":
        await storage.transact(scope, lambda tx: tx.save_history(thread_id, b"x"))
    elif what == "message":
        await write(storage, scope, thread_id, MessagePosted(str(number), "Hello"))
    elif what in WRITES:
        await write(storage, scope, thread_id, WRITES[what])
    else:
        await write(storage, scope, thread_id, **{what: seq})


@given(
    writes=st.lists(
        st.tuples(
            st.sampled_from("abc"),
            st.sampled_from(["message", "message", "asked", "asked", "taken", "upgraded", "told", *WRITES]),
            st.integers(0, 20),
        ),
        max_size=25,
    )
)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_stranded_is_what_reading_every_thread_gives(storage: Storage, writes: list[Write]) -> None:
    """After each of any series of writes, what is stranded is what reading every thread would find."""
    scope = Scope("tenant", f"workspace-{next(SERIES)}")
    workspace = Workspace(storage, scope, ANN)
    for thread_id in "abc":
        await workspace.create_thread(thread_id)
    for number, one in enumerate(writes):
        await carry_out(storage, scope, number, one)
        assert await storage.stranded(scope) == await expected(storage, scope, "abc"), one
