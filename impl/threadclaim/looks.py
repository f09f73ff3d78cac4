"""The second look: a claim_ttl after a refusal, or a failed release, a process looks again (ADR-0070)."""

import asyncio
import contextvars
from collections import Counter
from collections.abc import Callable

from threadclaim.claim import is_cancelled
from threadclaim.handover import ALL, Leaving
from threadclaim.steps import LookAgain
from threadclaim.storage.protocol import Scope, Storage
from threadclaim.telemetry import log_for

Take = Callable[[Scope, str, int], None]
"""Claims a thread for a look, having read how far it is asked for."""


class Looks:
    """The looks of one process: at most one waits for each thread.

    A look reads the positions and the claim before it claims (DESIGN.md, repair g). While the claim is held
    it waits again; with nothing left to do it is over; one that fails is logged, and not armed again.
    """

    def __init__(self, storage: Storage, delay: float, take: Take) -> None:
        """Look `delay` seconds after being armed, and `take` a thread that has something left to do."""
        self._storage, self._delay, self._take = storage, delay, take
        self._timers: dict[tuple[Scope, str], asyncio.TimerHandle] = {}
        self._why: dict[tuple[Scope, str], Leaving] = {}
        self._reading: Counter[tuple[Scope, str]] = Counter()
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    def arm(self, scope: Scope, thread_id: str, why: Leaving = ALL) -> None:
        """Look at the thread again, unless no look is to come any more; at most one waits.

        `why` is as whom: of a release that failed, how its claimant left, for the look hands over by that
        rule.
        """
        key = (scope, thread_id)
        if self._closed:
            return
        self._why[key] = why.beside(self._why.get(key))
        if key in self._timers:
            return
        loop = asyncio.get_running_loop()
        # The Runner's own work: nothing of the command's context, its span among it, goes with it.
        context = contextvars.Context()
        self._timers[key] = loop.call_later(self._delay, self._come, key, context=context)

    def is_armed(self, scope: Scope, thread_id: str) -> bool:
        """Whether a look waits for the thread, or reads it: the model's `look`."""
        return (scope, thread_id) in self._timers or self._reading[scope, thread_id] > 0

    def close(self) -> set[asyncio.Task[None]]:
        """Cancel every look, and arm none any more; the tasks of those that are reading, until they end."""
        self._closed = True
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._why.clear()
        for task in self._tasks:
            task.cancel()
        return set(self._tasks)

    def _come(self, key: tuple[Scope, str]) -> None:
        """A look's time has come. Who is refused from now on arms another: this one may read too early."""
        self._timers.pop(key, None)
        why = self._why.pop(key, ALL)
        task = asyncio.get_running_loop().create_task(self._look(*key, why), name=f"look at {key[1]}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _look(self, scope: Scope, thread_id: str, why: Leaving) -> None:
        """ThreadClaim!LookAgain, or ThreadClaim!LookFails."""
        self._reading[scope, thread_id] += 1
        try:
            looked = await self._storage.transact(scope, LookAgain(thread_id))
        except (Exception, asyncio.CancelledError):  # whatever it is, the look is over and logged
            if is_cancelled():
                raise
            log_for(thread_id).exception(
                "A look failed; what was asked waits for the thread's next command, or for recover."
            )
            return
        finally:
            self._reading[scope, thread_id] -= 1
            self._reading += Counter()  # forgets what is at 0
        if self._closed or not why.goes(looked.left):
            return
        if looked.is_held:
            self.arm(scope, thread_id, why)
        else:
            self._take(scope, thread_id, looked.left.asked)
