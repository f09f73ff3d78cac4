"""`python -m conformance.soak.nursery`: a process that has imported all that a worker needs, and forks it.

A worker that is started again after it was killed is there in some milliseconds, for it imports nothing.
It has one thread and no loop, so it forks nothing half done. It ends with its standard input.
"""

import json
import os
import signal
import sys
import traceback

from conformance.soak.worker import Settings, work


def main() -> None:
    """Start a worker for each line of settings."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel buries them
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started this one ends it
    for line in sys.stdin:
        if os.fork() == 0:
            _be_a_worker(Settings(**json.loads(line)))


def _be_a_worker(settings: Settings) -> None:
    """Work, and end without what the nursery would do as it ends."""
    code = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.close(sys.stdin.fileno())  # the lines are the nursery's
        work(settings)
        code = 0
    except BaseException:  # noqa: BLE001  # the process ends either way
        traceback.print_exc()
    finally:
        os._exit(code)


if __name__ == "__main__":
    main()
