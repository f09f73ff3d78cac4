"""What SQLite's errors mean, as sentences, and which of them pass by themselves."""

import random
import sqlite3
import time
from collections.abc import Callable
from typing import TypeVar

from threadclaim.errors import SchemaMismatch, StorageError, StorageUnavailable, StorageUnsuitable

T = TypeVar("T")

OLDEST = (3, 35)
"""The oldest SQLite that this library works with: it has `RETURNING`, and can drop columns."""

_PAUSE = 0.01
"""How long, in seconds, a busy file is left alone at most before it is tried again."""

_SENTENCES: dict[int, tuple[type[StorageError], str]] = {
    sqlite3.SQLITE_BUSY: (
        StorageUnavailable,
        (
            "Another holds the lock of {file} for longer than `busy_timeout`. Nothing was kept. See which "
            "process writes to it; then try again."
        ),
    ),
    sqlite3.SQLITE_READONLY: (
        StorageUnavailable,
        (
            "{file} is read-only, for this process at least. Nothing was kept. Open it for writing, and let "
            "the process write to its folder too."
        ),
    ),
    sqlite3.SQLITE_FULL: (
        StorageUnavailable,
        "{file} is full, or its disk is. Nothing was kept. Make room; then try again.",
    ),
    sqlite3.SQLITE_IOERR: (
        StorageUnavailable,
        "The disk of {file} failed ({error}). What was asked for may have taken effect. See to the disk.",
    ),
    sqlite3.SQLITE_INTERRUPT: (
        StorageUnavailable,
        "The storage of {file} was closed while it was at work. What was asked for may have taken effect.",
    ),
    sqlite3.SQLITE_CANTOPEN: (
        StorageUnsuitable,
        "{file} cannot be opened. Its folder must be there, and this process must be let write to it.",
    ),
    sqlite3.SQLITE_NOTADB: (
        StorageUnsuitable,
        "{file} is a file, but no SQLite database. Nothing was changed. Name another.",
    ),
    sqlite3.SQLITE_CORRUPT: (
        StorageUnsuitable,
        "{file} is damaged ({error}). Restore it from a backup, or recover it with the tool `sqlite3`.",
    ),
    sqlite3.SQLITE_PERM: (StorageUnsuitable, "{file} may not be used by this process. Let it."),
}


def told(error: sqlite3.Error, file: str) -> StorageError:
    """The error as a sentence."""
    code = getattr(error, "sqlite_errorcode", None) or 0
    found = _SENTENCES.get(code & 0xFF)
    if found is not None:
        kind, sentence = found
        return kind(sentence.format(file=file, error=error))
    if "no such table" in str(error) or "no such column" in str(error):
        return SchemaMismatch(f"The schema in {file} does not fit ({error}). See `threadclaim check`.")
    return StorageError(f"SQLite refused what {file} was asked for ({error}).")


def is_busy(error: sqlite3.Error) -> bool:
    """Whether it may go well a moment later."""
    code = getattr(error, "sqlite_errorcode", None) or 0
    return code & 0xFF in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


def patiently(do: Callable[[], T], seconds: float, is_over: Callable[[], bool] = lambda: False) -> T:
    """Do what may find the file busy, until it goes well; raises what it raises once time is up.

    So it does once it `is_over`, as for a storage that was closed meanwhile.

    SQLite's own waiting is no queue: of eight processes that it keeps in step one may wait for seconds. Here
    each waits for a short time of its own, by chance.
    """
    until = time.monotonic() + seconds
    while True:
        try:
            return do()
        except sqlite3.OperationalError as error:
            if not is_busy(error) or time.monotonic() >= until or is_over():
                raise
        time.sleep(random.uniform(_PAUSE / 20, _PAUSE))  # noqa: S311  # no secret: only not in step
