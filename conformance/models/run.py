"""Running TLC on the cases, as many at once as the cores allow, and judging what it found."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from conformance.models.judge import Judgement, counts_of, is_counterexample, judge, say_verdict
from conformance.models.manifest import Case, Model, Mutant, Witness
from conformance.models.progress import Watch
from conformance.models.rules import hash_of
from conformance.models.schedule import Work, share_out
from conformance.tlc.itf import save_trace
from conformance.tlc.output import Progress, Result, Trace
from conformance.tlc.run import Job
from conformance.tlc.tools import Tools

# How long a run takes is its machine's matter, and its states are pinned: one is stopped only when it takes
# this many times the seconds that it is expected to.
_PATIENCE = 5

# From so many states on, a model is worth both of Java's compilers: one of 1,200, with temporal properties,
# took 6 s of one core with the quick one alone, and 17 s with both; one of 13,700 took 51 s, and 38 s.
_MANY = 5_000


class Check(Protocol):
    """Runs TLC on a job: `conformance.tlc.run.check`, or a stand-in for it."""

    async def __call__(
        self,
        job: Job,
        tools: Tools,
        *,
        on_progress: Callable[[Progress], None] | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - what was found until then is a result, no exception
    ) -> Result:
        """Run TLC, telling how far it is, for at most `timeout` seconds."""


@dataclass(frozen=True, slots=True)
class Means:
    """What runs the cases: the tools, what runs TLC, and how many `cores` and runs `at_once` it may use.

    `updating` is whether counts that changed will be written into the manifest, and so are no failure. Of
    models of at most `searched` states TLC does not count what each action does: `search` does.
    """

    tools: Tools
    check: Check
    cores: int
    at_once: int
    updating: bool = False
    searched: int = 0


@dataclass(frozen=True, slots=True)
class Checked:
    """A case, what TLC found, and what that means."""

    case: Case
    result: Result
    judgement: Judgement


async def run_cases(cases: Sequence[Case], means: Means, watch: Watch) -> list[Checked]:
    """Check the cases with TLC, as many together as the means allow, and judge each.

    Raises what `check` raises, once the other runs have been stopped.
    """

    def work(case: Case) -> Work[Checked]:
        """The case as work to share out."""
        return Work(case.entry.workers, case.entry.seconds, lambda: _run_case(case, means, watch))

    return await share_out(map(work, cases), cores=means.cores, at_once=means.at_once)


def job_of(case: Case, searched: int = 0) -> Job:
    """What TLC is to run for a case: with coverage for a model, for only there must every action fire.

    Coverage takes half as long again where there are no temporal properties, so a model of at most `searched`
    states, of which `search` tells the same, goes without. What ends with a counterexample, or has few
    states, is over before Java has compiled much.
    """
    states = case.entry.distinct_states if isinstance(case.entry, Model) else 0
    return Job(
        module=case.module,
        cfg=case.cfg,
        library=(case.spec_dir,),
        workers=case.entry.workers,
        memory_mb=case.entry.memory_mb,
        coverage=states is None or states > searched,
        quick=states is not None and states < _MANY,
    )


async def _run_case(case: Case, means: Means, watch: Watch) -> Checked:
    """Check one case, and tell the watch."""
    watch.began(case.name)
    job = job_of(case, means.searched)
    result = await means.check(
        job,
        means.tools,
        on_progress=lambda progress: watch.went_on(case.name, progress),
        timeout=_PATIENCE * case.entry.seconds,
    )
    judgement = judge(case, result, counted=job.coverage)
    summary = f"{say_verdict(case, result)}, {result.distinct:,} states, {result.seconds:.1f} s"
    watch.ended(case.name, summary, ok=judgement.right if means.updating else judgement.ok)
    return Checked(case, result, judgement)


def save_traces(folder: Path, checked: Iterable[Checked]) -> list[Path]:
    """Save each expected counterexample in `folder` as ITF, and return the files.

    What is saved beside a trace says no version and no time, so that one counterexample gives the same bytes.
    Raises OSError if a file cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    saved = []
    for each in checked:
        if each.result.trace is not None and is_counterexample(each.case, each.result):
            saved.append(folder / f"{each.case.slug}.itf.json")
            save_trace(saved[-1], _without_places(each.result.trace), meta=_meta(each.case))
    return saved


def _without_places(trace: Trace) -> Trace:
    """The trace without line numbers, which any edit of the module would change; actions have names."""
    return replace(trace, states=tuple(replace(state, location="") for state in trace.states))


def _meta(case: Case) -> dict[str, str]:
    """What a saved counterexample says of itself."""
    meta = {"cfg": f"{case.name}.cfg", "property": case.checks}
    match case.entry:
        case Mutant(rule=rule, note=note):
            return meta | {"description": f"Taken out: {rule}"} | ({"note": note} if note else {})
        case Witness(shows=shows):
            return meta | {"description": shows}
        case _:
            return meta


def changes_of(checked: Iterable[Checked], broken: AbstractSet[str]) -> dict[str, Mapping[str, int | str]]:
    """What `--update` writes of each case that is not `broken` and whose verdict is right."""
    return {
        each.case.name: counts_of(each.case, each.result) | {"sha256": hash_of(each.case.cfg)}
        for each in checked
        if not each.judgement.verdict and each.case.name not in broken
    }
