"""The package as it is installed: its version, its types, its exports, and how little it imports."""

import ast
import subprocess
import sys
import tomllib
from importlib import import_module
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

import pytest

import threadclaim

PYPROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"


def loaded_by(statement: str) -> set[str]:
    """The top-level packages that a statement loads, in a process of its own."""
    program = f"import sys; before = set(sys.modules); {statement}; print(*sys.modules.keys() - before)"
    printed = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout
    return {name.partition(".")[0] for name in printed.split()}


def test_version_is_the_same_everywhere() -> None:
    """The package, its metadata and pyproject.toml name one version."""
    project = tomllib.loads(PYPROJECT.read_text())["project"]
    assert threadclaim.__version__ == project["version"] == version("threadclaim")


@pytest.mark.parametrize("name", ["py.typed", "__init__.pyi"])
def test_package_is_typed(name: str) -> None:
    """The package says that its annotations are meant for type checkers, and tells them what it exports."""
    assert files("threadclaim").joinpath(name).is_file()


def test_import_brings_nothing_but_the_standard_library() -> None:
    """Importing the package loads no dependency: what it needs is loaded by what uses it."""
    loaded = loaded_by("import threadclaim")
    assert "threadclaim" in loaded
    assert loaded <= {"threadclaim"} | sys.stdlib_module_names


def test_exports_bring_no_framework() -> None:
    """The runner, and whatever else the package exports, needs no pydantic-ai."""
    loaded = loaded_by("from threadclaim import *")
    assert "anyio" in loaded
    assert loaded.isdisjoint({"pydantic_ai", "pydantic_graph"})


def test_a_driver_that_is_not_installed_is_named() -> None:
    """Without asyncpg there are the other storages; for PostgresStorage it is said what to install."""
    program = (
        "import sys; sys.modules['asyncpg'] = None; import threadclaim.storage as storage; "
        "storage.InMemoryStorage, storage.SqliteStorage, storage.migrate, storage.PostgresStorage"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "pip install 'threadclaim[postgres]'" in ended.stderr


def test_storages_are_loaded_as_they_are_used() -> None:
    """The package of storages brings no driver, and no database."""
    loaded = loaded_by("import threadclaim.storage")
    assert loaded.isdisjoint({"sqlite3", "asyncpg"})


@pytest.mark.parametrize("name", [name for name in threadclaim.__all__ if name != "__version__"])
def test_an_export_is_what_its_module_has(name: str) -> None:
    """Each name is there, and public in the module that it is imported from."""
    source = exports_for_type_checkers()[name]
    assert getattr(threadclaim, name) is getattr(import_module(source), name)
    assert name in dir(threadclaim)


def exports_for_type_checkers() -> dict[str, str]:
    """The names that the stub imports, each with its module."""
    stub = ast.parse(files("threadclaim").joinpath("__init__.pyi").read_text(encoding="utf-8"))
    return {
        alias.name: node.module
        for node in stub.body
        if isinstance(node, ast.ImportFrom) and node.module is not None
        for alias in node.names
    }


def test_type_checkers_are_told_the_same() -> None:
    """The stub exports what the package does, by name, and imports it from where the package does."""
    stub = ast.parse(files("threadclaim").joinpath("__init__.pyi").read_text(encoding="utf-8"))
    (listed,) = (node.value for node in stub.body if isinstance(node, ast.Assign))
    assert sorted(ast.literal_eval(listed)) == sorted(threadclaim.__all__)
    assert exports_for_type_checkers() == vars(threadclaim)["_MODULES"]


def test_exports_are_named_in_the_docstring() -> None:
    """It tells what to import from where."""
    told = threadclaim.__doc__ or ""
    assert [name for name in threadclaim.__all__ if name != "__version__" and f"`{name}`" not in told] == []


def test_a_name_that_is_not_exported_is_refused() -> None:
    """As of any module."""
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        getattr(threadclaim, "Nothing")  # noqa: B009  # type checkers know that it is not there
