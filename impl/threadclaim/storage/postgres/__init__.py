"""The storage on a server: `storage` is it, `session` a transaction, `listening` hints, `schema` migrations.

It needs asyncpg: `pip install threadclaim[postgres]`.
"""

try:
    import asyncpg as _asyncpg  # noqa: F401  # looked for here, so that its absence is a sentence
except ImportError as error:
    raise ImportError(
        "PostgresStorage needs asyncpg, which is not installed. "
        "Install it: pip install 'threadclaim[postgres]'"
    ) from error

from threadclaim.storage.postgres.storage import PostgresStorage

__all__ = ["PostgresStorage"]
