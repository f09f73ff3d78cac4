"""A storage under test, and what tests may do to it from outside."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from threadclaim.storage import Scope, Storage

Lapse = Callable[[Scope, str], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Opened:
    """A storage to test, and how to let one of its leases lapse, by its name, without waiting."""

    storage: Storage
    lapse: Lapse
