"""The command `view`: show a trace in the terminal, and as a page, and as JSON."""

import argparse
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from conformance.report import AS_EXPECTED, NOT_AS_EXPECTED, Outcome, Row, could_not_run
from conformance.view.page import write_page
from conformance.view.reading import UnreadableError, read_walk
from conformance.view.sentences import read_sentences
from conformance.view.terminal import SwimLanes
from conformance.view.walk import Step, Walk, place_text


@dataclass(frozen=True, slots=True)
class ViewOptions:
    """What the command is asked to do; the fields are its arguments, as `add_view_options` describes them."""

    trace: Path
    html: Path | None = None
    json: Path | None = None


def add_view_options(parser: argparse.ArgumentParser) -> None:
    """Give the parser the command's arguments."""
    parser.add_argument(
        "trace", type=Path, metavar="TRACE", help="a trace of ThreadClaim in ITF, as in traces/"
    )
    parser.add_argument(
        "--html", type=Path, metavar="FILE", help="write it to FILE as a page to walk through"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write its steps to FILE as JSON")


def view_options_from(arguments: argparse.Namespace) -> ViewOptions:
    """The options, from what the parser of `add_view_options` read."""
    return ViewOptions(arguments.trace, arguments.html, arguments.json)


@dataclass(frozen=True, slots=True)
class View:
    """The command, and what it needs: `root` is the project's folder, `console` what it prints to."""

    root: Path
    console: Console

    def run(self, options: ViewOptions) -> int:
        """Show a trace, and write the files asked for.

        Returns 0 if it is shown; 1 if its file names a property as broken that its states show to hold; and
        2, with a sentence on standard error, if it cannot be read, or a file cannot be written.
        """
        try:
            sentences = read_sentences(self.root / "spec")
            walk = read_walk(options.trace)
            if options.html is not None:
                write_page(options.html, walk, sentences)
            if options.json is not None:
                outcome_of(walk).save(options.json)
        except (UnreadableError, OSError) as error:
            return could_not_run(error)
        SwimLanes(self.console, walk, sentences).print()
        for what, path in (("A page to walk through", options.html), ("JSON of its steps", options.json)):
            if path is not None:
                self.console.print(Text(f"{what} is written: {path}"), soft_wrap=True)
        return NOT_AS_EXPECTED if walk.unconfirmed else AS_EXPECTED


def outcome_of(walk: Walk) -> Outcome:
    """Return a trace in the shape of every command: a row for each step."""
    figures = {"steps": len(walk.steps), "broken": len(walk.breaks)}
    if walk.loop is not None:
        figures["loop"] = walk.loop
    return Outcome(not walk.unconfirmed, "view", figures, [_row(step) for step in walk.steps])


def _row(step: Step) -> Row:
    """Return a step's row."""
    return {
        "step": step.number,
        "action": step.action,
        "by": step.doer,
        "code": step.code,
        "changes": "; ".join(
            place_text(step, change.place) for change in step.changes if change.new is not None
        ),
        "broken": ", ".join(broken.name for broken in step.broken),
    }
