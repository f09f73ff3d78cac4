"""The last step of set-up: find Java, or bring one; find the TLC jar, or fetch one; write down which.

And have Java keep TLC's classes in the form that it starts with fastest.

It runs on `.venv`'s Python, whose pip brings what is missing.
"""

import json
import platform
import sys
from collections.abc import Callable
from pathlib import Path

from ci.fetch_tlc import fetch_for
from ci.files import write_whole
from ci.pip import SetUpError, install
from conformance.tlc.archive import make_archive
from conformance.tlc.tools import Java, ToolError, Tools, find_jar, find_java

ROOT = Path(__file__).resolve().parent.parent


def java_or_bring_one(find: Callable[[], Java], bring: Callable[[], None]) -> Java:
    """Return the Java that `find` finds, at once or after `bring`.

    Raises:
        ToolError: There is none even then.
        SetUpError: None could be brought.
    """
    try:
        return find()
    except ToolError as error:
        print(
            f"{error}".partition(" Run ")[0],
            "Installing the one that requirements/java.txt pins.",
            flush=True,
        )
    bring()
    return find()


def bring_java() -> None:
    """Install the package that has a Java in it."""
    install(Path(sys.executable), ROOT / "requirements" / "java.txt")


def main(record: str) -> int:
    """Find or fetch both, and write them to the file `record`; return 0, or 2 after a sentence."""
    try:
        java = java_or_bring_one(find_java, bring_java)
        fetch_for(ROOT, lambda line: print(line, flush=True))
        jar = find_jar(ROOT)
        make_archive(ROOT, Tools(java, jar))
    except (ToolError, SetUpError) as error:
        print(f"make setup: {error}", file=sys.stderr)
        return 2
    found = {
        "python_version": platform.python_version(),
        "java": str(java.path),
        "java_version": java.version,
        "jar": str(jar.path),
        "jar_name": jar.name,
    }
    write_whole(Path(record), json.dumps(found, indent=2).encode())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
