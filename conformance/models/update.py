"""Writing new counts and hashes into the manifest, and nothing else: its comments and order stay."""

from collections.abc import Mapping
from pathlib import Path

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap

_FIELDS = frozenset({"distinct_states", "depth", "trace_length", "sha256"})


def write_manifest(path: Path, changes: Mapping[str, Mapping[str, int | str]]) -> bool:
    """Set the given fields of each entry in `changes` in models.yaml at `path`; return whether any was new.

    Only `distinct_states`, `depth`, `trace_length` and `sha256` are ever written: another field raises
    ValueError, for what is expected to hold is never taken from what TLC found. An entry that the file does
    not have raises KeyError.
    """
    yaml = _round_trip()
    text = yaml.load(path.read_text(encoding="utf-8"))
    changed = [
        _set(text["cfgs"][name], field, value)
        for name, each in changes.items()
        for field, value in each.items()
    ]
    if any(changed):
        with path.open("w", encoding="utf-8") as file:
            yaml.dump(text, file)
    return any(changed)


def _round_trip() -> YAML:
    """A reader and writer that keeps comments, quotes, order and long lines."""
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 10_000
    yaml.indent(mapping=2, sequence=4, offset=2)
    return yaml


def _set(entry: CommentedMap, field: str, value: int | str) -> bool:
    """Set one field of an entry; a new one goes before the last, which holds the comments that follow."""
    if field not in _FIELDS:
        raise ValueError(f"`{field}` is no count and no hash, so people change it, not `--update`.")
    if entry.get(field) == value:
        return False
    if field in entry:
        entry[field] = value
    else:
        entry.insert(max(len(entry) - 1, 0), field, value)
    return True
