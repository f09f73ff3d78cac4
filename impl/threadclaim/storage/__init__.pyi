from threadclaim.storage.memory import InMemoryStorage
from threadclaim.storage.postgres import PostgresStorage
from threadclaim.storage.protocol import Reading, Scope, Step, Storage, Stranded, Transaction
from threadclaim.storage.schema import Migrated, check, create_schema, migrate
from threadclaim.storage.sqlite import SqliteStorage

__all__ = [
    "InMemoryStorage",
    "Migrated",
    "PostgresStorage",
    "Reading",
    "Scope",
    "SqliteStorage",
    "Step",
    "Storage",
    "Stranded",
    "Transaction",
    "check",
    "create_schema",
    "migrate",
]
