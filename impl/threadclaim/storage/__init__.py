"""Where workspaces live: the protocol, and storages that keep it."""

from threadclaim.storage.memory import InMemoryStorage
from threadclaim.storage.protocol import Scope, Step, Storage, Stranded, Transaction

__all__ = ["InMemoryStorage", "Scope", "Step", "Storage", "Stranded", "Transaction"]
