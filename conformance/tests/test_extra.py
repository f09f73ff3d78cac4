"""The command line without what it needs; and two of its commands that are easily mixed up."""

import re
import subprocess
import sys
import tomllib

import pytest

from conformance.__main__ import COMMANDS, NEEDED, ROOT

COULD_NOT_RUN = 2


def test_what_the_extra_brings_is_what_is_needed() -> None:
    """By pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extra = project["optional-dependencies"]["conformance"]
    assert [each.partition(">")[0] for each in extra] == list(NEEDED)


@pytest.mark.parametrize("module", NEEDED.values())
def test_without_its_extra_it_says_so(module: str) -> None:
    """In a sentence, and no traceback; it exits 2, as it could not run."""
    program = (
        f"import runpy, sys; sys.modules[{module!r}] = None; sys.argv[1:] = ['models']; "
        "runpy.run_module('conformance', run_name='__main__')"
    )
    line = [sys.executable, "-c", program]
    ran = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
    name = next(name for name, each in NEEDED.items() if each == module)
    assert ran.returncode == COULD_NOT_RUN
    assert ran.stderr.startswith(f"Could not run: not installed is {name}. In a checkout, `make setup`")
    assert ran.stderr.count("\n") == 1


def test_two_commands_for_mutants_name_each_other() -> None:
    """One is of the model, the other of the runner; so are `make mutants` and `make twins`."""
    assert "make twins" in COMMANDS["models"][0]
    assert "make mutants" in COMMANDS["mutants"][0]
    helps = dict(
        re.findall(r"^(\w+):.*## (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    )
    assert "make twins" in helps["mutants"]
    assert "make mutants" in helps["twins"]
