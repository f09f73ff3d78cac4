"""A mutant's twin: the runner with one rule taken out, the one that the mutant of the model has not.

The library has no switches for this. A twin replaces a step by a subclass, or wraps a method, for as long as
its block goes on.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from conformance.world.process import MakeRunner, make_runner

Put = Callable[[object, str, Any], None]
"""Puts a value in place of an attribute of a module or a class, until the twin's block is left."""


@dataclass(frozen=True, slots=True)
class Twin:
    """A twin of the mutant of this name; `change` makes the runner one, by what it is given to put with.

    `make` makes the runner of a process.
    """

    name: str
    change: Callable[[Put], None]
    make: MakeRunner = make_runner

    @contextmanager
    def applied(self) -> Iterator[None]:
        """The library as the twin has it, within the block."""
        with ExitStack() as stack:

            def put(where: object, name: str, value: Any) -> None:  # noqa: ANN401  # whatever is there
                stack.enter_context(patch.object(where, name, value))

            self.change(put)
            yield
