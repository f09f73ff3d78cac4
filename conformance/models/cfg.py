"""A TLC configuration file, read as far as the manifest needs it: what it checks and what it replaces."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

_SECTIONS = {
    "SPECIFICATION": "SPECIFICATION",
    "INIT": "INIT",
    "NEXT": "NEXT",
    "CONSTANT": "CONSTANT",
    "CONSTANTS": "CONSTANT",
    "INVARIANT": "INVARIANT",
    "INVARIANTS": "INVARIANT",
    "PROPERTY": "PROPERTY",
    "PROPERTIES": "PROPERTY",
    "SYMMETRY": "SYMMETRY",
    "VIEW": "VIEW",
    "CONSTRAINT": "CONSTRAINT",
    "CONSTRAINTS": "CONSTRAINT",
    "ACTION_CONSTRAINT": "ACTION_CONSTRAINT",
    "ACTION_CONSTRAINTS": "ACTION_CONSTRAINT",
    "CHECK_DEADLOCK": "CHECK_DEADLOCK",
    "ALIAS": "ALIAS",
    "POSTCONDITION": "POSTCONDITION",
}
_COMMENT = re.compile(r"\\\*[^\n]*|\(\*(?:(?!\(\*|\*\)).)*\*\)", re.DOTALL)
_TOKEN = re.compile(r'\s*(?:(?P<word>"[^"\n]*"|<-(?:\[\w+\])?|[={},]|-?[\w!]+)|(?P<wrong>\S))')
_NAME = re.compile(r"[\w!]+")


class CfgError(ValueError):
    """The text is not a TLC configuration: the message says what stands where it should not."""


@dataclass(frozen=True, slots=True)
class Config:
    """What one cfg tells TLC.

    `sections` has the names under each keyword in the singular (`INVARIANT`, `PROPERTY`, `SYMMETRY`, ...);
    a keyword that the cfg does not use is not in it. `values` has each `Name = value` of its constants, and
    `replaces` each `Operator <- Other`.
    """

    sections: Mapping[str, tuple[str, ...]]
    values: Mapping[str, str]
    replaces: Mapping[str, str]

    @property
    def invariants(self) -> tuple[str, ...]:
        """The names under INVARIANT and INVARIANTS, in the cfg's order."""
        return self.sections.get("INVARIANT", ())

    @property
    def properties(self) -> tuple[str, ...]:
        """The names under PROPERTY and PROPERTIES, in the cfg's order: of actions, and temporal."""
        return self.sections.get("PROPERTY", ())

    @property
    def checked(self) -> tuple[str, ...]:
        """All that the cfg makes TLC check: its invariants, then its properties."""
        return self.invariants + self.properties


def parse_cfg(text: str) -> Config:
    """Read the text of a cfg.

    Raises CfgError when a word stands before the first keyword, a section lists something that is no name, a
    constant has no value, or a comment or a set is not closed.
    """
    found: dict[str, list[str]] = defaultdict(list)
    section = None
    for token in _tokens(_without_comments(text)):
        if token in _SECTIONS:
            section = _SECTIONS[token]
            found[section] += []
        elif section is None:
            raise CfgError(f"`{token}` stands before the first keyword, such as SPECIFICATION.")
        else:
            found[section].append(token)
    values, replaces = _constants(found.pop("CONSTANT", []))
    return Config({name: _names(name, tokens) for name, tokens in found.items()}, values, replaces)


def _without_comments(text: str) -> str:
    """The text without its line comments and its block comments, which nest: the innermost go first."""
    shorter = _COMMENT.sub(" ", text)
    if shorter != text:
        return _without_comments(shorter)
    if "(*" in text:
        raise CfgError("A comment that `(*` opens is not closed by `*)`.")
    return text


def _tokens(text: str) -> Iterator[str]:
    """The words and signs of a cfg without comments."""
    for match in _TOKEN.finditer(text):
        if match["wrong"]:
            raise CfgError(f"`{match['wrong']}` means nothing in a cfg.")
        yield match["word"]


def _names(section: str, tokens: Sequence[str]) -> tuple[str, ...]:
    """The tokens of a section other than CONSTANT, each of which must be a name."""
    for token in tokens:
        if not _NAME.fullmatch(token):
            raise CfgError(f"{section} lists `{token}`, which is no name.")
    return tuple(tokens)


def _constants(tokens: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
    """The constants that are given a value, and the operators that are replaced by others."""
    values: dict[str, str] = {}
    replaces: dict[str, str] = {}
    rest = list(tokens)
    while rest:
        name, *after = rest
        match after:
            case ["=", _, *_]:
                values[name], rest = _value(name, after[1:])
            case [sign, operator, *rest] if sign.startswith("<-"):
                replaces[name] = operator
            case _:
                raise CfgError(f"The constant `{name}` has neither `= value` nor `<- Operator` after it.")
    return values, replaces


def _value(name: str, tokens: Sequence[str]) -> tuple[str, list[str]]:
    """The value that the tokens begin with, a word or a set, and the tokens after it."""
    depth = 0
    for count, word in enumerate(tokens, start=1):
        depth += (word == "{") - (word == "}")
        if depth == 0:
            return " ".join(tokens[:count]), list(tokens[count:])
    raise CfgError(f"The set that the constant `{name}` is given is not closed by `}}`.")
