"""The guard audit: which guards there are, how they are taken out, and what the command makes of it."""

import json
from argparse import ArgumentParser
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from rich.console import Console

from conformance.__main__ import ROOT
from conformance.models.cfg import parse_cfg
from conformance.models.guards import Guard, Place, SanyError, find_guards, without
from conformance.models.guards_command import GuardOptions, Guards, add_guard_options, guard_options_from
from conformance.models.guards_file import GuardsError, load_guards
from conformance.models.guards_run import write_cfg
from conformance.report import AS_EXPECTED, COULD_NOT_RUN, NOT_AS_EXPECTED
from conformance.tests.models.bench import HOLDS, violated
from conformance.tlc.output import Progress, Result, Verdict
from conformance.tlc.run import Job, check
from conformance.tlc.tools import Tools, find_tools

TOOLS = find_tools(ROOT)

DOOR = r"""------------------------------- MODULE Door -------------------------------
\* A room for Max, whose door is shut only while no one is inside.
EXTENDS Naturals
CONSTANT Max
VARIABLES inside, open
vars == <<inside, open>>

Room   == inside < Max
Empty  == /\ inside = 0
          /\ open
Enter  == /\ open /\ Room
          /\ inside' = inside + 1 /\ UNCHANGED open
Leave  == /\ inside > 0
          /\ inside' = (IF inside > 1 THEN inside - 1 ELSE 0) /\ UNCHANGED open
Shut   == Empty /\ open' = FALSE /\ UNCHANGED inside
Unlock == /\ \/ ~open
             \/ inside > Max
          /\ open' = TRUE /\ UNCHANGED inside
Next   == Enter \/ Leave \/ Shut \/ Unlock
Spec   == inside = 0 /\ open = TRUE /\ [][Next]_vars /\ WF_vars(Unlock)

TypeOK      == inside \in 0..Max
ShutIfEmpty == [][open' \/ inside' = 0]_vars
Reopens     == ~open ~> open
=============================================================================
"""
CFG = """SPECIFICATION Spec
CONSTANT Max = 2
INVARIANT TypeOK
PROPERTIES ShutIfEmpty Reopens
"""
MANIFEST = """defaults: {model: Door.tla, mutant: Door.tla, witness: Door.tla, memory_mb: 256}
temporal: [Reopens]
cfgs:
  Door: {kind: model, holds: [TypeOK, ShutIfEmpty, Reopens]}
  DoorNightly: {kind: model, tier: nightly, holds: [TypeOK]}
"""
LISTED = r"""# What each guard is for.
models: [Door]
bounds:
  Room:
    - {guard: inside < Max, why: Nothing else ends the states.}
guards:
  Empty:
    - {guard: inside = 0, breaks: ShutIfEmpty, cfg: Door, states: 3}
    - {guard: open, harmless: To shut a shut door changes nothing.}
  Enter:
    - {guard: open, breaks: ShutIfEmpty, cfg: Door, states: 3}
    - {guard: Room, breaks: TypeOK, cfg: Door, states: 4}
  Leave:
    - {guard: inside > 0, harmless: The IF leaves no one inside where no one is.}
    - {guard: inside > 1, becomes: 'FALSE', harmless: All may leave at once.}
    - {guard: inside > 1, harmless: 'Of one, one leaves.'}
  Shut:
    - {guard: Empty, breaks: ShutIfEmpty, cfg: Door, states: 3}
  Unlock:
    - {guard: \/ ~open \/ inside > Max, harmless: To unlock an open door changes nothing.}
    - {guard: ~open, becomes: 'FALSE', breaks: Reopens, cfg: Door}  # no one else can
    - {guard: inside > Max, becomes: 'FALSE', harmless: There is never more than Max inside.}
"""
NAMES = [
    "Room/inside < Max",
    "Empty/inside = 0",
    "Empty/open",
    "Enter/open",
    "Enter/Room",
    "Leave/inside > 0",
    "Leave/inside > 1 = FALSE",
    "Leave/inside > 1",
    "Shut/Empty",
    r"Unlock/\/ ~open \/ inside > Max",
    "Unlock/~open = FALSE",
    "Unlock/inside > Max = FALSE",
]


@cache
def door_guards() -> list[Guard]:
    """The guards of the door as it is above, found once."""
    with TemporaryDirectory() as folder:
        module = Path(folder) / "Door.tla"
        module.write_text(DOOR, encoding="utf-8")
        return find_guards(module, TOOLS)


@dataclass
class Door:
    """The spec of a door in a folder of its own, and the command over it.

    `results` says what a stand-in for TLC finds without a guard, by its name; None runs TLC itself.
    """

    spec: Path
    results: Mapping[str, Result] | None = field(default_factory=dict)
    printed: str = ""
    checks: list[tuple[str, ...]] = field(default_factory=list)

    @property
    def listed(self) -> str:
        """The text of guards.yaml."""
        return (self.spec / "guards.yaml").read_text(encoding="utf-8")

    def edit(self, name: str, old: str, new: str) -> None:
        """Replace `old`, which must stand once in a file of the spec, by `new`."""
        text = (self.spec / name).read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {name}"
        (self.spec / name).write_text(text.replace(old, new), encoding="utf-8")

    def run(self, options: GuardOptions | None = None) -> int:
        """Run the command, keep what it printed, and return its exit code."""
        out = StringIO()
        console = Console(file=out, width=160, highlight=False)
        tlc = check if self.results is None else self.check
        guards = Guards(self.spec.parent, console, lambda _root: TOOLS, tlc, "Door.tla")
        code = guards.run(options or GuardOptions(jobs=1))
        self.printed = out.getvalue()
        return code

    async def check(
        self,
        job: Job,
        tools: Tools,
        *,
        on_progress: Callable[[Progress], None] | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - as the check that it stands in for
    ) -> Result:
        """Say what is found without the guard that the copy lacks: as listed, unless told otherwise."""
        assert (tools, on_progress, timeout) == (TOOLS, None, 600)
        self.checks.append(parse_cfg(job.cfg.read_text(encoding="utf-8")).checked)
        text = (job.module.parent / "Door.tla").read_text(encoding="utf-8")
        (name,) = [each.name for each in door_guards() if without(each, DOOR) == text]
        assert self.results is not None
        return self.results.get(name) or AS_LISTED.get(name, HOLDS)


AS_LISTED = {
    "Empty/inside = 0": violated("ShutIfEmpty", 3),
    "Enter/open": violated("ShutIfEmpty", 3),
    "Enter/Room": violated("TypeOK", 4),
    "Shut/Empty": violated("ShutIfEmpty", 3),
}


@pytest.fixture
def door(tmp_path: Path) -> Door:
    """The door, where everything is as expected but for what a stand-in for TLC can tell."""
    files = {"Door.tla": DOOR, "Door.cfg": CFG, "DoorNightly.cfg": CFG}
    files |= {"models.yaml": MANIFEST, "guards.yaml": LISTED}
    (tmp_path / "spec").mkdir()
    for name, text in files.items():
        (tmp_path / "spec" / name).write_text(text, encoding="utf-8")
    return Door(tmp_path / "spec")


def test_every_guard_is_found() -> None:
    """Each conjunct, disjunct, condition and predicate that an action asks for is found; no assignment."""
    assert [guard.name for guard in door_guards()] == NAMES


def test_the_same_guard_twice_is_numbered(door: Door) -> None:
    """Guards of one action with one text are told apart."""
    door.edit("Door.tla", "Enter  == /\\ open /\\ Room", "Enter  == /\\ open /\\ open /\\ Room")
    names = [guard.name for guard in find_guards(door.spec / "Door.tla", TOOLS)]
    assert ("Enter/open" in names, "Enter/open (2)" in names) == (True, True)


def test_a_module_without_the_action(door: Door) -> None:
    """A module that defines no next-state action, or does not parse, cannot be looked through."""
    with pytest.raises(SanyError, match="Door defines no operator Following"):
        find_guards(door.spec / "Door.tla", TOOLS, "Following")
    door.edit("Door.tla", "VARIABLES inside, open", "VARIABLES inside, open,")
    with pytest.raises(SanyError, match=r"SANY cannot read Door\.tla"):
        find_guards(door.spec / "Door.tla", TOOLS)


@pytest.mark.parametrize(
    ("place", "text", "expected"),
    [
        (Place(1, 4, 1, 8), "/\\ x > y /\\ z", "/\\ TRUE  /\\ z"),
        (Place(1, 4, 1, 4), "/\\ x /\\ z", "/\\ TRUE /\\ z"),
        (Place(1, 4, 2, 7), "/\\ \\/ x\n   \\/ y\n/\\ z", "/\\ TRUE\n\n/\\ z"),
        (Place(1, 4, 3, 7), "/\\ \\/ x\n   \\/ w\n   \\/ y /\\ z", "/\\ TRUE\n\n        /\\ z"),
    ],
)
def test_the_rest_stays_where_it_is(place: Place, text: str, expected: str) -> None:
    """What is taken out leaves every other line, and the column of what follows, as they were."""
    assert without(Guard(place, "A", "", "TRUE"), text) == expected


def test_without_a_guard_it_parses(door: Door) -> None:
    """Each guard taken out leaves a module that SANY reads, and in which that guard is not there any more."""
    module = door.spec / "Door.tla"
    for guard in door_guards():
        module.write_text(without(guard, DOOR), encoding="utf-8")
        assert guard.name not in [each.name for each in find_guards(module, TOOLS)]


def test_a_cfg_that_checks_less() -> None:
    """A cfg is written as it was, but for the properties that are not to be checked."""
    less = parse_cfg(write_cfg(parse_cfg(CFG + "SYMMETRY Sym\nCONSTANT Owner <- Self\n"), {"Reopens"}))
    assert (less.checked, less.values, less.replaces) == (("Reopens",), {"Max": "2"}, {"Owner": "Self"})
    assert less.sections["SYMMETRY"] == ("Sym",)


def test_the_door_is_as_expected(door: Door, tmp_path: Path) -> None:
    """TLC itself finds what guards.yaml says of every guard, the temporal property by its name."""
    door.results = None
    report = tmp_path / "report" / "guards.json"
    assert door.run(GuardOptions(json=report)) == AS_EXPECTED, door.printed
    assert "11 guards; without 5 a property breaks, and for 6 a sentence says why none does" in door.printed
    outcome = json.loads(report.read_text(encoding="utf-8"))
    figures = {name: outcome["figures"][name] for name in ("guards", "breaking", "harmless", "failures")}
    assert (outcome["ok"], outcome["command"], figures) == (
        True,
        "guards",
        {"guards": 11, "breaking": 5, "harmless": 6, "failures": 0},
    )
    row = next(each for each in outcome["rows"] if each["guard"] == "~open")
    assert row.pop("seconds") > 0
    assert row == {
        "action": "Unlock",
        "guard": "~open",
        "becomes": "FALSE",
        "property": "Reopens",
        "cfg": "Door",
        "states": None,
        "ok": True,
    }


def test_what_tlc_names_goes_first(door: Door) -> None:
    """When a temporal property breaks, the others are checked alone before it is looked for by name."""
    temporal = violated(None, 3)
    door.results = {"Unlock/~open = FALSE": temporal}
    assert door.run(GuardOptions(only=("Unlock/~open*",), jobs=1)) == NOT_AS_EXPECTED
    assert door.checks == [("TypeOK", "ShutIfEmpty", "Reopens"), ("TypeOK", "ShutIfEmpty")]
    assert "Door: violated" in door.printed


@pytest.mark.parametrize(
    ("name", "result", "why"),
    [
        ("Enter/Room", HOLDS, "says TypeOK breaks in Door after 4 states without it, but nothing breaks"),
        ("Enter/Room", violated("TypeOK", 5), "but without it TypeOK breaks in Door after 5 states"),
        ("Enter/Room", violated("ShutIfEmpty", 4), "but without it ShutIfEmpty breaks in Door"),
        (
            "Enter/Room",
            replace(HOLDS, verdict=Verdict.EVALUATION_ERROR),
            "without it TLC cannot evaluate Door;",
        ),
        ("Enter/Room", replace(HOLDS, verdict=Verdict.STOPPED), "TLC could not tell what breaks without it."),
        (
            "Empty/open",
            violated("TypeOK", 2),
            "nothing breaks without it (To shut a shut door changes nothing.)",
        ),
    ],
)
def test_each_failure_is_told_by_name(door: Door, name: str, result: Result, why: str) -> None:
    """What is not as listed is told by the guard's name, with why, and the command that shows it again."""
    door.results = {name: result}
    assert door.run(GuardOptions(only=(name,), jobs=1)) == NOT_AS_EXPECTED
    assert "1 of 1 not as expected:" in door.printed
    assert why in door.printed
    assert f"Again: .venv/bin/python -m conformance guards --only {name}" in door.printed.replace("'", "")


def test_a_guard_that_is_not_listed(door: Door) -> None:
    """A guard that breaks something and is not listed fails; so does a harmless one without a sentence."""
    door.edit("guards.yaml", "    - {guard: Room, breaks: TypeOK, cfg: Door, states: 4}\n", "")
    door.edit("guards.yaml", ", harmless: To shut a shut door changes nothing.", "")
    assert door.run(GuardOptions(only=("Enter", "Empty"), jobs=1)) == NOT_AS_EXPECTED
    assert "does not list it: without it TypeOK breaks in Door after 4 states" in door.printed
    assert "does not say why: write a sentence under `harmless`, or take the guard out" in door.printed


def test_a_listed_guard_that_is_gone(door: Door) -> None:
    """A listed guard that the model has no more is told, and `--update` takes it out."""
    door.edit("guards.yaml", "{guard: Room,", "{guard: Roomy,")
    assert door.run(GuardOptions(only=("Enter",), jobs=1)) == NOT_AS_EXPECTED
    assert "lists it, but the model has no such guard" in door.printed
    assert door.run(GuardOptions(only=("Enter",), update=True, jobs=1)) == AS_EXPECTED
    assert ("Roomy" in door.listed, "guard: Room\n" in door.listed) == (False, True)


def test_update_writes_findings_and_no_sentence(door: Door) -> None:
    """`--update` writes what breaks; a guard that became harmless is left without a sentence, and fails."""
    door.results = {"Enter/Room": HOLDS, "Empty/open": violated("TypeOK", 2)}
    assert door.run(GuardOptions(only=("Enter/Room", "Empty/open"), update=True, jobs=1)) == NOT_AS_EXPECTED
    listed = load_guards(door.spec).guards
    assert (listed["Empty/open"].breaks, listed["Empty/open"].harmless) == ("TypeOK", None)
    room = listed["Enter/Room"]
    assert (room.breaks, room.cfg, room.states, room.harmless) == (None, None, None, None)
    assert "1 of 2 not as expected" in door.printed
    assert "# no one else can" in door.listed


def test_update_of_what_is_right_changes_nothing(door: Door) -> None:
    """Without news the file stays as it is, to the byte."""
    before = door.listed
    assert door.run(GuardOptions(only=("Enter",), update=True, jobs=1)) == AS_EXPECTED
    assert "nothing new" in door.printed
    assert door.listed == before


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        (
            ("guards.yaml", "models: [Door]", "models: [Gate]"),
            "names Gate, which is no model of the manifest",
        ),
        (("models.yaml", "tier: nightly, ", ""), "does not name the model DoorNightly; put it into `models`"),
        (("guards.yaml", "why: Nothing", "because: Nothing"), "bounds.Room.0.why"),
        (("guards.yaml", "{guard: open, breaks", "{guard: Room, breaks"), "lists Enter/Room twice"),
        (("guards.yaml", "models: [Door]", "models: [Door"), "is not valid YAML"),
        (("Door.tla", "VARIABLES", "VARIABLE S"), "SANY cannot read Door.tla"),
    ],
)
def test_what_makes_it_impossible(
    door: Door, edit: tuple[str, str, str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What cannot be read, or does not fit the manifest, ends it with a sentence before anything is run."""
    door.edit(*edit)
    assert door.run() == COULD_NOT_RUN
    assert why in capsys.readouterr().err
    assert door.checks == []


def test_nothing_selected_is_no_success(door: Door, capsys: pytest.CaptureFixture[str]) -> None:
    """A name that no guard has could not be run, and says so; a bound is never taken out."""
    assert door.run(GuardOptions(only=("Room",))) == COULD_NOT_RUN
    assert "No guard is selected by --only Room." in capsys.readouterr().err


def test_a_bound_is_no_guard(door: Door) -> None:
    """What is listed both as a bound and as a guard is refused."""
    door.edit("guards.yaml", "guards:\n", "guards:\n  Room:\n    - {guard: inside < Max, harmless: No.}\n")
    with pytest.raises(GuardsError, match="as a bound and as a guard"):
        load_guards(door.spec)


def test_the_options() -> None:
    """Each option is read from the command line."""
    parser = ArgumentParser()
    add_guard_options(parser)
    given = ["--only", "Claim", "--only", "Send/*", "--update", "--json", "a", "--spec", "b", "--jobs", "2"]
    assert guard_options_from(parser.parse_args(given)) == GuardOptions(
        ("Claim", "Send/*"), True, Path("a"), Path("b"), 2
    )
    assert guard_options_from(parser.parse_args([])) == GuardOptions()


def test_the_models_guards_are_listed() -> None:
    """guards.yaml lists each guard of the model and no other, each with what breaks or why nothing does."""
    listed = load_guards(ROOT / "spec")
    found = {guard.name for guard in find_guards(ROOT / "spec" / "ThreadClaim.tla", TOOLS)}
    assert found == {*listed.bounds, *listed.guards}
    assert [name for name, entry in listed.guards.items() if not (entry.breaks or entry.harmless)] == []
