"""The scripts that CI runs, carried out with a `make` that only writes down what it was asked."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a checkout with the scripts in it, and a `make` of our own beside it."""
    copy = tmp_path / "checkout"
    shutil.copytree(ROOT / "ci", copy / "ci", ignore=shutil.ignore_patterns("tests", "*.py", "__pycache__"))
    shutil.copytree(ROOT / ".ci", copy / ".ci")
    (tmp_path / "bin").mkdir()
    return copy


def run(checkout: Path, script: str, failing: str = "nothing") -> tuple[bool, list[str]]:
    """Run a script; return whether it succeeded and what `make` was asked for, where `failing` fails."""
    made, program = checkout.parent / "made", checkout.parent / "bin" / "make"
    program.write_text(f'#!/bin/sh\necho "$PWD: $@" >> "{made}"\n[ "$1" != {failing} ]\n')
    program.chmod(0o755)
    environ = os.environ | {"PATH": f"{program.parent}:{os.environ['PATH']}"}
    answer = subprocess.run(["bash", checkout / script], env=environ, cwd=checkout.parent, check=False)
    return answer.returncode == 0, made.read_text().replace(f"{checkout}: ", "").splitlines()


@pytest.mark.parametrize("script", [".ci/run", "ci/pull-request"])
def test_every_change_is_tested_and_verified(checkout: Path, script: str) -> None:
    """CI and the pull-request script run the same two commands, in the checkout."""
    assert run(checkout, script) == (True, ["test", "verify"])


def test_every_night_the_larger_models_run(checkout: Path) -> None:
    """The nightly script runs the tests, and what a change need not wait for."""
    nightly = "models ARGS=--tier nightly --json build/nightly.json"
    controls = "controls ARGS=--json build/controls.json"
    explore = "explore ARGS=--profile nightly --json build/explore-nightly.json"
    search = "search ARGS=--tier all --json build/search-nightly.json"
    assert run(checkout, "ci/nightly") == (True, ["test", nightly, explore, controls, search])


@pytest.mark.parametrize(("failing", "asked"), [("test", ["test"]), ("verify", ["test", "verify"])])
def test_ci_fails_when_a_command_fails(checkout: Path, failing: str, asked: list[str]) -> None:
    """A command that fails ends the run, and CI with it."""
    assert run(checkout, ".ci/run", failing) == (False, asked)


def test_workflow_calls_the_same_scripts() -> None:
    """Pull requests run on the oldest Python and a newer one; what runs tests has brought their programs."""
    jobs: dict[str, Any] = YAML(typ="safe").load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]
    commands = {name: [step["run"] for step in job["steps"] if "run" in step] for name, job in jobs.items()}
    assert commands == {
        "pull-request": ["ci/programs", "ci/pull-request"],
        "nightly": ["ci/programs", "ci/nightly"],
        "guards": ["ci/guards"],
    }
    assert jobs["pull-request"]["strategy"]["matrix"] == {"python": ["3.11", "3.13"]}
    for path in ("ci/programs", "ci/pull-request", "ci/nightly", "ci/guards"):
        assert os.access(ROOT / path, os.X_OK)
