"""The library's command line: `python -m threadclaim`, which is `threadclaim`."""

import sys

from threadclaim.cli.main import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
