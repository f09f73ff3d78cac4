"""The keys that ids and names have in an index. Nothing here waits."""

import hashlib

from threadclaim.storage.protocol import Scope

MAX_KEY_BYTES = 200
"""How long a text may be, in UTF-8, to be its own key. PostgreSQL's B-tree holds entries of 2,704 bytes."""

_HASHED = "sha256:"


def key_of(text: str) -> str:
    """A text's key: itself, so that people can read it, or if it is long its SHA-256.

    A text that looks like such a hash is hashed too, so no two texts have one key. An id may have 1,000
    characters of four bytes each, and a scope's key two of them: more than an index can hold.
    """
    data = text.encode()
    if len(data) <= MAX_KEY_BYTES and not text.startswith(_HASHED):
        return text
    return _HASHED + hashlib.sha256(data).hexdigest()


def scope_keys(scope: Scope) -> tuple[str, str]:
    """The keys of a scope's tenant and of its workspace."""
    return key_of(scope.tenant), key_of(scope.workspace)
