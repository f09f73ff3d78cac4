"""A trace in the terminal: swim lanes, a column for each task, and the thread's own columns beside them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from conformance.view.cells import ARROW, LEGEND, Cells, Lines, Mark, cells_of, mark_of
from conformance.view.glossary import meanings
from conformance.view.judge import Broken
from conformance.view.telling import (
    LOOP,
    doubts,
    facts_of,
    headline,
    kind_of,
    loop_begins,
    said_of,
    verdicts,
    where,
)
from conformance.view.walk import Process, Step, Walk, ending, place_text

WIDE = 100
"""From this many columns on, log, cursors, run and claim have a column each; below, one together."""
NARROWEST_LANE = 9
"""A lane that is narrower has its words broken; then steps are told without lanes."""

_MARKS = {Mark.HOLDER: "\u2503", Mark.BUSY: "\u2502", Mark.IDLE: "\u00b7", Mark.DOWN: "\u00d7"}
_ASCII = str.maketrans(
    {
        "\u2503": "#",
        "\u2502": "|",
        "\u00b7": ".",
        "\u00d7": "x",
        ARROW: ">",
        "\u2212": "-",
        "\u21ba": "~",
        "\u2500": "-",
    }
)
_GAP = 1
_THREAD_WIDTHS = {"log": 8, "cursors": 11, "run": 8, "claim": 5}
_THREAD_WIDTH = 13


@dataclass(frozen=True, slots=True)
class _Column:
    """A column: its heading, and its width in characters."""

    heading: str
    width: int


class SwimLanes:
    """Prints a walk to a console; `sentences` has each property's sentence by its name."""

    def __init__(self, console: Console, walk: Walk, sentences: dict[str, str]) -> None:
        self._console, self._walk, self._sentences = console, walk, sentences
        self._wide = console.width >= WIDE
        self._leading = self._leading_columns()
        self._lane = self._lane_width()

    def print(self) -> None:
        """Print all of it."""
        for line in head_of(self._walk):
            self._say(line)
        self._print_headings()
        for step in self._walk.steps:
            if begins := loop_begins(self._walk, step):
                self._say(Text(begins, "cyan"))
            self._print_step(step)
        if after := ending(self._walk):
            self._say(Text(f"{LOOP} {after}", "cyan"))
        self._print_legend()

    # ---- Columns.

    def _leading_columns(self) -> list[_Column]:
        """The columns that lead each row: the step's number, its action, and who does it."""
        steps = self._walk.steps
        return [
            _Column("", len(str(len(steps)))),
            _Column("action", max(len("action"), *(len(step.action) for step in steps))),
            _Column("by", max(2, *(len(step.doer) for step in steps))),
        ]

    def _thread_columns(self) -> list[_Column]:
        """The columns of what is the thread's."""
        if self._wide:
            return [_Column(name, width) for name, width in _THREAD_WIDTHS.items()]
        return [_Column("thread", _THREAD_WIDTH)]

    def _lane_width(self) -> int:
        """How wide a lane can be; 0 if there is no room for lanes."""
        others = [*self._leading, *self._thread_columns()]
        taken = sum(column.width + _GAP for column in others)
        lanes = len(self._walk.tasks)
        width = (self._console.width - taken + _GAP) // lanes - _GAP
        return min(width, 26) if width >= NARROWEST_LANE else 0

    def _print_headings(self) -> None:
        """Print the columns' headings: processes, and below them their tasks, where they have other names."""
        if not self._lane:
            return
        lead, thread = self._leading, self._thread_columns()
        if not all(process.is_its_task for process in self._walk.processes):
            groups = [_Column(process.name, self._group_width(process)) for process in self._walk.processes]
            self._row(
                [_Column("", column.width) for column in lead] + groups,
                [*[""] * len(lead), *map(_ruled, groups)],
            )
        lanes = [_Column(task, self._lane) for task in self._walk.tasks]
        columns = [*lead, *lanes, *thread]
        self._row(columns, [Text(column.heading, "bold underline") for column in columns])

    def _group_width(self, process: Process) -> int:
        """How wide a process's lanes are together."""
        return len(process.tasks) * (self._lane + _GAP) - _GAP

    # ---- Rows.

    def _print_step(self, step: Step) -> None:
        """Print a step, what it changes beside the lanes, and what it breaks."""
        cells = cells_of(step, self._walk.processes)
        if self._lane:
            self._print_lanes(step, cells)
        else:
            self._print_list(step, cells)
        if not step.changes and step.number > 1:
            self._say(Text("(nothing changes)", "dim"), self._indent)
        if cells.notes:
            self._say(Text(", ".join(cells.notes), "dim"), self._indent)
        for broken in step.broken:
            self._print_broken(step, broken)

    def _print_lanes(self, step: Step, cells: Cells) -> None:
        """Print a step's row."""
        lanes = [_Column(task, self._lane) for task in self._walk.tasks]
        columns = [*self._leading, *lanes, *self._thread_columns()]
        who = [Text(str(step.number), "dim"), Text(step.action, "bold"), Text(step.doer, "cyan")]
        own = [_lane_text(step, task, cells.lanes[task], self._lane) for task in self._walk.tasks]
        self._row(columns, [*who, *own, *self._thread_cells(cells)])

    def _thread_cells(self, cells: Cells) -> list[str | Text]:
        """The cells of what is the thread's."""
        if self._wide:
            return ["\n".join(lines) for lines in (cells.log, cells.cursors, cells.run, cells.claim)]
        return ["\n".join(_together(cells))]

    def _print_list(self, step: Step, cells: Cells) -> None:
        """Print a step without lanes: a line for each task that it changed."""
        line = Text.assemble((f"{step.number} ", "dim"), (step.action, "bold"), " ", (step.doer, "cyan"))
        self._say(line)
        for task, lines in cells.lanes.items():
            if lines:
                self._say(f"{task}: {', '.join(lines)}", self._indent)
        if thread := _together(cells):
            self._say(", ".join(thread), self._indent)

    def _print_broken(self, step: Step, broken: Broken) -> None:
        """Print which property a step breaks, what that promises, and the values that break it."""
        self._say(Text(f"\u00d7 {headline(broken)}", "bold red"), self._indent)
        self._say(Text(self._sentences.get(broken.name, ""), "italic"), self._indent + 2)
        for reason in broken.reasons:
            self._say(Text(reason.sentence, "red"), self._indent + 2)
            self._say("; ".join(place_text(step, place) for place in reason.places), self._indent + 2)

    @property
    def _indent(self) -> int:
        """Where an action's name begins."""
        return self._leading[0].width + _GAP

    def _print_legend(self) -> None:
        """Print what the lanes' marks mean, and every word that is shown."""
        if self._lane:
            marks = ", ".join(f"{_MARKS[mark]} {what}" for mark, what in LEGEND.items())
            self._say(Text(f"In a lane: {marks}. Below a step: the model's notes for its properties.", "dim"))
        for word, meaning in meanings(_shown(self._walk)).items():
            self._say(Text.assemble((word, "bold"), f": {meaning}."))

    # ---- What prints.

    def _row(self, columns: Sequence[_Column], cells: Sequence[str | Text]) -> None:
        """Print a row of cells, each in its column's width."""
        table = Table.grid(padding=(0, _GAP, 0, 0), pad_edge=False)
        for column in columns:
            table.add_column(width=column.width, overflow="fold")
        table.add_row(*(self._drawn(cell) for cell in cells))
        self._console.print(table)

    def _say(self, line: str | Text, indent: int = 0) -> None:
        """Print a line, as far to the right as `indent`; what is too long goes on below."""
        self._console.print(Padding(self._drawn(line), (0, 0, 0, indent)))

    def _drawn(self, text: str | Text) -> Text:
        """The text, in ASCII where the console can do no more; as long as before, so that styles stay."""
        drawn = Text(text) if isinstance(text, str) else text
        encoding = self._console.encoding
        if not encoding.lower().startswith("utf"):
            drawn.plain = drawn.plain.translate(_ASCII).encode(encoding, "replace").decode(encoding)
        return drawn


def _shown(walk: Walk) -> Iterator[str]:
    """Yield the places that are shown: what changes, and of the first state what is no note."""
    yield from ("log", "asked", "taken", "lease", "run.st", *(f"task[{task}].at" for task in walk.tasks))
    yield from (change.place for step in walk.steps for change in step.changes)


def head_of(walk: Walk) -> Iterator[Text]:
    """Yield what a trace is: where it comes from, what its file says of it, and what it breaks."""
    yield Text.assemble((walk.name, "bold"), ". ", kind_of(walk))
    yield from map(Text, said_of(walk))
    for key, text in facts_of(walk).items():
        yield Text(f"{key}: {text}", "dim")
    for heading, breaks in verdicts(walk):
        named = ": " + ", ".join(map(where, breaks)) if breaks else ""
        yield Text(f"{heading}{named}.", "bold red" if breaks else "bold green")
    for doubt in doubts(walk):
        yield Text(doubt, "bold red")
    yield Text()


def _together(cells: Cells) -> Lines:
    """What is the thread's, in one cell."""
    claim = tuple(f"claim {holder}" for holder in cells.claim)
    run = (f"run {' '.join(cells.run)}",) if cells.run else ()
    return (*(f"log {entry}" for entry in cells.log), *cells.cursors, *run, *claim)


def _ruled(column: _Column) -> Text:
    """A heading over several columns."""
    return Text(f"{column.heading} ".ljust(column.width, "\u2500"), "bold")


def _lane_text(step: Step, task: str, lines: Lines, width: int) -> Text:
    """A lane's cell: its mark before each line, and what the task is about to do in bold."""
    mark = _MARKS[mark_of(step.now, task)]
    told = Text()
    for index, line in enumerate(lines or ("",)):
        is_at = index == 0 and f"task[{task}].at" in {change.place for change in step.changes}
        for part in Text(line, "bold" if is_at else "").wrap(_MEASURE, width - 2) if line else [Text()]:
            told.append("\n" if told else "").append(f"{mark} ", "dim").append(part)
    return told


_MEASURE = Console(width=WIDE)
