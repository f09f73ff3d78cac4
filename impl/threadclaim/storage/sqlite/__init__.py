"""The storage in a file: `storage` is it, `worker` a connection on a thread, `schema` its migrations."""

from threadclaim.storage.sqlite.storage import SqliteStorage

__all__ = ["SqliteStorage"]
