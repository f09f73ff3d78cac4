"""An archive of the classes that TLC loads: Java maps it, instead of reading and checking each class anew.

It changes the speed alone. Java itself passes over one that is another's, or whose bytes have changed; one
that is cut short would end it, so the archive is put in its place whole.
"""

import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from conformance.tlc.tools import Tools, archive_path

_SECONDS = 60.0
_MODULE = """---- MODULE Tick ----
EXTENDS Naturals, Sequences, FiniteSets, TLC
VARIABLE x
Init == x = 0
Next == x < 3 /\\ x' = x + 1
Spec == Init /\\ [][Next]_x /\\ WF_x(Next)
Small == x \\in 0..3
Grows == [][x' > x]_x
Ends == <>(x = 3)
====
"""
_CFG = "SPECIFICATION Spec\nINVARIANT Small\nPROPERTIES Ends Grows\n"


def make_archive(root: Path, tools: Tools) -> Path | None:
    """Make the archive by running TLC on a small model, unless it is there; return its path.

    None if this Java makes none: it is too old, say, or was built without an archive of its own classes.
    """
    path = archive_path(root, tools.java, tools.jar)
    if path.is_file():
        return path
    path.parent.mkdir(exist_ok=True)
    with TemporaryDirectory(prefix="tlc-", dir=path.parent) as folder:
        Path(folder, "Tick.tla").write_text(_MODULE, encoding="utf-8")
        Path(folder, "Tick.cfg").write_text(_CFG, encoding="utf-8")
        made = Path(folder, path.name)
        line = [str(tools.java.path), f"-XX:ArchiveClassesAtExit={made}", f"-Djava.io.tmpdir={folder}"]
        line += ["-cp", str(tools.jar.path), "tlc2.TLC", "-tool", "-deadlock", "Tick.tla"]
        try:
            subprocess.run(line, cwd=folder, capture_output=True, timeout=_SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return None
        if not made.is_file():
            return None
        # Whole, and in one step: others may set up at the same time, and make the same.
        made.replace(path)
    return path
