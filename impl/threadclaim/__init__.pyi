from threadclaim.direct import run_directly
from threadclaim.events import (
    AgentActor,
    Approve,
    Deny,
    ExternalAgentActor,
    FormValues,
    PersonActor,
    Reply,
    SystemActor,
)
from threadclaim.run import RunHandle, TurnContext
from threadclaim.runner import Runner, Sent
from threadclaim.storage import InMemoryStorage, SqliteStorage
from threadclaim.turn import Completed, Failed, Paused, Stopped, TurnInput
from threadclaim.workspace import HeldThread, Workspace, Workspaces

__version__: str

__all__ = [
    "AgentActor",
    "Approve",
    "Completed",
    "Deny",
    "ExternalAgentActor",
    "Failed",
    "FormValues",
    "HeldThread",
    "InMemoryStorage",
    "Paused",
    "PersonActor",
    "Reply",
    "RunHandle",
    "Runner",
    "Sent",
    "SqliteStorage",
    "Stopped",
    "SystemActor",
    "TurnContext",
    "TurnInput",
    "Workspace",
    "Workspaces",
    "__version__",
    "run_directly",
]
