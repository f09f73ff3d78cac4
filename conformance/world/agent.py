"""The agents of the world: turns that do what the world tells them to.

`SteppedAgent` has the steps of a model's run, and no more: it is fast. `conformance.world.model_agent` has
pydantic-ai's own.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from threadclaim.events import Deny, Envelope, MessagePosted, Reply, Request
from threadclaim.run import RunHandle
from threadclaim.turn import Completed, Facts, Failed, Outcome, Paused, Steering, Stopped, TurnInput

Kind = Literal["question", "approval"]

RAISES, CANCELS_ITSELF = "raises", "cancels itself"
ASKS_NOTHING = "pauses for nothing"
RAISED = frozenset({RAISES, CANCELS_ITSELF, ASKS_NOTHING})
"""Ends of a turn that are failures, though it does not say so.

An error, a cancellation of its own, a pause without a request, from which nothing could resume it.
"""


@dataclass(slots=True)
class Told:
    """What agents were told of: messages as prompts and steering, and answers, by their seqs in the log."""

    messages: list[int] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)
    ends: dict[str, set[str]] = field(default_factory=dict)
    """How the segments of each run were told to end, by the run's id; "" for one that was told nothing."""
    wrong: list[str] = field(default_factory=list)
    """What no agent may be told, in sentences: a message twice in one run, say."""
    committed: list[Envelope] = field(default_factory=list)
    """What callers were told that their commands have committed."""
    handles: list[RunHandle] = field(default_factory=list)
    """The handles of the runs that have started."""
    notices: list[tuple[str, tuple[int, ...]]] = field(default_factory=list)
    """The notices that each turn was told of, with its run's id."""
    history: list[tuple[bytes, ...]] = field(default_factory=list)
    """The histories that were read last, of which one is a turn's."""
    looks: Counter[str] = field(default_factory=Counter)
    """How often the model of each run called its tool, by the run's id."""
    chunks: int = 0
    """How many segments said what is to be kept of them."""
    raised: set[tuple[str, str]] = field(default_factory=set)
    """The ends that keep nothing: the run's id, and the kind."""
    pauses: int = 0
    """How many requests were asked: every second is an approval."""

    def begin(self, turn: TurnInput) -> None:
        """A turn is told of its prompt and its answers."""
        self.ends.setdefault(turn.run_id, set()).add("")
        if tuple(turn.history) not in self.history:
            self.wrong.append(f"The run {turn.run_id} was given {turn.history} as its history.")
        prompt = [message.seq for message in turn.prompt]
        if prompt != sorted(prompt):
            self.wrong.append(f"The run {turn.run_id} is prompted with {prompt}: not in the log's order.")
        self.messages += prompt
        self.notices.append((turn.run_id, tuple(notice.seq for notice in turn.notices)))
        self.answers += [answer.seq for answer in turn.answers.values()]
        if set(turn.answers) != {request.id for request in turn.requests}:
            self.wrong.append(f"The run {turn.run_id} was given other answers than it has requests.")
        texts = [message.event.text for message in turn.prompt if isinstance(message.event, MessagePosted)]
        given = [answer.answer for answer in turn.answers.values()]
        if any(answer in {Reply(text), Deny(text)} for answer in given for text in texts):
            self.wrong.append(f"The run {turn.run_id} was given a reply as its prompt too.")
        for request in turn.requests:
            answered = turn.answers.get(request.id)
            if answered is not None and isinstance(answered.answer, Reply) != (request.kind == "question"):
                self.wrong.append(f"The {request.kind} of {turn.run_id} has {answered.answer} as its answer.")

    def asks(self) -> Kind:
        """The kind of the next request."""
        self.pauses += 1
        return "question" if self.pauses % 2 else "approval"

    def load(self, history: Sequence[bytes], most: int) -> None:
        """A history was read, by one of so many who may."""
        self.history = [*self.history, tuple(history)][-most:]

    def chunk(self, turn: TurnInput, kind: str) -> bytes:
        """What a segment says is to be kept of it."""
        self.chunks += 1
        return f"{turn.run_id} {kind} {turn.key}".encode()

    def end(self, turn: TurnInput, kind: str) -> None:
        """A turn is told how to end: whatever it raises, it failed."""
        kind = "failed" if kind in RAISED else kind
        self.ends[turn.run_id].add(kind)
        self.ends[turn.run_id].discard("")

    def steer(self, run_id: str, given: Sequence[Envelope], before: Collection[int]) -> list[int]:
        """A run is given steering, having been given others `before`; their seqs."""
        seqs, last = [message.seq for message in given], max(before, default=0)
        if seqs != sorted(seqs) or any(seq < last for seq in seqs):
            self.wrong.append(f"The run {run_id} was given {seqs} after {last}: not in the log's order.")
        twice = [seq for seq, times in Counter([*before, *seqs]).items() if times > 1]
        self.wrong += [f"The run {run_id} was given the message at {seq} twice." for seq in twice]
        return seqs


class AgentRun(Protocol):
    """A run that goes on: what it was given, and how it will end.

    `delivered` are the seqs of the steering that its model has been given, in requests that were answered,
    but for what came after one that was dropped with its request.
    """

    steering: Steering
    delivered: list[int]

    @property
    def is_over(self) -> bool:
        """Whether it has been told how to end."""

    def take(self) -> None:
        """Make a request of the model, which carries what has arrived. ThreadClaim!Deliver."""

    @property
    def has_dropped(self) -> bool:
        """Whether it has dropped a request that carried a message."""

    def drop(self) -> None:
        """Make such a request, if it can, and drop it: what it carried is not delivered."""

    def end(self, kind: str) -> None:
        """End as `completed`, `failed` or `paused`; what was delivered is told, however it ends.

        Or by what is raised: `raises`, where nothing was delivered, and `cancels itself`.
        """


class WorldAgent(Protocol):
    """An agent of the world, of one process: a `threadclaim.turn.Turn` whose `runs` the world can step."""

    @property
    def runs(self) -> "dict[str, AgentRun]":
        """The runs that go on, by their ids."""

    async def run(self, turn: TurnInput, steering: Steering, facts: Facts) -> Outcome:
        """Carry out a turn."""


MakeAgent = Callable[[Told, Callable[[], None]], WorldAgent]
"""Makes the agent of a process: it is given what is told of, and what lets all that is ready be done."""


NEVER_GIVEN = 1_000_000
"""A seq that no message has."""


class SteppedRun:
    """A run of a `SteppedAgent`."""

    def __init__(self, turn: TurnInput, steering: Steering, told: Told) -> None:
        self.turn, self.steering, self._told = turn, steering, told
        self.ending: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self.delivered: list[int] = []
        self._after_a_gap: list[int] = []
        self.has_dropped = False
        self._given = {message.seq for message in turn.prompt}

    @property
    def is_over(self) -> bool:
        """Whether it has been told how to end."""
        return self.ending.done()

    def take(self) -> None:
        """Be given what has arrived."""
        seqs = self._take()
        if self.has_dropped:  # the thread's one position cannot pass over it: these are given again
            self._after_a_gap += seqs
            return
        self.delivered += seqs
        self._told.messages += seqs

    def drop(self) -> None:
        """Be given what has arrived, and keep nothing of it."""
        self.has_dropped = bool(self._take()) or self.has_dropped

    def _take(self) -> list[int]:
        """What has arrived."""
        seqs = self._told.steer(self.turn.run_id, self.steering.take(), self._given)
        self._given |= set(seqs)
        return seqs

    def end(self, kind: str) -> None:
        """End so."""
        self._told.end(self.turn, kind)
        if kind == CANCELS_ITSELF:
            self.ending.cancel()
            return
        if kind == RAISES and not self.delivered:
            self._told.raised.add((self.turn.run_id, "failed"))
            self.ending.set_exception(RuntimeError("The turn failed, as the world said."))
            return
        delivered, chunk = self.named(), self._told.chunk(self.turn, kind)
        outcomes: dict[str, Outcome] = {
            "completed": Completed("done", chunk, delivered),
            "failed": Failed("no", None, chunk, delivered),
            ASKS_NOTHING: Paused((), chunk, delivered),
        }
        if kind == "paused":  # a request is only made where one is asked
            outcomes[kind] = Paused((self._question(),), chunk, delivered)
        self.ending.set_result(outcomes.get(kind, outcomes["failed"]))

    def named(self) -> tuple[int, ...]:
        """What it says was delivered: what it was given, but for a gap, and now and then what it was not."""
        more = (NEVER_GIVEN,) if len(self._given) % 2 else ()
        return (*self.delivered, *self._after_a_gap, *more)

    def _question(self) -> Request:
        """A request that no run before has asked."""
        return Request(f"q-{self.turn.run_id}-{self.turn.key}", self._told.asks(), "ask")


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
            return Stopped(self._told.chunk(turn, "stopped"), run.named())
        finally:
            if self.runs.get(turn.run_id) is run:
                del self.runs[turn.run_id]
