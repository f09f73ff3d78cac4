"""Exploration: it reaches everything, finds what is wrong, tells it in few steps, and is the same again."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from conformance.__main__ import ROOT
from conformance.actions import ACTIONS
from conformance.beside import Beside, DivergedError, Taken, apart, merged, parts
from conformance.explore.again import again, shrink
from conformance.explore.candidates import candidates
from conformance.explore.check import BrokenError
from conformance.explore.command import Explore
from conformance.explore.finish import LeftOverError
from conformance.explore.keep import save
from conformance.explore.machine import explore, make_machine
from conformance.explore.profiles import PROFILES, Profile
from conformance.explore.record import load_walk
from conformance.explore.setting import DIRECT, Setting, as_its_agent_has_it, model_of
from conformance.explore.tally import PAIRS, Tally
from conformance.explore.walk import SHAPES, Walker, constants_of
from conformance.model.model import Model
from conformance.model.state import Constants
from conformance.mutants import TWINS
from conformance.mutants.direct import DIRECT_RUNS
from conformance.world.model_agent import ModelAgent


def test_walks_go_well_and_reach_every_action() -> None:
    """With the agent that only waits for the world."""
    tally = Tally()
    walker = Walker(tally)
    for seed in range(150):
        walker.walk(seed, 60)
    assert tally.missed() == []
    assert len(tally.pairs) > len(PAIRS) / 2


def test_walks_go_well_with_a_real_agent() -> None:
    """pydantic-ai's own."""
    tally = Tally()
    walker = Walker(tally, make_agent=ModelAgent)
    for seed in range(40):
        walker.walk(seed, 60)
    assert tally.actions["Deliver"]
    assert tally.actions["Reply"]


def test_walks_go_well_with_direct_runs() -> None:
    """Every action of theirs comes about; so do starts that are refused: without a claim, beside a pause."""
    tally, refused = Tally(), list[tuple[str, bool]]()
    with as_its_agent_has_it(DIRECT):
        for seed in range(40):
            walked = Walker(tally, model=model_of(DIRECT)).walk(seed, 60)
            before = [walked.model.init(), *(step.state for step in walked.steps)]
            refused += [
                (state.run.st, state.lease == step.actor)
                for state, step in zip(before, walked.steps, strict=False)
                if step.action == "DirectStart" and ("LetThread", step.actor) in step.done
            ]
    assert tally.missed({**ACTIONS, **DIRECT_RUNS}) == []
    assert {("idle", False), ("active", False), ("paused", True)} <= set(refused)


def test_hypothesis_goes_well() -> None:
    """A few walks that it chooses."""
    tally = Tally()
    explore(make_machine(tally, lambda _: None), examples=20, steps=30, number=1)
    assert tally.walks >= 20


@pytest.mark.parametrize("shape", SHAPES)
def test_whatever_the_model_allows_is_proposed(shape: tuple[int, int]) -> None:
    """In each state of a walk: so nothing is left out by the weights."""
    walker = Walker(Tally())
    constants = constants_of(shape)
    model = Model(constants)
    beside = walker.walk(SHAPES.index(shape), 60)
    for state in [model.init(), *(taken.state for taken in beside.steps)]:
        proposed = {(action, actor) for action, actor, _ in candidates(constants, state)}
        allowed = {(action, actor or "") for action, actor, _ in model.successors(state)}
        assert allowed <= proposed


def test_the_pairs_are_those_that_the_model_has() -> None:
    """In a search of a small model with every fault: no pair but these."""
    bounds = {"max_msgs": 2, "max_notes": 1, "max_crash": 1, "max_lapse": 1, "max_cancel": 1, "max_fail": 1}
    model = Model(Constants.of(2, 1, **bounds))
    tally, states = Tally(), [model.init()]
    known = set(states)
    while states and len(known) < 30_000:
        state = states.pop(0)
        for action, actor, after in model.successors(state):
            taken = Taken(action, actor or "", "", [(action, actor or "")], after)
            tally.count(model.constants, (state, after), taken)
            if after not in known:
                known.add(after)
                states.append(after)
    assert set(tally.pairs) <= PAIRS
    assert len(PAIRS & set(tally.pairs)) > 40


# ---- What is wrong is found, shrunk, told, and walked again.


def caught(seed: int = 0) -> tuple[Walker, Exception]:
    """A walk of the spoilt runner that goes wrong."""
    walker = Walker(Tally())
    while True:
        try:
            walker.walk(seed, 60)
        except (DivergedError, BrokenError, LeftOverError) as error:
            return walker, error
        seed += 1


def test_a_spoilt_runner_is_caught_and_its_walk_shrunk(tmp_path: Path) -> None:
    """To as few steps as still go wrong; saved, it goes wrong again, and with the rule it goes well."""
    with TWINS["NoHandOver"].applied():
        walker, _ = caught()
        assert walker.beside is not None
        setting = Setting(walker.beside.model.constants)
        shrunk = shrink(setting, walker.beside.tried)
        assert shrunk.error is not None
        assert len(shrunk.steps) <= 8
        path = tmp_path / "found" / "walk.itf.json"
        save(path, shrunk)
        loaded = load_walk(path)
        assert loaded.setting == setting
        assert str(shrunk.error) in loaded.meta["description"]
        once_more = again(loaded.setting, loaded.steps)
        assert once_more.kind == shrunk.kind
    assert again(loaded.setting, loaded.steps).error is None


def test_hypothesis_catches_it_too() -> None:
    """And tells of the walk."""
    found: list[Beside] = []
    with TWINS["NoHandOver"].applied(), pytest.raises(DivergedError):
        explore(make_machine(Tally(), found.append), examples=200, steps=40, number=1)
    assert found


def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, profile: Profile
) -> tuple[int, str, dict[str, object]]:
    """Run the command with a profile; its code, what it prints, and its JSON."""
    monkeypatch.setitem(PROFILES, "small", profile)
    console = Console(width=160, record=True, file=(tmp_path / "out").open("w"))
    code = Explore(tmp_path, console).run("small", 0, tmp_path / "explore.json")
    console.file.close()
    return code, console.export_text(), json.loads((tmp_path / "explore.json").read_text())


def test_the_command_fails_if_something_was_never_reached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Too short a profile shows nothing."""
    code, text, found = run(tmp_path, monkeypatch, Profile(walks=1, real=1, examples=1, steps=2))
    assert code == 1
    assert "Never reached" in text
    assert found["ok"] is False
    figures = found["figures"]
    assert isinstance(figures, dict)
    assert figures["actions"] == 34
    assert figures["actions_reached"] < 34
    assert figures["violations"] == 0
    assert (figures["properties"], figures["step_forms"]) == (14, 4)


def test_the_command_says_what_was_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And no more: properties of the model's state, in which the world was found."""
    monkeypatch.setattr(Tally, "missed", lambda *_: [])
    monkeypatch.setattr(Tally, "missed_pairs", [])
    code, text, _ = run(tmp_path, monkeypatch, Profile(walks=1, real=1, examples=1, steps=2))
    told = " ".join(text.split())
    assert code == 0
    assert "2 walks with the stepped agent: " in told
    assert (
        "the world, as it was read, was in a state of the model's; 14 properties held of that state" in told
    )
    assert "the step forms of 4 temporal ones (where callers made runs of their own, the 4 of a step" in told
    assert "none broken" not in told


def test_the_command_tells_what_went_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its story in the model's words, and the one command that walks it again."""
    with TWINS["NoHandOver"].applied():
        code, text, found = run(tmp_path, monkeypatch, Profile(walks=50, real=0, examples=0, steps=60))
    assert code == 1
    assert "Release" in text
    kept = list((tmp_path / "traces" / "found").iterdir())
    assert len(kept) == 1
    assert f"python -m conformance replay traces/found/{kept[0].name}" in " ".join(text.split())
    assert "Never reached" not in text
    figures = found["figures"]
    assert isinstance(figures, dict)
    assert figures["violations"] == 1


def test_others_come_between_an_effect_and_its_answer_one_after_the_other() -> None:
    """Alone, and up to three of them; each is kept in the variant of the step that it came within."""
    tally, others = Tally(), set[int]()
    for seed in range(20):
        beside = Walker(tally).walk(seed, 80)
        variants = [parts(taken.variant)[1] for taken in beside.steps]
        assert all(parts(apart("unheard", steps)) == ("unheard", steps) for steps in variants)
        others |= {len(steps) for steps in variants}
    assert others == {0, 1, 2, 3}
    assert tally.apart > 20


def test_orders_keep_each_sequence() -> None:
    """Of two actions and another's, the three orders."""
    one, other = [("Claim", "p1"), ("Fail", "p1")], [("Post", "")]
    assert [[action for action, _ in order] for order in merged(one, other)] == [
        ["Claim", "Fail", "Post"],
        ["Claim", "Post", "Fail"],
        ["Post", "Claim", "Fail"],
    ]


_WALK = """
import sys
from pathlib import Path
from conformance.explore.record import as_tried, save_walk
from conformance.explore.setting import Setting
from conformance.explore.tally import Tally
from conformance.explore.walk import Walker
beside = Walker(Tally()).walk(int(sys.argv[2]), 80)
save_walk(Path(sys.argv[1]), Setting(beside.model.constants), as_tried(beside))
"""


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_same_seed_is_the_same_walk_to_the_byte(seed: int, tmp_path: Path) -> None:
    """In processes that hash differently."""
    written = []
    for hashed in ("0", "1", "4242"):
        path = tmp_path / f"{hashed}.itf.json"
        line = [sys.executable, "-c", _WALK, str(path), str(seed)]
        subprocess.run(line, cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": hashed}, check=True)
        written.append(path.read_bytes())
    assert written[0] == written[1] == written[2]
    assert len(written[0]) > 10_000
