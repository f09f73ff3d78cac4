"""The project as one: what its wheel holds, and that the import contracts are kept by being checked."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_wheel_holds_both_packages(tmp_path: Path) -> None:
    """One wheel brings both packages and says that the library is typed; it brings no tests."""
    build = ["-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    subprocess.run([sys.executable, *build], cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {"threadclaim/__init__.py", "threadclaim/py.typed", "conformance/tlc/tools.py"} <= set(names)
    assert not [name for name in names if "tests/" in name]
    assert {name.partition("/")[0] for name in names} == {
        "threadclaim",
        "conformance",
        "threadclaim-0.1.0.dist-info",
    }


BREACHES = {
    "The library never imports conformance": ("impl/threadclaim/__init__.py", "import conformance"),
    "The TLC reader knows nothing of the manifest": ("conformance/tlc/tools.py", "import conformance.models"),
}


@pytest.mark.parametrize(("contract", "breach"), BREACHES.items(), ids=BREACHES)
def test_breached_contract_is_named(tmp_path: Path, contract: str, breach: tuple[str, str]) -> None:
    """An import that a contract forbids fails the check, under the contract's own name."""
    unneeded = shutil.ignore_patterns("tests", "__pycache__")
    for folder in ("impl", "conformance"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=unneeded)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    with (tmp_path / breach[0]).open("a") as module:
        module.write(f"\n{breach[1]}\n")
    check = subprocess.run(
        [Path(sys.executable).parent / "lint-imports"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": f"{tmp_path / 'impl'}:{tmp_path}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert check.returncode == 1
    assert f"{contract} BROKEN" in check.stdout
