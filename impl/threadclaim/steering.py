"""The watcher of a run: it follows the log, and keeps the messages that the run has not been given yet."""

import asyncio
import logging
from collections.abc import Sequence

from threadclaim.events import Actor, Envelope
from threadclaim.storage.protocol import Scope, Storage

_log = logging.getLogger(__name__)


class Watcher:
    """Finds the messages that arrive for a run, up to the first from another author (ADR-0057).

    It is the run's `Steering`. `position` is the position that the run's start took.
    """

    def __init__(self, storage: Storage, scope: Scope, thread_id: str, actor: Actor, position: int) -> None:
        """Watch nothing yet."""
        self._storage, self._scope, self._thread_id, self._actor = storage, scope, thread_id, actor
        self.position = position
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
        return taken

    async def stop(self) -> None:
        """Follow no more. It comes before the run's end is recorded, however the run ends."""
        task, self._task = self._task, None
        if task is None:
            return
        task.cancel()
        await asyncio.wait([task])
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.warning(
                "Following the log failed; what came since is left to the thread's next turn.",
                exc_info=error,
                extra={"thread_id": self._thread_id},
            )

    async def _follow(self) -> None:
        """Keep each message of the run's author as it comes; stop at one of somebody else."""
        async for envelope in self._storage.subscribe(self._scope, self.position):
            if envelope.thread_id != self._thread_id or not envelope.is_message:
                continue
            if envelope.actor != self._actor:
                return
            self._arrived.append(envelope)
