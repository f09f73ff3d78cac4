"""Silence for the runner's log, in a world where everything goes wrong on purpose."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quiet() -> Iterator[None]:
    """Keep the runner's log from the terminal within the block."""
    logger = logging.getLogger("threadclaim")
    before, level = logger.propagate, logger.level
    logger.propagate = False
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.propagate = before
        logger.setLevel(level)
