"""The agents of the world: turns that do what the world tells them to.

`SteppedAgent` has the steps of a model's run, and no more: it is fast. `conformance.world.model_agent` has
pydantic-ai's own.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from threadclaim.events import Envelope, MessagePosted, Reply, Request
from threadclaim.turn import Completed, Facts, Failed, Outcome, Paused, Steering, Stopped, TurnInput


@dataclass(slots=True)
class Told:
    """What agents were told of: messages as prompts and steering, and answers, by their seqs in the log."""

    messages: list[int] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)
    ends: dict[str, set[str]] = field(default_factory=dict)
    """How the segments of each run were told to end, by the run's id; "" for one that was told nothing."""
    wrong: list[str] = field(default_factory=list)
    """What no agent may be told, in sentences: a message twice in one run, say."""

    def begin(self, turn: TurnInput) -> None:
        """A turn is told of its prompt and its answers."""
        self.ends.setdefault(turn.run_id, set()).add("")
        self.messages += [message.seq for message in turn.prompt]
        self.answers += [answer.seq for answer in turn.answers.values()]
        if set(turn.answers) != {request.id for request in turn.requests}:
            self.wrong.append(f"The run {turn.run_id} was given other answers than it has requests.")
        texts = [message.event.text for message in turn.prompt if isinstance(message.event, MessagePosted)]
        if any(answer.answer == Reply(text) for answer in turn.answers.values() for text in texts):
            self.wrong.append(f"The run {turn.run_id} was given a reply as its prompt too.")

    def end(self, turn: TurnInput, kind: str) -> None:
        """A turn is told how to end."""
        self.ends[turn.run_id].add(kind)
        self.ends[turn.run_id].discard("")

    def steer(self, run_id: str, given: Sequence[Envelope], before: Iterable[int]) -> list[int]:
        """A run is given steering, having been given others `before`; their seqs."""
        seqs = [message.seq for message in given]
        twice = [seq for seq, times in Counter([*before, *seqs]).items() if times > 1]
        self.wrong += [f"The run {run_id} was given the message at {seq} twice." for seq in twice]
        return seqs


class AgentRun(Protocol):
    """A run that goes on: what it was given, and how it will end.

    `delivered` are the seqs of the steering that its model has been given, in requests that were answered.
    """

    steering: Steering
    delivered: list[int]

    @property
    def is_over(self) -> bool:
        """Whether it has been told how to end."""

    def take(self) -> None:
        """Make a request of the model, which carries what has arrived. ThreadClaim!Deliver."""

    def end(self, kind: str) -> None:
        """End as `completed`, `failed` or `paused`; what was delivered is told, however it ends."""


class WorldAgent(Protocol):
    """An agent of the world, of one process: a `threadclaim.turn.Turn` whose `runs` the world can step."""

    @property
    def runs(self) -> "dict[str, AgentRun]":
        """The runs that go on, by their ids."""

    async def run(self, turn: TurnInput, steering: Steering, facts: Facts) -> Outcome:
        """Carry out a turn."""


MakeAgent = Callable[[Told, Callable[[], None]], WorldAgent]
"""Makes the agent of a process: it is given what is told of, and what lets all that is ready be done."""


class SteppedRun:
    """A run of a `SteppedAgent`."""

    def __init__(self, turn: TurnInput, steering: Steering, told: Told) -> None:
        self.turn, self.steering, self._told = turn, steering, told
        self.ending: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self.delivered: list[int] = []
        self._given = {message.seq for message in turn.prompt}

    @property
    def is_over(self) -> bool:
        """Whether it has been told how to end."""
        return self.ending.done()

    def take(self) -> None:
        """Be given what has arrived."""
        seqs = self._told.steer(self.turn.run_id, self.steering.take(), self._given)
        self._given |= set(seqs)
        self.delivered += seqs
        self._told.messages += seqs

    def end(self, kind: str) -> None:
        """End so."""
        self._told.end(self.turn, kind)
        delivered = tuple(self.delivered)
        outcomes: dict[str, Outcome] = {
            "completed": Completed("done", None, delivered),
            "failed": Failed("no", None, None, delivered),
            "paused": Paused((self._question(),), None, delivered),
        }
        self.ending.set_result(outcomes[kind])

    def _question(self) -> Request:
        """A question that no run before has asked."""
        return Request(f"q-{self.turn.run_id}-{self.turn.key}", "question", "ask")


class SteppedAgent:
    """An agent that only waits for the world."""

    def __init__(self, told: Told, _settle: Callable[[], None]) -> None:
        """Nothing runs yet."""
        self._told = told
        self.runs: dict[str, AgentRun] = {}

    async def run(self, turn: TurnInput, steering: Steering, facts: Facts) -> Outcome:  # noqa: ARG002  # it calls no tool
        """Wait until the world ends the run, or it is stopped."""
        run = SteppedRun(turn, steering, self._told)
        self.runs[turn.run_id] = run
        self._told.begin(turn)
        try:
            return await run.ending
        except asyncio.CancelledError:
            return Stopped(None, tuple(run.delivered))
        finally:
            if self.runs.get(turn.run_id) is run:
                del self.runs[turn.run_id]
