"""What is reported of each cfg: a row of the table, a row of the JSON, and, if it failed, why."""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from conformance.models.judge import is_counterexample, say_verdict
from conformance.models.manifest import Case, Mutant
from conformance.models.rules import Problem
from conformance.models.run import Checked
from conformance.report import Column, Failure, Outcome, Row, command
from conformance.tlc.story import tell

COLUMNS = (
    Column("cfg"),
    Column("kind"),
    Column("checks"),
    Column("verdict"),
    Column("distinct states", number=True),
    Column("depth", number=True),
    Column("trace", number=True),
    Column("seconds", number=True),
)


@dataclass(frozen=True, slots=True)
class Finding:
    """All that is known of the cfg `name`.

    `case` is its entry if the manifest lists it, `checked` what TLC found if it ran, and `why` every reason
    why it is not as expected.
    """

    name: str
    case: Case | None
    checked: Checked | None
    why: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether all is as expected."""
        return not self.why

    @property
    def trace_length(self) -> int | None:
        """The states of its counterexample, if there is one."""
        trace = self.checked.result.trace if self.checked else None
        return None if trace is None else len(trace.states)

    @property
    def story(self) -> str:
        """Its counterexample as a person reads it, or nothing."""
        trace = self.checked.result.trace if self.checked else None
        return "" if trace is None else tell(trace)


def gather(
    listed: Mapping[str, Case],
    checked: Iterable[Checked],
    problems: Sequence[Problem],
    updated: AbstractSet[str],
) -> list[Finding]:
    """A finding for each case that was checked or has a problem, in the order in which they are `listed`.

    A cfg that has a problem and is not listed comes last. What is stale of a cfg in `updated` is left out:
    the manifest has been mended.
    """
    of_case = {each.case.name: each for each in checked}
    concerned = of_case.keys() | {problem.name for problem in problems}
    names = dict.fromkeys([*listed, *(problem.name for problem in problems)])
    return [
        Finding(
            name,
            listed.get(name),
            of_case.get(name),
            _why(name, of_case.get(name), problems, name in updated),
        )
        for name in names
        if name in concerned
    ]


def _why(name: str, checked: Checked | None, problems: Iterable[Problem], updated: bool) -> tuple[str, ...]:
    """Every reason why the cfg is not as expected."""
    own = [problem for problem in problems if problem.name == name]
    static = tuple(problem.why for problem in own if not (updated and problem.stale))
    if checked is None:
        return static
    judged = checked.judgement
    return judged.verdict + judged.beside + static + (() if updated else judged.stale)


def outcome_of(findings: Sequence[Finding], seconds: float) -> Outcome:
    """The findings in the shape of every command; `seconds` is what all of it took."""
    kinds = [finding.case.entry.kind for finding in findings if finding.checked and finding.case]
    figures = {
        "models": kinds.count("model"),
        "mutants": kinds.count("mutant"),
        "witnesses": kinds.count("witness"),
        "distinct_states": sum(each.checked.result.distinct for each in findings if each.checked),
        "seconds": round(seconds, 1),
        "failures": sum(not finding.ok for finding in findings),
    }
    return Outcome(figures["failures"] == 0, "models", figures, [row_of(finding) for finding in findings])


def row_of(finding: Finding) -> Row:
    """A finding as a row of the JSON; what was not run has no figures."""
    case, result = finding.case, finding.checked.result if finding.checked else None
    row: dict[str, str | int | float | bool | None] = {
        "cfg": finding.name,
        "kind": case.entry.kind if case else None,
        "tier": case.entry.tier if case else None,
        "property": case.checks if case else None,
        "verdict": say_verdict(case, result) if case and result else "not run",
        "distinct_states": result.distinct if result else None,
        "depth": result.depth if result else None,
        "trace_length": finding.trace_length,
        "seconds": round(result.seconds, 1) if result else None,
        "ok": finding.ok,
    }
    return row if finding.ok else row | {"why": " ".join(finding.why)}


def cells_of(finding: Finding) -> tuple[str, ...]:
    """A finding as a row of the table."""
    row = row_of(finding)
    words = [str(row[name] or "") for name in ("cfg", "kind", "property", "verdict")]
    return (
        *words,
        _counted(row["distinct_states"]),
        _counted(row["depth"]),
        _length(finding),
        str(row["seconds"] or ""),
    )


def _counted(count: object) -> str:
    """A count with its thousands set apart, or nothing."""
    return f"{count:,}" if isinstance(count, int) else ""


def _length(finding: Finding) -> str:
    """The trace's length, beside the records' own figure where there is one."""
    entry = finding.case.entry if finding.case else None
    records = f" (records: {entry.records})" if isinstance(entry, Mutant) and entry.records else ""
    return _counted(finding.trace_length) + records


def failure_of(finding: Finding, options: Sequence[str]) -> Failure:
    """A finding that is not as expected, with its counterexample unless that is the expected one.

    `options` are those that its command needs beside the name.
    """
    checked = finding.checked
    surprise = checked is not None and not is_counterexample(checked.case, checked.result)
    again = command("models", "--only", finding.name, *options)
    return Failure(finding.name, finding.why, again, finding.story if surprise else "")
