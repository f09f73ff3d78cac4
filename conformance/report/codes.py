"""The exit codes of every command, and how one says that it could not run."""

import sys

AS_EXPECTED, NOT_AS_EXPECTED, COULD_NOT_RUN = 0, 1, 2


def could_not_run(why: object) -> int:
    """Say on standard error why a command could not run; give its exit code."""
    print(f"Could not run: {why}", file=sys.stderr)
    return COULD_NOT_RUN
