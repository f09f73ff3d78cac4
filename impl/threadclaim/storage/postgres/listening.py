"""LISTEN and NOTIFY: a hint to other processes that something is new. It carries ids; nothing rests on it.

A notification is sent beside the transaction, once that is committed: one that is part of it would have all
commits of the server wait for each other. It is sent, and heard, on one connection of its own, which must
lead to the server itself. One that is dropped is made anew, and then all that wait look for what came
meanwhile.
"""

import asyncio
import json
import logging
import random
import uuid
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import asyncpg

from threadclaim.errors import said
from threadclaim.storage.postgres.failures import without_password

if TYPE_CHECKING:
    Connection = asyncpg.Connection[asyncpg.Record]

_log = logging.getLogger(__name__)

CHANNEL = "threadclaim"
MAX_PAYLOAD = 7999
"""How many bytes PostgreSQL lets a notification carry."""

_ANSWERS_WITHIN = 10.0
"""How long, in seconds, the server may take to answer before the connection counts as lost."""

_ASKS_EVERY = 30.0
"""After how many quiet seconds the server is asked whether it is still there."""

_PAUSE = 5.0
"""How long, in seconds, at most until a lost connection is made anew."""

Hinted = Callable[[int | None, Sequence[str]], Awaitable[None]]
"""Told of a scope's number and of leases that were given up; of None where anything may have come."""


class Listener:
    """One connection that tells and hears; a task keeps it up."""

    def __init__(self, dsn: str, hinted: Hinted) -> None:
        """Connect to nothing yet."""
        self._dsn, self._hinted = dsn, hinted
        self._me = uuid.uuid4().hex
        self._to_do: asyncio.Queue[str | tuple[int, Sequence[str]] | None] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Keep a connection up from now on, on this loop."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._keep_up())

    def tell(self, number: int, released: Sequence[str]) -> None:
        """Tell the other processes, soon; leases whose names are too long for it are left out."""
        payload = json.dumps([self._me, number, list(released)])
        if len(payload) > MAX_PAYLOAD:
            payload = json.dumps([self._me, number, []])
        self._to_do.put_nowait(payload)

    async def _keep_up(self) -> None:
        """Connect, and again whenever the connection is lost."""
        while True:
            try:
                await self._listen()
            except Exception as error:  # noqa: BLE001  # whatever it is, nothing rests on a hint
                _log.warning("Not listening to %s: %s", without_password(self._dsn), said(error))
            await asyncio.sleep(random.uniform(_PAUSE / 50, _PAUSE))  # noqa: S311  # only not in step

    async def _listen(self) -> None:
        """Tell and hear, until the connection is lost."""
        connection = await asyncpg.connect(self._dsn, timeout=_ANSWERS_WITHIN, statement_cache_size=0)
        try:
            connection.add_termination_listener(lambda _: self._to_do.put_nowait(None))
            await connection.add_listener(CHANNEL, self._heard)
            await self._hinted(None, ())  # what came while nobody listened
            while not connection.is_closed():
                await self._do_next(connection)
        finally:
            connection.terminate()

    async def _do_next(self, connection: "Connection") -> None:
        """Send what is to be told, pass on what was heard, or see whether the server is still there."""
        try:
            async with asyncio.timeout(_ASKS_EVERY):
                next_ = await self._to_do.get()
        except TimeoutError:
            await connection.execute("SELECT 1", timeout=_ANSWERS_WITHIN)
            return
        if isinstance(next_, str):
            await connection.execute("SELECT pg_notify($1, $2)", CHANNEL, next_, timeout=_ANSWERS_WITHIN)
        elif next_ is not None:
            await self._hinted(*next_)

    def _heard(self, _connection: object, _pid: int, _channel: str, payload: object) -> None:
        """Take up what another process tells; this one knows its own."""
        with suppress(ValueError, TypeError):  # somebody else uses the channel
            me, number, released = json.loads(str(payload))
            if me != self._me:
                self._to_do.put_nowait((int(number), [str(name) for name in released]))

    async def aclose(self) -> None:
        """Listen no more."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait({task}, timeout=_ANSWERS_WITHIN)
