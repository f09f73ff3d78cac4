"""Writing counts and hashes into models.yaml."""

import pytest

from conformance.models.manifest import load_manifest
from conformance.models.update import write_manifest
from conformance.tests.models.bench import Bench


def test_only_the_given_fields_change(bench: Bench) -> None:
    """Comments, order, quotes and blank lines stay."""
    before = bench.manifest
    changes: dict[str, dict[str, int | str]] = {
        "Counter": {"distinct_states": 7, "sha256": "ab"},
        "mutants/NoRoom": {"trace_length": 9},
    }
    assert write_manifest(bench.spec / "models.yaml", changes)
    changed = [
        (a, b) for a, b in zip(before.splitlines(), bench.manifest.splitlines(), strict=True) if a != b
    ]
    assert [b.strip()[:22] for _, b in changed] == [
        "distinct_states: 7",
        "sha256: ab",
        "mutants/NoRoom: {kind:",
    ]
    assert changed[2] == (changed[2][0], changed[2][0].replace("trace_length: 5", "trace_length: 9"))


def test_nothing_new_leaves_the_file_alone(bench: Bench) -> None:
    """What is there already is no change."""
    before = bench.manifest
    assert not write_manifest(bench.spec / "models.yaml", {"Counter": {"distinct_states": 4, "depth": 4}})
    assert bench.manifest == before


def test_a_new_field_stays_with_its_entry(bench: Bench) -> None:
    """A field that was missing does not slip below the comment of the entry after it."""
    bench.edit("models.yaml", "    distinct_states: 4\n", "")
    write_manifest(bench.spec / "models.yaml", {"Counter": {"distinct_states": 4}})
    lines = bench.manifest.splitlines()
    assert lines.index("    distinct_states: 4") < lines.index("  # Each mutant takes one rule out.")
    assert load_manifest(bench.spec).cases[0].entry.model_dump()["distinct_states"] == 4


def test_expectations_are_never_written(bench: Bench) -> None:
    """What must hold is for people to say."""
    before = bench.manifest
    with pytest.raises(ValueError, match="`violates` is no count"):
        write_manifest(bench.spec / "models.yaml", {"mutants/NoUp": {"violates": "TypeOK"}})
    assert bench.manifest == before


def test_an_entry_that_is_not_there(bench: Bench) -> None:
    """Only entries of the file can be written."""
    with pytest.raises(KeyError):
        write_manifest(bench.spec / "models.yaml", {"Other": {"depth": 1}})
