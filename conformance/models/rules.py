"""The rules that the cfgs and the manifest must keep before TLC runs: fast, and without Java."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from conformance.models.cfg import CfgError, Config, parse_cfg
from conformance.models.manifest import MANIFEST, Case, Manifest, Model, cfg_path, load_manifest

_NOT_IN_TLC_2_15 = ("CHECK_DEADLOCK", "ALIAS", "POSTCONDITION")
_WRONG_BESIDE_TEMPORAL = ("SYMMETRY", "CONSTRAINT", "ACTION_CONSTRAINT", "VIEW")


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with the cfg `name`, in a sentence; `stale` if `--update` is the way to mend it."""

    name: str
    why: str
    stale: bool = False


def check_manifest(spec_dir: Path) -> list[Problem]:
    """All that is wrong with models.yaml and the cfgs below `spec_dir`, without running TLC.

    Raises ManifestError when models.yaml cannot be read.
    """
    return find_problems(load_manifest(spec_dir), spec_dir)


def find_problems(manifest: Manifest, spec_dir: Path) -> list[Problem]:
    """All that is wrong with a manifest that was read, and with the cfgs below `spec_dir`."""
    of_cases = (problem for case in manifest.cases for problem in _of_case(case, manifest))
    return [*of_cases, *_unlisted(manifest, spec_dir), *_shared_slugs(manifest), *_idle_temporal(manifest)]


def hash_of(cfg: Path) -> str:
    """The SHA-256 of a cfg file, in hexadecimal. Raises OSError when it cannot be read."""
    return hashlib.sha256(cfg.read_bytes()).hexdigest()


def _of_case(case: Case, manifest: Manifest) -> Iterator[Problem]:
    """What is wrong with one entry and its cfg."""
    if not case.module.is_file():
        yield Problem(case.name, f"Its module, {case.entry.module}, does not exist; correct `module`.")
    if not case.cfg.is_file():
        yield Problem(
            case.name,
            "The manifest lists it, but there is no such cfg; restore it or delete its entry.",
        )
        return
    yield from _of_hash(case)
    try:
        config = parse_cfg(case.cfg.read_text(encoding="utf-8"))
    except (CfgError, UnicodeDecodeError) as error:
        yield Problem(case.name, f"{case.name}.cfg cannot be read. {error}")
        return
    sentences = (*_of_properties(case, config), *_of_replacements(case, config, manifest.constants))
    sentences += (*_of_temporal(case, config), *_of_counts(case), *_of_versions(config))
    yield from (Problem(case.name, sentence) for sentence in sentences)


def _of_hash(case: Case) -> Iterator[Problem]:
    """A cfg whose content is not the one that its counts were taken from."""
    found, expected = hash_of(case.cfg), case.entry.sha256
    if expected is None:
        yield Problem(case.name, "The manifest has no hash of its cfg; `--update` writes it.", stale=True)
    elif found != expected:
        why = (
            f"Its hash is stale: the manifest has {expected[:12]}..., the cfg is {found[:12]}.... It was "
            "edited since: undo that, or let `--update` write the new hash for review."
        )
        yield Problem(case.name, why, stale=True)


def _of_properties(case: Case, config: Config) -> Iterator[str]:
    """Properties that only one of cfg and manifest names."""
    missing = [name for name in case.expects if name not in config.checked]
    unnamed = [name for name in config.checked if name not in case.expects]
    if missing:
        yield f"The cfg does not check {_listed(missing)}, which the manifest expects; correct one of them."
    if unnamed:
        yield f"The cfg checks {_listed(unnamed)}, which the manifest does not name; correct one of the two."
    if misplaced := [name for name in case.temporal if name in config.invariants]:
        yield f"{_listed(misplaced)} is temporal; the cfg must list it as a PROPERTY, not an INVARIANT."


def _of_replacements(case: Case, config: Config, constants: Iterable[str]) -> Iterator[str]:
    """Operators that only one of cfg and manifest says are replaced; those that give a constant are free."""
    found = set(config.replaces) - set(constants)
    expected = set(case.entry.replaces)
    if unnamed := sorted(found - expected):
        yield f"The cfg replaces {_listed(unnamed)}, which the manifest's `replaces` does not name."
    if missing := sorted(expected - found):
        yield f"The manifest's `replaces` names {_listed(missing)}, which the cfg does not replace."


def _of_temporal(case: Case, config: Config) -> Iterator[str]:
    """What makes TLC's answer about a temporal property wrong without a word."""
    if not case.temporal:
        return
    what = f"It checks {_listed(case.temporal)}, which is temporal"
    for section in _WRONG_BESIDE_TEMPORAL:
        if section in config.sections:
            yield f"{what}, beside {section}: TLC's answer may be wrong, silently. Take {section} out."
    if case.entry.workers != 1:
        yield f"{what}, with {case.entry.workers} workers: TLC may miss a violation. Set `workers: 1`."


def _of_counts(case: Case) -> Iterator[str]:
    """Counts that are exact with one worker only."""
    if case.entry.workers == 1:
        return
    if not isinstance(case.entry, Model):
        yield f"It has {case.entry.workers} workers; its trace length is exact with one only. Set 1."
    elif case.entry.depth is not None:
        yield f"It has {case.entry.workers} workers; its depth is exact with one only. Take `depth` out."


def _of_versions(config: Config) -> Iterator[str]:
    """Keywords that only newer versions of TLC know."""
    for section in _NOT_IN_TLC_2_15:
        if section in config.sections:
            yield f"The cfg uses {section}, which TLC 2.15 does not know; take it out."


def _unlisted(manifest: Manifest, spec_dir: Path) -> Iterator[Problem]:
    """Cfgs that nobody listed."""
    listed = {cfg_path(spec_dir, case.name) for case in manifest.cases}
    for cfg in sorted(set(spec_dir.rglob("*.cfg")) - listed):
        name = cfg.relative_to(spec_dir).with_suffix("").as_posix()
        yield Problem(
            name, "The cfg is not in the manifest; list it with what is expected of it, or delete it."
        )


def _shared_slugs(manifest: Manifest) -> Iterator[Problem]:
    """Counterexamples that would be saved under one name."""
    counterexamples = [case for case in manifest.cases if not isinstance(case.entry, Model)]
    uses = Counter(case.slug for case in counterexamples)
    for case in counterexamples:
        if uses[case.slug] > 1:
            yield Problem(
                case.name, f"Another counterexample is named {case.slug} too; rename one of the two cfgs."
            )


def _idle_temporal(manifest: Manifest) -> Iterator[Problem]:
    """Names in `temporal` that are no property of any cfg: a misspelt one would turn its rules off."""
    used = {name for case in manifest.cases for name in case.temporal}
    for name in manifest.temporal:
        if name not in used:
            yield Problem(
                MANIFEST, f"`temporal` names {name}, which no entry expects; correct or remove the name."
            )


def _listed(names: Iterable[str]) -> str:
    """The names, one after the other, for a sentence."""
    return ", ".join(names)
