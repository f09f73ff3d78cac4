"""Run pip, and turn what it prints when it fails into a sentence."""

import subprocess
from pathlib import Path

LAST_LINES = 12


class SetUpError(Exception):
    """The project could not be set up; the message says what happened and what to do."""


def run_pip(python: Path, *arguments: str) -> None:
    """Run pip on `python` without questions, and keep what it prints to ourselves unless it fails.

    Where the package index is, pip knows from its own settings; nothing here names one.

    Raises:
        SetUpError: pip failed; the message says why, followed by the end of what pip printed.
    """
    command = [str(python), "-m", "pip", *arguments, "--quiet", "--no-input", "--disable-pip-version-check"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if answer.returncode:
        raise SetUpError(explain(answer.stderr or answer.stdout))


def install(python: Path, requirements: Path) -> None:
    """Install what a requirements file pins: wheels only, each with one of the hashes in the file.

    A source distribution would be built with packages that nobody pinned, so none is taken.

    Raises:
        SetUpError: As `run_pip`.
    """
    run_pip(
        python, "install", "--require-hashes", "--only-binary", ":all:", "--requirement", str(requirements)
    )


def explain(printed: str) -> str:
    """Say in one sentence why pip failed, with the last lines that it printed below."""
    if "DO NOT MATCH THE HASHES" in printed:
        why = "The package index gave a file that is not the pinned one. Find out who changed it first."
    elif "(from versions: none)" in printed:
        why = "The package index is out of reach, or lacks a pinned package. Check pip's settings."
    elif "No matching distribution" in printed:
        why = "The package index has no wheel of a pinned package for this Python and this machine."
    else:
        why = "pip failed."
    return "\n".join(
        [why, "pip's last words:", *(f"    {line}" for line in printed.splitlines()[-LAST_LINES:])]
    )
