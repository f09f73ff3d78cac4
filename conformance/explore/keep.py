"""Keeping a walk that went wrong: a file that one command walks again, and its story."""

import re
from itertools import count
from pathlib import Path

from conformance.explore.again import Walked
from conformance.explore.record import load_walk, save_walk, trace_of
from conformance.report import Failure, command
from conformance.tlc.reading import SUFFIX, UnreadableError
from conformance.tlc.story import tell

_FOLDER = Path("traces") / "found"
_LONGEST = 80
"""How long a file's name may be, in characters, without its suffix."""


def kept(root: Path, walked: Walked) -> Failure:
    """Save a walk that went wrong below the project's folder `root`, and tell it; raises OSError."""
    path = _free(root / _FOLDER, walked)
    save(path, walked)
    shown = path.relative_to(root)
    return Failure("a walk", [walked.why], command("replay", shown), story(walked))


def save(path: Path, walked: Walked) -> None:
    """Write a walk that went wrong to `path`; raises OSError."""
    said = {"description": walked.why, "property": ", ".join(walked.broken), "given": str(walked.given)}
    save_walk(path, walked.setting, walked.steps, **said)


def story(walked: Walked) -> str:
    """Tell a walk, step by step."""
    return tell(trace_of(walked.setting.constants, walked.steps), initial=False)


def _free(folder: Path, walked: Walked) -> Path:
    """A file's name that tells what went wrong, and that no other walk is kept by."""
    name = "-".join(re.findall(r"\w+", " ".join(walked.kind)))[:_LONGEST].rstrip("-_")
    names = (name if number == 1 else f"{name}-{number}" for number in count(1))
    paths = (folder / f"{each}{SUFFIX}" for each in names)
    return next(path for path in paths if not path.exists() or _is_of(path, walked))


def _is_of(path: Path, walked: Walked) -> bool:
    """Whether this very walk is kept there."""
    try:
        saved = load_walk(path)
    except UnreadableError:
        return False
    return saved.setting == walked.setting and list(saved.steps) == list(walked.to_take)
