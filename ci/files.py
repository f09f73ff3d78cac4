"""Files that several processes may touch at once: a lock between them, and writing a file whole."""

import fcntl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def exclusively(path: Path) -> Iterator[None]:
    """Hold the lock file at `path`, making it if need be; wait for as long as another process holds it.

    The operating system frees the lock when its process ends, however that ends.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that nobody ever finds half of one, whenever the writer dies."""
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as half:
        half.write(data)
    whole = Path(half.name)
    whole.chmod(0o644)  # a temporary file is its owner's alone
    whole.replace(path)
