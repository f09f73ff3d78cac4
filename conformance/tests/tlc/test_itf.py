"""Traces as ITF: what is saved is loaded again, and the bytes are always the same."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from frozendict import frozendict
from hypothesis import given
from hypothesis import strategies as st

from conformance.tests.tlc.recordings import read
from conformance.tests.tlc.strategies import traces
from conformance.tlc.itf import TraceFormatError, load_trace, save_trace
from conformance.tlc.output import State, Trace
from conformance.tlc.values import ModelValue, Value, print_value

ODD_META = {"#meta": {"action": "Init", "location": ""}}
META = st.dictionaries(st.sampled_from(["model", "property", "note"]), st.text(max_size=10))


def printed(trace: Trace) -> list[list[str]]:
    """A trace's values as text, which tells TRUE from 1 as Python's equality does not."""
    return [[print_value(value) for value in state.variables.values()] for state in trace.states]


@given(trace=traces(), meta=META)
def test_what_is_saved_is_loaded(
    trace: Trace, meta: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Any trace comes back as it was, with its meta; saved again, it is the same file."""
    folder = tmp_path_factory.getbasetemp()
    first, second = folder / "first.itf.json", folder / "second.itf.json"
    save_trace(first, trace, meta=meta)
    loaded, loaded_meta = load_trace(first)
    assert (loaded, loaded_meta) == (trace, meta)
    in_order = [State(s.action, s.location, dict(sorted(s.variables.items()))) for s in trace.states]
    assert printed(loaded) == printed(Trace(tuple(in_order)))
    save_trace(second, loaded, meta=loaded_meta)
    assert first.read_bytes() == second.read_bytes()


def saved(tmp_path: Path, *values: Value) -> dict[str, object]:
    """Save a trace of one state with these values, as x0, x1 and so on; return its JSON."""
    variables = {f"x{index}": value for index, value in enumerate(values)}
    path = tmp_path / "trace.itf.json"
    save_trace(path, Trace((State("Init", "", variables),)), meta={})
    assert load_trace(path)[0].states[0].variables == variables
    document = json.loads(path.read_text(encoding="utf-8"))
    assert isinstance(document, dict)
    return document


def test_a_model_value_and_a_string_of_its_name_stay_apart(tmp_path: Path) -> None:
    """A model value is its name, which the trace lists; a string that would be mistaken is marked."""
    document = saved(tmp_path, ModelValue("p1"), "p1", "p2", '"p1"', '"')
    assert document["#meta"] == {
        "format": "ITF",
        "format-description": "https://apalache-mc.org/docs/adr/015adr-trace.html",
        "model_values": ["p1"],
    }
    states = document["states"]
    assert isinstance(states, list)
    assert states[0] == {
        "#meta": {"index": 0, "action": "Init", "location": ""},
        "x0": "p1",
        "x1": '"p1"',
        "x2": "p2",
        "x3": '""p1""',
        "x4": '"""',
    }


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (frozendict(at="idle", pos=0), {"at": "idle", "pos": {"#bigint": "0"}}),
        (frozendict({"class": 1}), {"#map": [["class", {"#bigint": "1"}]]}),
        (frozendict(_x=True), {"#map": [["_x", True]]}),
        (frozendict(tag="a", value="b"), {"#map": [["tag", "a"], ["value", "b"]]}),
        (frozendict(tag="a"), {"tag": "a"}),
        (frozendict({"x y": ()}), {"#map": [["x y", []]]}),
        (frozendict({10: "b", 9: "a"}), {"#map": [[{"#bigint": "9"}, "a"], [{"#bigint": "10"}, "b"]]}),
        (frozenset({10, 9}), {"#set": [{"#bigint": "9"}, {"#bigint": "10"}]}),
        (frozenset({frozendict(b=1, a=2)}), {"#set": [{"a": {"#bigint": "2"}, "b": {"#bigint": "1"}}]}),
        ((("a",), ()), [["a"], []]),
        ((), []),
        (frozenset(), {"#set": []}),
    ],
)
def test_a_value_is_written_as_other_tools_read_it(tmp_path: Path, value: Value, written: object) -> None:
    """Each kind of value has ITF's form for it, in order."""
    states = saved(tmp_path, value)["states"]
    assert isinstance(states, list)
    assert states[0]["x0"] == written


def test_an_empty_function_is_the_empty_sequence(tmp_path: Path) -> None:
    """So it is in TLA+, and so it comes back, whether it was a record or a function."""
    path = tmp_path / "trace.itf.json"
    save_trace(path, Trace((State("Init", "", {"x": frozendict()}),)), meta={})
    assert load_trace(path)[0].states[0].variables == {"x": ()}


def test_a_loop_is_written_and_no_loop_is_not(tmp_path: Path) -> None:
    """ITF's `loop` is there exactly if the trace has one, and the closing action with it."""
    lasso, safety = read("lasso").trace, read("lock_safety").trace
    assert lasso is not None
    assert safety is not None
    path = tmp_path / "trace.itf.json"
    save_trace(path, lasso, meta={})
    document = json.loads(path.read_text(encoding="utf-8"))
    assert (document["loop"], document["#meta"]["back"]) == (0, "Down")
    assert load_trace(path)[0] == lasso
    save_trace(path, safety, meta={})
    assert "loop" not in json.loads(path.read_text(encoding="utf-8"))


def test_the_bytes_do_not_depend_on_the_process() -> None:
    """Two processes with different hashes of strings write the same bytes."""
    program = (
        "from pathlib import Path; from conformance.tlc.itf import save_trace;"
        " from conformance.tests.tlc.recordings import read;"
        " save_trace(Path('/dev/stdout'), read('values').trace, meta={'b': '', 'a': ''})"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
    assert outputs.pop().startswith(b'{\n"#meta"')


def test_a_key_that_the_format_keeps_is_refused(tmp_path: Path) -> None:
    """What the format says of itself cannot be overwritten."""
    trace = Trace((State("Init", "", {}),))
    with pytest.raises(ValueError, match="These keys of a trace's #meta are taken: back, format"):
        save_trace(tmp_path / "trace.itf.json", trace, meta={"format": "mine", "back": ""})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"#meta": {}, "vars": [], "states": []}',
        '{"#meta": {"model_values": []}, "vars": [], "states": [{"x": 1}]}',
        json.dumps({"#meta": {"model_values": []}, "vars": ["x"], "states": [{**ODD_META, "x": None}]}),
    ],
)
def test_what_is_no_trace_is_refused(tmp_path: Path, text: str) -> None:
    """The error names the file."""
    path = tmp_path / "odd.itf.json"
    path.write_text(text)
    with pytest.raises(TraceFormatError, match=r"odd\.itf\.json is not a trace that we wrote: "):
        load_trace(path)
