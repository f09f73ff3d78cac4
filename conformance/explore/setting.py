"""What a walk's world is made of: all that the walk depends on besides its steps."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass

from conformance.actions import ACTIONS, Action
from conformance.model.direct import DirectModel
from conformance.model.model import Model
from conformance.model.state import Constants
from conformance.mutants.direct import DIRECT_RUNS, LIBRARY
from conformance.world.agent import MakeAgent, SteppedAgent
from conformance.world.durable import MEMORY, STORAGES, storage_of
from conformance.world.model_agent import ModelAgent
from conformance.world.process import MakeRunner, make_runner
from conformance.world.world import World

STEPPED, REAL, DIRECT = "stepped", "pydantic-ai", "direct"

AGENTS: Mapping[str, MakeAgent] = {STEPPED: SteppedAgent, REAL: ModelAgent, DIRECT: SteppedAgent}
"""The agents that a world may have, by the names that saved walks have for them.

In a world of `DIRECT` callers also make runs of their own, as spec/DirectRuns.tla has them. (Their histories
are the world's own, which no real agent could read.)
"""

_BOUNDS = ("max_msgs", "max_notes", "max_crash", "max_lapse", "max_cancel", "max_fail")
_SHAPE = 2
MOST_TASKS = 16
"""More than any walk has; a file that asks for more is none of ours."""


@dataclass(frozen=True, slots=True)
class Setting:
    """The parameters of a world: `World` has no others.

    `agent` is a name of `AGENTS`, `storage` one of `STORAGES`. `make` makes the runner of a process; no file
    says it, for a saved walk is walked again on the library as it is.
    """

    constants: Constants
    agent: str = STEPPED
    make: MakeRunner = make_runner
    storage: str = MEMORY

    @property
    def model(self) -> type[Model]:
        """The model that the world is stepped beside."""
        return model_of(self.agent)

    @property
    def actions(self) -> Mapping[str, Action]:
        """How the world does what its walks are made of."""
        return {**ACTIONS, **DIRECT_RUNS} if self.agent == DIRECT else ACTIONS

    @contextmanager
    def opened(self) -> Iterator[World]:
        """A world, which is closed in the end.

        What goes wrong in it is raised, and not what closing it then comes to, which would hide that.
        """
        with as_its_agent_has_it(self.agent), self._opened() as world:
            yield world

    @contextmanager
    def _opened(self) -> Iterator[World]:
        """As `opened`, where the world's actions are those of its agent."""
        world = World(self.constants, self.make, AGENTS[self.agent], storage_of(self.storage))
        try:
            yield world
        except BaseException:
            with suppress(Exception):
                world.close()
            raise
        world.close()

    @property
    def meta(self) -> dict[str, str]:
        """It, for the file of a walk."""
        constants = self.constants
        processes = len(constants.procs)
        return {
            "agent": self.agent,
            "storage": self.storage,
            "shape": f"{processes} {len(constants.tasks) // processes}",
            **{name: str(getattr(constants, name)) for name in _BOUNDS},
        }

    @classmethod
    def of(cls, meta: Mapping[str, str]) -> "Setting":
        """Return the setting that a file's `meta` is of; raises ValueError with what is wrong in it."""
        agent, shape = meta.get("agent", ""), meta.get("shape", "").split()
        storage = meta.get("storage", MEMORY)
        if storage not in STORAGES:
            raise ValueError(f"its storage is {storage}, and not {' or '.join(STORAGES)}")
        if agent not in AGENTS:
            raise ValueError(f"its agent is {agent or 'not told'}, and not {' or '.join(AGENTS)}")
        if len(shape) != _SHAPE:
            raise ValueError(
                "its shape is not told: how many processes there are, and how many tasks of each"
            )
        processes, tasks = (_number(text, "its shape") for text in shape)
        if not 1 <= processes * tasks <= MOST_TASKS:
            raise ValueError(f"its shape is {' '.join(shape)}, and there are from 1 to {MOST_TASKS} tasks")
        bounds = {name: _number(meta.get(name, ""), name) for name in _BOUNDS}
        return cls(Constants.of(processes, tasks, **bounds), agent, storage=storage)


def model_of(agent: str) -> type[Model]:
    """The model of worlds of this agent."""
    return DirectModel if agent == DIRECT else Model


@contextmanager
def as_its_agent_has_it(agent: str) -> Iterator[None]:
    """The actions of worlds of this agent, and how they are read, within the block."""
    with ExitStack() as stack:
        if agent == DIRECT:
            stack.enter_context(LIBRARY.applied())
        yield


def _number(text: str, what: str) -> int:
    """The number that a text is."""
    if not (text.isascii() and text.isdecimal() and len(text) < len("1000")):
        raise ValueError(f"{what} has {text!r} where a number up to 999 should be")
    return int(text)
