"""A trace's page as a file: what is in it, and what is not."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from conformance.tests.view.samples import EVERY_TRACE, ROOT, counterexample, fixture, name_of, recorded, turn
from conformance.tlc.values import print_value
from conformance.view.page import embedded, page_of
from conformance.view.reading import read_walk
from conformance.view.sentences import read_sentences
from conformance.view.walk import Walk

SENTENCES = read_sentences(ROOT / "spec")
STYLE = (ROOT / "conformance" / "view" / "page.css").read_text(encoding="utf-8")
_VOID = frozenset({"meta", "br", "hr", "img", "input", "link"})


class Parsed(HTMLParser):
    """A page's elements: each tag with its attributes, what is open at its end, and the scripts' texts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: dict[str, list[str]] = {}
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take the beginning of an element."""
        self.elements.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Take the end of an element, which must be the last that is open."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Take a text."""
        if self.open:
            self.texts.setdefault(self.open[-1], []).append(data)


def page(walk: Walk) -> Parsed:
    """A walk's page, parsed."""
    return Parsed(page_of(walk, SENTENCES))


def data(parsed: Parsed) -> dict[str, Any]:
    """The JSON in a page."""
    found: dict[str, Any] = json.loads(parsed.texts["script"][0])
    return found


@pytest.mark.parametrize("path", EVERY_TRACE, ids=name_of)
def test_a_page_is_whole_and_needs_nothing_else(path: Path) -> None:
    """Every element is closed; nothing is loaded, no handler is inline, and each id is there once."""
    parsed = page(read_walk(path))
    assert not parsed.open
    ids = [attributes["id"] for _, attributes in parsed.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for tag, attributes in parsed.elements:
        assert tag not in {"link", "img", "iframe", "base", "object"}
        assert not {"src", "style", "srcset", "action"} & attributes.keys()
        assert not [name for name in attributes if name.startswith("on")]
        assert (attributes.get("href") or "#").startswith("#")


def test_the_policy_allows_its_own_style_and_script_only() -> None:
    """By their hashes; whatever else got into the page would not run."""
    parsed = page(counterexample("NoSweep"))
    policy = next(each["content"] for _, each in parsed.elements if "http-equiv" in each)
    texts = [*parsed.texts["style"], parsed.texts["script"][-1]]
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts]
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}';"
        " base-uri 'none'; form-action 'none'"
    )


def test_what_a_file_says_cannot_end_a_script(tmp_path: Path) -> None:
    """Neither in the embedded JSON nor in the page itself is it ever taken for HTML."""
    bad = '</script><script>alert(1)</script><!--<img src=x onerror=alert(1)>&amp;\u2028"'
    walk = recorded(tmp_path, turn(), note=bad, seed=bad, property="<b>")
    text = page_of(walk, {**SENTENCES, "TypeOK": bad})
    parsed = Parsed(text)
    assert not parsed.open
    assert sum(tag == "script" for tag, _ in parsed.elements) == 2
    assert not any(tag in {"img", "b"} for tag, _ in parsed.elements)
    assert bad in "".join(parsed.texts["p"])
    assert json.loads(embedded(bad)) == bad
    assert not set("<>&\u2028") & set(embedded(bad))


@pytest.mark.parametrize("path", EVERY_TRACE, ids=name_of)
def test_every_place_of_every_state_is_there(path: Path) -> None:
    """Once, in TLA+'s notation, and marked if the step changed it."""
    walk = read_walk(path)
    for step, shown in zip(walk.steps, data(page(walk))["steps"], strict=True):
        places = [place for group in shown["groups"] for place in group["places"]]
        assert len(places) == len(step.places)
        assert {each["place"]: each["value"] for each in places} == {
            place: print_value(value) for place, value in step.places.items()
        }
        assert {each["place"] for each in places if each["changed"]} == {c.place for c in step.changes}


def test_the_lanes_need_no_script() -> None:
    """All steps, what is broken with its sentence, and the loop are in the page's own table."""
    parsed = page(counterexample("FailureHandsOverAll"))
    rows = [each for tag, each in parsed.elements if tag == "tr" and each.get("class") == "step"]
    assert [row["id"] for row in rows] == [f"step-{number}" for number in range(1, 11)]
    assert "I4_NeverSpins is broken: from step 8 on, for ever." in parsed.texts["strong"]
    assert ("div", {"class": "break"}) in parsed.elements
    assert SENTENCES["I4_NeverSpins"] in parsed.texts["q"]
    assert "↺ The loop begins: steps 8 to 10." in parsed.texts["td"]
    assert "↺ Then it goes back by Release to step 8, and so on for ever." in parsed.texts["td"]


def test_headings_of_a_process_of_two_tasks() -> None:
    """The process is a heading over both, and the rows are as wide as the headings."""
    parsed = page(fixture("TwoTasks"))
    groups = [each for tag, each in parsed.elements if tag == "th" and each.get("scope") == "colgroup"]
    assert [each["colspan"] for each in groups] == ["2", "1"]
    assert [t for t in parsed.texts["th"] if t[0] in "pq"] == ["p", "q", "p1", "p2", "q1"]


def test_it_says_what_it_is_to_those_who_do_not_see_it() -> None:
    """A language, a title, a caption, a live region, and a name for what has only a sign."""
    parsed = page(counterexample("NoSweep"))
    attributes = [each for _, each in parsed.elements]
    assert ("html", {"lang": "en"}) in parsed.elements
    assert parsed.texts["title"] == ["NoSweep: a trace of ThreadClaim"]
    assert [tag for tag, _ in parsed.elements if re.fullmatch("h[1-6]", tag)] == ["h1", "h3", "h2"]
    assert parsed.texts["caption"]
    assert any(each.get("aria-live") == "polite" and each.get("aria-atomic") == "true" for each in attributes)
    assert all(each.get("aria-label") for tag, each in parsed.elements if tag == "button")
    scopes = [each.get("scope") for tag, each in parsed.elements if tag == "th"]
    assert all(scopes)


def _palettes() -> list[dict[str, str]]:
    """The colours of the light and of the dark."""
    blocks = re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL)
    found = [dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", block)) for block in blocks]
    return [palette for palette in found if palette]


def _luminance(colour: str) -> float:
    """A colour's relative luminance, as WCAG 2 defines it."""
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    linear = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    """The contrast of two colours, from 1 to 21."""
    high, low = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_contrast() -> None:
    """Every text on every ground that it is on: 4.5 to 1 at least, in the light and in the dark."""
    palettes = _palettes()
    assert len(palettes) == 2
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    grounds = {"paper", "raised", "current"}
    for palette in palettes:
        pairs = [(text, ground) for text in ("ink", "faint", "accent") for ground in grounds]
        pairs += [("broken", "broken-paper"), ("ink", "broken-paper"), ("broken", "paper")]
        assert min(contrast(palette[text], palette[ground]) for text, ground in pairs) >= 4.5
