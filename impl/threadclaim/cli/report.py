"""What a command came to: for people, as text; for programs, as one JSON object. Nothing here waits."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from threadclaim.cli.tables import Table, printable, rendered

_UNITS = (("d", 86400), ("h", 3600), ("min", 60))
"""Units of time, and how many seconds they have; one is used for two of it and more."""

Row = Mapping[str, Any]
"""A row, by stable keys: what JSON can say."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a command came to.

    `figures` and `rows` are for programs, under keys that stay; `parts`, sentences and tables, are for
    people. `code` is the exit code: 0 if all is as it should be, 1 if the answer is no.
    """

    command: str
    figures: Mapping[str, Any] = field(default_factory=dict)
    rows: Sequence[Row] = ()
    parts: Sequence[str | Table] = ()
    code: int = 0

    def as_json(self) -> str:
        """As one JSON object, `{"ok", "command", "figures", "rows"}`."""
        said = {"ok": self.code == 0, "command": self.command, "figures": self.figures, "rows": self.rows}
        return json.dumps(said, ensure_ascii=False, indent=2)

    def as_text(self, width: int | None) -> str:
        """As text, in so many columns; None if nobody counts them, as in a pipe."""
        return "\n".join(
            printable(part) if isinstance(part, str) else rendered(part, width) for part in self.parts
        )


def failure_as_json(command: str, sentence: str) -> str:
    """What a command that could not be carried out says to programs."""
    said = {"ok": False, "command": command, "error": sentence}
    return json.dumps(said, ensure_ascii=False, indent=2)


def counted(number: int, one: str, many: str | None = None) -> str:
    """A number with its noun."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def seconds(value: float | None) -> str:
    """A time in seconds, as people read it; empty for none."""
    if value is None:
        return ""
    for unit, length in _UNITS:
        if abs(value) >= 2 * length:
            return f"{value / length:.1f} {unit}"
    return f"{value:.0f} s"


def moment(time: datetime | None) -> str:
    """A time in UTC, to the second; empty for none."""
    return "" if time is None else f"{time:%Y-%m-%d %H:%M:%S}"


def iso(time: datetime | None) -> str | None:
    """A time for programs."""
    return None if time is None else time.isoformat()
