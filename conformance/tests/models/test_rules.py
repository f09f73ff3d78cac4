"""The rules that need no TLC: `check_manifest` says what an edit of the spec makes wrong, and where."""

import pytest

from conformance.models.rules import Problem, check_manifest, hash_of
from conformance.tests.models.bench import Bench


def said(bench: Bench) -> list[tuple[str, str]]:
    """Each problem of the bench's spec but stale hashes: those come with every edit of a cfg."""
    return [(problem.name, problem.why) for problem in check_manifest(bench.spec) if not problem.stale]


def test_nothing_is_wrong_to_begin_with(bench: Bench) -> None:
    """The counter's spec keeps every rule."""
    assert check_manifest(bench.spec) == []


def test_an_edited_cfg_has_a_stale_hash(bench: Bench) -> None:
    """A smaller bound is seen by the hash alone."""
    bench.edit("Counter.cfg", "Max = 3", "Max = 2")
    (problem,) = check_manifest(bench.spec)
    assert (problem.name, problem.stale) == ("Counter", True)
    assert "Its hash is stale" in problem.why
    assert hash_of(bench.spec / "Counter.cfg")[:12] in problem.why


def test_an_entry_without_a_hash(bench: Bench) -> None:
    """A new entry is told how to get its hash."""
    bench.edit("models.yaml", f"    sha256: {hash_of(bench.spec / 'Counter.cfg')}\n", "")
    why = "The manifest has no hash of its cfg; `--update` writes it."
    assert check_manifest(bench.spec) == [Problem("Counter", why, stale=True)]


def test_a_cfg_that_nobody_listed(bench: Bench) -> None:
    """A new cfg, in whatever folder, must be listed."""
    (bench.spec / "mutants" / "New.cfg").write_text("SPECIFICATION Spec\n", encoding="utf-8")
    ((name, why),) = said(bench)
    assert name == "mutants/New"
    assert "The cfg is not in the manifest" in why


def test_an_entry_without_a_cfg(bench: Bench) -> None:
    """A cfg that was deleted is missed."""
    (bench.spec / "mutants" / "NoUp.cfg").unlink()
    ((name, why),) = said(bench)
    assert name == "mutants/NoUp"
    assert "there is no such cfg" in why


def test_a_module_that_is_not_there(bench: Bench) -> None:
    """The root module must exist."""
    (bench.spec / "witnesses" / "Witnesses.tla").unlink()
    assert said(bench) == [
        ("witnesses/MaxIsReached", "Its module, witnesses/Witnesses.tla, does not exist; correct `module`.")
    ]


EDITS: list[tuple[str, str, str, str, str]] = [
    ("Counter.cfg", "  TypeOK\n", "", "Counter", "does not check TypeOK, which the manifest expects"),
    (
        "Counter.cfg",
        "  TypeOK\n",
        "  TypeOK Extra\n",
        "Counter",
        "checks Extra, which the manifest does not name",
    ),
    ("mutants/NoRoom.cfg", "TypeOK", "TypeOK\nPROPERTY OneByOne", "mutants/NoRoom", "checks OneByOne, which"),
    ("witnesses/MaxIsReached.cfg", "NeverMax", "", "witnesses/MaxIsReached", "does not check NeverMax"),
    (
        "mutants/NoUp.cfg",
        "PROPERTY",
        "INVARIANT",
        "mutants/NoUp",
        "ReachesMax is temporal; the cfg must list it",
    ),
    (
        "mutants/NoUp.cfg",
        "  Room <- Never\n",
        "",
        "mutants/NoUp",
        "names Room, which the cfg does not replace",
    ),
    (
        "Counter.cfg",
        "  Least <- Zero\n",
        "  Least <- Zero Up <- Wrap\n",
        "Counter",
        "The cfg replaces Up, which",
    ),
    ("Counter.cfg", "SPECIFICATION", "(* SPECIFICATION", "Counter", "Counter.cfg cannot be read. A comment"),
    (
        "Counter.cfg",
        "INVARIANTS",
        "SYMMETRY Sym\nINVARIANTS",
        "Counter",
        "beside SYMMETRY: TLC's answer may be wrong",
    ),
    (
        "Counter.cfg",
        "INVARIANTS",
        "CONSTRAINT Small\nINVARIANTS",
        "Counter",
        "beside CONSTRAINT: TLC's answer",
    ),
    ("Counter.cfg", "INVARIANTS", "VIEW Seen\nINVARIANTS", "Counter", "beside VIEW: TLC's answer"),
    (
        "Counter.cfg",
        "INVARIANTS",
        "CHECK_DEADLOCK FALSE\nINVARIANTS",
        "Counter",
        "uses CHECK_DEADLOCK, which TLC 2.15",
    ),
    (
        "models.yaml",
        "tier: nightly",
        "workers: 2",
        "witnesses/MaxIsReached",
        "its trace length is exact with one only",
    ),
    (
        "models.yaml",
        "[ReachesMax]\n\ncfgs",
        "[ReachesMax, Misspelt]\n\ncfgs",
        "models.yaml",
        "`temporal` names Misspelt",
    ),
]


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: f"{edit[0]}: {edit[4]}")
def test_each_rule_is_kept(bench: Bench, edit: tuple[str, str, str, str, str]) -> None:
    """One edit gives one problem, of that cfg, in a sentence."""
    file, old, new, name, why = edit
    bench.edit(file, old, new)
    ((found, sentence),) = said(bench)
    assert found == name
    assert why in sentence


def test_liveness_wants_one_worker(bench: Bench) -> None:
    """A temporal property with two workers is refused, and so is a depth."""
    bench.edit("models.yaml", "    idle:", "    workers: 2\n    idle:")
    liveness, depth = said(bench)
    assert "with 2 workers: TLC may miss a violation" in liveness[1]
    assert "its depth is exact with one only" in depth[1]


def test_symmetry_is_free_without_liveness(bench: Bench) -> None:
    """Safety may be checked under symmetry, with constraints, and with two workers."""
    bench.edit("Counter.cfg", "  ReachesMax\n", "SYMMETRY Sym\nCONSTRAINT Small\n")
    bench.edit("models.yaml", "holds: [safety, liveness]", "holds: [safety]\n    workers: 2")
    bench.edit("models.yaml", "    depth: 4\n", "")
    assert said(bench) == []


def test_counterexamples_have_names_of_their_own(bench: Bench) -> None:
    """A mutant and a witness of one name would be saved as one file, so both are refused."""
    (bench.spec / "mutants" / "NoUp.cfg").rename(bench.spec / "mutants" / "MaxIsReached.cfg")
    bench.edit("models.yaml", "  mutants/NoUp:", "  mutants/MaxIsReached:")
    assert [name for name, _ in said(bench)] == ["mutants/MaxIsReached", "witnesses/MaxIsReached"]
    assert all("Another counterexample is named MaxIsReached" in why for _, why in said(bench))
