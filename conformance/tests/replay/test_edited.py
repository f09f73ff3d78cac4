"""Files that are no traces, or were edited: exit code 2, and one sentence that says whose fault it is."""

import json
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr
from functools import cache
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from conformance.__main__ import ROOT, main
from conformance.explore.again import again
from conformance.explore.keep import save
from conformance.explore.setting import Setting
from conformance.explore.walk import constants_of
from conformance.replay.command import Replay

Document = dict[str, Any]

TURN = [("Send", "p1", ""), ("Claim", "p1", ""), ("StartRun", "p1", ""), ("Send", "p2", "cancelled")]
STUTTERS, LOOPS, ENDS, WALK = "NoSweep", "FailureHandsOverAll", "TakenApart", "a walk"


@cache
def text_of(name: str) -> str:
    """The text of a counterexample, or of a walk of the runner."""
    if name != WALK:
        return (ROOT / "traces" / f"{name}.itf.json").read_text()
    with TemporaryDirectory() as folder:
        save(Path(folder) / "walk.itf.json", again(Setting(constants_of((2, 1))), TURN))
        return (Path(folder) / "walk.itf.json").read_text()


def replayed(text: str | bytes) -> tuple[int, str]:
    """Replay a file with this text: the exit code, and what standard error has, less the file's folder."""
    said = StringIO()
    with TemporaryDirectory() as folder, redirect_stderr(said):
        path = Path(folder) / "edited.itf.json"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        code = Replay(ROOT, Console(file=StringIO(), width=200)).run([path], Path(folder) / "replay.json")
        return code, said.getvalue().replace(f"{folder}/", "")


def edited(name: str, change: Callable[[Document], object]) -> tuple[int, str]:
    """Replay a file after a change."""
    document: Document = json.loads(text_of(name))
    change(document)
    return replayed(json.dumps(document))


@pytest.mark.parametrize("name", [STUTTERS, LOOPS, ENDS, WALK])
def test_what_is_not_edited_goes_well(name: str) -> None:
    """So that what follows is the edit's doing."""
    assert edited(name, lambda _: None) == (0, "")
    assert edited(name, lambda trace: trace["#meta"].update(description="Told otherwise.")) == (0, "")


EDITS: tuple[tuple[str, Callable[[Document], object], str], ...] = (
    (ENDS, lambda trace: trace["#meta"].pop("cfg"), "is of no cfg that it names"),
    (
        ENDS,
        lambda trace: trace["#meta"].update(cfg="mutants/TakenApar.cfg"),
        "Did you mean mutants/TakenApart",
    ),
    (ENDS, lambda trace: trace["#meta"].update(cfg="../../secret"), "is no mutant of spec/"),
    (
        ENDS,
        lambda trace: trace["#meta"].update(cfg="mutants/NoSweep.cfg"),
        "no counterexample of NoSweep",
    ),
    (ENDS, lambda trace: trace["#meta"].update(property="TypeOK"), "breaks I2_ConsumedWithItsWrite"),
    (ENDS, lambda trace: trace["#meta"].pop("property"), "it is to break None"),
    (
        ENDS,
        lambda trace: trace["states"][1]["#meta"].update(action="Sned"),
        "Step 2: the model has no action",
    ),
    (ENDS, lambda trace: trace["states"][0]["#meta"].update(action="Send"), "begins with Send"),
    (ENDS, lambda trace: trace["states"].pop(), "show that I2_ConsumedWithItsWrite holds"),
    (ENDS, lambda trace: trace["states"].pop(1), "Step 2: Claim is refused; the model could go on by"),
    (ENDS, lambda trace: trace["states"].pop(0), "begins with Send"),
    (ENDS, lambda trace: trace["states"][2].update(asked=0), "Step 3: Claim leads to no such state"),
    (ENDS, lambda trace: trace["states"][2].pop("run"), "other variables in state 3"),
    (ENDS, lambda trace: trace["states"].append(trace["states"][-1]), "Step 5"),
    (STUTTERS, lambda trace: trace.pop("loop"), "what comes in the end, and the trace just ends"),
    (STUTTERS, lambda trace: trace["states"].pop(), "goes back to a state that it has not"),
    (LOOPS, lambda trace: trace.update(loop=10), "goes back to a state that it has not"),
    (LOOPS, lambda trace: trace.update(loop=-1), "goes back to a state that it has not"),
    (LOOPS, lambda trace: trace.update(loop=True), "goes back to a state that it has not"),
    (LOOPS, lambda trace: trace.update(loop=1.0), "goes back to a state that it has not"),
    (LOOPS, lambda trace: trace.update(loop=2), "Step 11: Release leads to no such state"),
    (LOOPS, lambda trace: trace.update(loop=9), "leaves Step(p2) to wait for ever"),
    (LOOPS, lambda trace: trace["#meta"].update(back="Claim"), "Step 11: Claim is refused"),
    (LOOPS, lambda trace: trace["#meta"].update(back=7), "names no action that leads back"),
    (LOOPS, lambda trace: trace["#meta"].pop("back"), "Step 11: the model has no action"),
    (WALK, lambda trace: trace["#meta"].pop("agent"), "its agent is not told"),
    (WALK, lambda trace: trace["#meta"].update(shape="3 1"), "a function of p1, p2, p3"),
    (WALK, lambda trace: trace["#meta"].update(given="99"), "steps 99 are given"),
    (WALK, lambda trace: trace["#meta"].update(max_msgs="many"), "max_msgs has 'many'"),
    (WALK, lambda trace: trace.update(loop=1), "a walk just ends"),
    (WALK, lambda trace: trace["states"][1]["#meta"].update(action="Sned"), "step 2 is Sned p1/"),
    (WALK, lambda trace: trace["states"][1]["#meta"].update(location="p7/"), "step 2 is Send p7/"),
    (WALK, lambda trace: trace["states"][1]["#meta"].update(location="p1/so"), "step 2 is Send p1/so"),
    (WALK, lambda trace: trace["states"][1]["#meta"].update(location=""), "step 2 is Send"),
    (WALK, lambda trace: trace["states"].pop(2), "it was edited"),
    (WALK, lambda trace: trace["states"].pop(0), "does not begin in the initial state"),
    (WALK, lambda trace: trace["states"][2].update(asked={"#bigint": "3"}), "it was edited"),
)
"""Edits: of which file, what is changed, and what is said of it."""


@pytest.mark.parametrize(("name", "change", "why"), EDITS, ids=[str(place) for place in range(len(EDITS))])
def test_an_edit_is_told(name: str, change: Callable[[Document], object], why: str) -> None:
    """Which file, what is wrong in it, and what to do."""
    code, said = edited(name, change)
    assert code == 2
    assert said.startswith("Could not run: edited.itf.json ")
    assert why in said
    assert len(said.splitlines()) == 1


def places_in(value: object) -> Iterator[tuple[Any, Any]]:
    """Every place in JSON: what holds it, and its key there."""
    items = list(
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, item in items:
        yield value, key
        yield from places_in(item)


JUNK: tuple[object, ...] = (
    None, True, -1, 1.5, 10**30, "", "p1", "p9", "free", [], ["msg"], {}, {"#bigint": "1"}, {"#bigint": "x"},
    {"#set": [1, []]}, {"#tup": []}, {"#map": [["p1", 1]]}, {"#map": [[1]]}, {"#unserializable": "x"},
    {"tag": "A", "value": 1}, [[[]]],
)  # fmt: skip


def check_refused(code: int, said: str) -> None:
    """Expect that a file went well after all, or was refused in one sentence; the runner is not to blame."""
    assert code in {0, 2}, said
    assert len(said.splitlines()) == code // 2, said
    assert not said or said.startswith("Could not run: edited.itf.json "), said


@given(st.data())
def test_no_edit_is_a_traceback(data: st.DataObject) -> None:
    """One place or several, put otherwise, taken out, doubled, or changed for another."""
    document = json.loads(text_of(data.draw(st.sampled_from([STUTTERS, LOOPS, ENDS, WALK]))))
    for _ in range(data.draw(st.integers(1, 3))):
        places = list(places_in(document))
        holder, key = data.draw(st.sampled_from(places))
        other, its = data.draw(st.sampled_from(places))
        match data.draw(st.sampled_from(["junk", "out", "double", "swap"])):
            case "junk":
                holder[key] = data.draw(st.sampled_from(JUNK))
            case "out":
                del holder[key]
            case "double" if isinstance(holder, list):
                holder.insert(key, json.loads(json.dumps(holder[key])))
            case _:
                holder[key] = json.loads(json.dumps(other[its]))
    check_refused(*replayed(json.dumps(document)))


@pytest.mark.parametrize("name", [ENDS, WALK])
def test_no_file_that_breaks_off_is_a_traceback(name: str) -> None:
    """Wherever it does."""
    text = text_of(name)
    for end in range(0, len(text) - 2, len(text) // 50):
        code, said = replayed(text[:end])
        assert code == 2
        check_refused(code, said)


@given(st.binary(max_size=40))
def test_no_other_file_is_a_traceback(raw: bytes) -> None:
    """Whatever it holds."""
    code, said = replayed(raw)
    assert code == 2
    check_refused(code, said)


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("NoSwep", "Did you mean traces/NoSweep.itf.json"),
        ("NoSweep", "Did you mean traces/NoSweep.itf.json"),
        ("traces/NoSweep", "Did you mean traces/NoSweep.itf.json"),
        ("NoSuch", "Name one of traces/."),
    ],
)
def test_a_file_that_there_is_not_is_told_with_what_is_much_like_it(
    name: str, near: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its name, with or without the suffix."""
    monkeypatch.chdir(ROOT)
    assert main(["replay", name]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"Could not run: There is no file {name}. ")
    assert near in said


def test_a_folder_is_no_trace_and_json_goes_to_no_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both are sentences of the caller's."""
    assert main(["replay", str(tmp_path)]) == 2
    assert f"{tmp_path} cannot be read" in capsys.readouterr().err
    monkeypatch.chdir(ROOT)
    assert main(["replay", "traces/TakenApart.itf.json", "--json", str(tmp_path)]) == 2
    assert str(tmp_path) in capsys.readouterr().err
