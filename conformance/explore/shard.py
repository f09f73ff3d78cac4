"""A part of an exploration, which a process does by itself: its walks, and what they reached."""

import multiprocessing
import signal
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.synchronize import Event

from conformance.beside import Beside
from conformance.explore.again import Walked, as_it_was, shrink
from conformance.explore.machine import explore, make_machine
from conformance.explore.profiles import Profile
from conformance.explore.setting import AGENTS, DIRECT, REAL, STEPPED, Setting, as_its_agent_has_it, model_of
from conformance.explore.tally import Tally
from conformance.explore.walk import Walker
from conformance.quiet import quiet
from conformance.world.durable import MEMORY, storage_of

SHARDS = 2
"""Into how many parts each round is divided, however many processes do them: so its walks are the same."""


@dataclass(frozen=True, slots=True)
class Shard:
    """A part of a round: as much as its profile says, from the seeds of `number`, over a storage."""

    profile: Profile
    number: int
    storage: str = MEMORY


@dataclass(slots=True)
class Speed:
    """How many walks and steps there were, and in how many seconds."""

    walks: int = 0
    steps: int = 0
    seconds: float = 0.0

    def add(self, other: "Speed") -> None:
        """Add another's."""
        self.walks += other.walks
        self.steps += other.steps
        self.seconds += other.seconds


@dataclass(slots=True)
class Explored:
    """What a shard reached, how fast each kind of its walks was, and the walk that went wrong, shrunk."""

    tally: Tally = field(default_factory=Tally)
    speeds: dict[str, Speed] = field(default_factory=dict)
    wrong: Walked | None = None


_halt: list[Event] = []
"""In a process that explores a shard: what is set once it is to stop."""


def explored(shard: Shard) -> Explored:
    """Explore a shard: until a walk goes wrong, or it is told to stop."""
    return next(_explored([shard]))


def _explored(shards: Sequence[Shard]) -> Iterator[Explored]:
    """Explore shards in this process, until a walk goes wrong."""
    found: list[Explored] = []
    for shard in shards:
        exploring = _Exploring(shard)
        found.append(exploring.explored)
        try:
            with quiet():
                exploring.go()
        except KeyboardInterrupt:
            raise KeyboardInterrupt(found) from None
        yield exploring.explored
        if exploring.explored.wrong is not None:
            return


def all_explored(shards: Sequence[Shard], jobs: int | None) -> list[Explored]:
    """Explore shards, so many side by side, each in a new process; or in this one, for None.

    In a new process Hypothesis's walks are the same each time: what it draws depends on the modules there.
    If it is interrupted, they end with the walks that they are at; raises KeyboardInterrupt then, which has
    them.
    """
    if jobs is None:
        return list(_explored(shards))
    context = multiprocessing.get_context("spawn")
    halt = context.Event()
    with ProcessPoolExecutor(jobs, context, _begin, (halt,), max_tasks_per_child=1) as processes:
        found = [processes.submit(explored, shard) for shard in shards]
        try:
            return [each.result() for each in found]
        except KeyboardInterrupt:
            halt.set()
            raise KeyboardInterrupt([each.result() for each in found]) from None


def _begin(halt: Event) -> None:
    """Be a process that explores: Ctrl-C is for the one that tells it to stop."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _halt.append(halt)


def _is_halted() -> bool:
    """Whether this process is to stop."""
    return any(halt.is_set() for halt in _halt)


class _Exploring:
    """A shard under way."""

    def __init__(self, shard: Shard) -> None:
        self._shard = shard
        self.explored = Explored()

    def go(self) -> None:
        """Do all of it, until a walk goes wrong."""
        profile = self._shard.profile
        self.explored.wrong = (
            self._walks("stepped", STEPPED, profile.walks)
            or self._walks("real", REAL, profile.real)
            or self._walks("direct", DIRECT, profile.direct)
            or self._examples()
        )

    def _walks(self, part: str, agent: str, walks: int) -> Walked | None:
        """Walks that are steered, one for each seed, with an agent."""
        if not walks:
            return None
        storage = storage_of(self._shard.storage)
        walker = Walker(
            self.explored.tally, model=model_of(agent), make_agent=AGENTS[agent], make_storage=storage
        )
        first = self._shard.number * walks
        with self._timed(part, walks), as_its_agent_has_it(agent):
            for seed in range(first, first + walks):
                if _is_halted():
                    break
                walker.beside = None
                try:
                    walker.walk(seed, self._shard.profile.steps)
                except Exception as error:  # noqa: BLE001  # whatever goes wrong is shrunk, and told
                    return self._shrunk(walker.beside, agent, error)
        return None

    def _examples(self) -> Walked | None:
        """The walks that Hypothesis chooses."""
        found: list[Beside] = []
        profile, tally = self._shard.profile, self.explored.tally
        if _is_halted() or not profile.examples:
            return None
        machine = make_machine(tally, found.append, make_storage=storage_of(self._shard.storage))
        with self._timed("hypothesis", profile.examples):
            try:
                explore(machine, examples=profile.examples, steps=profile.steps, number=self._shard.number)
            except Exception as error:  # noqa: BLE001  # whatever goes wrong is shrunk, and told
                return self._shrunk(found[-1] if found else None, STEPPED, error)
        return None

    def _shrunk(self, beside: Beside | None, agent: str, error: Exception) -> Walked:
        """A walk that went wrong, with as few steps as still do; as it was, if it goes well once more."""
        if beside is None:  # there was no world yet
            raise error
        setting = Setting(beside.model.constants, agent, storage=self._shard.storage)
        shrunk = shrink(setting, beside.tried)
        return as_it_was(setting, beside, error) if shrunk.error is None else shrunk

    @contextmanager
    def _timed(self, part: str, walks: int) -> Iterator[None]:
        """Take the time of a kind of walks."""
        began, before = time.perf_counter(), self.explored.tally.steps
        yield
        steps, seconds = self.explored.tally.steps - before, time.perf_counter() - began
        self.explored.speeds[part] = Speed(walks, steps, seconds)
