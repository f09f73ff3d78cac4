"""A real browser for tests: whatever Chromium or Chrome there is, driven by the DevTools protocol.

The protocol comes over two pipes (`--remote-debugging-pipe`), so there is no port, no driver program, and
nothing to install beside the browser.
"""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--remote-debugging-pipe",
)
PATIENCE = 60.0
"""Seconds in which the browser must say something; it is then taken to hang."""

# The browser reads from 3 and writes to 4, whatever our own descriptors are called.
_START = """\
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.dup2(int(sys.argv[2]), 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
_KEYS = {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Home": 36, "End": 35, "Tab": 9}


class BrowserError(Exception):
    """The browser did not start, hung, ended, or refused a command; the message says which."""


def find_browser(environment: Mapping[str, str]) -> str | None:
    """Return a browser's program: `$CHROME`, else the first of `PROGRAMS` on the path; None if none is."""
    named = environment.get("CHROME")
    names = (named,) if named else PROGRAMS
    return next(
        (found for name in names if (found := shutil.which(name, path=environment.get("PATH")))), None
    )


class Browser:
    """A browser that runs as long as its `with` block; `folder` is for its profile."""

    def __init__(self, program: str, folder: Path) -> None:
        self._buffer, self._count = b"", 0
        self.events: list[dict[str, Any]] = []
        with _pipe() as (their_in, self._out), _pipe(ours_reads=True) as (their_out, self._in):
            line = [program, *FLAGS, f"--user-data-dir={folder}"]
            self._process = subprocess.Popen(
                [sys.executable, "-c", _START, str(their_in), str(their_out), *line],
                pass_fds=(their_in, their_out),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )

    def __enter__(self) -> Self:
        """The browser, which runs."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the browser: it ends in order once the pipe is closed."""
        os.close(self._out)
        try:
            self._process.wait(PATIENCE)
        finally:
            self._process.kill()
            self._process.wait()
            os.close(self._in)

    def open(self, path: Path, width: int = 1400, height: int = 900) -> "Page":
        """Open a file in a new page, and wait until it has loaded; its size is in CSS pixels."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        page = Page(
            self, self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"], target
        )
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.call(f"{domain}.enable")
        page.resize(width, height)
        self.events.clear()
        page.call("Page.navigate", url=path.absolute().as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self._read()
        return page

    def call(self, method: str, session: str | None = None, **params: object) -> dict[str, Any]:
        """Send a command and return its answer; the events that come meanwhile are in `events`."""
        self._count += 1
        message: dict[str, object] = {"id": self._count, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        try:
            os.write(self._out, json.dumps(message).encode() + b"\0")
        except BrokenPipeError as error:
            raise BrowserError("The browser ended.") from error
        while (answer := self._read()).get("id") != self._count:
            pass
        if "error" in answer:
            raise BrowserError(f"{method} was refused: {answer['error']['message']}.")
        result: dict[str, Any] = answer["result"]
        return result

    def _read(self) -> dict[str, Any]:
        """Return the next message."""
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], PATIENCE)
            part = os.read(self._in, 1 << 16) if ready else b""
            if not part:
                why = "ended" if ready else f"said nothing for {PATIENCE:g} seconds"
                raise BrowserError(f"The browser {why}.")
            self._buffer += part
        text, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        if "method" in message:
            self.events.append(message)
        return message


class Page:
    """A page in the browser."""

    def __init__(self, browser: Browser, session: str, target: str) -> None:
        self._browser, self._session, self._target = browser, session, target

    def call(self, method: str, **params: object) -> dict[str, Any]:
        """Send the page a command."""
        return self._browser.call(method, self._session, **params)

    def resize(self, width: int, height: int) -> None:
        """Give it a size, in CSS pixels."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", **metrics)

    def prefer(self, scheme: str) -> None:
        """Let its reader prefer `light` or `dark`."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def ask(self, expression: str) -> Any:  # noqa: ANN401  # whatever the page's script gives
        """Return what a script's expression is in the page; of a promise, what it comes to."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise BrowserError(f"The page's script failed: {answer['exceptionDetails']}.")
        return answer["result"].get("value")

    def press(self, key: str, modifiers: int = 0) -> None:
        """Press a key and let it go; `modifiers` are 1 for Alt, 2 for Ctrl, 4 for Meta, 8 for Shift."""
        code = {"key": key, "code": key, "windowsVirtualKeyCode": _KEYS[key], "modifiers": modifiers}
        self.call("Input.dispatchKeyEvent", type="rawKeyDown", **code)
        self.call("Input.dispatchKeyEvent", type="keyUp", **code)

    def click(self, selector: str) -> None:
        """Click in the middle of an element, having scrolled to it."""
        x, y = self.ask(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            " e.scrollIntoView({block: 'center'}); const r = e.getBoundingClientRect();"
            " return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def screenshot(self, path: Path) -> None:
        """Write what it looks like to a PNG."""
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))

    def troubles(self) -> list[str]:
        """Return what went wrong in it, and every address that it asked for but its own file's."""
        found = []
        for event in self._browser.events:
            if event["method"] in {"Runtime.exceptionThrown", "Log.entryAdded"}:
                found.append(json.dumps(event["params"]))
            elif event["method"] == "Network.requestWillBeSent":
                url = event["params"]["request"]["url"]
                found += [] if url.startswith("file:") else [url]
        return found

    def close(self) -> None:
        """Close it."""
        self._browser.call("Target.closeTarget", targetId=self._target)


@contextmanager
def _pipe(*, ours_reads: bool = False) -> Iterator[tuple[int, int]]:
    """Make a pipe and yield their end and ours; theirs is closed after the block, by when they have it."""
    ends = os.pipe()
    theirs, ours = (ends[1], ends[0]) if ours_reads else ends
    # Theirs must be none of 3 and 4, which the start's own `dup2` closes.
    moved = fcntl.fcntl(theirs, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(theirs)
    try:
        yield moved, ours
    finally:
        os.close(moved)
