"""The frames that TLC puts its messages in with `-tool`, and the lines that come between them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum

_START = re.compile(r"^(?P<before>.*)@!@!@STARTMSG (?P<code>-?\d+):(?P<severity>\d+) @!@!@$")
_END = re.compile(r"^@!@!@ENDMSG -?\d+ @!@!@$")


class Severity(IntEnum):
    """How bad a message is: the number after its code."""

    NONE = 0
    ERROR = 1
    BUG = 2
    WARNING = 3
    STATE = 4


@dataclass(slots=True)
class Frame:
    """One message of TLC.

    An error's frame can hold another's in its text; `text` then has both, and `inner` has the other one.

    Attributes:
        code: What kind of message it is, a number of `codes.Code`.
        severity: How bad it is, a number of `Severity`.
        lines: Its text.
        inner: The frames in it.
    """

    code: int
    severity: int
    lines: list[str] = field(default_factory=list)
    inner: list["Frame"] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The message without empty lines around it."""
        return "\n".join(self.lines).strip()

    def all_codes(self) -> Iterator[int]:
        """Yield its code and those of the frames in it."""
        yield self.code
        for frame in self.inner:
            yield from frame.all_codes()


class Framer:
    """Puts lines together to frames."""

    def __init__(self) -> None:
        self._open: list[Frame] = []

    def feed(self, line: str) -> Frame | str | None:
        """Take the next line, without its end.

        Returns the frame that it closes; the line itself if it is outside of every frame; else None.
        """
        start = _START.match(line)
        if start is not None:
            self._start(start)
        elif self._open and _END.match(line):
            return self._close()
        elif self._open:
            self._open[-1].lines.append(line)
        else:
            return line
        return None

    def _start(self, start: re.Match[str]) -> None:
        """Open a frame, in the one that is open, if any: its first line may begin with that one's text."""
        if self._open and start["before"]:
            self._open[-1].lines.append(start["before"])
        self._open.append(Frame(int(start["code"]), int(start["severity"])))

    def _close(self) -> Frame | None:
        """Close the frame that was opened last, and return it if it is in no other."""
        frame = self._open.pop()
        if not self._open:
            return frame
        self._open[-1].lines.extend(frame.lines)
        self._open[-1].inner.append(frame)
        return None
