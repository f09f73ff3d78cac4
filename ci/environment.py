"""Make `.venv` and everything the project's commands need, once; afterwards find that there is nothing to do.

What a step's outcome depends on is written into `.venv/setup.json`, and the step is done again when that
changed: so a second set-up needs no network. Java and TLC are found by `tools.py`, on `.venv`'s Python.
"""

import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ci.files import exclusively, write_whole
from ci.pip import SetUpError, install, run_pip
from conformance.tlc.tools import JAR_PATH, JAR_VARIABLE, sha256_of

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Step:
    """A step of set-up: its name, what its outcome depends on at this moment, and how it is done."""

    name: str
    depends_on: Callable[[], Mapping[str, str]]
    do: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Environment:
    """The virtual environment of the checkout at `root`."""

    root: Path

    @property
    def folder(self) -> Path:
        """The environment's folder."""
        return self.root / ".venv"

    @property
    def python(self) -> Path:
        """The environment's Python."""
        return self.folder / "bin" / "python"

    @property
    def tools(self) -> Path:
        """The file that says which Java and which TLC were found."""
        return self.folder / "tools.json"

    def create(self) -> None:
        """Make the environment anew, with nothing but pip in it."""
        require_modules("venv", "ensurepip")
        print(f"Making .venv with Python {platform.python_version()}.", flush=True)
        made = subprocess.run([sys.executable, "-m", "venv", "--clear", self.folder], check=False)
        if made.returncode:
            raise SetUpError("The virtual environment could not be made; the lines above say why.")

    def install_requirements(self) -> None:
        """Install the pinned requirements."""
        print("Installing what requirements/dev.txt pins.", flush=True)
        install(self.python, self.root / "requirements" / "dev.txt")

    def install_project(self) -> None:
        """Install the project itself, in place; what builds it is installed already."""
        print("Installing the project itself, in place.", flush=True)
        offline = ("--no-index", "--no-deps", "--no-build-isolation")
        run_pip(self.python, "install", *offline, "--editable", str(self.root))

    def find_tools(self) -> None:
        """Find Java and TLC, and fetch what is missing."""
        found = subprocess.run([self.python, "-m", "ci.tools", self.tools], cwd=self.root, check=False)
        if found.returncode:
            raise SetUpError("Java and TLC are not complete; the lines above say why.")

    def base(self) -> dict[str, str]:
        """Return what the environment depends on: a moved checkout or another Python needs a new one."""
        minor = f"{platform.python_implementation()} {sys.version_info.major}.{sys.version_info.minor}"
        return {"python": minor, "root": str(self.root)}

    def digest(self, name: str) -> dict[str, str]:
        """Return the SHA-256 of a file of the checkout, which a step depends on."""
        return {name: sha256_of((self.root / name).read_bytes())}

    def surroundings(self) -> dict[str, str]:
        """Return what decides which Java and TLC are used, and whether those found are still there."""
        java = json.loads(self.tools.read_text())["java"] if self.tools.exists() else ""
        jar = self.root / JAR_PATH
        return {
            "JAVA_HOME": os.environ.get("JAVA_HOME", ""),
            JAR_VARIABLE: os.environ.get(JAR_VARIABLE, ""),
            "java on the path": shutil.which("java") or "",
            "java found": java if java and Path(java).exists() else "",
            "jar fetched": sha256_of(jar.read_bytes()) if jar.exists() else "",
        }

    def steps(self) -> list[Step]:
        """List the steps in order."""
        pins, project, finder = "requirements/dev.txt", "pyproject.toml", "ci/tools.py"
        return [
            Step("environment", self.base, self.create),
            Step("requirements", lambda: self.digest(pins), self.install_requirements),
            Step("project", lambda: self.digest(project), self.install_project),
            # The finder too: it decides what `tools.json` looks like.
            Step("tools", lambda: self.surroundings() | self.digest(finder), self.find_tools),
        ]


def require_modules(*names: str) -> None:
    """Raise SetUpError, with what to install, if this Python lacks one of these standard modules."""
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if missing:
        raise SetUpError(
            f"{sys.executable} has no module {' and no '.join(missing)}, which making .venv needs. "
            "Install it (Debian and Ubuntu: the package python3-venv), or name another Python: "
            "`PYTHON=python3.13 make setup`."
        )


def carry_out(steps: list[Step], stamp: Path) -> None:
    """Do each step whose dependencies are not those that `stamp` says it was last done on, and say so there.

    Raises:
        SetUpError: A step failed; the ones before it count as done.
    """
    for step in steps:
        if _done(stamp).get(step.name) != step.depends_on():
            step.do()
            # Read again: the step may have emptied the folder that the stamp is in.
            done = _done(stamp) | {step.name: dict(step.depends_on())}
            write_whole(stamp, json.dumps(done, indent=2).encode())


def _done(stamp: Path) -> dict[str, dict[str, str]]:
    """Return what each step was done on."""
    done: dict[str, dict[str, str]] = json.loads(stamp.read_text()) if stamp.exists() else {}
    return done


def describe(tools: Path) -> str:
    """Say in one line what everything will run on."""
    found = json.loads(tools.read_text())
    return f"Python {found['python_version']}, Java {found['java_version']}, {found['jar_name']}."


def main() -> int:
    """Set the project up; return 0, or 2 after a sentence on what is in the way."""
    environment = Environment(ROOT)
    try:
        with exclusively(ROOT / ".tools" / "setup.lock"):
            carry_out(environment.steps(), environment.folder / "setup.json")
    except SetUpError as error:
        print(f"make setup: {error}", file=sys.stderr)
        return 2
    print(describe(environment.tools), flush=True)
    return 0
