"""What a database does for one transaction: `sql.transaction` is written against this alone."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


class Row(Protocol):
    """A row, whose columns are had by their place, or one after another."""

    def __getitem__(self, place: int, /) -> Any:  # noqa: ANN401  # whatever the column holds
        """The column at a place, from 0."""

    def __iter__(self) -> Iterator[Any]:
        """The columns."""


@dataclass(frozen=True, slots=True)
class Write:
    """A text, and the arguments of each time that it is run. `$1`, the scope's number, is not among them."""

    sql: str
    rows: Sequence[tuple[Any, ...]]


class Session(Protocol):
    """A transaction of one scope, begun: nothing that it reads of the scope changes before it ends."""

    @property
    def head(self) -> int:
        """The seq of the log's last entry, as it began."""

    async def fetch(self, sql: str, *args: object) -> Sequence[Row]:
        """Read rows of the scope, whose number is put before `args`."""

    async def commit(self, writes: Sequence[Write]) -> bool:
        """Write, and keep it. False if nothing was kept and the step is to be run anew."""
