"""The agent of the world: a turn that does what the world tells it to, with the steps of a model's run."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from threadclaim.events import Envelope, Request
from threadclaim.turn import Completed, Facts, Failed, Outcome, Paused, Steering, Stopped, TurnInput


@dataclass(slots=True)
class Told:
    """What agents were told of: messages as prompts and steering, and answers, by their seqs in the log."""

    messages: list[int] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class AgentRun:
    """A run that goes on: what it was given, and how it will end."""

    turn: TurnInput
    steering: Steering
    ending: asyncio.Future[Outcome]
    told: "Told"
    delivered: list[int] = field(default_factory=list)

    def take(self) -> Sequence[Envelope]:
        """Make a request of the model, which carries what has arrived. ThreadClaim!Deliver."""
        taken = self.steering.take()
        seqs = [message.seq for message in taken]
        self.delivered += seqs
        self.told.messages += seqs
        return taken

    def end(self, kind: str) -> None:
        """End as completed, failed or paused; what was delivered is told, however it ends."""
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
    """The agent of one process; `told` is told of all that its runs are."""

    def __init__(self, told: Told) -> None:
        """Nothing runs yet."""
        self.told = told
        self.runs: dict[str, AgentRun] = {}

    async def run(self, turn: TurnInput, steering: Steering, facts: Facts) -> Outcome:  # noqa: ARG002  # it calls no tool
        """Wait until the world ends the run, or it is stopped."""
        run = AgentRun(turn, steering, asyncio.get_running_loop().create_future(), self.told)
        self.runs[turn.run_id] = run
        self.told.messages += [message.seq for message in turn.prompt]
        self.told.answers += [answer.seq for answer in turn.answers.values()]
        try:
            return await run.ending
        except asyncio.CancelledError:
            return Stopped(None, tuple(run.delivered))
        finally:
            if self.runs.get(turn.run_id) is run:
                del self.runs[turn.run_id]
