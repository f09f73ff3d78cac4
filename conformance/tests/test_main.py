"""The command line as a process: however it is asked to end, no TLC is left behind."""

import os
import re
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from conformance.__main__ import COMMANDS, NEEDED, ROOT
from conformance.models.command import COULD_NOT_RUN


def tlcs_of(pid: int) -> list[int]:
    """The processes with TLC that a process has started and that still run."""
    line = ["ps", "-ww", "-o", "pid=,args=", "--ppid", str(pid)]
    found = subprocess.run(line, capture_output=True, text=True, check=False)
    return [int(line.split()[0]) for line in found.stdout.splitlines() if "tla2tools" in line]


def wait_for_tlc(process: subprocess.Popen[str]) -> int:
    """The first TLC that a process starts, as soon as there is one."""
    while not (children := tlcs_of(process.pid)):
        assert process.poll() is None, "it ended, and has started no TLC"
    return children[0]


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_ends_tlc_too(name: str, tmp_path: Path) -> None:
    """It says that it was interrupted, exits 2, and the Java that it started is gone."""
    line = [sys.executable, "-m", "conformance", "models", "--only", "NightlyAll"]
    with (tmp_path / "out").open("w") as out:
        process = subprocess.Popen(line, cwd=ROOT, stdout=out, stderr=subprocess.PIPE, text=True)
        java = wait_for_tlc(process)
        process.send_signal(getattr(signal, name))
        _, errors = process.communicate(timeout=60)
    assert process.returncode == COULD_NOT_RUN
    assert "it was interrupted" in errors
    with pytest.raises(ProcessLookupError):
        os.kill(java, 0)


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
