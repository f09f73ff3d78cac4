"""What whoever leaves a thread hands over, as a pure rule (ADR-0055 I3, I4; ThreadClaim!Goes).

Nothing here waits.
"""

from dataclasses import dataclass
from typing import Literal

Due = Literal["all", "newer"]
"""What a claimant hands over: all that is left, or after a failure that consumed nothing, newer asks."""


@dataclass(frozen=True, slots=True)
class Left:
    """What is left in a thread, as a release or a look reads it in its transaction.

    `asked` and `taken` are the two positions; `is_left` is whether more is asked than taken, or its run is
    active or answered (ThreadClaim!Left).
    """

    asked: int
    taken: int
    is_left: bool


@dataclass(frozen=True, slots=True)
class Leaving:
    """How a claimant came to leave: the model's `due`, `seen` and `pos` of a task at `release`.

    `seen` is how far was asked as it last read, 0 if it has read nothing. `input_seq` is the position of the
    input that a write of its own was to consume, 0 if it came to none.
    """

    due: Due
    seen: int = 0
    input_seq: int = 0

    def goes(self, left: Left) -> bool:
        """Whether there is something to hand over.

        A failure hands over only what was asked since it read; but if its input is taken, a write of its own
        consumed it unheard, and it has not failed (DESIGN.md, repair i).
        """
        unheard = 0 < self.input_seq <= left.taken
        return left.is_left and (self.due == "all" or unheard or left.asked > self.seen)

    def beside(self, other: "Leaving | None") -> "Leaving":
        """What a look is for that waits for another's sake already. ThreadClaim!Armed."""
        return self if other is None else ALL


ALL = Leaving("all")
"""As whoever was refused, consumed, was cancelled or stopped leaves."""
