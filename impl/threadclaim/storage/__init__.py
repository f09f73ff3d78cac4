"""Where workspaces live: the protocol, and storages that keep it.

`SqliteStorage`, `PostgresStorage` and what makes their schema are loaded as they are first used: whoever uses
none of them needs no driver.
"""

from importlib import import_module

from threadclaim.storage.memory import InMemoryStorage
from threadclaim.storage.protocol import Reading, Scope, Step, Storage, Stranded, Transaction

_MODULES = {
    "Migrated": "threadclaim.storage.schema",
    "PostgresStorage": "threadclaim.storage.postgres",
    "SqliteStorage": "threadclaim.storage.sqlite",
    "check": "threadclaim.storage.schema",
    "create_schema": "threadclaim.storage.schema",
    "migrate": "threadclaim.storage.schema",
}

__all__ = [  # noqa: PLE0604  # the names are strings
    "InMemoryStorage",
    "Reading",
    "Scope",
    "Step",
    "Storage",
    "Stranded",
    "Transaction",
    *_MODULES,
]


def __getattr__(name: str) -> object:
    """Load the module that a name is from, as the name is first used."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
