"""How far the running checks are: animated in a terminal, a plain line as each ends elsewhere."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress as Display
from rich.progress import SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

from conformance.tlc.output import Progress


class Watch(Protocol):
    """Told of each check as it begins, goes on and ends."""

    def began(self, name: str) -> None:
        """The check of the cfg `name` began."""

    def went_on(self, name: str, progress: Progress) -> None:
        """TLC said how far the check of the cfg `name` is."""

    def ended(self, name: str, summary: str, *, ok: bool) -> None:
        """The check of the cfg `name` ended, `ok` if TLC found what is expected; `summary` says what."""


@contextmanager
def watching(console: Console, total: int) -> Iterator[Watch]:
    """A watch over `total` checks that shows them on the console until the block is left."""
    if not console.is_terminal:
        yield _Lines(console, total)
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TextColumn("{task.fields[states]}", justify="right"),
        TimeElapsedColumn(),
    )
    with Display(*columns, console=console, transient=True) as display:
        yield _Animated(display, total)


class _Lines:
    """A line for each check that ended."""

    def __init__(self, console: Console, total: int) -> None:
        """Show lines on the console, numbered up to `total`."""
        self._console, self._total, self._done = console, total, 0

    def began(self, name: str) -> None:
        """Nothing: only ends are shown."""

    def went_on(self, name: str, progress: Progress) -> None:
        """Nothing: only ends are shown."""

    def ended(self, name: str, summary: str, *, ok: bool) -> None:
        """Show its line."""
        self._done += 1
        mark = "ok  " if ok else "FAIL"
        line = f"[{self._done}/{self._total}] {mark} {name}: {summary}"
        self._console.print(Text(line), soft_wrap=True)


class _Animated:
    """A row for each check that runs, and one for all of them."""

    def __init__(self, display: Display, total: int) -> None:
        """Show rows on the display, and how many of `total` are done."""
        self._display, self._total, self._done = display, total, 0
        self._rows: dict[str, TaskID] = {}
        self._all = display.add_task(self._summary(), total=total, states="")

    def began(self, name: str) -> None:
        """Show its row."""
        self._rows[name] = self._display.add_task(escape(name), total=None, states="")

    def went_on(self, name: str, progress: Progress) -> None:
        """Show its states, rate and queue."""
        self._display.update(self._rows[name], states=_said(progress))

    def ended(self, name: str, summary: str, *, ok: bool) -> None:
        """Take its row away, and say so if it is not as expected."""
        self._done += 1
        self._display.remove_task(self._rows.pop(name))
        self._display.update(self._all, completed=self._done, description=self._summary())
        if not ok:
            self._display.console.print(Text(f"FAIL {name}: {summary}", style="bold red"))

    def _summary(self) -> str:
        """How many are done."""
        return f"{self._done} of {self._total} checked"


def _said(progress: Progress) -> str:
    """States, rate and queue in words."""
    rate = f"{progress.generated_per_minute:,} a minute, " if progress.generated_per_minute else ""
    return f"{progress.distinct:,} states, {rate}{progress.queue:,} in the queue"
