"""A trace as a page: one file that needs no network, with its steps to walk through by keyboard or mouse."""

import base64
import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.etree.ElementTree import Element

from conformance.tlc.values import print_value
from conformance.view.elements import element, written
from conformance.view.judge import Broken
from conformance.view.table import glossary, legend, table_of
from conformance.view.telling import (
    LOOP,
    doubts,
    facts_of,
    headline,
    kind_of,
    said_of,
    title_of,
    verdicts,
    where,
)
from conformance.view.walk import Step, Walk, ending, place_text

_HERE = Path(__file__).parent
_GROUPS_OF_THREAD = ("asked", "taken", "lease", "log", "run.st", "run.by")
_BUTTONS = (("first", "First step", "\u21e4"), ("previous", "Previous step", "\u2190"))
_MORE_BUTTONS = (("next", "Next step", "\u2192"), ("last", "Last step", "\u21e5"))


def write_page(path: Path, walk: Walk, sentences: dict[str, str]) -> None:
    """Write a trace's page to `path`, and make its folder.

    Args:
        path: Where to.
        walk: The trace.
        sentences: Each property's sentence by its name.

    Raises:
        OSError: It cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page_of(walk, sentences), encoding="utf-8")


def page_of(walk: Walk, sentences: dict[str, str]) -> str:
    """Return a trace's page."""
    style, script = ((_HERE / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", http_equiv="Content-Security-Policy", content=_policy(style, script)),
        element("title", f"{walk.name}: a trace of ThreadClaim"),
        element("style", style),
    )
    body = element(
        "body",
        _header(walk),
        element("main", _walker(), _lanes(walk, sentences)),
        element("script", embedded(data_of(walk, sentences)), type="application/json", id="trace"),
        element("script", script),
    )
    return written(element("html", head, body, lang="en"))


def embedded(data: object) -> str:
    """Return data as JSON for a page's script: nothing in it ends the script, or begins a comment."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return text.translate({ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"})


def data_of(walk: Walk, sentences: dict[str, str]) -> dict[str, object]:
    """Return what the page's script shows: of each step its words, and the whole state that it leads to."""
    after = ending(walk)
    steps = [_step(walk, step, sentences) for step in walk.steps]
    steps[-1]["after"] = f"{LOOP} {after}" if after else ""
    return {"name": walk.name, "steps": steps}


def _policy(style: str, script: str) -> str:
    """Return the page's policy: this style and this script, and nothing from anywhere else."""
    style_hash, script_hash = (
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style, script)
    )
    return (
        f"default-src 'none'; style-src 'sha256-{style_hash}'; script-src 'sha256-{script_hash}';"
        " base-uri 'none'; form-action 'none'"
    )


def _header(walk: Walk) -> Element:
    """Return what the trace is, and what it breaks."""
    facts = [
        element("div", element("dt", f"{key}:"), element("dd", text)) for key, text in facts_of(walk).items()
    ]
    return element(
        "header",
        element("h1", walk.name),
        element("p", kind_of(walk), class_="meta"),
        *(element("p", text) for text in said_of(walk)),
        *([element("dl", *facts, class_="meta")] if facts else []),
        *(_verdict(heading, breaks) for heading, breaks in verdicts(walk)),
        *(element("p", doubt, class_="verdict is-broken") for doubt in doubts(walk)),
    )


def _verdict(heading: str, breaks: Sequence[Broken]) -> Element:
    """Return some of what is broken, each with a link to its step."""
    if not breaks:
        return element("p", f"{heading}.", class_="verdict")
    said = element("p", f"{heading}: ", class_="verdict is-broken")
    for index, broken in enumerate(breaks):
        link = element("a", where(broken), href=f"#step-{broken.step + 1}")
        link.tail = "." if index == len(breaks) - 1 else ", "
        said.append(link)
    return said


def _walker() -> Element:
    """Return where the script shows a step; without the script it stays hidden."""
    where = element("output", id="where")
    controls = [*map(_button, _BUTTONS), where, *map(_button, _MORE_BUTTONS)]
    return element(
        "section",
        element("div", *controls, class_="controls", role="group", aria_label="Walk"),
        element("p", "Arrow keys, Home and End walk; so does a click on a step.", class_="keys"),
        element("div", class_="told", id="told", aria_live="polite", aria_atomic="true"),
        element(
            "div",
            element("h3", "The state after it"),
            element("ol", class_="positions", id="log", aria_label="The log"),
            element("div", id="places"),
            class_="state",
        ),
        class_="walker",
        id="walker",
        hidden="hidden",
        aria_label="One step",
    )


def _button(button: tuple[str, str, str]) -> Element:
    """Return a button of the walker."""
    name, label, sign = button
    return element("button", sign, id=name, type="button", aria_label=label, title=label)


def _lanes(walk: Walk, sentences: dict[str, str]) -> Element:
    """Return the swim lanes, in a frame that scrolls sideways where they are too wide."""
    frame = element(
        "div",
        table_of(walk, sentences),
        class_="scrolls",
        tabindex="0",
        role="region",
        aria_label="All steps",
    )
    return element("section", element("h2", "All steps"), legend(), frame, glossary(walk), class_="lanes")


def _step(walk: Walk, step: Step, sentences: dict[str, str]) -> dict[str, object]:
    """Return a step for the script."""
    changes = [place_text(step, change.place) for change in step.changes if change.new is not None]
    return {
        "number": step.number,
        "title": title_of(step),
        "code": step.code,
        "changes": changes,
        "unchanged": "The first state." if step.number == 1 else "Nothing changes.",
        "log": list(_log(step)),
        "groups": list(_groups(walk, step)),
        "broken": [_broken(step, broken, sentences) for broken in step.broken],
        "after": "",
    }


def _broken(step: Step, broken: Broken, sentences: dict[str, str]) -> dict[str, object]:
    """Return a broken property for the script."""
    return {
        "name": broken.name,
        "headline": headline(broken),
        "sentence": sentences.get(broken.name, ""),
        "reasons": [
            {"sentence": reason.sentence, "values": [place_text(step, place) for place in reason.places]}
            for reason in broken.reasons
        ],
    }


def _log(step: Step) -> Iterator[dict[str, object]]:
    """Yield the log's positions, each with whether it is taken, or asked for."""
    for seq, kind in enumerate(step.now.log, start=1):
        state = "taken" if seq <= step.now.taken else "asked" if seq <= step.now.asked else "posted"
        word = "not asked for" if state == "posted" else state
        yield {"seq": seq, "kind": kind, "state": state, "word": word}


def _groups(walk: Walk, step: Step) -> Iterator[dict[str, object]]:
    """Yield every place of a state with its value: the thread's, each process's, and the rest."""
    changed = {change.place for change in step.changes}
    groups: dict[str, list[tuple[str, str]]] = {"Thread": [(name, name) for name in _GROUPS_OF_THREAD]}
    for process in walk.processes:
        for task in process.tasks:
            name = task if process.is_its_task else f"{task}, a task of {process.name}"
            groups[name] = _below(step, f"task[{task}].")
        looks = _below(step, f"look[{process.name}].")
        if looks:
            groups[f"{process.name}'s look"] = looks
    told = {place for places in groups.values() for place, _ in places}
    groups["The model's notes, and the bounds on the world"] = [
        (place, place) for place in step.places if place not in told
    ]
    for name, places in groups.items():
        shown = [
            {"place": p, "label": label, "value": print_value(step.places[p]), "changed": p in changed}
            for p, label in places
            if p in step.places
        ]
        yield {"name": name, "places": shown}


def _below(step: Step, prefix: str) -> list[tuple[str, str]]:
    """Return the places that begin with a prefix, each with what comes after it."""
    return [(place, place.removeprefix(prefix)) for place in step.places if place.startswith(prefix)]
