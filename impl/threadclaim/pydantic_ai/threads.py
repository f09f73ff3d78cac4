"""The threads of a run: pydantic-ai gives up waiting for one as its run is cancelled, and we must not."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

from typing_extensions import override

P = ParamSpec("P")
T = TypeVar("T")

MAX_THREADS = 40
"""How many threads a run has at once, unless the application gives an executor: as many as with anyio."""


class Threads(Executor):
    """Runs synchronous tools in threads, on the application's executor or its own, and waits for them."""

    def __init__(self, executor: Executor | None) -> None:
        """Start no thread yet; with None, have an executor of its own, made as it is needed."""
        self._executor, self._own = executor, executor is None
        self._running: set[Future[Any]] = set()

    @override
    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Call `fn` in a thread."""
        if self._executor is None:
            self._executor = ThreadPoolExecutor(MAX_THREADS, "threadclaim")
        future = self._executor.submit(fn, *args, **kwargs)
        self._running.add(future)
        future.add_done_callback(self._running.discard)
        return future

    async def end(self) -> None:
        """Wait until nothing runs in a thread any more, and give up the executor if it is this run's own."""
        while running := list(self._running):
            await asyncio.gather(*map(asyncio.wrap_future, running), return_exceptions=True)
        if self._own and self._executor is not None:
            self._executor.shutdown(wait=False)
