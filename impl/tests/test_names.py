"""Names: NAMES.md is current and complete both ways, and what code says of the model is there."""

import inspect
import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from pkgutil import resolve_name

import pytest

import threadclaim.steps
from conformance.names import (
    ACTIONS,
    AS_EXPECTED,
    COULD_NOT_RUN,
    MODEL,
    NAMES,
    NO_ACTION,
    ROOT,
    STALE,
    STEPS,
    Names,
    NamesError,
    actions_of,
    main,
    problems,
)
from conformance.tlc.itf import load_trace

TEXT = (ROOT / MODEL).read_text(encoding="utf-8")
OPERATORS = {
    path.stem: set(re.findall(r"^([A-Z]\w*)(?:\([^)]*\))? *==", path.read_text("utf-8"), re.MULTILINE))
    for path in (ROOT / "spec").glob("*.tla")
}
POINTER = re.compile(r"\b(ThreadClaim|Properties|DirectRuns)!(\w+)")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with the model and the page in it."""
    (tmp_path / "spec").mkdir()
    shutil.copy(ROOT / MODEL, tmp_path / MODEL)
    shutil.copy(ROOT / NAMES, tmp_path / NAMES)
    return tmp_path


def edit(path: Path, old: str, new: str) -> None:
    """Replace a text, which must be there."""
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


# ---- The page.


def test_the_page_is_current() -> None:
    """It is what the generator writes."""
    assert main(["--check"]) == AS_EXPECTED


def test_the_page_has_a_row_for_each_action_of_next() -> None:
    """All 34, and no other."""
    page = (ROOT / NAMES).read_text(encoding="utf-8")
    rows = re.findall(rf"^\| `(\w+)` \| `{re.escape(MODEL)}`: `\1(?:\(\w\))?` \|", page, re.MULTILINE)
    assert len(rows) == 34
    assert set(rows) == set(actions_of(TEXT))


def test_a_stale_page_is_noticed_and_written_anew(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A page that was edited by hand, or that is not there; the command that mends it is named."""
    for spoil in (lambda page: edit(page, "`Send`", "`Sends`"), Path.unlink):
        spoil(checkout / NAMES)
        assert main(["--check"], checkout) == STALE
        assert "python -m conformance.names" in capsys.readouterr().err
        assert main([], checkout) == AS_EXPECTED
        assert main(["--check"], checkout) == AS_EXPECTED
    assert (checkout / NAMES).read_text("utf-8") == (ROOT / NAMES).read_text("utf-8")


# ---- The table, against the model.


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("Send(t)", "Dispatch(t)", ["action Dispatch has no row", "Send is no action"]),
        (r"\/ Renew(t)", "", ["Renew is no action of the model"]),
        (r"\/ Post \/ Note", r"\/ Post \/ Note \/ Forget", ["action Forget has no row"]),
    ],
)
def test_an_action_that_was_renamed_taken_out_or_added_is_noticed(
    checkout: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, said: list[str]
) -> None:
    """The page does not pass, and is not written; a sentence says which action."""
    edit(checkout / MODEL, old, new)
    if "Forget" in new:
        edit(checkout / MODEL, "\nNext ==", "\nForget == UNCHANGED vars\n\nNext ==")
    before = (checkout / NAMES).read_text("utf-8")
    assert main(["--check"], checkout) == main([], checkout) == STALE
    assert (checkout / NAMES).read_text("utf-8") == before
    told = capsys.readouterr().err
    for sentence in said:
        assert sentence in told


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [("\nNext ==", "\nNextStep ==", "does not define Next"), ("\nExpire ==", "\nExpires ==", "Expire")],
)
def test_a_model_that_cannot_be_read_is_said(
    checkout: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, said: str
) -> None:
    """One without Next, one whose Next names what there is not, and none at all."""
    edit(checkout / MODEL, old, new)
    with pytest.raises(NamesError, match=said):
        actions_of((checkout / MODEL).read_text("utf-8"))
    assert main(["--check"], checkout) == COULD_NOT_RUN
    (checkout / MODEL).unlink()
    assert main([], checkout) == COULD_NOT_RUN
    assert capsys.readouterr().err.count("Could not run: ") == 2


def _spoilt(action: str, names: Names) -> list[str]:
    """What is said of the table with this row in place of the action's."""
    return problems(actions_of(TEXT), {**ACTIONS, action: names})


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (Names("threadclaim.looks:Look.again", ("LookAgain",)), "cannot be imported"),
        (Names("threadclaim.look:LookAgain", ("LookAgain",)), "cannot be imported"),
        (Names("threadclaim.looks:Looks", ("LookTwice",)), "is no step, and no method"),
        (Names("threadclaim.looks:Looks"), "no storage call, and no word"),
        (Names("threadclaim.looks:Looks", ("LookAgain",), logs="looked"), "no event's type"),
        (
            Names("threadclaim.looks:Looks", ("LookAgain",)),
            "step threadclaim.steps.LookAgain is no action's",
        ),
        (Names(f"{STEPS}:Looked", ("LookAgain",)), "is an action's, and is listed as none"),
    ],
)
def test_a_row_that_is_wrong_is_noticed(names: Names, said: str) -> None:
    """Code, calls and events that there are not; a step that is left over, or accounted for twice."""
    assert problems(actions_of(TEXT)) == []
    assert any(said in problem for problem in _spoilt("LookAgain", names))


def test_a_step_without_a_row_or_a_reason_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new one, and a reason whose step has gone."""
    monkeypatch.setattr(threadclaim.steps, "__all__", [*threadclaim.steps.__all__, "Forget"])
    assert f"The step {STEPS}.Forget is no action's. Add it to ACTIONS, or to NO_ACTION with a reason." in (
        problems(actions_of(TEXT))
    )
    rest = [name for name in threadclaim.steps.__all__ if name not in {"Forget", "RecordFact"}]
    monkeypatch.setattr(threadclaim.steps, "__all__", rest)
    assert problems(actions_of(TEXT)) == [f"NO_ACTION lists {STEPS}.RecordFact, which is no step."]


def test_a_steps_class_points_at_its_action() -> None:
    """The docstring of an action's step names it: `Module!Action`."""
    for action, names in ACTIONS.items():
        if names.code.startswith(f"{STEPS}:") and not names.is_worlds:
            assert f"ThreadClaim!{action}" in (inspect.getdoc(resolve_name(names.code)) or ""), action


def test_each_action_in_traces_has_a_row() -> None:
    """But for those of mutants, and of runs without the runner, which are operators of their own."""
    own = {action for action in actions_in_traces() if action not in ACTIONS}
    mutants = "".join(path.read_text("utf-8") for path in (ROOT / "spec" / "mutants").glob("*.tla"))
    defined = set(re.findall(r"^(\w+)(?:\(\w+\))? *==", mutants, re.MULTILINE)) | OPERATORS["DirectRuns"]
    assert own <= defined


def actions_in_traces() -> set[str]:
    """The actions of all counterexamples, without what they are of."""
    traces = [load_trace(path)[0] for path in (ROOT / "traces").glob("*.itf.json")]
    assert traces
    return {state.action.partition("(")[0] for trace in traces for state in trace.states[1:]}


# ---- Pointers from code to the model.


def unresolved(texts: Mapping[str, str], operators: Mapping[str, Iterable[str]]) -> list[str]:
    """The pointers in these texts to what no module defines, each with its text's name."""
    return [
        f"{name}: {match[0]}"
        for name, text in texts.items()
        for match in POINTER.finditer(text)
        if match[2] not in operators[match[1]]
    ]


def sources() -> dict[str, str]:
    """Every Python file of the project, by its path."""
    files = [path for folder in ("impl", "conformance", "ci") for path in (ROOT / folder).rglob("*.py")]
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in files}


def test_every_pointer_into_the_model_is_to_an_operator() -> None:
    """In code and in docstrings: `Module!Operator`."""
    texts = sources()
    assert sum(len(POINTER.findall(text)) for text in texts.values()) > 30
    assert unresolved(texts, OPERATORS) == []


def test_a_pointer_to_nothing_is_noticed() -> None:
    """To an operator that was renamed, and to one that is another module's."""
    text = "See {0}!LookAgain, {0}!LookTwice, {0}!HoldThread and {1}!HoldThread.".format(
        "ThreadClaim", "DirectRuns"
    )
    assert unresolved({"a.py": text}, OPERATORS) == [
        "a.py: ThreadClaim" + "!LookTwice",
        "a.py: ThreadClaim" + "!HoldThread",
    ]


def test_a_reason_is_a_sentences_part() -> None:
    """Each step that is no action has one, and none is an action's name."""
    assert all(NO_ACTION.values())
    assert not {step.rpartition(".")[2] for step in NO_ACTION} & set(ACTIONS)
