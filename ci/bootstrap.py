"""The door to set-up. Any Python can read this file, so one that is too old gets a sentence and no traceback.

`make setup` runs it. The work is in `environment.py`, imported once the version is known to be right.
"""

import sys

# For the linter and the type checker this cannot be: they know our oldest Python.
if sys.version_info < (3, 11):  # noqa: UP036
    sys.stderr.write(
        "make setup: Python 3.11 or newer is needed, and {} is Python {}.{}.{}. "
        "Name a newer one: `PYTHON=python3.13 make setup`.\n".format(sys.executable, *sys.version_info)
    )
    sys.exit(2)

from ci.environment import main

sys.exit(main())
