"""Which process a task is of: the model's Owner, which is a constant and so in no state."""

from collections.abc import Mapping, Sequence

from conformance.view.snapshot import Snapshot

UNKNOWN = "?"


def owners_of(states: Sequence[Snapshot], meta: Mapping[str, str]) -> dict[str, str]:
    """Return each task's process.

    It is what the trace's `#meta` says under `owner`, as in `p1: p, p2: p, q1: q`. Else a task that has a
    process's name is that process's only one (MC!Self); else it is the process's with which its name begins,
    and of two such the longer one's. A task of which nothing says it is of the process `?`.
    """
    said = _said(meta.get("owner", ""))
    processes = sorted(states[0].look, key=len, reverse=True)
    return {
        task: said.get(task) or next((p for p in processes if task.startswith(p)), UNKNOWN)
        for task in sorted(states[0].task)
    }


def _said(text: str) -> dict[str, str]:
    """Return what `#meta` says of owners."""
    pairs = (pair.partition(":") for pair in text.split(",") if ":" in pair)
    return {task.strip(): process.strip() for task, _, process in pairs}
