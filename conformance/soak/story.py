"""What was seen while workers were killed: the data that the checker, and the waits, are read from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from threadclaim.events import Envelope

How = Literal["prompt", "steering", "reply"]


@dataclass(frozen=True, slots=True)
class Life:
    """A worker process: when it was up, before it swept; and when it was killed, if it was.

    Its name is its worker's number, a dot, and how often that worker was started. The ids that it gives begin
    with its name and a dash. Times are seconds since 1970, of the host's clock, which is the log's too.
    """

    name: str
    up: float
    died: float | None = None

    @property
    def worker(self) -> str:
        """The worker that it is one life of."""
        return self.name.partition(".")[0]

    def has_made(self, id_: str) -> bool:
        """Whether it is who gave an id: a holder's, say."""
        return id_.startswith(f"{self.name}-")


@dataclass(frozen=True, slots=True)
class Kill:
    """A SIGKILL: whose life it ended, when, and the threads whose claims that life held then."""

    life: str
    at: float
    held: Sequence[str]


@dataclass(frozen=True, slots=True)
class Given:
    """A message, or an answer, that a model was given, as its process noted it: by its seq, and when."""

    life: str
    thread: str
    run_id: str
    seq: int
    how: How
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class AtRest:
    """One workspace once everything has come to rest.

    `acknowledged` are the ids of the messages that a `send` acknowledged. `stranded` are the threads that a
    sweep would still find; `held` those whose claims have not lapsed, each with its holder.
    """

    entries: Sequence[Envelope]
    acknowledged: frozenset[str] = frozenset()
    stranded: Sequence[str] = ()
    held: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Story:
    """All of a soak; `slowest_call` is how long the slowest storage call took, in seconds."""

    workspaces: Mapping[str, AtRest]
    lives: Sequence[Life] = ()
    kills: Sequence[Kill] = ()
    given: Sequence[Given] = ()
    slowest_call: float = 0.0
