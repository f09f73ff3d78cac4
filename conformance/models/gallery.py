"""The index of the saved counterexamples: a page that tells each to somebody who has not seen the model."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from conformance.models.manifest import Case, Mutant
from conformance.tlc.itf import load_trace
from conformance.tlc.output import Trace
from conformance.tlc.story import tell

INDEX = "README.md"

_HEAD = """\
# Counterexamples
What happens when one rule of the design is taken out: for each, a way that TLC found to break a promise, the
shortest one but for temporal properties. The files are
[ITF](https://apalache-mc.org/docs/adr/015adr-trace.html), which editors with a TLA+ or Quint extension show.
This page is written by `make mutants ARGS="--traces traces"`.

How to read a story: each step has its action, and the task (`p1`, `p2`) that it is of; below it stands only
what it changed. At first the log is empty, and nobody does anything. `task[p1].at` is what it is about
to do next. `once`, `given`, `excused`, `want`, `waits`, `broke` and others like them are the model's notes
for its properties, and `faults` counts what may still go wrong: no process sees them. A story that ends in
"nothing happens any more" is one in which nobody sends again, which nobody must. `spec/README.md` has the
words, and the actions in a table.
"""


def write_index(folder: Path, cases: Iterable[Case]) -> Path:
    """Write the index of the counterexamples that `folder` has of the mutants among `cases`; return its file.

    Raises OSError if a file cannot be read or written, and TraceFormatError if one is no trace of ours.
    """
    told = [case for case in cases if isinstance(case.entry, Mutant) and _file(folder, case).is_file()]
    index = folder / INDEX
    index.write_text(f"{_HEAD}\n{_contents(folder, told)}\n{_stories(folder, told)}", encoding="utf-8")
    return index


def _file(folder: Path, case: Case) -> Path:
    """The file of a case's counterexample."""
    return folder / f"{case.slug}.itf.json"


def _contents(folder: Path, cases: Sequence[Case]) -> str:
    """The table of all counterexamples."""
    rows = ["| mutant | breaks | states | the rule that is taken out |", "|---|---|---|---|"]
    for case in cases:
        trace, meta = load_trace(_file(folder, case))
        link = f"[{case.slug}](#{case.slug.lower()})"
        rows.append(f"| {link} | `{meta['property']}` | {_length(trace)} | {_rule(meta)} |")
    return "\n".join(rows) + "\n"


def _rule(meta: dict[str, str]) -> str:
    """The rule that a mutant takes out."""
    return meta["description"].removeprefix("Taken out: ")


def _length(trace: Trace) -> str:
    """How many states a trace has, and how it goes on."""
    after = "" if trace.loop is None else ", then stutters" if trace.stuttering else ", then loops"
    return f"{len(trace.states)}{after}"


def _stories(folder: Path, cases: Iterable[Case]) -> str:
    """Each counterexample, told."""
    return "\n".join(_story(case, *load_trace(_file(folder, case))) for case in cases)


def _story(case: Case, trace: Trace, meta: dict[str, str]) -> str:
    """One counterexample: what it shows, and step by step."""
    return f"""\
## {case.slug}
The rule taken out: {_rule(meta)} What breaks: `{meta["property"]}`.

{meta.get("note", "")}

    {tell(trace, initial=False).replace(chr(10), chr(10) + "    ")}

Again: `make models ARGS="--show {case.slug}"`. The file: [{case.slug}.itf.json]({case.slug}.itf.json).
"""
