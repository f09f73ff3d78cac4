"""The real spec: what is written of it agrees with it, and each way to make it check less is noticed."""

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from conformance.__main__ import ROOT, main
from conformance.models.gallery import INDEX, write_index
from conformance.models.manifest import Case, Model, Mutant, Witness, load_manifest
from conformance.models.rules import check_manifest
from conformance.report import AS_EXPECTED, NOT_AS_EXPECTED
from conformance.tlc.itf import load_trace

SPEC = ROOT / "spec"
TRACES = ROOT / "traces"
CASES = load_manifest(SPEC).cases
MUTANTS = [case for case in CASES if isinstance(case.entry, Mutant)]
MODELS = [case for case in CASES if isinstance(case.entry, Model)]


def read(name: str) -> str:
    """The text of a file of the project."""
    return (ROOT / name).read_text(encoding="utf-8")


def definition(name: str, text: str) -> str:
    """What stands in a module from a definition to the next blank line."""
    found = re.search(rf"^{name}(\(\w+\))? ==(.*?)\n\n", text, re.MULTILINE | re.DOTALL)
    assert found, f"{name} is not defined"
    return found[2]


def actions() -> set[str]:
    """The names of the model's actions: what Next can do, and what Step stands for there."""
    text = read("spec/ThreadClaim.tla")
    calls = re.compile(r"(?:\\/|:) (\w+)")
    return set(calls.findall(definition("Next", text) + definition("Step", text))) - {"Step"}


def properties() -> set[str]:
    """The names of the promises, each of which has a comment above it."""
    names = re.findall(
        r"^\\\*[^\n]*\n(?:\w+ +== [^\n]*\n)?(?!Stranded)(\w+) ==", read("spec/Properties.tla"), re.MULTILINE
    )
    return set(names)


def test_the_manifest_fits_the_spec() -> None:
    """Every cfg is listed, with its hash, and checks what the manifest says."""
    assert check_manifest(SPEC) == []


def test_every_action_is_found() -> None:
    """What these tests take for the actions are those that TLC counts."""
    assert len(actions()) == 34
    assert {"Send", "Claim", "Post", "Expire", "LookAgain", "LetGo"} <= actions()


def test_every_action_has_a_witness() -> None:
    """A cfg must reach each action."""
    reached = {case.entry.reaches for case in CASES if isinstance(case.entry, Witness)}
    assert {f"Never{action}" for action in actions()} <= reached


@pytest.mark.parametrize("page", ["DESIGN.md", "spec/README.md"])
def test_every_action_is_in_the_tables(page: str) -> None:
    """The table of steps, and that of actions, name each action."""
    named = set(re.findall(r"`(\w+)`", read(page)))
    assert actions() <= named


def test_every_action_fires_in_a_model_of_a_pull_request() -> None:
    """No action is idle in all of them."""
    idle = [
        set(case.entry.idle)
        for case in MODELS
        if isinstance(case.entry, Model) and case.entry.tier == "pull-request"
    ]
    assert set.intersection(*idle) == set()


def test_every_property_is_checked_and_told() -> None:
    """A model of a pull request checks each property, and the page tells it."""
    checked = {name for case in MODELS if case.entry.tier == "pull-request" for name in case.expects}
    assert len(properties()) == 21
    assert properties() <= checked
    assert properties() <= set(re.findall(r"`(\w+)`", read("spec/README.md")))


def test_every_property_is_broken_by_a_mutant() -> None:
    """A property that nothing breaks checks nothing."""
    broken = {case.expects[0] for case in MUTANTS}
    assert properties() | {"HeldRunLeftAlone"} <= broken


def test_no_guard_reads_a_ghost() -> None:
    """What a ghost was is read where a ghost is written, and nowhere else in the design."""
    ghosts = "once|twice|given|again|excused|unheard|want|waits|broke|lost|read|failed"
    design = read("spec/ThreadClaim.tla").partition("\nConsume(S)")[2]
    for left_out in (r"\\\*[^\n]*", r"UNCHANGED (?:<<.*?>>|\w+)", r"^Init ==.*?\n\n"):
        design = re.sub(left_out, "", design, flags=re.DOTALL | re.MULTILINE)
    reads = [line for line in design.splitlines() if re.search(rf"\b({ghosts})\b(?!')", line)]
    assert len(reads) > 5
    assert [line for line in reads if not re.search(rf"\b({ghosts})' =|!\.lost = |^LeftSo", line)] == []


def test_every_cfg_is_in_the_table_of_bounds() -> None:
    """spec/README.md tells the bounds of each model."""
    assert {case.name for case in MODELS} <= set(
        re.findall(r"^\| `(\w+)` \|", read("spec/README.md"), re.MULTILINE)
    )


def test_every_repair_names_a_counterexample_that_there_is() -> None:
    """The last column of the table of repairs names mutants and witnesses of the manifest."""
    rows = [line.split(" | ") for line in read("DESIGN.md").splitlines() if re.match(r"\| [a-z] \|", line)]
    assert [row[0][-1] for row in rows] == list("abcdefghijklmnop")
    named = {name for row in rows for name in re.findall(r"`([\w/]+)`", row[-1])}
    assert named <= {case.slug for case in MUTANTS} | {case.name for case in CASES}


@pytest.mark.parametrize("case", MUTANTS, ids=lambda case: case.slug)
def test_every_mutant_has_its_counterexample(case: Case) -> None:
    """It is as long as the manifest says, and says what the manifest says of it, with a note."""
    assert isinstance(case.entry, Mutant)
    trace, meta = load_trace(TRACES / f"{case.slug}.itf.json")
    assert len(trace.states) == case.entry.trace_length
    assert meta["property"] == case.entry.violates
    assert meta["description"] == f"Taken out: {case.entry.rule}"
    assert meta["note"] == case.entry.note


def test_every_counterexample_is_of_a_mutant() -> None:
    """No trace of a mutant that is gone stays behind."""
    assert {path.name for path in TRACES.glob("*.json")} == {f"{case.slug}.itf.json" for case in MUTANTS}


def test_the_index_of_the_counterexamples_is_new(tmp_path: Path) -> None:
    """traces/README.md is what the command would write."""
    shutil.copytree(TRACES, tmp_path, dirs_exist_ok=True)
    assert write_index(tmp_path, CASES).read_text(encoding="utf-8") == read(f"traces/{INDEX}")


@dataclass(frozen=True)
class Edit:
    """An edit of the spec, the cfg that must fail then, and what must be said of it."""

    file: str
    old: str
    new: str
    name: str
    why: str


DIRECT, ALONE = "DirectRuns", "ThreadClaimAlone"  # the two smallest models
EDITS = {
    "an INVARIANT line deleted": Edit(
        f"{DIRECT}.cfg", "  I2_ConsumedWithItsWrite\n", "", DIRECT, "does not check I2_ConsumedWithItsWrite"
    ),
    "a bound made smaller": Edit(
        f"{DIRECT}.cfg", "MaxCrash = 1", "MaxCrash = 0", DIRECT, "The number of distinct states changed"
    ),
    "a guard made FALSE": Edit(
        "ThreadClaim.tla",
        '/\\ ~Down(p) /\\ May("crash")',
        "/\\ FALSE",
        ALONE,
        "The actions Abandon, Crash, Expire, Replan, Restart never fired",
    ),
    "a mutant made harmless": Edit(
        "mutants/Mutants.tla",
        "NoTask   == Idle",
        "NoTask   == Calling",
        "NoSweep",
        "The mutant is harmless: AskedIsTaken",
    ),
    "a module that does not parse": Edit(
        "ThreadClaim.tla", "Expire ==", "Expire = =", "NoSweep", "TLC cannot read the module"
    ),
    "a witness out of reach": Edit(
        "witnesses/Witnesses.tla",
        "NeverTwoLooks == ~\\A p \\in Procs : look[p].due",
        "NeverTwoLooks == ~\\A p \\in Procs : NoLook.due",
        "TwoLooks",
        "The situation is not reached",
    ),
}


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    """A copy of the spec, to edit."""
    return Path(shutil.copytree(SPEC, tmp_path / "spec"))


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_an_edit_of_the_spec_is_noticed(edit: Edit, spec: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The command fails, names the cfg, and says why."""
    file = spec / edit.file
    text = file.read_text(encoding="utf-8")
    assert text.count(edit.old) == 1
    file.write_text(text.replace(edit.old, edit.new), encoding="utf-8")
    assert main(["models", "--spec", str(spec), "--only", edit.name]) == NOT_AS_EXPECTED
    _, _, failures = capfd.readouterr().out.partition("1 of 1 not as expected:")
    assert edit.name in failures
    assert edit.why in failures


def test_a_cfg_that_nobody_listed_is_noticed(spec: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A copy of a mutant's cfg under a new name fails, beside the mutant, which is as expected."""
    shutil.copy(spec / "mutants/NoSweep.cfg", spec / "mutants/NewIdea.cfg")
    assert main(["models", "--spec", str(spec), "--only", "NoSweep", "--only", "NewIdea"]) == NOT_AS_EXPECTED
    assert "The cfg is not in the manifest" in capfd.readouterr().out


def test_a_counterexample_is_the_same_each_time(tmp_path: Path) -> None:
    """TLC's traces of a safety and of a temporal property, saved twice, are the same to the byte."""
    names = ["--only", "RenewTakes", "--only", "NoSweep"]
    for folder in ("once", "again"):
        assert main(["models", *names, "--traces", str(tmp_path / folder)]) == AS_EXPECTED
    once, again = (
        {file.name: file.read_bytes() for file in (tmp_path / folder).iterdir()}
        for folder in ("once", "again")
    )
    assert once == again
    assert {"RenewTakes.itf.json", "NoSweep.itf.json", INDEX} == once.keys()
