"""What every storage does in the same way: running a step to its end, and telling what a sweep is for."""

import asyncio
import uuid
from collections.abc import Coroutine
from datetime import UTC, datetime
from typing import Any, Literal, TypeVar

import anyio
import anyio.lowlevel

from threadclaim.plan import LeavePlan, View, plan
from threadclaim.storage.protocol import UPGRADED, asked_cursor, taken_cursor

T = TypeVar("T")


def utc_now() -> datetime:
    """The time, in UTC."""
    return datetime.now(UTC)


def new_id() -> str:
    """An id that is nobody else's."""
    return uuid.uuid4().hex


Standing = Literal["left", "waiting"]
"""Where a thread stands in `Stranded`."""


def standing(view: View) -> Standing | None:
    """Where a thread stands: None with nothing left to do, waiting if its holder's plan would leave it so.

    Of `view.entries` only the first message counts; the others need not be there.
    """
    if not view.is_left:
        return None
    return "waiting" if isinstance(plan(view), LeavePlan) else "left"


def thread_of_cursor(name: str) -> str | None:
    """The thread whose `asked` or `taken` a cursor is; None for every other cursor."""
    thread_id = name.removeprefix(UPGRADED.removesuffix("upgraded")).rpartition("/")[0]
    return thread_id if name in {asked_cursor(thread_id), taken_cursor(thread_id)} else None


async def to_its_end(call: Coroutine[Any, Any, T]) -> T:
    """Run `call` in a task of its own, wait for its end even if cancelled, and raise the cancellation then.

    The call sees the caller's context variables. What it raises is raised, a CancelledError of its own too. A
    cancel scope of anyio's, which cancels again on every turn of the loop, is held off by a shield: waiting
    again and again would spin.
    """
    task = asyncio.get_running_loop().create_task(call)
    cancelled: asyncio.CancelledError | None = None
    with anyio.CancelScope(shield=True):
        while not task.done():
            try:
                await asyncio.wait({task})
            except asyncio.CancelledError as error:
                cancelled = cancelled or error
    if cancelled is None:
        cancelled = await _scope_cancelled()
    if cancelled is None:
        return task.result()
    raise cancelled from None if task.cancelled() else task.exception()


async def _scope_cancelled() -> asyncio.CancelledError | None:
    """The cancellation by a scope of anyio's that the shield has held off, if there is one."""
    try:
        await anyio.lowlevel.checkpoint_if_cancelled()
    except asyncio.CancelledError as error:
        return error
    return None
