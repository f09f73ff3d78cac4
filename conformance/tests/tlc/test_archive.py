"""The archive of TLC's classes: it is made once, it is used, and no run depends on it."""

import asyncio
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.tests.tlc.fixtures.record import ROOT
from conformance.tests.tlc.test_run import job, program, without_times
from conformance.tlc.archive import make_archive
from conformance.tlc.run import check, command
from conformance.tlc.tools import Jar, Java, Tools, archive_path, find_tools


@pytest.fixture(scope="module")
def bare() -> Tools:
    """The Java and the jar that set-up found or fetched, without their archive."""
    return replace(find_tools(ROOT), archive=None)


@pytest.fixture(scope="module")
def archive(bare: Tools, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive, made in a project of its own."""
    made = make_archive(tmp_path_factory.mktemp("root"), bare)
    if made is None:
        pytest.skip(f"Java {bare.java.version} makes no archive of an application's classes.")
    return made


def test_tlcs_classes_come_from_it(bare: Tools, archive: Path, tmp_path: Path) -> None:
    """As Java itself tells of each class that it loads."""
    line = command(job("holds"), replace(bare, archive=archive), tmp_path)
    place, loaded = line.index("-Xlog:disable"), tmp_path / "loaded.txt"
    line[place : place + 1] = [f"-Xlog:class+load:file={loaded}"]
    subprocess.run(line, cwd=job("holds").module.parent, capture_output=True, check=True)
    told = loaded.read_text().splitlines()
    (where,) = [text for text in told if " tlc2.TLC source: " in text]
    assert where.endswith("source: shared objects file (top)")


def test_it_is_made_once(bare: Tools, archive: Path) -> None:
    """What is there is left as it is."""
    before = archive.stat().st_mtime_ns
    assert make_archive(archive.parents[1], bare) == archive
    assert archive.stat().st_mtime_ns == before
    assert list(archive.parent.iterdir()) == [archive]


@pytest.mark.parametrize("data", [b"", b"x" * 100_000], ids=["empty", "of another kind"])
def test_a_run_goes_on_without_one_that_is_not_its_own(bare: Tools, tmp_path: Path, data: bytes) -> None:
    """And says nothing of it."""
    damaged = tmp_path / "tlc.jsa"
    damaged.write_bytes(data)
    without = asyncio.run(check(job("holds"), bare))
    for other in (damaged, tmp_path / "gone.jsa"):
        found = asyncio.run(check(job("holds"), replace(bare, archive=other)))
        assert without_times(found) == without_times(without)


def test_a_java_that_makes_none(tmp_path: Path) -> None:
    """It is too old, or not there at all: there is none then, and nothing is left of the try."""
    refuses = program(tmp_path, "exit 1")
    for tools in (refuses, replace(refuses, java=Java(tmp_path / "none", "17"))):
        assert make_archive(tmp_path, tools) is None
        assert list((tmp_path / ".tools").iterdir()) == []


def test_each_java_and_jar_has_its_own(tmp_path: Path) -> None:
    """Wherever they are, and whichever they are."""
    java, jar = Java(Path("/java"), "17.0.1"), Jar(Path("/tlc.jar"), "00", "TLC")
    places = {
        archive_path(root, other, another)
        for root in (tmp_path, tmp_path / "moved")
        for other in (java, Java(Path("/java"), "17.0.2"), Java(Path("/other/java"), "17.0.1"))
        for another in (jar, Jar(Path("/other.jar"), "00", "TLC"), Jar(Path("/tlc.jar"), "01", "TLC"))
    }
    assert len(places) == 18


def test_set_up_has_made_one(bare: Tools, archive: Path) -> None:
    """Where Java can, the tools that are found have it."""
    assert archive.is_file()
    assert find_tools(ROOT).archive == archive_path(ROOT, bare.java, bare.jar)
