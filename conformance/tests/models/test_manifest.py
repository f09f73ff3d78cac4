"""Reading models.yaml: what an entry says, what the defaults add, and what is refused."""

import re

import pytest

from conformance.models.manifest import ManifestError, Model, Mutant, Witness, load_manifest
from conformance.tests.models.bench import Bench


def test_entries_keep_their_order(bench: Bench) -> None:
    """The cases come as the file lists them."""
    names = [case.name for case in load_manifest(bench.spec).cases]
    assert names == ["Counter", "mutants/NoRoom", "mutants/NoUp", "witnesses/MaxIsReached"]


def test_names_of_lists_stand_for_their_members(bench: Bench) -> None:
    """`holds: [safety, liveness]` expects each property of both lists; the table has the names."""
    case = load_manifest(bench.spec).cases[0]
    assert isinstance(case.entry, Model)
    assert case.expects == ("TypeOK", "OneByOne", "ReachesMax")
    assert case.temporal == ("ReachesMax",)
    assert case.checks == "safety, liveness"


def test_the_defaults_fill_in_what_an_entry_does_not_say(bench: Bench) -> None:
    """Each kind has its root module, and an entry may have its own."""
    bench.edit(
        "models.yaml", "    tier: nightly\n", "    tier: nightly\n    module: Other.tla\n    workers: 2\n"
    )
    model, mutant, _, witness = load_manifest(bench.spec).cases
    assert (model.entry.module, model.entry.workers, model.entry.seconds) == ("Properties.tla", 1, 60)
    assert (mutant.entry.module, mutant.entry.memory_mb) == ("mutants/Mutants.tla", 256)
    assert (witness.entry.module, witness.entry.workers) == ("Other.tla", 2)


def test_each_kind_has_its_fields(bench: Bench) -> None:
    """A mutant names the rule and the property it breaks, a witness what it shows."""
    _, mutant, temporal, witness = load_manifest(bench.spec).cases
    assert isinstance(mutant.entry, Mutant)
    assert (mutant.expects, mutant.temporal, mutant.entry.records) == (("TypeOK",), (), 7)
    assert (temporal.expects, temporal.temporal) == (("ReachesMax",), ("ReachesMax",))
    assert isinstance(witness.entry, Witness)
    assert (witness.checks, witness.slug, witness.entry.tier) == ("NeverMax", "MaxIsReached", "nightly")


def test_anchors_and_merges_are_followed(bench: Bench) -> None:
    """An entry may take fields from another by YAML's merge key."""
    bench.edit("models.yaml", "  mutants/NoUp:\n", "  mutants/NoUp: &up\n")
    bench.edit(
        "models.yaml", "  witnesses/", "  mutants/Again:\n    <<: *up\n    trace_length: 2\n  witnesses/"
    )
    case = load_manifest(bench.spec).cases[3]
    assert isinstance(case.entry, Mutant)
    assert (case.name, case.checks, case.entry.trace_length) == ("mutants/Again", "ReachesMax", 2)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("idle: [Leap]", "idel: [Leap]", "models.yaml: Counter: `idel` is no field here"),
        ("    violates: ReachesMax\n", "", "models.yaml: mutants/NoUp: `violates` is missing"),
        (
            "distinct_states: 4",
            "distinct_states: four",
            "models.yaml: Counter: `distinct_states`: Input should be",
        ),
        (
            "distinct_states: 4",
            "distinct_states: 0",
            "models.yaml: Counter: `distinct_states`: Input should be",
        ),
        ("    kind: model\n", "", "models.yaml: Counter: `kind` is missing"),
        ("kind: model", "kind: module", "models.yaml: Counter: Input tag 'module'"),
        ("tier: nightly", "tier: weekly", "models.yaml: witnesses/MaxIsReached: `tier`: Input should be"),
        ("    holds: [safety, liveness]", "    holds: []", "models.yaml: Counter: `holds`: List should have"),
        (
            "    replaces: [Room]\n    violates",
            "    replaces: []\n    violates",
            "models.yaml: mutants/NoUp: `replaces`:",
        ),
        ("rule: A counter with room goes up.", 'rule: ""', "models.yaml: mutants/NoUp: `rule`:"),
        ("cfgs:", "configs:", "models.yaml: cfgs is missing"),
        ("  model: Properties.tla\n", "", "models.yaml: defaults: `model` is missing"),
        ("temporal: [", "temporal: ]", "models.yaml is not valid YAML"),
        ("  mutants/NoUp:", "  Counter:", "models.yaml is not valid YAML.*duplicate key"),
    ],
)
def test_what_is_wrong_is_said_with_its_entry(bench: Bench, old: str, new: str, message: str) -> None:
    """The error names the file, the entry and the field."""
    bench.edit("models.yaml", old, new)
    with pytest.raises(ManifestError, match=f"(?s){message.replace('[', re.escape('['))}"):
        load_manifest(bench.spec)


@pytest.mark.parametrize("text", ["", "- a list\n", "cfgs: 3\n", "cfgs: {Counter: 3}\n"])
def test_another_shape_is_refused(bench: Bench, text: str) -> None:
    """A file that is no manifest at all is an error that names it."""
    (bench.spec / "models.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ManifestError, match=r"models\.yaml"):
        load_manifest(bench.spec)


def test_a_manifest_that_is_not_there(bench: Bench) -> None:
    """The error says where it belongs."""
    (bench.spec / "models.yaml").unlink()
    with pytest.raises(ManifestError, match=r"models\.yaml cannot be read: No such file.*belongs in"):
        load_manifest(bench.spec)
