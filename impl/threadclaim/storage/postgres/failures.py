"""What PostgreSQL's errors mean, as sentences, and after which a step may be run anew. Nothing here waits."""

import re
from collections.abc import Generator
from contextlib import contextmanager

import asyncpg

from threadclaim.errors import (
    SchemaMismatch,
    StorageError,
    StorageUnavailable,
    StorageUnsuitable,
    ThreadClaimError,
)

OLDEST = 15
"""The oldest server that is supported: Debian 12's."""

_SERIALIZATION = (asyncpg.SerializationError, asyncpg.DeadlockDetectedError)

_LOST = (
    asyncpg.InternalClientError,  # of a connection that was told of its end, until it is seen to be gone
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.CannotConnectNowError,
    asyncpg.exceptions.IdleInTransactionSessionTimeoutError,
    OSError,
)

_UNSUITABLE = (
    asyncpg.InvalidCatalogNameError,
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InsufficientPrivilegeError,
)


ERRORS = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError)
"""What a connection's use may raise."""


class DatabaseFailed(Exception):  # noqa: N818  # it is a state, and never leaves this package
    """The database failed, and not the step: `error` is what it, or the way to it, raised."""

    def __init__(self, error: BaseException) -> None:
        """Keep the error."""
        super().__init__(str(error))
        self.error = error

    @property
    def was_rolled_back(self) -> bool:
        """Whether the server itself says that it kept nothing, though a commit was sent."""
        return isinstance(self.error, _SERIALIZATION)

    @property
    def may_pass(self) -> bool:
        """Whether it may go well on another connection, or a moment later."""
        return isinstance(self.error, (*_SERIALIZATION, *_LOST)) and not isinstance(self.error, TimeoutError)


@contextmanager
def of_database() -> Generator[None]:
    """Raise as DatabaseFailed what asyncpg raises, so that it is not taken for what a step raises."""
    try:
        yield
    except ThreadClaimError:
        raise  # it says what is to be said; one of them is a ValueError too
    except (*ERRORS, TimeoutError, ValueError) as error:
        raise DatabaseFailed(error) from error


def told(failed: DatabaseFailed, dsn: str, *, unheard: bool = False) -> StorageError:
    """The failure as a sentence; `unheard` if a commit was sent whose answer was lost."""
    error, where = failed.error, without_password(dsn)
    if unheard:
        return StorageUnavailable(
            f"The answer to a commit to {where} was lost ({error!r}). It may have taken effect: read the "
            "thread before you try again, or try again with the same message id."
        )
    if isinstance(error, asyncpg.UndefinedTableError | asyncpg.UndefinedColumnError):
        return SchemaMismatch(f"The schema in {where} does not fit ({error}). See `threadclaim check`.")
    if isinstance(error, TimeoutError):
        return StorageUnavailable(
            f"{where} did not answer in time, or no connection came free. What was asked for may have taken "
            "effect. See whether the server hangs, or give the pool more connections."
        )
    return _other(error, where)


def _other(error: BaseException, where: str) -> StorageError:
    """What is left to be told apart: who is not let in, what is not there, and what is full."""
    if isinstance(error, _UNSUITABLE) or _is_wrong(error):
        return StorageUnsuitable(_unsuitable(error, where))
    if isinstance(error, asyncpg.ReadOnlySQLTransactionError):
        return StorageUnavailable(f"{where} is read-only, a standby perhaps. Name the primary. ({error})")
    if isinstance(error, asyncpg.InsufficientResourcesError):
        return StorageUnavailable(f"{where} is out of room ({error}). Make some; then try again.")
    if isinstance(error, asyncpg.LockNotAvailableError):
        return StorageUnavailable(
            f"Others use {where} for longer than a migration waits. Nothing was changed. See which "
            "transaction does not end (pg_stat_activity); then try again."
        )
    if isinstance(error, _LOST):
        return StorageUnavailable(
            f"{where} does not answer ({error}). Nothing was kept. See that the server is up, and that the "
            "DSN names it; then try again."
        )
    return StorageError(f"{where} refused what it was asked for ({error}).")


def _unsuitable(error: BaseException, where: str) -> str:
    """Why a database cannot be used. What cannot be read of a DSN may be its password, and is not quoted."""
    if isinstance(error, ValueError) and not isinstance(error, asyncpg.InterfaceError):
        return (
            f"{where} is no DSN that can be read. Give postgresql://USER:PASSWORD@HOST:PORT/DATABASE, and "
            "write what is in a name or a password of @ : / ? # and % as %40 %3A %2F %3F %23 and %25."
        )
    return f"{where} cannot be used ({error}). Correct the DSN, or what its user may do."


def _is_wrong(error: BaseException) -> bool:
    """Whether the DSN itself is wrong."""
    return isinstance(error, ValueError | asyncpg.exceptions.ClientConfigurationError)


def without_password(dsn: str) -> str:
    """A DSN as it may be shown."""
    # Up to the last @: a password's own should be written %40, and may not be.
    hidden = re.sub(r"(://[^:/@]*):.*@", r"\1:…@", dsn)
    return re.sub(r"(password=)[^&]*", r"\1…", hidden)
