"""The swim lanes of a page: a table with a row for each step, which needs no script to be read."""

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from conformance.view.cells import LEGEND, Lines, cells_of, mark_of
from conformance.view.elements import element
from conformance.view.glossary import meanings
from conformance.view.telling import headline, loop_begins
from conformance.view.walk import Step, Walk, ending, place_text

_THREAD = ("log", "cursors", "run", "claim", "notes")


def table_of(walk: Walk, sentences: dict[str, str]) -> Element:
    """Return the table of a walk; `sentences` has each property's sentence by its name."""
    return element(
        "table",
        element("caption", "Each step, and only what it changes. Notes are the model's, for its properties."),
        element("thead", *_headings(walk), role="rowgroup"),
        element("tbody", *_rows(walk, sentences), role="rowgroup"),
        # A narrow screen shows rows as cards, which takes a table's meaning away unless it is said.
        role="table",
    )


def legend() -> Element:
    """Return what the lanes' edges mean."""
    return element(
        "ul",
        *(element("li", what, class_=f"lane {mark.value}") for mark, what in LEGEND.items()),
        class_="legend",
        aria_label="The edge of a lane",
    )


def glossary(walk: Walk) -> Element:
    """Return what each word means by which a state's places are shown."""
    places = (place for step in walk.steps for place in step.places)
    words = [
        element("div", element("dt", word), element("dd", f"{meaning}."))
        for word, meaning in meanings(places).items()
    ]
    return element(
        "details",
        element("summary", "What the words mean"),
        element("dl", *words),
        class_="glossary",
        id="glossary",
    )


def _headings(walk: Walk) -> Iterator[Element]:
    """Yield the rows of headings: processes, and their tasks, where these have other names."""
    is_plain = all(process.is_its_task for process in walk.processes)
    rows = {} if is_plain else {"rowspan": "2"}
    leading = [_heading(name, **rows) for name in ("step", "action")]
    thread = [_heading(name, **rows) for name in _THREAD]
    tasks = [_heading(task) for task in walk.tasks]
    if is_plain:
        yield element("tr", *leading, *tasks, *thread, role="row")
        return
    groups = [
        element("th", process.name, scope="colgroup", role="columnheader", colspan=str(len(process.tasks)))
        for process in walk.processes
    ]
    yield element("tr", *leading, *groups, *thread, role="row")
    yield element("tr", *tasks, role="row")


def _heading(name: str, **attributes: str) -> Element:
    """Return a column's heading."""
    return element("th", name, scope="col", role="columnheader", **attributes)


def _rows(walk: Walk, sentences: dict[str, str]) -> Iterator[Element]:
    """Yield the rows of all steps, and of what there is to say between them."""
    for step in walk.steps:
        if begins := loop_begins(walk, step):
            yield _across(walk, begins, "loops")
        yield _row(walk, step)
        for broken in step.broken:
            said = element("div", element("strong", headline(broken)), class_="break")
            said.append(element("p", element("q", sentences.get(broken.name, ""))))
            for reason in broken.reasons:
                values = "; ".join(place_text(step, place) for place in reason.places)
                said.extend([element("p", reason.sentence), element("p", element("code", values))])
            yield _across(walk, said, "breaks")
    if after := ending(walk):
        yield _across(walk, f"\u21ba {after}", "loops")


def _row(walk: Walk, step: Step) -> Element:
    """Return a step's row."""
    cells = cells_of(step, walk.processes)
    number = element("a", str(step.number), href=f"#step-{step.number}", aria_label=f"Step {step.number}")
    action = element(
        "td",
        element("strong", step.action),
        " ",
        element("span", step.doer, class_="by"),
        element("small", element("code", step.code), class_="code"),
        role="cell",
        class_="action",
    )
    lanes = [_lane(step, task, cells.lanes[task]) for task in walk.tasks]
    thread = [_cell(name, getattr(cells, name), name) for name in _THREAD]
    return element(
        "tr",
        element("th", number, scope="row", role="rowheader"),
        action,
        *lanes,
        *thread,
        role="row",
        class_="step",
        id=f"step-{step.number}",
    )


def _lane(step: Step, task: str, lines: Lines) -> Element:
    """Return a task's cell."""
    cell = _cell(task, lines, f"lane {mark_of(step.now, task).value}")
    if len(cell) and any(change.place == f"task[{task}].at" for change in step.changes):
        cell[0].set("class", "line at")
    return cell


def _cell(label: str, lines: Lines, name: str) -> Element:
    """Return a cell of lines."""
    return element(
        "td",
        *(element("span", line, class_="line") for line in lines),
        role="cell",
        class_=name if lines else f"{name} empty",
        data_label=label,
    )


def _across(walk: Walk, said: Element | str, name: str) -> Element:
    """Return a row of one cell."""
    width = 2 + len(walk.tasks) + len(_THREAD)
    return element("tr", element("td", said, colspan=str(width), role="cell"), role="row", class_=name)
