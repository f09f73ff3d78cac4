"""The package as it is installed: its version, its types, and how little it imports."""

import subprocess
import sys
import tomllib
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

import threadclaim

PYPROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"


def test_version_is_the_same_everywhere() -> None:
    """The package, its metadata and pyproject.toml name one version."""
    project = tomllib.loads(PYPROJECT.read_text())["project"]
    assert threadclaim.__version__ == project["version"] == version("threadclaim")


def test_package_is_typed() -> None:
    """The package says that its annotations are meant for type checkers."""
    assert files("threadclaim").joinpath("py.typed").is_file()


def test_import_brings_nothing_but_the_standard_library() -> None:
    """Importing the package loads no dependency: what it needs is loaded by what uses it."""
    program = "import sys; before = set(sys.modules); import threadclaim; print(*sys.modules.keys() - before)"
    printed = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout
    loaded = {name.partition(".")[0] for name in printed.split()}
    assert "threadclaim" in loaded
    assert loaded <= {"threadclaim"} | sys.stdlib_module_names
