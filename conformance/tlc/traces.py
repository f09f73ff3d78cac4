"""A trace, put together from the messages in which TLC prints its states."""

import re

from frozendict import frozendict

from conformance.tlc.codes import Code
from conformance.tlc.frames import Frame
from conformance.tlc.result import State, Trace
from conformance.tlc.values import ValueSyntaxError, parse_state

INITIAL_ACTION = "Init"

# `2: <Take line 10, col 12 to line 11, col 94 of module Lock>`; newer versions print `<Take(w1) line ...>`.
_ACTION = re.compile(r"<(?P<action>.+?)(?: (?P<location>line \d+.*))?>")
_BACK = re.compile(r"(?P<number>\d+): Back to state(?:: <(?P<action>.+?)(?: line \d+.*)?>)?")


class TraceReader:
    """Takes the messages that make a trace, in order. `unreadable` says which states could not be read."""

    def __init__(self) -> None:
        self.unreadable: list[str] = []
        self._states: list[State] = []
        self._loop: int | None = None
        self._back = ""

    def feed(self, frame: Frame) -> None:
        """Take the next message: a state, or how the trace goes on after the last one."""
        match frame.code:
            case Code.TLC_STATE_PRINT3:
                self._loop = len(self._states) - 1
            case Code.TLC_BACK_TO_STATE:
                self._go_back(frame.text)
            case _:
                header, _, text = frame.text.partition("\n")
                self._add(header.partition(":")[2].strip(), text)

    def feed_initial(self, text: str) -> None:
        """Take the text of an initial state that violates something: TLC prints it in the error's message."""
        self._add("", text)

    def trace(self) -> Trace | None:
        """Return the trace; None if there is no state, or one of them could not be read."""
        if self.unreadable or not self._states:
            return None
        return Trace(tuple(self._states), self._loop, self._back)

    def _add(self, header: str, text: str) -> None:
        """Add the state with this text, to which the action in `header` led."""
        match = _ACTION.fullmatch(header)
        initial = not self._states or match is None
        action = INITIAL_ACTION if initial or match is None else match["action"]
        location = "" if initial or match is None else match["location"] or ""
        try:
            variables = parse_state(text)
        except ValueSyntaxError as error:
            self.unreadable.append(f"State {len(self._states) + 1} of the trace cannot be read. {error}")
            variables = {}
        self._states.append(State(action, location, frozendict(variables)))

    def _go_back(self, text: str) -> None:
        """End the trace in a loop."""
        match = _BACK.match(text)
        if match is None:
            self.unreadable.append(f"The state that the trace goes back to cannot be read: {text}")
        else:
            self._loop = int(match["number"]) - 1
            self._back = match["action"] or ""
