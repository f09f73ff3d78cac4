"""The command line as a process: however it is asked to end, no TLC is left behind."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.__main__ import ROOT
from conformance.report import COULD_NOT_RUN


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
