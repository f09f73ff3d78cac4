"""How much is explored: with every change, every night, or until it is stopped."""

from collections.abc import Mapping
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Profile:
    """How many walks there are, and how long they are.

    `walks` are steered by what has been rare, with the stepped agent; `real` are so with pydantic-ai's;
    `direct` with callers who make runs of their own; `examples` are those that Hypothesis chooses. `rounds`
    is how often all of that is done, each time with other seeds; None until it is stopped.
    """

    walks: int
    real: int
    examples: int
    steps: int
    rounds: int | None = 1
    direct: int = 0

    def over_a_database(self) -> "Profile":
        """The profile for a durable storage, where a step takes a hundred times as long."""
        return replace(
            self,
            walks=max(1, self.walks // WALKS_OF_ONE),
            real=max(1, self.real // WALKS_OF_ONE),
            direct=max(1, self.direct // WALKS_OF_ONE) if self.direct else 0,
            examples=max(1, self.examples // WALKS_OF_ONE),
        )

    def part(self, parts: int, place: int) -> "Profile":
        """The part of it at a place, from 0, if it is divided into so many; each has a walk of each kind."""
        return replace(
            self,
            walks=_part(self.walks, parts, place),
            real=_part(self.real, parts, place),
            direct=_part(self.direct, parts, place),
            examples=_part(self.examples, parts, place),
        )


def _part(walks: int, parts: int, place: int) -> int:
    """How many of some walks are in a part."""
    return max(1, (walks + place) // parts) if walks else 0


WALKS_OF_ONE = 25
"""Of how many walks over memory one is done over a database."""


PROFILES: Mapping[str, Profile] = {
    "pull-request": Profile(walks=760, real=160, direct=100, examples=120, steps=60),
    "nightly": Profile(walks=1_000, real=500, direct=100, examples=400, steps=80, rounds=40),
    "explore": Profile(walks=1_000, real=500, direct=100, examples=400, steps=100, rounds=None),
}
"""The profiles, by name."""
