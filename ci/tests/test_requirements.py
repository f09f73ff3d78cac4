"""The requirements: pinned, hashed, complete, and silent about where they come from."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "requirements").glob("*.txt"))
# What each file must pin: the extras and the groups of pyproject.toml that it is made from.
MADE_FROM = {"dev": ["conformance", "dev"], "java": ["java"], "lock": ["lock"], "tlc": ["tlc"]}

each_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)


def entries(path: Path) -> Iterator[tuple[Requirement, list[str]]]:
    """Yield each requirement in the file with its hashes."""
    for line in path.read_text().replace("\\\n", " ").splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            text, *hashes = line.split("--hash=")
            yield Requirement(text.strip()), [word.strip() for word in hashes]


def test_every_file_is_made_from_something() -> None:
    """There is no file that `make lock` does not write, and none is missing."""
    assert {path.stem for path in FILES} == MADE_FROM.keys()


@each_file
def test_requirements_name_no_host(path: Path) -> None:
    """No file says where packages come from: that is a setting of whoever installs them."""
    text = path.read_text()
    assert re.findall(r"\w+:/|--(?!hash=sha256:)\S+|@ |^\s*-\w|(?<!\S)[./]\S*/", text, re.MULTILINE) == []


@each_file
def test_every_pin_is_exact_and_hashed(path: Path) -> None:
    """Each requirement is one version, with the SHA-256 of its files."""
    for requirement, hashes in entries(path):
        assert [specifier.operator for specifier in requirement.specifier] == ["=="], requirement
        assert hashes, requirement
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", word) for word in hashes), requirement


@pytest.mark.parametrize("stem", MADE_FROM)
def test_pins_satisfy_the_project(stem: str) -> None:
    """Each requirement of pyproject.toml is pinned, at a version that it allows: the lock is not stale."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = settings["project"]["optional-dependencies"] | settings["dependency-groups"]
    pinned = {pin.name: Version(str(pin.specifier).removeprefix("==")) for pin, _ in entries(_file(stem))}
    for requirement in (Requirement(text) for group in MADE_FROM[stem] for text in wanted[group]):
        assert pinned[requirement.name.replace(".", "-")] in requirement.specifier, requirement


def _file(stem: str) -> Path:
    """Return the requirements file of this name."""
    return ROOT / "requirements" / f"{stem}.txt"
