"""What TLC found against what the manifest expects: each difference is a sentence."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from conformance.models.manifest import Case, Model
from conformance.tlc.output import Coverage, PropertyKind, Result, Verdict

_UPDATE = "`--update` writes the new one for review"
_FAILED = {
    Verdict.DEADLOCK: "TLC found a deadlock.",
    Verdict.ASSUMPTION_FALSE: "An ASSUME of the module is false for these constants.",
    Verdict.SPEC_ERROR: "TLC cannot read the module; correct the .tla file that its message names.",
    Verdict.CFG_ERROR: "TLC cannot read the cfg; correct what its message names.",
    Verdict.EVALUATION_ERROR: "TLC could not evaluate an expression of the model.",
    Verdict.OUT_OF_MEMORY: "TLC ran out of memory; raise its `memory_mb`, or make its bounds smaller.",
    Verdict.STOPPED: "TLC was stopped before it had finished, so nothing is known.",
    Verdict.ERROR: "TLC failed.",
}


@dataclass(frozen=True, slots=True)
class Judgement:
    """What one run says of its case, in sentences.

    `verdict` says why it does not show what it must show; `beside` what else is wrong: a warning,
    actions; `stale` which counts changed, which the manifest may take over once somebody has reviewed them.
    """

    verdict: tuple[str, ...]
    beside: tuple[str, ...]
    stale: tuple[str, ...]

    @property
    def right(self) -> bool:
        """Whether all is as expected but counts that changed."""
        return not (self.verdict or self.beside)

    @property
    def ok(self) -> bool:
        """Whether all is as expected."""
        return self.right and not self.stale


def judge(case: Case, result: Result, *, counted: bool = True) -> Judgement:
    """Compare what TLC found with what the manifest expects of the case.

    Which of a model's actions fired is compared if they were `counted`.
    """
    verdict = (*_of_verdict(case, result), *_of_end(case, result))
    beside = (*_of_warnings(result),)
    if verdict:
        return Judgement(verdict, beside, ())
    if isinstance(case.entry, Model) and counted:
        beside += (*_of_coverage(case.entry.idle, result.coverage),)
    return Judgement(verdict, beside, (*_of_counts(case, result),))


def is_counterexample(case: Case, result: Result) -> bool:
    """Whether TLC violated exactly the property that the case names; TLC does not name a temporal one."""
    if result.verdict is not Verdict.VIOLATED or isinstance(case.entry, Model):
        return False
    if result.kind is PropertyKind.TEMPORAL:
        return case.temporal == case.expects
    return (result.property,) == case.expects


def say_verdict(case: Case, result: Result) -> str:
    """The verdict in a word or two: of a witness, whether its situation was reached."""
    if case.entry.kind == "witness" and result.verdict is Verdict.HOLDS:
        return "not reached"
    if case.entry.kind == "witness" and is_counterexample(case, result):
        return "reached"
    return result.verdict.value


def _of_verdict(case: Case, result: Result) -> Iterator[str]:
    """A verdict that is not the expected one."""
    if result.verdict in _FAILED:
        yield f"{_FAILED[result.verdict]} {result.message}".strip()
    elif result.verdict is Verdict.HOLDS:
        if not isinstance(case.entry, Model):
            yield _harmless(case)
    elif not is_counterexample(case, result):
        expected = "everything to hold" if isinstance(case.entry, Model) else f"{case.checks} to be violated"
        yield f"The manifest expects {expected}, but {_violated(case, result)} is violated."
    elif result.trace is None:
        yield f"{case.checks} is violated, but TLC gave no counterexample that can be read."


def _harmless(case: Case) -> str:
    """The sentence for a counterexample that is not there."""
    if case.entry.kind == "witness":
        return f"The situation is not reached: {case.checks} holds, so nothing shows that the model has it."
    return f"The mutant is harmless: {case.checks} holds although the rule is taken out."


def _violated(case: Case, result: Result) -> str:
    """The property that TLC says is violated, as closely as it names it."""
    if result.property is not None:
        return result.property
    return f"a temporal property ({' or '.join(case.temporal) or 'none that the manifest knows'})"


def _of_end(case: Case, result: Result) -> Iterator[str]:
    """A model's search that ended with states left to look at, or without a count."""
    if not isinstance(case.entry, Model) or result.verdict is not Verdict.HOLDS:
        return
    if result.queue:
        yield f"TLC left {result.queue} states in its queue, so it has not looked at everything."
    if not result.distinct:
        yield "TLC found no state, so nothing was checked."


def _of_warnings(result: Result) -> Iterator[str]:
    """What TLC warned of."""
    for warning in result.warnings:
        yield f"TLC printed a warning: {warning}"


def _of_coverage(idle: Iterable[str], coverage: Mapping[str, Coverage]) -> Iterator[str]:
    """Actions that fired or did not against what `idle` says."""
    if not coverage:
        yield "TLC reported no coverage, so nothing shows that any action fired."
        return
    silent = {action for action, count in coverage.items() if count.total == 0}
    if never := sorted(silent - set(idle)):
        actions = "The action" if len(never) == 1 else "The actions"
        yield f"{actions} {', '.join(never)} never fired; correct guards or bounds, or list it as `idle`."
    for action in sorted(set(idle) - silent):
        fault = "fired" if action in coverage else "is no action of the model"
        yield f"The manifest lists {action} as `idle`, but it {fault}; correct `idle`."


def counts_of(case: Case, result: Result) -> dict[str, int]:
    """The counts that the manifest keeps of such a run, by their field: those that are exact."""
    if not isinstance(case.entry, Model):
        return {} if result.trace is None else {"trace_length": len(result.trace.states)}
    depth = {"depth": result.depth} if case.entry.workers == 1 else {}
    return {"distinct_states": result.distinct} | depth


def _of_counts(case: Case, result: Result) -> Iterator[str]:
    """Counts that differ from those in the manifest, or that it does not have; `depth` is optional there.

    A safety counterexample is a shortest one. One of a temporal property is whatever a version of TLC comes
    to first, so its length is compared with that of the same version only.
    """
    if case.temporal and not isinstance(case.entry, Model) and _is_another_tlc(case, result):
        return
    for name, count in counts_of(case, result).items():
        expected = getattr(case.entry, name)
        if expected is None and name != "depth":
            yield f"The manifest has no {_words(name)}: found {count}; {_UPDATE}."
        elif expected is not None and count != expected:
            yield f"The {_words(name)} changed: expected {expected}, found {count}; {_UPDATE}."


def _is_another_tlc(case: Case, result: Result) -> bool:
    """Whether the manifest's traces come from another version of TLC than this result."""
    return case.recorded_with is not None and f" {case.recorded_with} " not in result.version


def _words(field: str) -> str:
    """A count's field, as a sentence says it."""
    return {"distinct_states": "number of distinct states", "trace_length": "trace length"}.get(field, field)
