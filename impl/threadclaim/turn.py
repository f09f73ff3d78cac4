"""What the runner needs of an agent: a protocol, so that the runner knows no framework.

`threadclaim.pydantic_ai` keeps it for pydantic-ai's agents, `threadclaim.testing` for tests.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from threadclaim.events import Actor, Envelope, Event, Request
from threadclaim.thread import Answered


class Steering(Protocol):
    """The messages that arrive for a run while it goes on, as its watcher finds them; one author's only."""

    def take(self) -> Sequence[Envelope]:
        """The messages that have arrived and were not taken yet, oldest first; never another author's.

        A turn takes them as it makes a request of its model, so that each is given exactly with a request.
        What it has taken it names in its outcome's `delivered` only if the request that carried it is kept.
        Of that counts what comes before the first that is not named: the rest is given again, for the
        thread's one position cannot pass over it.
        """


class Facts(Protocol):
    """Where a run records what it does as it goes on."""

    async def record(self, event: Event) -> None:
        """Commit an event of the run. One of a run that was abandoned, or ended, is dropped and logged.

        Args:
            event: A `ToolCalled`, a `ToolReturned` or a `Custom`, of the run.
        """


@dataclass(frozen=True, slots=True)
class TurnInput:
    """What a turn is to carry out.

    `prompt` are the messages that its first request carries, oldest first (empty for a resume that only
    answers ask for); `requests` and `answers`, of a resume, are what the run paused for, and every answer to
    it, by the request's id. `history` are the thread's chunks, oldest first. `context` is what the
    application's `turn_context` gave. `notices` are those posted since the thread's last turn, oldest first;
    a turn tells its agent of them only if the application asks for it. `key` is stable for what the turn
    consumes: a tool can make its effects idempotent by it.

    `started_by` is who started the run, the author of the message that prompted it, and the same through all
    its pauses: whose run it is. `actor` is who this turn acts for: of a resume **whoever answered last**, who
    may be another, such as the one who approved (ADR-0057).
    """

    thread_id: str
    run_id: str
    actor: Actor
    prompt: Sequence[Envelope] = ()
    requests: Sequence[Request] = ()
    answers: Mapping[str, Answered] = field(default_factory=dict)
    history: Sequence[bytes] = ()
    context: Any = None
    notices: Sequence[Envelope] = ()
    started_by: Actor = field(kw_only=True)

    @property
    def key(self) -> str:
        """The run's id and the seqs of what the turn consumes.

        It is the same for all that a tool may see of the turn. A turn that never started is another run's
        when it is tried again; none of its tools was called.
        """
        seqs = [message.seq for message in self.prompt] + [answer.seq for answer in self.answers.values()]
        return f"{self.run_id}:{','.join(map(str, sorted(seqs)))}"


@dataclass(frozen=True, slots=True)
class Completed:
    """The turn is over. `history` is what to keep of it, `delivered` the seqs of the steering given."""

    output: str | None
    history: bytes | None
    delivered: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Paused:
    """The turn waits for answers to these requests, at least one."""

    requests: tuple[Request, ...]
    history: bytes | None
    delivered: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Failed:
    """The turn failed: `error` says how, `reason` in a short and stable word if it gave one (RunFailure)."""

    error: str
    reason: str | None = None
    history: bytes | None = None
    delivered: tuple[int, ...] = ()
    exception: BaseException | None = None


@dataclass(frozen=True, slots=True)
class Stopped:
    """The turn was stopped: its task was cancelled by the runner."""

    history: bytes | None = None
    delivered: tuple[int, ...] = ()


Outcome = Completed | Paused | Failed | Stopped


class Turn(Protocol):
    """An agent, as the runner sees it."""

    async def run(self, turn: TurnInput, steering: Steering, facts: Facts) -> Outcome:
        """Carry out a turn.

        The runner cancels the task that this runs in to stop it; the turn then ends what it has alive, tools
        among it, and returns Stopped: when this has returned or raised, nothing of the turn is alive. What it
        raises, a CancelledError that the runner did not cause among it, is a failure (ADR-0055 I4).

        Args:
            turn: What to carry out.
            steering: Asked for the messages that have arrived, with each request of the model.
            facts: Told of what the run does.

        Returns:
            What came of it.
        """
