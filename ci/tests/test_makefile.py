"""The Makefile: what `make` alone prints, and that every command sets up first."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MAKEFILE = (ROOT / "Makefile").read_text()
NEED_NOTHING = {"help", "clean", "distclean"}


def targets() -> list[str]:
    """Return the names after .PHONY."""
    return [name for line in re.findall(r"^\.PHONY:(.*)$", MAKEFILE, re.MULTILINE) for name in line.split()]


def prerequisites(target: str) -> set[str]:
    """Return all that is made before the target, however indirectly."""
    (line,) = re.findall(rf"^{target}:([^#\n]*)", MAKEFILE, re.MULTILINE)
    direct = set(line.split())
    return direct.union(*(prerequisites(name) for name in direct))


@pytest.mark.parametrize("goal", [[], ["help"]], ids=["make", "make help"])
def test_help_lists_every_target(goal: list[str]) -> None:
    """`make` alone prints each target with what it does, a line each."""
    printed = subprocess.run(["make", *goal], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    listed = re.findall(r"^  make (\S+) +\S", printed, re.MULTILINE)
    assert listed == targets()


@pytest.mark.parametrize("target", sorted(set(targets()) - NEED_NOTHING - {"setup"}))
def test_target_sets_up_first(target: str) -> None:
    """Whatever needs the environment makes it."""
    assert "setup" in prerequisites(target)


def test_python_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    """Without Python, make says what to name instead of what the shell could not find."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    made = subprocess.run(
        ["make", "setup", "PYTHON=python3.99"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert made.returncode != 0
    assert "there is no program python3.99. Name a Python 3.11 or newer" in made.stderr
