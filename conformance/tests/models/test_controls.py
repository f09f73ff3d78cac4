"""The command `controls`: a mutant whose property breaks without the mutation is noticed."""

from pathlib import Path

import pytest

from conformance.__main__ import main
from conformance.models.cfg import parse_cfg
from conformance.models.controls import Controls, control_cfg
from conformance.report import AS_EXPECTED, COULD_NOT_RUN, NOT_AS_EXPECTED, make_console
from conformance.tests.models.bench import Bench
from conformance.tlc.run import check
from conformance.tlc.tools import find_tools

CFG = """\
SPECIFICATION AskLateSpec
CONSTANTS
  Procs = {p1, p2}
  Owner <- Self
  Ask <- Never
  Send <- SendThenClaim
INVARIANTS
  I3_NoStrandedAsk
"""


def test_the_rules_are_put_back() -> None:
    """The mutation and its Spec go; constants, bounds on the world and the property stay."""
    control = parse_cfg(control_cfg(CFG, ["Owner"]))
    assert control.replaces == {"Owner": "Self", "Ask": "Never"}
    assert control.sections["SPECIFICATION"] == ("Spec",)
    assert control.checked == ("I3_NoStrandedAsk",)


def test_the_spec_of_direct_runs_stays() -> None:
    """It is a module's own, not a mutant's."""
    assert "SPECIFICATION DirectSpec" in control_cfg(CFG.replace("AskLateSpec", "DirectSpec"), [])


def test_a_control_of_the_real_spec(capfd: pytest.CaptureFixture[str]) -> None:
    """Looking only at what is asked is harmless where no rule is taken out."""
    assert main(["controls", "--only", "NoSweep"]) == AS_EXPECTED
    assert "As expected: 1 control holds, in" in capfd.readouterr().out


def test_a_property_that_breaks_anyway(bench: Bench, capfd: pytest.CaptureFixture[str]) -> None:
    """A mutant that breaks what breaks without it shows nothing, and fails."""
    bench.edit("Properties.tla", "Zero       == 0", "Zero       == 1")
    controls = Controls(Path(__file__).parents[3], make_console(), find_tools, check)
    assert controls.run((), None, bench.spec) == NOT_AS_EXPECTED
    assert "does not hold within these bounds though no rule is taken out" in capfd.readouterr().out


def test_no_such_mutant(capfd: pytest.CaptureFixture[str]) -> None:
    """A name that no mutant has is an error of the caller, and says so."""
    assert main(["controls", "--only", "NoSuchRule"]) == COULD_NOT_RUN
    assert "No mutant of the manifest is called NoSuchRule." in capfd.readouterr().err
