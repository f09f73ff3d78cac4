"""The manifest, spec/models.yaml: every cfg of the model, what is expected of it, and what it may cost."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

MANIFEST = "models.yaml"

Kind = Literal["model", "mutant", "witness"]
Tier = Literal["pull-request", "nightly"]
Count = Annotated[int, Field(ge=1)]
Sentence = Annotated[str, Field(min_length=1)]

_DEFAULTED = ("workers", "seconds", "memory_mb")


class ManifestError(Exception):
    """The manifest cannot be read: each line of the message names an entry and its fault."""


class _Strict(BaseModel):
    """A part of the manifest: it refuses a field it does not know, and a value of another type."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Defaults(_Strict):
    """What an entry that does not say otherwise has.

    `model`, `mutant` and `witness` are the root modules of each kind, relative to spec/; `constants` are the
    operators that any cfg may replace, since they give constants; `recorded_with` is the version of the TLC
    that found the traces of temporal properties; `workers` are TLC's threads, `seconds` about the time that
    an entry takes, `memory_mb` TLC's heap in megabytes.
    """

    model: str
    mutant: str
    witness: str
    constants: list[str] = []
    recorded_with: str | None = None
    workers: Count = 1
    seconds: Count = 60
    memory_mb: Count = 2048


class Entry(_Strict):
    """What an entry of any kind has.

    `module` is the root module, relative to spec/; `replaces` the operators that the cfg replaces, those of
    `defaults.constants` aside; `sha256` the hash of the cfg file; `workers` TLC's threads; `seconds` about
    the time that it takes; `memory_mb` TLC's heap in megabytes.
    """

    tier: Tier = "pull-request"
    module: str
    replaces: list[str] = []
    sha256: str | None = None
    workers: Count
    seconds: Count
    memory_mb: Count


class Model(Entry):
    """A cfg whose every property must hold.

    `holds` are the properties, or names of lists of them; `idle` the actions that its bounds leave no room
    for, and must not fire, while every other one must; `distinct_states` what TLC must find, and `depth`,
    with one worker only, how many states the longest of the shortest ways to one has.
    """

    kind: Literal["model"]
    holds: Annotated[list[str], Field(min_length=1)]
    idle: list[str] = []
    distinct_states: Count | None = None
    depth: Count | None = None


class _Found(Entry):
    """An entry that must end in a counterexample, of `trace_length` states."""

    trace_length: Count | None = None


class Mutant(_Found):
    """A cfg with a rule of the design taken out, so that a property must break.

    `violates` names the property, `rule` says in a sentence which rule is taken out, `note` tells a newcomer
    what the counterexample shows, and `replaces` names at least one operator; `records` is the length in
    states that the records give.
    """

    kind: Literal["mutant"]
    replaces: Annotated[list[str], Field(min_length=1)]
    violates: str
    rule: Sentence
    note: Sentence | None = None
    records: Count | None = None


class Witness(_Found):
    """A cfg that must reach a situation.

    `reaches` names the property that says that it never occurs, and must break; `shows` says what occurs.
    """

    kind: Literal["witness"]
    reaches: str
    shows: Sentence


AnyEntry = Annotated[Model | Mutant | Witness, Field(discriminator="kind")]


class _File(_Strict):
    """The whole of models.yaml."""

    defaults: Defaults
    properties: dict[str, list[str]] = {}
    temporal: list[str] = []
    cfgs: dict[str, AnyEntry]


@dataclass(frozen=True, slots=True)
class Case:
    """One entry, with its name, which is the cfg's path below spec/ without .cfg, and what it is due.

    `expects` are the properties that its cfg must list, lists of names spelt out; `temporal` those among them
    that TLC checks as temporal formulas, and whose violation it does not name; `recorded_with` is the version
    of the TLC that the manifest's traces come from, if it says.
    """

    name: str
    entry: Model | Mutant | Witness
    expects: tuple[str, ...]
    temporal: tuple[str, ...]
    spec_dir: Path
    recorded_with: str | None = None

    @property
    def cfg(self) -> Path:
        """The cfg file."""
        return cfg_path(self.spec_dir, self.name)

    @property
    def module(self) -> Path:
        """The root module's file."""
        return self.spec_dir / self.entry.module

    @property
    def slug(self) -> str:
        """The name that its counterexample is saved under."""
        return Path(self.name).name

    @property
    def checks(self) -> str:
        """What it checks, as the manifest words it."""
        match self.entry:
            case Model(holds=holds):
                return ", ".join(holds)
            case _:
                return self.expects[0]


@dataclass(frozen=True, slots=True)
class Manifest:
    """The manifest, read: its cases in the file's order, and the two lists that rules need."""

    path: Path
    cases: tuple[Case, ...]
    temporal: tuple[str, ...]
    constants: tuple[str, ...]


def cfg_path(spec_dir: Path, name: str) -> Path:
    """The cfg file of the entry `name` below `spec_dir`."""
    return spec_dir / f"{name}.cfg"


def load_manifest(spec_dir: Path) -> Manifest:
    """Read and validate models.yaml in `spec_dir`.

    Raises ManifestError when there is no such file, it is not YAML, or a field of an entry is unknown,
    missing or of a wrong type.
    """
    path = spec_dir / MANIFEST
    file = _validated(path, _read(path))
    cases = tuple(_case(name, entry, file, spec_dir) for name, entry in file.cfgs.items())
    return Manifest(path, cases, tuple(file.temporal), tuple(file.defaults.constants))


def _read(path: Path) -> object:
    """What the YAML says, as plain dicts and lists."""
    try:
        return YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ManifestError(
            f"{path.name} cannot be read: {error.strerror}. It belongs in {path.parent}."
        ) from error
    except (YAMLError, UnicodeDecodeError) as error:
        raise ManifestError(f"{path.name} is not valid YAML. {error}") from error


def _validated(path: Path, raw: object) -> _File:
    """The manifest's content, each entry completed by the defaults first."""
    try:
        return _File.model_validate(_completed(raw))
    except ValidationError as error:
        lines = (f"{path.name}: {_sentence(each)}" for each in error.errors())
        raise ManifestError("\n".join(lines)) from error


def _completed(raw: object) -> object:
    """The raw manifest with the defaults in each entry; if those are wrong, without entries."""
    if not isinstance(raw, dict) or not isinstance(raw.get("cfgs"), dict):
        return raw
    try:
        defaults = Defaults.model_validate(raw.get("defaults"))
    except ValidationError:
        return {**raw, "cfgs": {}}
    return {**raw, "cfgs": {name: _with_defaults(entry, defaults) for name, entry in raw["cfgs"].items()}}


def _with_defaults(entry: object, defaults: Defaults) -> object:
    """An entry with the defaults for what it does not say; what is no mapping is left to be refused."""
    if not isinstance(entry, dict):
        return entry
    module = {"module": getattr(defaults, entry["kind"])} if entry.get("kind") in get_args(Kind) else {}
    return module | {name: getattr(defaults, name) for name in _DEFAULTED} | entry


def _sentence(error: ErrorDetails) -> str:
    """What one validation error says, with the entry and the field that it is about."""
    entry, field = _place(error["loc"])
    about = f"{entry}: `{field}`" if field else entry
    match error["type"]:
        case "extra_forbidden":
            return f"{about} is no field here; correct its name or take it out."
        case "missing":
            return f"{about} is missing; add it."
        case "union_tag_not_found":
            return f"{about}: `kind` is missing; say model, mutant or witness."
        case _:
            return f"{about}: {error['msg']}."


def _place(location: tuple[int | str, ...]) -> tuple[str, str]:
    """The entry and the field, if it is about one, that a validation error is located at."""
    match location:
        case ("cfgs", entry, kind, *field) if kind in get_args(Kind):
            pass
        case ("cfgs", entry, *field) | (entry, *field):
            pass
        case _:
            entry, field = "the file", []
    return str(entry), ".".join(map(str, field))


def _case(name: str, entry: Model | Mutant | Witness, file: _File, spec_dir: Path) -> Case:
    """The entry, with the properties that its cfg must list."""
    expects = _expected(entry, file.properties)
    temporal = tuple(each for each in expects if each in file.temporal)
    return Case(name, entry, expects, temporal, spec_dir, file.defaults.recorded_with)


def _expected(entry: Model | Mutant | Witness, lists: Mapping[str, list[str]]) -> tuple[str, ...]:
    """The properties that an entry's cfg must list, each name of a list replaced by the list's members."""
    match entry:
        case Model(holds=holds):
            return tuple(member for name in holds for member in lists.get(name, [name]))
        case Mutant(violates=name) | Witness(reaches=name):
            return (name,)
