"""TLC's output with `-tool`, read line by line: how far it has come, and in the end the run's result."""

import re

from conformance.tlc.codes import KINDS, Code, verdict_of_code, verdict_of_exit
from conformance.tlc.counts import CountReader
from conformance.tlc.frames import Frame, Framer, Severity
from conformance.tlc.result import Coverage, Progress, PropertyKind, Result, State, Trace, Verdict
from conformance.tlc.sany import parse_errors, parse_warnings
from conformance.tlc.traces import TraceReader

__all__ = ["Coverage", "Progress", "PropertyKind", "Reader", "Result", "State", "Trace", "Verdict"]

_PROPERTY = re.compile(
    r"(?:The invariant|Invariant|Action property|Property|Evaluating invariant|Evaluating action property)"
    r" (?P<name>.+?) (?:is|failed)\b"
)
_OUT_OF_MEMORY = re.compile(
    r"OutOfMemoryError|Java heap space|GC overhead limit exceeded|Java ran out of memory"
)
# What comes before the cause when TLC catches an exception, and says no more than that.
_UNEXPECTED = re.compile(
    r"\ATLC threw an unexpected exception\.\nThis was probably caused by an error in the spec or model\.\n"
    r"See the User Output or TLC Console for clues to what happened\.\n(?:The exception was an? [\w.$]+\n: )?"
)
_EMPTY_STACK = re.compile(
    r"The error occurred when TLC was evaluating the nested\nexpressions at the following positions:\n"
    r" *The error call stack is empty\."
)
_MORE_MEMORY = "Java ran out of memory. Give this run a larger heap, or make the model smaller."
# A shell reports a process that a signal ended with this and more.
_FIRST_SIGNAL_EXIT = 128
_ERRORS = frozenset({Severity.ERROR, Severity.BUG})
_INITIAL = frozenset({Code.TLC_INVARIANT_VIOLATED_INITIAL, Code.TLC_PROPERTY_VIOLATED_INITIAL})
_HEADERS = frozenset({Code.TLC_BEHAVIOR_UP_TO_THIS_POINT, Code.TLC_COUNTER_EXAMPLE})
_STATES = frozenset(
    {Code.TLC_STATE_PRINT1, Code.TLC_STATE_PRINT2, Code.TLC_STATE_PRINT3, Code.TLC_BACK_TO_STATE}
)


class Reader:
    """Reads one run's output. Feed it every line in order, then let it `finish`."""

    def __init__(self) -> None:
        self._framer = Framer()
        self._trace = TraceReader()
        self._count = CountReader()
        self._errors: list[Frame] = []
        self._warnings: list[str] = []
        self._seen: set[int] = set()
        self._sany: list[str] = []
        self._stray: list[str] = []
        self._version = ""

    def feed(self, line: str) -> Progress | None:
        """Take the next line, with or without its end; return the progress that it reports, if it does."""
        frame = self._framer.feed(line.rstrip("\r\n"))
        if isinstance(frame, Frame):
            return self._read(frame)
        if frame is not None:
            self.feed_stray(frame)
        return None

    def feed_stray(self, line: str) -> None:
        """Take a line that is in no message of TLC's, such as one that Java wrote to its standard error."""
        in_sany = Code.TLC_SANY_START in self._seen and Code.TLC_SANY_END not in self._seen
        (self._sany if in_sany else self._stray).append(line.rstrip("\r\n"))

    def finish(self, exit_code: int | None, seconds: float) -> Result:
        """Return what the run came to.

        Args:
            exit_code: The process's exit code, negative for a signal; None if we stopped it.
            seconds: How long the process ran.
        """
        verdict, message = self._conclude(exit_code)
        culprit = next((frame for frame in self._errors if frame.code in KINDS), None)
        counts = self._count.counts
        return Result(
            verdict=verdict,
            kind=KINDS[culprit.code] if culprit else None,
            property=_property_name(culprit) if culprit else None,
            message=message,
            trace=self._trace.trace(),
            generated=counts.generated,
            distinct=counts.distinct,
            queue=counts.queue,
            depth=counts.depth,
            coverage=self._count.coverage,
            warnings=(*parse_warnings(self._sany), *self._warnings, *self._trace.unreadable),
            version=self._version,
            exit_code=exit_code,
            seconds=seconds,
        )

    def _read(self, frame: Frame) -> Progress | None:
        """Take a message; return the progress that it reports, if it does."""
        self._seen.add(frame.code)
        if frame.code == Code.TLC_VERSION:
            self._version = frame.text
        elif frame.code in _STATES:
            self._trace.feed(frame)
        elif frame.severity in _ERRORS and frame.code not in _HEADERS:
            self._read_error(frame)
        elif _is_warning(frame):
            self._warnings.append(frame.text)
        return self._count.feed(frame)

    def _read_error(self, frame: Frame) -> None:
        """Take an error's message; one of an initial state has the state in it."""
        self._errors.append(frame)
        if frame.code in _INITIAL:
            self._trace.feed_initial(frame.text.partition("\n")[2])

    def _conclude(self, exit_code: int | None) -> tuple[Verdict, str]:
        """Return the verdict, and what to say of it."""
        if Code.TLC_FINISHED not in self._seen:
            return self._conclude_unfinished(exit_code)
        if self._errors:
            return self._conclude_error(exit_code)
        if Code.TLC_SUCCESS not in self._seen or exit_code:
            return Verdict.ERROR, f"TLC finished without an error or a success, with exit code {exit_code}."
        if not self._count.counts.distinct:
            return (
                Verdict.ERROR,
                "There is no initial state, so nothing was checked: Init is false of every state.",
            )
        return Verdict.HOLDS, "No error was found."

    def _conclude_error(self, exit_code: int | None) -> tuple[Verdict, str]:
        """Return the verdict of a run that ended with an error, and what TLC said of it."""
        message = "\n".join(map(_clean, self._errors)).strip()
        if _OUT_OF_MEMORY.search(message):
            return Verdict.OUT_OF_MEMORY, f"{_MORE_MEMORY}\n{message}"
        codes = (code for frame in self._errors for code in frame.all_codes())
        verdict = next(filter(None, map(verdict_of_code, codes)), verdict_of_exit(exit_code))
        said = parse_errors(self._sany) if verdict is Verdict.SPEC_ERROR else ""
        return verdict, said or message or f"TLC ended with exit code {exit_code} and no message."

    def _conclude_unfinished(self, exit_code: int | None) -> tuple[Verdict, str]:
        """Return the verdict of a run without a closing message, and the reason, as far as it is known."""
        said = "\n".join(self._stray).strip()
        if _OUT_OF_MEMORY.search(said):
            return Verdict.OUT_OF_MEMORY, f"{_MORE_MEMORY}\n{said}"
        if exit_code is not None and 0 < exit_code < _FIRST_SIGNAL_EXIT:
            return Verdict.ERROR, f"TLC broke off with exit code {exit_code}.\n{said}".strip()
        return (
            Verdict.STOPPED,
            "TLC was stopped before it had finished; what it found until then is no result.",
        )


def _is_warning(frame: Frame) -> bool:
    """Say whether a message warns of something in the model, or in what TLC makes of it."""
    # Which garbage collector Java uses is our choice, in run.py, and changes nothing but the speed.
    return frame.code == Code.TLC_COVERAGE_MISMATCH or (
        frame.severity == Severity.WARNING and frame.code != Code.TLC_ENVIRONMENT_JVM_GC
    )


def _property_name(frame: Frame) -> str | None:
    """Return the name of the property that an error's message speaks of, if it names one."""
    match = _PROPERTY.match(frame.text)
    return match["name"] if match else None


def _clean(frame: Frame) -> str:
    """Return an error's text without what TLC says of every exception."""
    return _EMPTY_STACK.sub("", _UNEXPECTED.sub("", frame.text))
