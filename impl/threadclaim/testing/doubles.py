"""What a turn needs of a runner, for tests that run one without."""

from collections.abc import Sequence
from datetime import UTC, datetime

from threadclaim.events import Actor, Envelope, Event, MessagePosted, PersonActor

_ANN = PersonActor("ann")


def posted(seq: int, text: str, *, actor: Actor = _ANN, notice: bool = False) -> Envelope:
    """A message of the thread "thread", as if it were committed at `seq`.

    Args:
        seq: Its place in the log.
        text: What it says.
        actor: Its author; Ann unless named.
        notice: Whether it is a notice (ADR-0051).

    Returns:
        It as an entry of the log.
    """
    event = MessagePosted(f"m{seq}", text, "notice" if notice else "message")
    return Envelope(seq, f"e{seq}", datetime(2026, 1, 1, tzinfo=UTC), actor, event, "thread")


class QueuedSteering:
    """A `threadclaim.turn.Steering` whose messages arrive as a test adds them to `arrived`."""

    def __init__(self, *arrived: Envelope) -> None:
        """Begin with some messages.

        Args:
            *arrived: Those that have arrived, oldest first.
        """
        self.arrived = list(arrived)

    def take(self) -> Sequence[Envelope]:
        """The messages that have arrived and were not taken yet."""
        taken, self.arrived = self.arrived, []
        return taken


class RecordedFacts:
    """A `threadclaim.turn.Facts` that keeps what is recorded in `events`, in order."""

    def __init__(self) -> None:
        """Begin with none."""
        self.events: list[Event] = []

    async def record(self, event: Event) -> None:
        """Keep an event.

        Args:
            event: What the run did.
        """
        self.events.append(event)
