"""The watcher of a run: it follows the log, and keeps the messages that the run has not been given yet."""

import asyncio
from collections.abc import AsyncGenerator, Sequence

from threadclaim.claim import is_cancelled
from threadclaim.events import Actor, Envelope
from threadclaim.storage.protocol import Scope, Storage
from threadclaim.telemetry import log_for


class Watcher:
    """Finds the messages that arrive for a run, up to the first from another author (ADR-0057).

    It is the run's `Steering`; `given` are the seqs that it has handed out, in order. `position` is the
    position that the run's start took. A read that fails is tried again after `retry` seconds, from where it
    stood.
    """

    def __init__(  # noqa: PLR0913, PLR0917  # what to follow, for whom, from where
        self, storage: Storage, scope: Scope, thread_id: str, actor: Actor, position: int, retry: float
    ) -> None:
        """Watch nothing yet."""
        self._storage, self._scope, self._thread_id, self._actor = storage, scope, thread_id, actor
        self.position, self._retry = position, retry
        self.given: list[int] = []
        self._arrived: list[Envelope] = []
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to follow the log."""
        self._task = asyncio.get_running_loop().create_task(
            self._follow(), name=f"watcher of {self._thread_id}"
        )

    def take(self) -> Sequence[Envelope]:
        """The messages that have arrived since it was last asked. ThreadClaim!Deliver."""
        taken, self._arrived = self._arrived, []
        self.given += [message.seq for message in taken]
        return taken

    async def stop(self) -> None:
        """Follow no more. It comes before the run's end is recorded, however the run ends."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

    async def _follow(self) -> None:
        """Follow the log until a message of somebody else, however often reading it fails."""
        while True:
            try:
                await self._read_on()
            except (Exception, asyncio.CancelledError):
                if is_cancelled():
                    raise
                log_for(self._thread_id).warning(
                    "Following the log failed; it is tried again. What is not delivered is handed over.",
                    exc_info=True,
                )
                await asyncio.sleep(self._retry)
            else:
                return

    async def _read_on(self) -> None:
        """Keep each message of the run's author as it comes; stop at one of somebody else."""
        entries = self._storage.subscribe(self._scope, self.position)
        try:
            async for envelope in entries:
                if envelope.seq <= self.position:
                    continue  # a storage that repeats itself gives nothing twice
                if envelope.thread_id == self._thread_id and envelope.is_message:
                    if envelope.actor != self._actor:
                        return
                    self._arrived.append(envelope)
                self.position = envelope.seq
        finally:
            if isinstance(entries, AsyncGenerator):  # else a garbage collection would end it
                await entries.aclose()
