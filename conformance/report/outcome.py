"""What a command found, in one shape for every command: figures, and a row for each thing it looked at."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

Cell = str | int | float | bool | None
Row = Mapping[str, Cell]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the command `command` found.

    `figures` sum it up by name, `rows` list it; `ok` is whether everything is as expected.
    """

    ok: bool
    command: str
    figures: Mapping[str, int | float]
    rows: Sequence[Row]

    def as_json(self) -> str:
        """The outcome as JSON, `{"ok", "command", "figures", "rows"}`, indented and ending in a newline."""
        return json.dumps(asdict(self), indent=2, ensure_ascii=False) + "\n"

    def save(self, path: Path) -> None:
        """Write the outcome as JSON to `path`, and make its folder. Raises OSError when it cannot."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.as_json(), encoding="utf-8")
