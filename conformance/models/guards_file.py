"""spec/guards.yaml: what each guard of the model is for; reading it, comparing it, and writing findings."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import YAMLError

from conformance.models.guards import As, Guard, name_of
from conformance.models.guards_run import CANNOT_EVALUATE, Probe
from conformance.models.manifest import Count, Sentence

GUARDS = "guards.yaml"

_UPDATE = "`--update` writes the new finding for review"


class GuardsError(Exception):
    """guards.yaml cannot be read, or does not fit the manifest: the message says what to correct."""


class _Strict(BaseModel):
    """A part of the file: it refuses a field it does not know, and a value of another type."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Entry(_Strict):
    """What names a guard within its action: its text, what it becomes, and which one of the same it is."""

    guard: Sentence
    becomes: As = "TRUE"
    nth: Count = 1


E = TypeVar("E", bound=Entry)


class Bound(Entry):
    """A guard that bounds the search: without it there is no end of states, so it is never taken out."""

    why: Sentence


class Listed(Entry):
    """A guard, and what is known of it.

    Either `breaks` names the property that breaks without it, `cfg` a model that shows it (not always one of
    `models`) and `states` the length of the counterexample, or `harmless` says why nothing breaks. A new one
    may have neither yet.
    """

    breaks: Sentence | None = None
    cfg: Sentence | None = None
    states: Count | None = None
    harmless: Sentence | None = None


class _File(_Strict):
    """The whole of guards.yaml."""

    models: Annotated[list[str], Field(min_length=1)]
    bounds: dict[str, list[Bound]] = {}
    guards: dict[str, list[Listed]] = {}


@dataclass(frozen=True, slots=True)
class GuardList:
    """The file, read: the models in the order in which they are tried, and the guards by name."""

    path: Path
    models: tuple[str, ...]
    bounds: Mapping[str, Bound]
    guards: Mapping[str, Listed]


def load_guards(spec_dir: Path) -> GuardList:
    """Read and validate guards.yaml in `spec_dir`.

    Raises GuardsError when there is no such file, it is not YAML, a field is unknown, missing or of a wrong
    type, or a guard is there twice.
    """
    path = spec_dir / GUARDS
    try:
        raw = YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))
        file = _File.model_validate(raw)
    except OSError as error:
        raise GuardsError(f"{GUARDS} cannot be read: {error.strerror}. It belongs in {spec_dir}.") from error
    except (YAMLError, UnicodeDecodeError) as error:
        raise GuardsError(f"{GUARDS} is not valid YAML. {error}") from error
    except ValidationError as error:
        lines = (f"{GUARDS}: {'.'.join(map(str, each['loc']))}: {each['msg']}." for each in error.errors())
        raise GuardsError("\n".join(lines)) from error
    bounds, guards = _by_name(file.bounds), _by_name(file.guards)
    if both := bounds.keys() & guards.keys():
        raise GuardsError(f"{GUARDS} lists {min(both)} as a bound and as a guard; take one of them out.")
    return GuardList(path, tuple(file.models), bounds, guards)


def _by_name(actions: Mapping[str, Sequence[E]]) -> dict[str, E]:
    """The entries by their names, none of which may be there twice."""
    named: dict[str, E] = {}
    for action, entries in actions.items():
        for entry in entries:
            name = name_of(action, entry.guard, entry.becomes, entry.nth)
            if name in named:
                raise GuardsError(f"{GUARDS} lists {name} twice; take one out, or give it its `nth`.")
            named[name] = entry
    return named


def compare(listed: Listed | None, probe: Probe) -> tuple[str, ...]:
    """What is not as the file says it is, in sentences; none if all is."""
    if probe.trouble:
        return (f"TLC could not tell what breaks without it. {probe.trouble}",)
    found = say(probe)
    if listed is None:
        return (f"{GUARDS} does not list it: {found}; {_UPDATE}.",)
    if probe.breaks is None:
        return tuple(_of_harmless(listed))
    said = (listed.breaks, listed.cfg, listed.states)
    if said == (probe.breaks.property, probe.breaks.cfg, probe.breaks.states):
        return ()
    return (f"{GUARDS} says {_said(listed)}, but {found}; {_UPDATE}.",)


def say(probe: Probe) -> str:
    """What came of taking a guard out, as the middle of a sentence."""
    if probe.breaks is None:
        return "without it nothing breaks"
    return "without it " + _broken(probe.breaks.property, probe.breaks.cfg, probe.breaks.states)


def _said(listed: Listed) -> str:
    """What the file says of a guard, as the middle of a sentence."""
    if listed.breaks is None:
        return f"nothing breaks without it ({listed.harmless or 'but not why'})"
    return _broken(listed.breaks, listed.cfg, listed.states) + " without it"


def _broken(what: str, cfg: str | None, states: int | None) -> str:
    """What breaks, where, and after how many states if that is known, in words."""
    after = f" after {states} states" if states else ""
    if what == CANNOT_EVALUATE:
        return f"TLC cannot evaluate {cfg}{after}"
    return f"{what} breaks in {cfg}{after}"


def _of_harmless(listed: Listed) -> Iterable[str]:
    """What is wrong with the entry of a guard without which nothing breaks."""
    if listed.breaks is not None:
        yield f"{GUARDS} says {_said(listed)}, but nothing breaks; {_UPDATE}."
    elif listed.harmless is None:
        yield (
            f"Nothing breaks without it, and {GUARDS} does not say why: write a sentence under `harmless`, "
            "or take the guard out of the model."
        )


def write_findings(guards: GuardList, found: Sequence[Guard], probes: Mapping[str, Probe]) -> bool:
    """Write into guards.yaml what the `probes`, by name, came to; return whether anything was new.

    When the model's guards are others than the file's, its entries are put into the order of those that were
    `found`, without those of other guards and with new ones, if they were probed; comments between entries
    may be lost then. A sentence is never written, and goes only with a guard that now breaks something, or
    is not there any more.
    """
    yaml = _round_trip()
    before = guards.path.read_text(encoding="utf-8")
    text = yaml.load(before)
    entries = _entries(text.get("guards") or {})
    wanted = [each for each in found if each.name in entries or each.name in probes]
    if list(entries) != [guard.name for guard in wanted]:
        text["guards"] = _arranged(wanted, entries)
        entries = _entries(text["guards"])
    for name, probe in probes.items():
        _set(entries[name], probe)
    with guards.path.open("w", encoding="utf-8") as file:
        yaml.dump(text, file)
    return guards.path.read_text(encoding="utf-8") != before


def _arranged(guards: Iterable[Guard], entries: Mapping[str, CommentedMap]) -> CommentedMap:
    """The entries of the guards under their actions, in the guards' order; a new one where there is none."""
    actions = CommentedMap()
    for guard in guards:
        entry = entries[guard.name] if guard.name in entries else _new(guard)
        actions.setdefault(guard.action, CommentedSeq()).append(entry)
    return actions


def _round_trip() -> YAML:
    """A reader and writer that keeps comments, quotes, order and long lines."""
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 10_000
    yaml.indent(mapping=2, sequence=4, offset=2)
    return yaml


def _entries(actions: Mapping[str, Sequence[CommentedMap]]) -> dict[str, CommentedMap]:
    """The entries of the file, by name."""
    return {
        name_of(action, entry["guard"], entry.get("becomes", "TRUE"), entry.get("nth", 1)): entry
        for action, entries in actions.items()
        for entry in entries
    }


def _new(guard: Guard) -> CommentedMap:
    """An entry that says no more than which guard it is of."""
    entry = CommentedMap(guard=guard.text)
    if guard.becomes != "TRUE":
        entry["becomes"] = guard.becomes
    if guard.nth != 1:
        entry["nth"] = guard.nth
    return entry


def _set(entry: CommentedMap, probe: Probe) -> None:
    """Set in an entry what its guard's probe came to; if TLC could not tell, nothing."""
    if probe.trouble:
        return
    fields: tuple[str | None, str | None, int | None] = (None, None, None)
    if probe.breaks is not None:
        fields = (probe.breaks.property, probe.breaks.cfg, probe.breaks.states)
        entry.pop("harmless", None)
    for name, value in zip(("breaks", "cfg", "states"), fields, strict=True):
        if value is None:
            entry.pop(name, None)
        else:
            entry[name] = value
