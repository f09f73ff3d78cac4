"""Turns within a process: one at a time for each scope, in the order in which they asked."""

import asyncio
from collections.abc import Hashable
from weakref import WeakValueDictionary


class Turns:
    """One lock for each key and loop, for as long as anybody wants it.

    The database has a lock of its own, which holds between processes. This one holds within: who waits here
    waits in order, and keeps no connection from others meanwhile.
    """

    def __init__(self) -> None:
        """Nobody has a turn."""
        self._locks: WeakValueDictionary[tuple[Hashable, asyncio.AbstractEventLoop], asyncio.Lock] = (
            WeakValueDictionary()
        )

    def of(self, key: Hashable) -> asyncio.Lock:
        """The lock for a key: a scope, say."""
        return self._locks.setdefault((key, asyncio.get_running_loop()), asyncio.Lock())
