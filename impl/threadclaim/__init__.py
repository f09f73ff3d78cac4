"""A thread claim for agents: one process at a time runs a thread, and every message is consumed at most once.

The protocol is modelled in TLA+ (`spec/`) and checked by TLC; this package carries it out.

What an application uses is imported from here, and loaded as it is first used:

- `Runner`, what its commands give (`Sent`, `RunHandle`), and what it is given (`TurnContext`, `TurnInput`);
- `Workspaces`, `Workspace` and `HeldThread`, the handles to what is stored;
- `SqliteStorage`, where it is stored in a file, and `InMemoryStorage`, for tests;
- who acts: `PersonActor`, `AgentActor`, `ExternalAgentActor`, `SystemActor`;
- what a paused run is answered with: `Reply`, `Approve`, `Deny`, `FormValues`;
- what came of a turn: `Completed`, `Paused`, `Failed`, `Stopped`;
- `run_directly`, for a run without a runner.

The rest is imported from where it is:

- `threadclaim.pydantic_ai`: `PydanticAITurn`, which makes a turn of a pydantic-ai agent, and `current_turn`;
- `threadclaim.events`: what a log holds, the `Envelope` that each event is in, and requests;
- `threadclaim.errors`: what can be raised; each is a `ThreadClaimError` and says whose fault it is;
- `threadclaim.limits`: `LIMITS`, what is accepted at the door;
- `threadclaim.storage`: `PostgresStorage`, what makes and checks a schema, and the protocol of storages;
- `threadclaim.turn`: the protocol that another framework keeps;
- `threadclaim.testing`: what tests of an application need: a scripted turn, and virtual time;
- `threadclaim.cli`: the program `threadclaim`, for operators (`docs/operating.md`);
- `threadclaim.demo`: what the README and `python -m threadclaim demo` show.
"""

from importlib import import_module

__version__ = "0.1.0"

# Importing the package loads none of its dependencies: a name's module is loaded as the name is first used.
# `__init__.pyi` says the same to type checkers. (Imports under TYPE_CHECKING would make every module of the
# package import all others in the eyes of the import contracts.)
_MODULES = {
    "AgentActor": "threadclaim.events",
    "Approve": "threadclaim.events",
    "Completed": "threadclaim.turn",
    "Deny": "threadclaim.events",
    "ExternalAgentActor": "threadclaim.events",
    "Failed": "threadclaim.turn",
    "FormValues": "threadclaim.events",
    "HeldThread": "threadclaim.workspace",
    "InMemoryStorage": "threadclaim.storage",
    "Paused": "threadclaim.turn",
    "PersonActor": "threadclaim.events",
    "Reply": "threadclaim.events",
    "RunHandle": "threadclaim.run",
    "Runner": "threadclaim.runner",
    "Sent": "threadclaim.runner",
    "SqliteStorage": "threadclaim.storage",
    "Stopped": "threadclaim.turn",
    "SystemActor": "threadclaim.events",
    "TurnContext": "threadclaim.run",
    "TurnInput": "threadclaim.turn",
    "Workspace": "threadclaim.workspace",
    "Workspaces": "threadclaim.workspace",
    "run_directly": "threadclaim.direct",
}

__all__ = ["__version__", *_MODULES]  # noqa: PLE0604  # the names are strings


def __getattr__(name: str) -> object:
    """Load an exported name as it is first used; raises AttributeError for one that is not exported."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found = getattr(import_module(_MODULES[name]), name)
    return found


def __dir__() -> list[str]:
    """The names that there are, loaded or not."""
    return sorted({*globals(), *_MODULES})
