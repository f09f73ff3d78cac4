"""What the tests of the model read of spec/ and traces/."""

import re
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from conformance.model.behaviour import Behaviour, behaviour_of
from conformance.model.cfgs import constants_of, never_of
from conformance.model.model import Model
from conformance.model.mutants import mutant, spec_of
from conformance.models import manifest
from conformance.models.cfg import Config, parse_cfg
from conformance.models.manifest import load_manifest
from conformance.properties import PROPERTIES, Property
from conformance.tlc.itf import load_trace
from conformance.tlc.result import Trace

ROOT = Path(__file__).resolve().parents[3]
SPEC = ROOT / "spec"
TRACES = ROOT / "traces"
MUTANTS = tuple(sorted(path.stem for path in (SPEC / "mutants").glob("*.cfg")))
MANIFEST = load_manifest(SPEC)


def read_cfg(path: Path) -> Config:
    """Read a cfg."""
    return parse_cfg(path.read_text(encoding="utf-8"))


def defined(module: str) -> set[str]:
    """Return the names of the operators that a module of spec/ defines."""
    text = (SPEC / module).read_text(encoding="utf-8")
    return set(re.findall(r"^(\w+)(?:\([^)]*\))?\s*==", text, re.MULTILINE))


def pinned(name: str) -> manifest.Model:
    """Return what the manifest says of a model."""
    (entry,) = (case.entry for case in MANIFEST.cases if case.name == name)
    assert isinstance(entry, manifest.Model)
    return entry


@dataclass(frozen=True)
class MutantCase:
    """A mutant of spec/mutants/, with its trace."""

    name: str

    @cached_property
    def config(self) -> Config:
        """Its cfg."""
        return read_cfg(SPEC / "mutants" / f"{self.name}.cfg")

    @cached_property
    def model(self) -> Model:
        """The mutant."""
        return mutant(self.name, self.config)(constants_of(self.config), never_of(self.config))

    @cached_property
    def design(self) -> Model:
        """The model within the same bounds, with the design's own rules."""
        base, _ = spec_of(self.name, self.config)
        return base(constants_of(self.config), never_of(self.config))

    @cached_property
    def trace(self) -> Trace:
        """TLC's counterexample."""
        return load_trace(TRACES / f"{self.name}.itf.json")[0]

    @cached_property
    def behaviour(self) -> Behaviour:
        """The trace, as a behaviour of the mutant."""
        return behaviour_of(self.model, self.trace)

    @property
    def broken(self) -> Property:
        """The property that its cfg checks, and that must break."""
        (name,) = self.config.checked
        return PROPERTIES[name]

    @property
    def restarts(self) -> bool:
        """Whether a dead process starts again."""
        return self.config.sections["SPECIFICATION"] != ("NoRestartSpec",)


@cache
def mutant_case(name: str) -> MutantCase:
    """Return the mutant of this name, read once."""
    return MutantCase(name)
