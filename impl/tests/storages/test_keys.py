"""The keys that ids and names have in an index, and what is told of leases by their names."""

import pytest

from threadclaim.storage.protocol import asked_cursor, lease_name, thread_of_lease
from threadclaim.storage.sql.keys import MAX_KEY_BYTES, key_of


def test_keys() -> None:
    """A short text is its own key; a long one, or one that looks like a hash, is hashed."""
    assert key_of("t-1") == "t-1"
    assert key_of("x" * MAX_KEY_BYTES) == "x" * MAX_KEY_BYTES
    assert key_of("x" * (MAX_KEY_BYTES + 1)).startswith("sha256:")
    assert key_of(key_of("x" * 1000)) != key_of("x" * 1000)
    assert len(key_of("\U0001d518" * 1000)) < MAX_KEY_BYTES


@pytest.mark.parametrize("thread_id", ["t", "", "/", "a/claim", "artifactr.runner/x/claim", "\n"])
def test_lease_of_a_thread(thread_id: str) -> None:
    """Whatever the thread's id is."""
    assert thread_of_lease(lease_name(thread_id)) == thread_id


@pytest.mark.parametrize("name", ["", "l", "claim", "/claim", "artifactr.runner/claim", asked_cursor("t")])
def test_lease_of_no_thread(name: str) -> None:
    """Every other name."""
    assert thread_of_lease(name) is None
