"""The guards of a module, found by SANY, the parser that TLC itself uses: nothing here reads TLA+.

A guard is a part of what an action asks for before it does anything: a conjunct that speaks of no next state;
a disjunct of such a conjunct; the condition of an IF or of a CASE; the whole of an operator that is used as
any of these. All that the next-state action names is looked through, and all that that names in turn.
"""

import subprocess
import tempfile
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from conformance.tlc.tools import Tools

_SANY_SECONDS = 60.0
_CONJUNCTION, _DISJUNCTION = frozenset({"$ConjList", "\\land"}), frozenset({"$DisjList", "\\lor"})
_STATE = 1  # SANY's level of what speaks of one state; 0 is a constant, 2 an action

As = Literal["TRUE", "FALSE"]


class SanyError(Exception):
    """SANY could not read the module; the message is what it said."""


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Where an expression is: its first and last line and column, each from 1, the last ones included."""

    line: int
    column: int
    last_line: int
    last_column: int


@dataclass(frozen=True, slots=True, order=True)
class Guard:
    """A guard, and what it is replaced by to see what it is for.

    Attributes:
        place: Where it is in the module.
        action: The operator whose definition it is in.
        text: Its text, each run of blanks made one.
        becomes: What takes it out: TRUE for a conjunct, FALSE for a disjunct; a condition is two guards.
        nth: Which one it is, from 1, of those in the action with the same text and replacement.
    """

    place: Place
    action: str
    text: str
    becomes: As
    nth: int = 1

    @property
    def name(self) -> str:
        """What people call it: `Claim/Wanted`, `Max/a > b = FALSE`, `Cancel/x > 0 (2)`."""
        return name_of(self.action, self.text, self.becomes, self.nth)


def name_of(action: str, text: str, becomes: As, nth: int) -> str:
    """What people call a guard: its operator, its text, FALSE if it becomes that, its number from 2 on."""
    false = " = FALSE" if becomes == "FALSE" else ""
    return f"{action}/{text}{false}" + (f" ({nth})" if nth > 1 else "")


def find_guards(module: Path, tools: Tools, root: str = "Next") -> list[Guard]:
    """Find the guards of the operator `root` and of all that it names in the module's file, in their order.

    Raises:
        SanyError: SANY cannot read the module, or it defines no such operator.
        OSError: Java cannot be started, or the file cannot be read.
    """
    search = _Search(_exported(module, tools), module.stem, module.read_text(encoding="utf-8"))
    return _numbered(sorted(set(search.guards_of(root))))


def without(guard: Guard, text: str) -> str:
    """The module's `text` with the guard replaced, and all else where it is, as conjunction lists need it.

    Only what follows a guard that is shorter than its replacement moves to the right, in the guard's line.
    """
    lines, place = text.split("\n"), guard.place
    first, last = lines[place.line - 1], lines[place.last_line - 1]
    before, after = first[: place.column - 1], last[place.last_column :]
    if place.line == place.last_line:
        width = place.last_column - place.column + 1
        lines[place.line - 1] = before + guard.becomes.ljust(width) + after
    else:
        between = [""] * (place.last_line - place.line - 1)
        blank = " " * place.last_column
        lines[place.line - 1 : place.last_line] = [before + guard.becomes, *between, (blank + after).rstrip()]
    return "\n".join(lines)


def _numbered(guards: list[Guard]) -> list[Guard]:
    """The guards, those with the same name numbered in their order."""
    seen: Counter[str] = Counter()
    numbered = []
    for guard in guards:
        seen[guard.name] += 1
        numbered.append(replace(guard, nth=seen[guard.name]))
    return numbered


def _exported(module: Path, tools: Tools) -> ET.Element:
    """What SANY makes of the module, as XML."""
    with tempfile.TemporaryDirectory(prefix="sany-") as folder:
        done = subprocess.run(
            [
                str(tools.java.path),
                f"-Djava.io.tmpdir={folder}",
                "-Dfile.encoding=UTF-8",
                "-cp",
                str(tools.jar.path),
                "tla2sany.xml.XMLExporter",
                "-o",  # does not look for the XML's schema
                module.name,
            ],
            cwd=module.parent,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=_SANY_SECONDS,
            check=False,
        )
    start = done.stdout.find("<?xml")
    if done.returncode or start < 0:
        raise SanyError(f"SANY cannot read {module.name}: {(done.stdout + done.stderr).strip()}")
    return ET.fromstring(done.stdout[start:])  # noqa: S314 - SANY made it, from a module of ours


class _Search:
    """Goes through the definitions of one module, from one of them, each once."""

    def __init__(self, exported: ET.Element, module: str, text: str) -> None:
        """Look through `module`, whose text this is, in what SANY `exported`."""
        self._module, self._lines = module, text.split("\n")
        self._entries = {each.findtext("UID", ""): each[1] for each in exported.iterfind("context/entry")}
        self._queue: list[tuple[ET.Element, bool]] = []
        self._done: set[tuple[str, bool]] = set()
        self._action = ""

    def guards_of(self, root: str) -> Iterator[Guard]:
        """The guards of the operator `root`, and of all that it names."""
        own = {self._name(entry): entry for entry in self._entries.values() if self._is_ours(entry)}
        if root not in own:
            raise SanyError(f"{self._module} defines no operator {root}; name its next-state action.")
        self._queue = [(own[root], True)]
        while self._queue:
            definition, asked = self._queue.pop()
            yield from self._of_definition(definition, asked)

    def _of_definition(self, definition: ET.Element, asked: bool) -> Iterator[Guard]:
        """The guards in a definition; is it `asked` whether it is true, or what its value is?"""
        name, body = self._name(definition), definition.find("body/*")
        if (name, asked) in self._done or body is None:
            return
        self._done.add((name, asked))
        self._action = name
        if asked and _level(body) == _STATE and self._operator(body) not in _CONJUNCTION:
            yield self._guard(body, "TRUE")
        yield from self._of_asked(body) if asked else self._of_value(body)

    def _of_asked(self, node: ET.Element) -> Iterator[Guard]:
        """The guards in an expression that is asked whether it is true."""
        operator = self._operator(node)
        if operator in _CONJUNCTION:
            yield from self._of_list(node, _CONJUNCTION, "TRUE")
        elif operator in _DISJUNCTION:
            yield from self._of_list(node, _DISJUNCTION, "FALSE")
        elif operator == "$IfThenElse":
            condition, *branches = _operands(node)
            yield from self._of_condition(condition)
            for branch in branches:
                yield from self._of_asked(branch)
        elif operator in ("\\lnot", "$BoundedExists"):
            for operand in _operands(node):
                yield from self._of_asked(operand)
        elif node.tag == "LetInNode":
            yield from self._of_asked(node.findall("body/*")[0])
        else:
            self._name_definition(node, asked=True)
            yield from self._of_parts(node)

    def _of_list(self, node: ET.Element, alike: frozenset[str], becomes: As) -> Iterator[Guard]:
        """The guards in a conjunction or a disjunction: a list in one of the same kind is the same list."""
        for part in _operands(node):
            if _level(part) <= _STATE and self._operator(part) not in alike:
                yield self._guard(part, becomes)
            yield from self._of_asked(part)

    def _of_condition(self, node: ET.Element) -> Iterator[Guard]:
        """The guards in a condition: it is one itself, either way, unless it is an OTHER."""
        if node.tag == "StringNode":
            return
        yield self._guard(node, "TRUE")
        yield self._guard(node, "FALSE")
        yield from self._of_asked(node)

    def _of_value(self, node: ET.Element) -> Iterator[Guard]:
        """The guards in an expression that is asked for its value: the conditions that decide it."""
        if self._operator(node) == "$IfThenElse":
            condition, *branches = _operands(node)
            yield from self._of_condition(condition)
            for branch in branches:
                yield from self._of_value(branch)
        elif self._operator(node) == "$Case":
            for arm in _operands(node):
                condition, value = _operands(arm)
                yield from self._of_condition(condition)
                yield from self._of_value(value)
        else:
            self._name_definition(node, asked=False)
            yield from self._of_parts(node)

    def _of_parts(self, node: ET.Element) -> Iterator[Guard]:
        """The guards in the parts of an expression."""
        if node.tag == "AtNode":  # its parts are those of the EXCEPT that it is in
            return
        for path in ("operands/*", "body/*", "boundSymbols/bound/*"):
            for part in node.iterfind(path):
                yield from self._of_value(part)

    def _name_definition(self, node: ET.Element, *, asked: bool) -> None:
        """Note the definition of the operator that is applied, if it is one of the module's."""
        reference = node.find("operator/*")
        entry = None if reference is None else self._entries.get(reference.findtext("UID", ""))
        if entry is not None and self._is_ours(entry):
            self._queue.append((entry, asked))

    def _guard(self, node: ET.Element, becomes: As) -> Guard:
        """The expression as a guard of the definition that is looked through."""
        place = _place(node)
        lines = self._lines[place.line - 1 : place.last_line]
        lines[-1] = lines[-1][: place.last_column]
        lines[0] = lines[0][place.column - 1 :]
        return Guard(place, self._action, " ".join(" ".join(lines).split()), becomes)

    def _operator(self, node: ET.Element) -> str:
        """The name of the operator that an expression applies, or nothing."""
        reference = node.find("operator/*")
        entry = None if reference is None else self._entries.get(reference.findtext("UID", ""))
        return "" if entry is None else self._name(entry)

    def _is_ours(self, entry: ET.Element) -> bool:
        """Whether the module itself defines this operator."""
        return entry.tag == "UserDefinedOpKind" and entry.findtext("location/filename") == self._module

    @staticmethod
    def _name(entry: ET.Element) -> str:
        """The name of an operator."""
        return entry.findtext("uniquename", "")


def _operands(node: ET.Element) -> list[ET.Element]:
    """What an operator is applied to."""
    return node.findall("operands/*")


def _level(node: ET.Element) -> int:
    """SANY's level of an expression."""
    return int(node.findtext("level", "0"))


def _place(node: ET.Element) -> Place:
    """Where an expression is."""
    where = ("line/begin", "column/begin", "line/end", "column/end")
    return Place(*(int(node.findtext(f"location/{each}", "0")) for each in where))
