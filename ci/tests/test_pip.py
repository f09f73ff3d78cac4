"""pip's failures, told in a sentence. The real pip is run, offline."""

import sys
import zipfile
from pathlib import Path

import pytest

from ci.pip import SetUpError, explain, install, run_pip

PYTHON = Path(sys.executable)


@pytest.fixture(autouse=True)
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pip finds only what lies in the test's own folder, and would not keep what it found."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.setenv("PIP_DRY_RUN", "1")


def make_wheel(folder: Path, tag: str) -> None:
    """Write the smallest wheel that pip accepts, for the platform `tag`."""
    with zipfile.ZipFile(folder / f"made-1-{tag}.whl", "w") as wheel:
        wheel.writestr("made-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: made\nVersion: 1\n")
        wheel.writestr("made-1.dist-info/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n")
        wheel.writestr("made-1.dist-info/RECORD", "")


def pins(folder: Path) -> Path:
    """Write a requirements file that pins the wheel `made` with a hash that none has."""
    path = folder / "pins.txt"
    path.write_text(f"made==1 --hash=sha256:{'0' * 64}\n")
    return path


def test_index_out_of_reach(tmp_path: Path) -> None:
    """An index that gives nothing is named as the cause, and pip's own words follow."""
    with pytest.raises(SetUpError, match="is out of reach, or lacks a pinned package") as failure:
        install(PYTHON, pins(tmp_path))
    assert "made==1" in str(failure.value)


def test_file_with_another_hash(tmp_path: Path) -> None:
    """A file that is not the pinned one is not installed, and the sentence says so."""
    make_wheel(tmp_path, "py3-none-any")
    with pytest.raises(SetUpError, match="gave a file that is not the pinned one"):
        install(PYTHON, pins(tmp_path))


def test_pin_without_a_hash(tmp_path: Path) -> None:
    """A requirement that has no hash is not installed, even where its file is there."""
    make_wheel(tmp_path, "py3-none-any")
    (tmp_path / "pins.txt").write_text("made==1\n")
    with pytest.raises(SetUpError, match="Hashes are required"):
        install(PYTHON, tmp_path / "pins.txt")


def test_source_distribution_is_not_taken(tmp_path: Path) -> None:
    """What would have to be built is refused: its build would fetch packages that nobody pinned."""
    (tmp_path / "made-1.tar.gz").write_bytes(b"")
    with pytest.raises(SetUpError, match=r"is out of reach, or lacks a pinned package"):
        install(PYTHON, pins(tmp_path))


def test_no_wheel_for_this_machine() -> None:
    """An index that has other versions only is told apart from one that cannot be reached."""
    printed = (
        "ERROR: Could not find a version (from versions: 0.9)\nERROR: No matching distribution found for made"
    )
    assert explain(printed).startswith("The package index has no wheel of a pinned package for this Python")


def test_other_failures_show_the_end_of_what_pip_printed() -> None:
    """Of a long output the last lines are shown."""
    told = explain("\n".join(f"line {number}" for number in range(100)))
    assert told.startswith("pip failed.")
    assert "line 99" in told
    assert "line 50" not in told


def test_success_is_silent(capfd: pytest.CaptureFixture[str]) -> None:
    """When all goes well pip prints nothing of its own."""
    run_pip(PYTHON, "list")
    assert capfd.readouterr() == ("", "")
