"""Traces for tests: those that TLC found, two of a process of two tasks, and some made by hand."""

from collections.abc import Mapping
from pathlib import Path

from frozendict import frozendict

from conformance.tlc.itf import save_trace
from conformance.tlc.result import State, Trace
from conformance.tlc.values import ModelValue, Value, function
from conformance.view.reading import read_walk
from conformance.view.walk import Walk

ROOT = Path(__file__).resolve().parents[3]
COUNTEREXAMPLES = sorted((ROOT / "traces").glob("*.itf.json"))
FIXTURES = sorted((Path(__file__).parent / "fixtures").glob("*.itf.json"))
EVERY_TRACE = [*COUNTEREXAMPLES, *FIXTURES]

P1, P2 = ModelValue("p1"), ModelValue("p2")
_IDLE: dict[str, Value] = {
    "at": "idle",
    "cmd": False,
    "pos": 0,
    "fed": frozenset(),
    "seen": 0,
    "due": "",
    "lost": False,
    "read": 0,
    "failed": False,
}


def name_of(path: Path) -> str:
    """A trace's name, for a test's id."""
    return path.name.removesuffix(".itf.json")


def counterexample(name: str) -> Walk:
    """One of TLC's counterexamples."""
    return read_walk(ROOT / "traces" / f"{name}.itf.json")


def fixture(name: str) -> Walk:
    """One of the traces that are kept beside the tests."""
    return read_walk(Path(__file__).parent / "fixtures" / f"{name}.itf.json")


def idle(**fields: Value) -> Value:
    """ThreadClaim!Idle, but for these fields."""
    return function((_IDLE | fields).items())


def look(due: str = "no") -> Value:
    """ThreadClaim!NoLook, but for what is due."""
    return frozendict({"due": due, "seen": 0, "pos": 0})


def start() -> dict[str, Value]:
    """ThreadClaim!Init, of two processes of one task each."""
    sets = dict.fromkeys(("once", "twice", "given", "again", "excused", "unheard"), frozenset[Value]())
    return {
        **sets,
        "log": (),
        "asked": 0,
        "taken": 0,
        "lease": "free",
        "run": frozendict({"st": "idle", "by": "none"}),
        "task": frozendict({P1: idle(), P2: idle()}),
        "look": frozendict({P1: look(), P2: look()}),
        "want": 0,
        "waits": 0,
        "broke": False,
        "faults": frozendict({"crash": 1, "lapse": 1, "cancel": 1, "fail": 1}),
    }


def story(*steps: tuple[str, Mapping[str, Value]], first: Mapping[str, Value] | None = None) -> Trace:
    """A trace: of each step its action, and the variables that it changes."""
    now = {**start(), **(first or {})}
    states = [State("Init", "", frozendict(now))]
    for action, changes in steps:
        now = {**now, **changes}
        states.append(State(action, "", frozendict(now)))
    return Trace(tuple(states))


def tasks(p1: Value, p2: Value | None = None) -> Value:
    """The variable `task`."""
    return frozendict({P1: p1, P2: p2 or idle()})


def run(st: str, by: Value = "none") -> Value:
    """The variable `run`."""
    return frozendict({"st": st, "by": by})


def turn() -> Trace:
    """A turn in which nothing goes wrong: five steps of p1."""
    one = frozenset({1})
    return story(
        ("Send", {"log": ("msg",), "asked": 1, "want": 1, "task": tasks(idle(at="claim"))}),
        ("Claim", {"lease": P1, "task": tasks(idle(at="prompt", pos=1, fed=one))}),
        (
            "StartRun",
            {
                "taken": 1,
                "run": run("active", P1),
                "task": tasks(idle(at="running", pos=1)),
                "once": one,
                "given": one,
            },
        ),
        ("EndRun", {"run": run("idle"), "task": tasks(idle(at="release", due="all"))}),
        ("Release", {"lease": "free", "task": tasks(idle())}),
    )


def saved(folder: Path, trace: Trace, **meta: str) -> Path:
    """A recorded run's file."""
    path = folder / "run.itf.json"
    save_trace(path, trace, meta={"kind": "recorded", **meta})
    return path


def recorded(folder: Path, trace: Trace, **meta: str) -> Walk:
    """A recorded run, written and read again."""
    return read_walk(saved(folder, trace, **meta))
