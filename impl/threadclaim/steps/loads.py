"""What the steps of the protocol share: what they load, the fence, and the ask."""

from threadclaim.errors import ClaimLost, UnknownThread
from threadclaim.handover import Left
from threadclaim.plan import View, effective_taken
from threadclaim.storage.protocol import UPGRADED, Transaction, asked_cursor, lease_name, taken_cursor
from threadclaim.thread import Thread


async def load_thread(tx: Transaction, thread_id: str) -> Thread:
    """The thread; raises UnknownThread if the workspace has none of this id."""
    thread = await tx.thread(thread_id)
    if thread is None:
        raise UnknownThread(thread_id)
    return thread


async def load_taken(tx: Transaction, thread_id: str) -> int:
    """How far the thread is taken: the effective position, I7's."""
    saved, upgraded = await tx.cursor(taken_cursor(thread_id)), await tx.cursor(UPGRADED)
    return effective_taken(saved=saved, upgraded=upgraded, told=await tx.told(thread_id))


async def load_view(tx: Transaction, thread_id: str) -> View:
    """What a holder plans from."""
    thread, head = await load_thread(tx, thread_id), await tx.head()
    asked, taken = await tx.cursor(asked_cursor(thread_id)) or 0, await load_taken(tx, thread_id)
    entries = await tx.read(after_seq=taken, before_seq=head + 1, threads=[thread_id])
    return View(thread, asked, taken, head, entries)


async def hold_fast(tx: Transaction, thread_id: str, holder: str) -> None:
    """The fence (ADR-0069): raises ClaimLost, which rolls all back, unless `holder` holds the claim."""
    if await tx.holder(lease_name(thread_id)) != holder:
        raise ClaimLost(thread_id, holder)


async def save_ask(tx: Transaction, thread_id: str, seq: int) -> None:
    """Ask for the thread up to `seq`. A first ask saves `taken` too, where it is (DESIGN.md, repair p)."""
    if await tx.cursor(taken_cursor(thread_id)) is None:
        await tx.save_cursor(taken_cursor(thread_id), await load_taken(tx, thread_id))
    await tx.save_cursor(asked_cursor(thread_id), seq)


async def load_left(tx: Transaction, thread_id: str) -> Left:
    """What is left in the thread."""
    thread, asked = await load_thread(tx, thread_id), await tx.cursor(asked_cursor(thread_id)) or 0
    taken = await load_taken(tx, thread_id)
    return Left(asked, taken, asked > taken or thread.has_run_to_see_to)
