"""The mutants' twins: for each of spec/mutants/, the real runner with that one rule taken out."""

from collections.abc import Mapping

from conformance.mutants import answers, apart, cursors, direct, fences, grants, handovers, looks, plans
from conformance.mutants.twin import Twin

TWINS: Mapping[str, Twin] = {
    twin.name: twin
    for module in (fences, cursors, plans, answers, apart, grants, handovers, looks, direct)
    for twin in module.TWINS
}
"""Every twin, by its mutant's name."""
