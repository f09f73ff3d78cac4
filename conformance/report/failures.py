"""The failures of a command: what failed, why, and the command that shows it again."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text


@dataclass(frozen=True, slots=True)
class Failure:
    """One failure.

    `name` is what failed, `why` each reason in a sentence, `command` what shows it again, and `story` what
    there is to read, such as a counterexample.
    """

    name: str
    why: Sequence[str]
    command: str
    story: str = ""


def print_failures(console: Console, failures: Sequence[Failure], looked_at: int) -> None:
    """Print every failure, and how many of the `looked_at` things failed; nothing when none did."""
    if not failures:
        return
    console.print(Text(f"{len(failures)} of {looked_at} not as expected:", style="bold red"))
    for failure in failures:
        console.print(Text(f"\n{failure.name}", style="bold"))
        for sentence in failure.why:
            console.print(Text(f"  {sentence}"), soft_wrap=True)
        if failure.story:
            console.print(Text(_indented(failure.story)), soft_wrap=True)
        console.print(Text(f"  Again: {failure.command}"), soft_wrap=True)


def _indented(text: str) -> str:
    """The text, each line moved to the right."""
    return "\n".join(f"    {line}" if line else "" for line in text.splitlines())
