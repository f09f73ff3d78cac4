"""A mutant's twin: the runner with one rule taken out, the one that the mutant of the model has not.

The library has no switches for this. A twin replaces a step by a subclass, or wraps a method, for as long as
its block goes on. Where its mutant has steps or states that the design has not, the twin brings how the world
does those, and how it is read then.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from conformance.actions import ACTIONS, Action
from conformance.explore.candidates import NEXT
from conformance.world.process import MakeRunner, make_runner

Put = Callable[[object, str, Any], None]
"""Puts a value in place of an attribute of a module or a class, until the twin's block is left."""


def _as_it_is(_: Put) -> None:
    """Put nothing."""


@dataclass(frozen=True, slots=True)
class Twin:
    """A twin of the mutant of this name.

    Attributes:
        name: The mutant's, as its cfg is called; spec/models.yaml has the rule that it lacks.
        does: What the runner does without that rule, in a sentence.
        change: Makes the runner one, by what it is given to put with.
        make: Makes the runner of a process.
        actions: How the world does the actions that the mutant has of its own, or does in its own way.
        next: What a task goes on with, where only the mutant's tasks are.
        reads: Changes how the world is read, where only the mutant's states are; put with the same.
    """

    name: str
    does: str
    change: Callable[[Put], None]
    make: MakeRunner = make_runner
    actions: Mapping[str, Action] = field(default_factory=dict)
    next: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    reads: Callable[[Put], None] = _as_it_is

    @contextmanager
    def applied(self) -> Iterator[None]:
        """The library as the twin has it, within the block, and the world's actions with it."""
        with ExitStack() as stack:

            def put(where: object, name: str, value: Any) -> None:  # noqa: ANN401  # whatever is there
                stack.enter_context(patch.object(where, name, value))

            self.change(put)
            self.reads(put)
            stack.enter_context(patch.dict(ACTIONS, self.actions))
            stack.enter_context(patch.dict(NEXT, self.next))
            yield
