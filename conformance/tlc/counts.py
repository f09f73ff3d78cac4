"""What TLC counts: states, depth, and what each action did."""

import re
from collections.abc import Mapping
from dataclasses import replace

from frozendict import frozendict

from conformance.tlc.codes import Code
from conformance.tlc.frames import Frame
from conformance.tlc.result import Coverage, Progress

# TLC groups digits in some messages: 1,832,932.
_NUMBER = r"-?[\d,]+"
_PROGRESS = re.compile(
    rf"Progress\((?P<depth>{_NUMBER})\) at .*?: (?P<generated>{_NUMBER}) states generated"
    rf"(?: \((?P<rate>{_NUMBER}) s/min\))?, (?P<distinct>{_NUMBER}) distinct states found"
    rf"(?: \({_NUMBER} ds/min\))?, (?P<queue>{_NUMBER}) states left on queue"
)
_STATS = re.compile(
    rf"(?P<generated>{_NUMBER}) states generated, (?P<distinct>{_NUMBER}) distinct states found,"
    rf" (?P<queue>{_NUMBER}) states left on queue"
)
_DEPTH = re.compile(rf"graph search is (?P<depth>{_NUMBER})")
_COVERAGE = re.compile(rf"<(?P<action>.+?) line \d+.*>: (?P<distinct>{_NUMBER}):(?P<total>{_NUMBER})")


class CountReader:
    """Takes TLC's messages and keeps its latest counts."""

    def __init__(self) -> None:
        self.counts = Progress(0, 0, 0, 0, 0)
        self.coverage: Mapping[str, Coverage] = frozendict()
        self._covering: dict[str, Coverage] = {}

    def feed(self, frame: Frame) -> Progress | None:
        """Take the next message, whichever it is; return the progress that it reports, if it does."""
        match frame.code:
            case Code.TLC_PROGRESS_STATS:
                return self._progress(frame.text)
            case Code.TLC_STATS:
                self._update(_STATS.search(frame.text))
            case Code.TLC_SEARCH_DEPTH:
                self._update(_DEPTH.search(frame.text))
            # TLC repeats all of it every minute: each report replaces the one before.
            case Code.TLC_COVERAGE_START:
                self._covering = {}
            case Code.TLC_COVERAGE_NEXT:
                self._cover(frame.text)
            case Code.TLC_COVERAGE_END | Code.TLC_COVERAGE_END_OVERHEAD:
                self.coverage = frozendict(self._covering)
            case _:
                pass
        return None

    def _progress(self, text: str) -> Progress | None:
        """Take a report of progress."""
        match = _PROGRESS.search(text)
        self._update(match)
        return self.counts if match else None

    def _update(self, match: re.Match[str] | None) -> None:
        """Take the counts that a message has."""
        found: Mapping[str, str] = match.groupdict(default="0") if match else {}
        numbers = {name: _number(text) for name, text in found.items()}
        if "rate" in numbers:
            numbers["generated_per_minute"] = numbers.pop("rate")
        self.counts = replace(self.counts, **numbers)

    def _cover(self, text: str) -> None:
        """Add what one instance of an action did to what the action did."""
        match = _COVERAGE.search(text)
        if match is not None:
            before = self._covering.get(match["action"], Coverage(0, 0))
            self._covering[match["action"]] = Coverage(
                before.distinct + _number(match["distinct"]), before.total + _number(match["total"])
            )


def _number(text: str) -> int:
    """Read a number as TLC prints it."""
    return int(text.replace(",", ""))
