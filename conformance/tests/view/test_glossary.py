"""What words mean: every variable that is shown has a sentence, in the terminal and in the page."""

import io
from dataclasses import fields
from pathlib import Path

import pytest
from rich.console import Console

from conformance.tests.view.samples import EVERY_TRACE, ROOT, counterexample, name_of
from conformance.view.cells import cells_of
from conformance.view.glossary import WORDS, meanings, word_of
from conformance.view.page import page_of
from conformance.view.reading import read_walk
from conformance.view.sentences import read_sentences
from conformance.view.snapshot import Look, Run, Snapshot, Task
from conformance.view.terminal import SwimLanes

SENTENCES = read_sentences(ROOT / "spec")


def test_every_variable_has_a_word_and_every_word_a_variable() -> None:
    """Fields of tasks, looks and runs among them."""
    whole = {"task": Task, "look": Look, "run": Run}
    places = [field.name for field in fields(Snapshot) if field.name not in whole]
    places += [f"task[p1].{field.name}" for field in fields(Task)]
    places += [f"look[p1].{field.name}" for field in fields(Look)]
    places += [f"run.{field.name}" for field in fields(Run)]
    assert {word_of(place) for place in places} == set(WORDS)
    assert meanings(places) == dict(WORDS)
    assert meanings(["extra", "asked"]) == {"asked": WORDS["asked"]}


@pytest.mark.parametrize("path", EVERY_TRACE, ids=name_of)
def test_every_word_of_a_cell_is_told_below(path: Path) -> None:
    """Whatever the width; and none that is not shown."""
    walk = read_walk(path)
    console = Console(file=io.StringIO(), width=300, record=True, highlight=False)
    SwimLanes(console, walk, SENTENCES).print()
    lines = console.export_text().splitlines()
    told = {word for word, meaning in WORDS.items() if f"{word}: {meaning}." in map(str.rstrip, lines)}
    shown = {word_of(change.place) for step in walk.steps for change in step.changes}
    assert shown <= told <= shown | {"log", "asked", "taken", "run", "claim", "at"}
    cells = [line for step in walk.steps for line in cells_of(step, walk.processes).notes]
    assert {word_of(line.split()[0]) for line in cells} <= told


def test_the_page_tells_every_word_of_its_states() -> None:
    """Those of the state that it shows beside each step."""
    text = page_of(counterexample("NoSweep"), SENTENCES)
    assert all(f"<dt>{word}</dt>" in text for word in WORDS)
    assert text.count("<summary>") == 1
