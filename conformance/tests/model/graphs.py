"""TLC's state graph, read from the DOT that it dumps."""

import asyncio
import re
from pathlib import Path

from conformance.model.model import state_of
from conformance.model.state import Constants, State
from conformance.tests.model.cases import ROOT, SPEC
from conformance.tlc.result import Verdict
from conformance.tlc.run import Job, check
from conformance.tlc.tools import find_tools
from conformance.tlc.values import parse_state

Edge = tuple[State, str, State]

_NODE = re.compile(r'^(-?\d+) \[label="((?:[^"\\]|\\.)*)"', re.MULTILINE)
_EDGE = re.compile(r'^(-?\d+) -> (-?\d+) \[label="(\w+)"', re.MULTILINE)
_ESCAPE = re.compile(r"\\(.)")


def graph_of_tlc(constants: Constants, folder: Path) -> tuple[set[State], set[Edge]]:
    """Return the states that TLC finds, and the steps between them, each by its action's name.

    Args:
        constants: Of processes of one task each; the bounds.
        folder: Where the cfg and the dump are written.
    """
    cfg, dot = folder / "Graph.cfg", folder / "graph.dot"
    cfg.write_text(_cfg(constants), encoding="utf-8")
    result = asyncio.run(check(Job(SPEC / "MC.tla", cfg, dump=dot), find_tools(ROOT)))
    assert result.verdict is Verdict.HOLDS, result.message
    text = dot.read_text(encoding="utf-8")
    states = {
        node: state_of(constants, parse_state(_unescaped(label))) for node, label in _NODE.findall(text)
    }
    assert len(states) == result.distinct
    edges = {(states[start], action, states[end]) for start, end, action in _EDGE.findall(text)}
    return set(states.values()), edges


def _cfg(constants: Constants) -> str:
    """A cfg with these constants, which checks nothing."""
    tasks = f"{{{', '.join(constants.tasks)}}}"
    bounds = {
        "MaxMsgs": constants.max_msgs,
        "MaxNotes": constants.max_notes,
        "MaxCrash": constants.max_crash,
        "MaxLapse": constants.max_lapse,
        "MaxCancel": constants.max_cancel,
        "MaxFail": constants.max_fail,
    }
    lines = [
        f"Procs = {tasks}",
        f"Tasks = {tasks}",
        "Owner <- Self",
        *(f"{k} = {v}" for k, v in bounds.items()),
    ]
    return "\n".join(["SPECIFICATION Spec", "CONSTANTS", *lines]) + "\n"


def _unescaped(label: str) -> str:
    """A label's text."""
    return _ESCAPE.sub(lambda escape: "\n" if escape[1] == "n" else escape[1], label)
