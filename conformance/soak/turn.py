"""The turn of a soak: it takes a little time, takes its steering, pauses and fails now and then."""

import asyncio
import json
import os
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from conformance.soak.story import Given, How
from threadclaim.claim import is_cancelled
from threadclaim.events import Envelope, MessagePosted, Request, ToolCalled, ToolReturned
from threadclaim.turn import Completed, Facts, Failed, Outcome, Paused, Steering, Stopped, TurnInput

HOLD = "hold"
"""The text of a message whose turn goes on until it is stopped, or its process dies."""

_LOOKS_EVERY = 0.005
"""How often, in seconds, a turn that goes on looks for steering."""

_LONGEST_REQUEST = 0.03
"""How long, in seconds, a request of the model takes at most."""

_PAUSES, _FAILS, _CALLS_TOOL = 0.1, 0.05, 0.2
"""How often turns pause, fail, and call a tool."""


class Notes:
    """What models were given, in a file: a line is with the kernel before the model has the message."""

    def __init__(self, path: Path, life: str) -> None:
        """Open the file."""
        self._life = life
        self._file = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY)

    def give(self, turn: TurnInput, how: How, seqs: Sequence[int]) -> None:
        """Note messages that a run is given now."""
        now = time.time()
        lines = [
            json.dumps(asdict(Given(self._life, turn.thread_id, turn.run_id, seq, how, now))) + "\n"
            for seq in seqs
        ]
        os.write(self._file, "".join(lines).encode())


def read_notes(folder: Path) -> list[Given]:
    """What was noted by all processes, in the order in which it was given."""
    lines = [line for file in sorted(folder.glob("*.jsonl")) for line in file.read_text().splitlines()]
    return sorted([Given(**json.loads(line)) for line in lines], key=lambda given: given.at)


class SoakTurn:
    """A `threadclaim.turn.Turn`.

    `says` is told of each message that a run which holds on was given: a test, or the soak's beginning, kills
    its process then.
    """

    def __init__(self, notes: Notes, chance: random.Random, says: Callable[[TurnInput, int], None]) -> None:
        """Note what is given, and leave the rest to chance."""
        self._notes, self._chance, self._says = notes, chance, says

    async def run(self, turn: TurnInput, steering: Steering, facts: Facts) -> Outcome:
        """Make some requests, each of which carries what has arrived, and end in one way or another."""
        delivered: list[int] = []
        self._notes.give(turn, "prompt", [message.seq for message in turn.prompt])
        self._notes.give(turn, "reply", [answer.seq for answer in turn.answers.values()])
        try:
            if any(_text(message) == HOLD for message in turn.prompt):
                await self._hold_on(turn, steering, delivered)
            for _ in range(self._chance.randint(1, 3)):
                await asyncio.sleep(self._chance.uniform(0, _LONGEST_REQUEST))
                self._take(turn, steering, delivered)
            if self._chance.random() < _CALLS_TOOL:
                await facts.record(ToolCalled(turn.run_id, "call", "look", "{}"))
                await facts.record(ToolReturned(turn.run_id, "call", "look", ok=True))
        except asyncio.CancelledError:
            if not is_cancelled():
                raise
            return Stopped(b"stopped", tuple(delivered))
        return self._end(turn, tuple(delivered))

    async def _hold_on(self, turn: TurnInput, steering: Steering, delivered: list[int]) -> None:
        """Take what arrives, and tell of it, for good."""
        self._says(turn, turn.prompt[0].seq)
        while True:
            for seq in self._take(turn, steering, delivered):
                self._says(turn, seq)
            await asyncio.sleep(_LOOKS_EVERY)

    def _take(self, turn: TurnInput, steering: Steering, delivered: list[int]) -> Sequence[int]:
        """Be given what has arrived."""
        seqs = [message.seq for message in steering.take()]
        self._notes.give(turn, "steering", seqs)
        delivered += seqs
        return seqs

    def _end(self, turn: TurnInput, delivered: tuple[int, ...]) -> Outcome:
        """End by chance."""
        chance = self._chance.random()
        if chance < _PAUSES:
            request = Request(f"q-{turn.run_id}-{turn.key}", "question", "ask")
            return Paused((request,), b"paused", delivered)
        if chance < _PAUSES + _FAILS:
            return Failed("It failed by chance.", history=b"failed", delivered=delivered)
        return Completed("done", b"done", delivered)


def _text(message: Envelope) -> str:
    """A message's text."""
    return message.event.text if isinstance(message.event, MessagePosted) else ""
