"""What a command is: something that adds itself to the command line, and can be run."""

import argparse
from typing import TypeAlias

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001  # it has no other
"""Where commands add themselves."""
