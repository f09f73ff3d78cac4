"""The second look: a claim_ttl after a refusal, or a failed release, a process looks again (ADR-0070)."""

import asyncio
import contextvars
import random
from collections import Counter
from collections.abc import Callable

from threadclaim.claim import is_cancelled
from threadclaim.handover import ALL, Leaving
from threadclaim.steps import LookAgain
from threadclaim.storage.protocol import Scope, Storage, thread_of_lease
from threadclaim.telemetry import log_for

SOONER = 60
"""A look that is told of the claim's release comes after this part of its delay, or up to twice that."""

Take = Callable[[Scope, str, int], None]
"""Claims a thread for a look, having read how far it is asked for."""


class Looks:
    """The looks of one process: at most one waits for each thread.

    A look reads the positions and the claim before it claims (DESIGN.md, repair g). While the claim is held
    it waits again; with nothing left to do it is over; one that fails is logged, and not armed again. Where
    storage tells that the claim was released, the look comes sooner.
    """

    def __init__(self, storage: Storage, delay: float, take: Take) -> None:
        """Look `delay` seconds after being armed, and `take` a thread that has something left to do."""
        self._storage, self._delay, self._take = storage, delay, take
        self._timers: dict[tuple[Scope, str], asyncio.TimerHandle] = {}
        self._why: dict[tuple[Scope, str], Leaving] = {}
        self._reading: Counter[tuple[Scope, str]] = Counter()
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False
        # Those that a release wakes come one after the other: the first claims, and the others wait again.
        self._sooner = delay / SOONER * (1.0 + random.random())  # noqa: S311  # no secret: only not in step
        self._unhook = storage.on_release(self.hear_of_release)

    def hear_of_release(self, scope: Scope, name: str) -> None:
        """A lease was given up: a look that waits for that claim comes soon, after the holder's hand-over.

        It is a hint of storage's, on which nothing rests: without one the look comes at its time.
        """
        thread_id = thread_of_lease(name)
        if thread_id is None or (timer := self._timers.get((scope, thread_id))) is None:
            return
        loop = asyncio.get_running_loop()
        if timer.when() > loop.time() + self._sooner:
            timer.cancel()
            self._wait((scope, thread_id), self._sooner)

    def arm(self, scope: Scope, thread_id: str, why: Leaving = ALL) -> None:
        """Look at the thread again, unless no look is to come any more; at most one waits.

        `why` is as whom: of a release that failed, how its claimant left, for the look hands over by that
        rule.
        """
        key = (scope, thread_id)
        if self._closed:
            return
        self._why[key] = why.beside(self._why.get(key))
        if key not in self._timers:
            self._wait(key, self._delay)

    def _wait(self, key: tuple[Scope, str], seconds: float) -> None:
        """Have a look come after so many seconds."""
        # The Runner's own work: nothing of the command's context, its span among it, goes with it.
        context = contextvars.Context()
        loop = asyncio.get_running_loop()
        self._timers[key] = loop.call_later(seconds, self._come, key, context=context)

    def is_armed(self, scope: Scope, thread_id: str) -> bool:
        """Whether a look waits for the thread, or reads it: the model's `look`."""
        return (scope, thread_id) in self._timers or self._reading[scope, thread_id] > 0

    def close(self) -> set[asyncio.Task[None]]:
        """Cancel every look, and arm none any more; the tasks of those that are reading, until they end."""
        self._closed = True
        self._unhook()
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
