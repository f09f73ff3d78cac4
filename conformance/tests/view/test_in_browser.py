"""A trace's page in a real browser: walked by keyboard and by mouse, it shows what the trace has."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from frozendict import frozendict

from conformance.tests.view.browser import Browser, BrowserError, Page, find_browser
from conformance.tests.view.conftest import do_without
from conformance.tests.view.samples import EVERY_TRACE, ROOT, counterexample, name_of, recorded, turn
from conformance.tlc.itf import load_trace
from conformance.tlc.result import State, Trace
from conformance.tlc.values import Value, print_value
from conformance.view.glossary import WORDS
from conformance.view.page import write_page
from conformance.view.reading import read_walk
from conformance.view.sentences import read_sentences
from conformance.view.walk import Walk

SENTENCES = read_sentences(ROOT / "spec")
ALT, SHIFT = 1, 8

# What a reader sees: nothing that is hidden, and texts as they are laid out.
_SEEN = """(() => {
  const seen = (e) => e.checkVisibility();
  const text = (e) => e.innerText.trim();
  const all = (selector, root = document) => [...root.querySelectorAll(selector)].filter(seen);
  const row = document.querySelector('tr[aria-current="step"]');
  return {
    where: all("#where").map(text).join(),
    title: all("#told h2").map(text).join(),
    code: all("#told > p > code").map(text).join(),
    places: Object.fromEntries(all("[data-place]").map((e) => [e.dataset.place, text(e)])),
    log: all("#log li").map(text),
    broken: all("#told .break").map((e) => [e.dataset.property, text(e)]),
    rows: document.querySelectorAll("[aria-current]").length,
    row: row.id,
    lanes: Object.fromEntries(
      all("td[data-label]", row).map((e) => [e.dataset.label, all(".line", e).map(text)])
    ),
    told: text(document.getElementById("told")),
    off: all("button:disabled").map((e) => e.id),
  };
})()"""


def seen(page: Page) -> dict[str, Any]:
    """What the page shows."""
    found: dict[str, Any] = page.ask(_SEEN)
    return found


def opened(browser: Browser, folder: Path, walk: Walk, **size: int) -> Page:
    """A walk's page in the browser."""
    write_page(folder / "page.html", walk, SENTENCES)
    return browser.open(folder / "page.html", **size)


def places(variables: Mapping[str, Value]) -> Iterator[tuple[str, str]]:
    """Every place of a state with its value in TLA+'s notation, straight from the trace."""
    for name, value in variables.items():
        if name in {"task", "look"} and isinstance(value, frozendict):
            for owner, record in value.items():
                assert isinstance(record, frozendict)
                yield from (
                    (f"{name}[{print_value(owner)}].{key}", print_value(v)) for key, v in record.items()
                )
        elif name in {"run", "faults"} and isinstance(value, frozendict):
            yield from ((f"{name}.{key}", print_value(v)) for key, v in value.items())
        else:
            yield name, print_value(value)


def compare(shown: dict[str, Any], trace: Trace, index: int) -> None:
    """Compare what is shown with a state of the trace."""
    state, last = trace.states[index], len(trace.states)
    assert shown["where"] == f"Step {index + 1} of {last}"
    assert shown["title"].split(" by ")[0] == f"{index + 1}. {state.action}"
    assert shown["places"] == dict(places(state.variables))
    assert (shown["row"], shown["rows"]) == (f"step-{index + 1}", 1)
    log = state.variables["log"]
    assert isinstance(log, tuple)
    expected = [f"{seq} {kind}" for seq, kind in enumerate(log, start=1)] or ["empty"]
    assert all(entry.startswith(start) for entry, start in zip(shown["log"], expected, strict=True))
    if index:
        compare_lanes(shown["lanes"], trace.states[index - 1], state)


def compare_lanes(lanes: dict[str, list[str]], before: State, after: State) -> None:
    """Compare a row of the lanes: what each task is about to do, and the claim, exactly if that is new."""
    old, new = before.variables, after.variables
    assert lanes["claim"] == ([print_value(new["lease"]).strip('"')] if new["lease"] != old["lease"] else [])
    assert isinstance(old["task"], frozendict)
    assert isinstance(new["task"], frozendict)
    for task, record in new["task"].items():
        was = old["task"][task]
        assert isinstance(record, frozendict)
        assert isinstance(was, frozendict)
        lane = lanes[print_value(task)]
        at = str(record["at"])
        assert (lane[:1] == [at]) == (was["at"] != at)
    for cursor in ("asked", "taken"):
        moved = [f"{cursor} {old[cursor]}→{new[cursor]}"] if old[cursor] != new[cursor] else []
        assert [line for line in lanes["cursors"] if line.startswith(cursor)] == moved


@pytest.mark.parametrize("path", EVERY_TRACE, ids=name_of)
def test_every_step_is_walked_by_keyboard(path: Path, browser: Browser, tmp_path: Path) -> None:
    """Forward and back, each step shows the trace's state, its code, and what it breaks."""
    trace, _ = load_trace(path)
    walk = read_walk(path)
    page = opened(browser, tmp_path, walk)
    for index, step in enumerate(walk.steps):
        shown = seen(page)
        compare(shown, trace, index)
        assert shown["code"] == step.code
        assert [name for name, _ in shown["broken"]] == [broken.name for broken in step.broken]
        for name, text in shown["broken"]:
            assert SENTENCES[name] in text
        page.press("ArrowRight")
    for index in reversed(range(len(walk.steps) - 1)):
        page.press("ArrowLeft")
        assert page.ask("document.querySelector('[aria-current]').id") == f"step-{index + 1}"
    compare(seen(page), trace, 0)
    assert page.troubles() == []
    page.close()


def test_other_keys(browser: Browser, tmp_path: Path) -> None:
    """Home and End, up and down; not past the ends, and not with another key held."""
    page = opened(browser, tmp_path, counterexample("NoHandOver"))
    walked = []
    for key, modifiers in (
        ("End", 0),
        ("ArrowDown", 0),
        ("ArrowUp", 0),
        ("ArrowLeft", ALT),
        ("Home", SHIFT),
        ("Home", 0),
        ("ArrowLeft", 0),
        ("ArrowDown", 0),
    ):
        page.press(key, modifiers)
        walked.append(seen(page)["where"].split()[1])
    assert walked == ["7", "7", "6", "6", "6", "1", "1", "2"]
    page.close()


def test_the_mouse(browser: Browser, tmp_path: Path) -> None:
    """Buttons walk, a click on a row goes there, and a button that leads nowhere is off."""
    page = opened(browser, tmp_path, counterexample("NoHandOver"))
    assert seen(page)["off"] == ["first", "previous"]
    rows = []
    for selector in ("#next", "#last", "#previous", "#first", "#step-4", "#step-5 a", "header a"):
        page.click(selector)
        rows.append(seen(page)["row"])
    assert rows == ["step-2", "step-7", "step-6", "step-1", "step-4", "step-5", "step-7"]
    assert seen(page)["off"] == ["next", "last"]
    assert page.troubles() == []
    page.close()


def test_a_link_to_a_step(browser: Browser, tmp_path: Path) -> None:
    """The address has the step, and opens at it again; one that has none opens at the first."""
    page = opened(browser, tmp_path, counterexample("NoHandOver"))
    page.press("End")
    assert page.ask("location.hash") == "#step-7"
    changed = "new Promise((done) => addEventListener('hashchange', () => done()))"
    for address, row in (("#step-3", "step-3"), ("#step-99", "step-7"), ("#other", "step-1")):
        page.ask(f"location.hash = '{address}'; {changed}")
        assert seen(page)["row"] == row
    page.close()


def test_a_recorded_run(browser: Browser, tmp_path: Path) -> None:
    """It is shown as TLC's are, and says what it is and that nothing is broken."""
    page = opened(browser, tmp_path, recorded(tmp_path, turn(), seed="7"))
    for index in range(6):
        compare(seen(page), turn(), index)
        page.press("ArrowRight")
    header = page.ask("document.querySelector('header').innerText")
    assert "A recorded run, of 6 states." in header
    assert "No property is broken." in header
    page.close()


def test_how_it_goes_on_is_told_at_the_last_step(browser: Browser, tmp_path: Path) -> None:
    """A loop's way back is told where the walk ends, and not before."""
    page = opened(browser, tmp_path, counterexample("FailureHandsOverAll"))
    assert "goes back" not in seen(page)["told"]
    page.press("End")
    assert "Then it goes back by Release to step 8" in seen(page)["told"]
    page.close()


@pytest.mark.parametrize("name", ["TakenApart", "LookReadsNothing", "FailedReleaseLooksForAll"])
@pytest.mark.parametrize(("width", "is_beside"), [(360, False), (800, False), (1400, True)])
def test_it_fits_the_screen(name: str, width: int, is_beside: bool, browser: Browser, tmp_path: Path) -> None:
    """At no width must one scroll sideways; on a wide screen the lanes follow the walk."""
    page = opened(browser, tmp_path, counterexample(name), width=width)
    assert page.ask("document.documentElement.scrollWidth <= innerWidth")
    assert page.ask("document.querySelector('caption').offsetWidth") >= width / 2
    page.press("End")
    row = "document.querySelector('[aria-current]').getBoundingClientRect()"
    if is_beside:
        assert page.ask(f"{row}.top >= 0 && {row}.bottom <= innerHeight")
    else:
        assert page.ask("scrollY") == 0
    page.close()


WIDEST = {"RepliedRunStays", "LookReadsNothing", "CrashBesideALook", "TwoTasks", "CancelledSweepLeavesRun"}


@pytest.mark.parametrize("path", [path for path in EVERY_TRACE if name_of(path) in WIDEST], ids=name_of)
@pytest.mark.parametrize("width", [1200, 1400, 1450, 1920])
def test_no_column_is_cut_off_beside_the_walker(
    path: Path, width: int, browser: Browser, tmp_path: Path
) -> None:
    """The notes are the last one, and are seen as a whole; no word is broken off for it."""
    page = opened(browser, tmp_path, read_walk(path), width=width)
    edges = "['.scrolls', 'table'].map((s) => document.querySelector(s).getBoundingClientRect().right)"
    frame, table = page.ask(edges)
    assert table <= frame + 1
    cut = "[...document.querySelectorAll('td .line')].filter((e) => e.scrollWidth > e.clientWidth + 1).length"
    assert page.ask(cut) == 0
    page.close()


def test_the_words_are_told_when_asked_for(browser: Browser, tmp_path: Path) -> None:
    """By the mouse, and by a keyboard as by any summary's."""
    page = opened(browser, tmp_path, counterexample("NoSweep"))
    seen_words = "[...document.querySelectorAll('#glossary dt')].filter((e) => e.checkVisibility()).length"
    assert page.ask(seen_words) == 0
    page.click("#glossary summary")
    assert page.ask(seen_words) == len(WORDS)
    assert page.ask("document.documentElement.scrollWidth <= innerWidth")
    page.close()


def test_headings_stay_above_a_long_walk(browser: Browser, tmp_path: Path) -> None:
    """On a wide screen the lanes' headings are seen at every step, however many there are."""
    page = opened(browser, tmp_path, counterexample("LookReadsNothing"), height=600)
    for key in ("End", "Home"):
        page.press(key)
        edges = "['thead', '[aria-current]'].map((s) => document.querySelector(s).getBoundingClientRect())"
        heading, row = page.ask(f"{edges}.map((edge) => [edge.top, edge.bottom])")
        assert 0 <= heading[0] < heading[1] <= row[0] + 1
        assert row[1] <= 600
    page.close()


def test_dark_and_light_and_paper(browser: Browser, tmp_path: Path) -> None:
    """The colours follow the reader's; paper has the lanes with the code's names, and no walker."""
    page = opened(browser, tmp_path, counterexample("TakenApart"))
    grounds = []
    for scheme in ("light", "dark"):
        page.prefer(scheme)
        grounds.append(page.ask("getComputedStyle(document.body).backgroundColor"))
    assert grounds == ["rgb(255, 255, 255)", "rgb(20, 23, 28)"]
    visible = (
        "['#walker', '#step-4', '#step-4 .code'].map((s) => document.querySelector(s).checkVisibility())"
    )
    assert page.ask(visible) == [True, True, False]
    page.call("Emulation.setEmulatedMedia", media="print")
    assert page.ask(visible) == [False, True, True]
    page.close()


def test_troubles_are_seen(browser: Browser, tmp_path: Path) -> None:
    """A page that fails, or asks for something elsewhere, is found out."""
    bad = "<script>throw new Error('no')</script><img src='http://localhost:9/x.png'>"
    (tmp_path / "bad.html").write_text(f"<!doctype html><title>bad</title>{bad}")
    page = browser.open(tmp_path / "bad.html")
    troubles = page.troubles()
    assert any("no" in trouble for trouble in troubles)
    assert "http://localhost:9/x.png" in troubles
    with pytest.raises(BrowserError, match="failed"):
        page.ask("nobody.home")
    page.close()


def test_without_a_browser(tmp_path: Path) -> None:
    """It is skipped with a sentence; in CI it fails."""
    assert find_browser({"PATH": str(tmp_path)}) is None
    assert find_browser({"PATH": str(tmp_path), "CHROME": str(tmp_path / "none")}) is None
    program = tmp_path / "google-chrome"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert find_browser({"PATH": str(tmp_path)}) == str(program)
    assert find_browser({"PATH": "", "CHROME": str(program)}) == str(program)
    with pytest.raises(pytest.skip.Exception, match="There is no browser"):
        do_without({})
    with pytest.raises(pytest.fail.Exception, match="There is no browser"):
        do_without({"CI": "true"})


def test_a_browser_that_does_not_start(tmp_path: Path) -> None:
    """A program that ends at once is told, and the test does not hang."""
    program = tmp_path / "chromium"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    with Browser(str(program), tmp_path / "profile") as browser, pytest.raises(BrowserError):
        browser.open(tmp_path / "page.html")
