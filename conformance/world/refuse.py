"""What a world refuses while it is stepped: wall clocks and random ids, which differ from run to run.

Threads its loop refuses, and sockets it has none. `datetime.now` is a method of a type that nobody can
change: that the same seed gives the same walk to the byte shows that it is not asked.
"""

import os
import random
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NoReturn
from unittest.mock import patch

REFUSED: tuple[tuple[Any, str], ...] = (
    (uuid, "uuid1"),
    (uuid, "uuid4"),
    (os, "urandom"),
    (random, "random"),
    (random, "randint"),
    (random, "getrandbits"),
    (random, "choice"),
    (random, "uniform"),
    (time, "time"),
    (time, "time_ns"),
    (time, "monotonic"),
    (time, "monotonic_ns"),
    (time, "perf_counter"),
)
"""What is refused: a module, and the name of a function of its."""


class RefusedError(RuntimeError):
    """What runs in the world asked for a wall clock, or for a random id."""


@contextmanager
def refusing(is_stepping: Callable[[], bool]) -> Iterator[None]:
    """Refuse within the block whatever is asked for while the world is stepped; other callers get it.

    What is on another thread is outside the world: a database's, say.
    """
    own = threading.get_ident()

    def is_refused() -> bool:
        return is_stepping() and threading.get_ident() == own

    with ExitStack() as stack:
        for module, name in REFUSED:
            stack.enter_context(patch.object(module, name, _refuse(module, name, is_refused)))
        yield


def _refuse(module: Any, name: str, is_stepping: Callable[[], bool]) -> Callable[..., Any]:  # noqa: ANN401  # a module
    """A function as it is, but while the world is stepped."""
    real: Callable[..., Any] = getattr(module, name)

    def refused(*args: Any, **options: Any) -> Any:  # noqa: ANN401  # whatever the real one takes and gives
        if is_stepping():
            _say(f"{module.__name__}.{name}")
        return real(*args, **options)

    return refused


def _say(name: str) -> NoReturn:
    """Refuse it."""
    raise RefusedError(
        f"{name}() is refused in the world, where the same steps must come to the same, on each run. "
        "Give the runner and the storage their ids and clocks."
    )
