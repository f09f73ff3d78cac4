"""Pages of the documentation: their blocks of code, and what these print."""

import ast
import inspect
import io
import json
import re
import sys
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from threadclaim.testing import VirtualTimeLoop

ROOT = Path(__file__).resolve().parents[3]
_FENCE = re.compile(r"^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    """A block of Python on a page: its first line's number there, and what the page says that it prints."""

    code: str
    line: int
    prints: str


def blocks_of(page: str) -> list[Block]:
    """The blocks of Python on a page; a block of text that follows one directly is what that prints."""
    fences = list(_FENCE.finditer(page))
    found: list[Block] = []
    for fence, after in zip(fences, [*fences[1:], None], strict=True):
        if fence["language"] != "python":
            continue
        follows = (
            after is not None
            and after["language"] == "text"
            and not page[fence.end() : after.start()].strip()
        )
        prints = after["text"] if follows and after is not None else ""
        found.append(Block(fence["text"], page.count("\n", 0, fence.start()) + 2, prints))
    return found


def as_module(page: str) -> str:
    """A page's blocks as a module for type checkers: one async function, each line where the page has it."""
    lines = ["async def page() -> None:"] + [""] * page.count("\n")
    for block in blocks_of(page):
        for number, line in enumerate(block.code.splitlines(), block.line - 1):
            lines[number] = f"    {line}" if line else ""
    return "\n".join([*lines, "    pass", ""])


async def run(name: str, page: str) -> list[str]:
    """Run a page's blocks in order, in one namespace, as if in an async function; give what each prints.

    `name` is the page's, for tracebacks.
    """
    names: dict[str, Any] = {"__name__": "page"}
    printed: list[str] = []
    for block in blocks_of(page):
        # Empty lines before it, so that a traceback names the page's own line.
        source = "\n" * (block.line - 1) + block.code
        code = compile(source, name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        with redirect_stdout(io.StringIO()) as out:
            awaited = eval(code, names)  # noqa: S307  # it is our own page
            if inspect.isawaitable(awaited):
                await awaited
        printed.append(out.getvalue())
    return printed


if __name__ == "__main__":
    text = Path(sys.argv[1]).read_text(encoding="utf-8")
    sys.stdout.write(json.dumps(VirtualTimeLoop.run(run(sys.argv[1], text))))
