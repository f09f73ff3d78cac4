"""A walk that goes wrong is kept, whatever went wrong, and goes wrong again by the command printed."""

import asyncio
import inspect
import json
from collections.abc import Iterator
from dataclasses import fields, replace
from itertools import count
from pathlib import Path

import pytest
from rich.console import Console

from conformance.actions import ACTIONS, Done, ImpossibleError, Ways
from conformance.beside import DivergedError
from conformance.explore.again import Walked, again, shrink
from conformance.explore.check import BrokenError
from conformance.explore.command import Explore
from conformance.explore.finish import LeftOverError
from conformance.explore.keep import kept
from conformance.explore.profiles import PROFILES, Profile
from conformance.explore.record import load_walk
from conformance.explore.setting import AGENTS, DIRECT, REAL, STEPPED, Setting
from conformance.explore.walk import SHAPES, constants_of
from conformance.model.model import Model
from conformance.replay.command import Replay
from conformance.state import plain
from conformance.tests.explore.broken_direct_rules import starts_directly_without_its_claim
from conformance.view.reading import read_walk
from conformance.world.durable import STORAGES
from conformance.world.loop import WorldError
from conformance.world.model_agent import ModelRun
from conformance.world.process import Process
from conformance.world.world import World

ONE_TURN = [("Send", "p1", ""), ("Claim", "p1", ""), ("StartRun", "p1", "")]
STEERED = [*ONE_TURN, ("Send", "p2", ""), ("Deliver", "p1", "")]
PAIR = Setting(constants_of((2, 1)))


def explored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **walks: int) -> tuple[int, str]:
    """Run the command with so many walks of each kind; its code, and what it prints."""
    profile = replace(Profile(walks=0, real=0, examples=0, steps=40), **walks)
    monkeypatch.setitem(PROFILES, "small", profile)
    console = Console(width=160, record=True, file=(tmp_path / "out").open("w"))
    code = Explore(tmp_path, console).run("small", 0, None)
    console.file.close()
    return code, console.export_text()


def replayed(tmp_path: Path, path: Path) -> tuple[int, str]:
    """Replay a file; the code, and what is printed."""
    console = Console(width=160, record=True, file=(tmp_path / "out").open("w"))
    code = Replay(tmp_path, console).run([path], None)
    console.file.close()
    return code, console.export_text()


def the_one_found(tmp_path: Path) -> Path:
    """The one walk that was kept."""
    (path,) = (tmp_path / "traces" / "found").iterdir()
    return path


# ---- What a file must say of a walk.


def test_a_world_has_no_parameter_that_a_walk_does_not_save() -> None:
    """Who gives `World` another one gives it to `Setting`, and to the files of walks."""
    parameters = set(inspect.signature(World).parameters)
    assert parameters == {"constants", "make", "make_agent", "make_storage"}
    assert {field.name for field in fields(Setting)} == {"constants", "make", "agent", "storage"}


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_setting_comes_back_from_its_file(agent: str, storage: str, shape: tuple[int, int]) -> None:
    """Every agent, every storage, and every shape that walks have."""
    setting = Setting(constants_of(shape), agent, storage=storage)
    assert Setting.of(setting.meta) == setting


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"agent": "other"}, "its agent is other, and not stepped or pydantic-ai"),
        ({"agent": ""}, "its agent is not told"),
        ({"storage": "paper"}, "its storage is paper, and not memory or sqlite or postgres"),
        ({"shape": "2"}, "its shape is not told"),
        ({"shape": "2 x"}, "its shape has 'x' where a number"),
        ({"shape": "0 1"}, "its shape is 0 1, and there are from 1 to 16 tasks"),
        ({"shape": "900 900"}, "its shape is 900 900"),
        ({"max_fail": "-1"}, "max_fail has '-1' where a number"),
        ({"max_fail": "9" * 5000}, "where a number up to 999 should be"),
    ],
)
def test_what_is_no_setting_is_told(said: dict[str, str], why: str) -> None:
    """In words that a sentence goes on with."""
    with pytest.raises(ValueError, match=why):
        Setting.of(PAIR.meta | said)


def test_a_walk_of_the_real_agent_is_walked_again_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the other agent it goes well, and it would seem to be mended."""

    def take(_: ModelRun) -> None:
        raise WorldError("The real agent takes nothing.")

    monkeypatch.setattr(ModelRun, "take", take)
    code, text = explored(tmp_path, monkeypatch, real=60)
    path = the_one_found(tmp_path)
    assert code == 1
    assert f"Again: .venv/bin/python -m conformance replay traces/found/{path.name}" in text
    assert load_walk(path).setting.agent == REAL
    code, text = replayed(tmp_path, path)
    assert code == 1
    assert "The real agent takes nothing." in text
    saved = load_walk(path)
    assert again(replace(saved.setting, agent=STEPPED), saved.steps).error is None


def test_a_walk_with_direct_runs_is_walked_again_with_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its file says so, its steps are those of their world, and it is told like any other."""
    starts_directly_without_its_claim(monkeypatch)
    code, _ = explored(tmp_path, monkeypatch, direct=80)
    path = the_one_found(tmp_path)
    assert code == 1
    saved = load_walk(path)
    assert saved.setting.agent == DIRECT
    assert "HoldThread" in {action for action, _, _ in saved.steps}
    code, text = replayed(tmp_path, path)
    assert code == 1
    assert "DirectStart(" in text
    assert [step.action for step in read_walk(path).steps][-1] == "DirectStart"
    monkeypatch.undo()
    assert again(saved.setting, saved.steps).error is None


# ---- Whatever goes wrong.


def test_the_step_that_nothing_explains_is_in_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a WorldError there is no state, so the step leads to the state before it; and it is told."""

    def deliver(*_: object) -> Done:
        raise WorldError("It cannot be explained.")

    monkeypatch.setitem(ACTIONS, "Deliver", replace(ACTIONS["Deliver"], do=deliver))
    walked = shrink(PAIR, STEERED)
    assert walked.steps[-1].action == "Deliver"
    assert walked.why == f"At step {len(walked.steps) + 1}, Deliver(p1): It cannot be explained."
    assert walked.kind == ("WorldError", "Deliver", "It cannot be explained.")


def test_a_step_that_cannot_be_done_and_does_something_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is no step of the walk's, but without it nothing goes wrong."""
    noted: list[World] = []

    def note(world: World, *_: str) -> Done:
        noted.append(world)
        raise ImpossibleError("Note", "", "it is noted all the same", is_known=True)

    def post(world: World, *_: str) -> Done:
        if world in noted:
            raise WorldError("It was noted before.")
        raise ImpossibleError("Post", "", "nothing was noted", is_known=True)

    monkeypatch.setitem(ACTIONS, "Note", replace(ACTIONS["Note"], do=note))
    monkeypatch.setitem(ACTIONS, "Post", replace(ACTIONS["Post"], do=post))
    walked = shrink(PAIR, [("Post", "", ""), ("Note", "", ""), *ONE_TURN, ("Post", "", "")])
    assert list(walked.to_take) == [("Note", "", ""), ("Post", "", "")]
    kept(tmp_path, walked)
    saved = load_walk(the_one_found(tmp_path))
    assert again(saved.setting, saved.steps).kind == walked.kind


@pytest.fixture
def closing(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Worlds that cannot be closed well once a run has started in them."""
    close = World.close

    def fails(world: World) -> None:
        messages = world.told.messages
        close(world)
        if messages:
            raise WorldError("The world ends with a task left.")

    with monkeypatch.context() as patched:
        patched.setattr(World, "close", fails)
        yield


@pytest.mark.usefixtures("closing")
def test_a_world_that_cannot_be_closed_is_a_failure_like_others(tmp_path: Path) -> None:
    """It is shrunk, kept, and goes wrong again; at no step, but as all of them end."""
    walked = shrink(PAIR, STEERED)
    assert walked.kind == ("WorldError", "The world ends with a task left.")
    assert walked.why == "The world ends with a task left."
    assert 1 <= walked.given < len(STEERED)
    assert len(walked.steps) > walked.given
    kept(tmp_path, walked)
    code, text = replayed(tmp_path, the_one_found(tmp_path))
    assert code == 1
    assert "The world ends with a task left." in text


@pytest.mark.usefixtures("closing")
@pytest.mark.parametrize("walks", ["walks", "real", "examples"])
def test_exploration_tells_of_a_world_that_cannot_be_closed(
    walks: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever chose the walk, and with either agent."""
    code, text = explored(tmp_path, monkeypatch, **{walks: 20})
    assert code == 1
    assert "The world ends with a task left." in text
    assert "Never reached" not in text
    agent = REAL if walks == "real" else STEPPED
    assert load_walk(the_one_found(tmp_path)).setting.agent == agent


def test_what_went_wrong_first_is_told_and_not_what_closing_comes_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """A world in which something went wrong can seldom be closed well."""

    def close(_: World) -> None:
        raise WorldError("It cannot be closed.")

    monkeypatch.setattr(World, "close", close)
    with pytest.raises(ZeroDivisionError), PAIR.opened():
        raise ZeroDivisionError


def test_a_world_that_cannot_be_closed_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """No loop that runs, so that the next world begins as this one did."""

    def crash(_: Process) -> None:
        raise WorldError("A task outlives it.")

    world = World(PAIR.constants)
    with monkeypatch.context() as patched:
        patched.setattr(Process, "crash", crash)
        with pytest.raises(WorldError, match="outlives"):
            world.close()
    assert world.loop.is_closed()
    with pytest.raises(RuntimeError, match="no running event loop"):
        asyncio.get_running_loop()
    assert again(PAIR, ONE_TURN).error is None


def test_a_walk_that_goes_well_once_more_is_kept_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What happens only once has happened: all that was tried is in the file."""
    times, release = count(), ACTIONS["Release"].do

    def once(world: World, task: str, variant: str) -> Ways:
        if next(times) == 0:
            raise WorldError("It happens once.")
        return release(world, task, variant)

    monkeypatch.setitem(ACTIONS, "Release", replace(ACTIONS["Release"], do=once))
    code, text = explored(tmp_path, monkeypatch, walks=20)
    assert code == 1
    assert "It happens once." in text
    assert load_walk(the_one_found(tmp_path)).steps[-1][0] == "Release"


# ---- What is the same failure, and what is another.


def diverged(action: str, **differs: int) -> DivergedError:
    """The error of a step after which these variables are others."""
    state = Model(PAIR.constants).init()
    return DivergedError(
        "a step",
        [(action, "p1")],
        plain(state._replace(**differs)),  # type: ignore[arg-type]  # some of its numbers
        [state],
    )


def kind(error: Exception) -> tuple[str, ...]:
    """Its kind, in a walk without steps."""
    return Walked(PAIR, [], 0, error).kind


def test_failures_of_one_kind_and_of_others() -> None:
    """Told by the action, and by what differs; not by who it was, or which number."""
    assert kind(diverged("Send", asked=1)) == ("DivergedError", "Send", "asked")
    assert kind(diverged("Send", asked=1)) == kind(diverged("Send", asked=2))
    others = [
        diverged("Send", asked=1),
        diverged("Claim", asked=1),
        diverged("Send", taken=1),
        diverged("Send", asked=1, taken=1),
        BrokenError(("TypeOK",)),
        BrokenError(("RunsInTurn",)),
        LeftOverError("The claim is p1's."),
        LeftOverError("A look waits."),
        WorldError("p1 waits in Claim."),
        WorldError("p1 waits in Replan."),
    ]
    assert len({kind(error) for error in others}) == len(others)
    assert kind(WorldError("p1 waits in Claim.")) == kind(WorldError("q2 waits in Claim."))
    assert kind(LeftOverError("Tasks are at ['idle'].")) == kind(
        LeftOverError("Tasks are at ['claim', 'idle'].")
    )


def test_a_walk_is_not_shrunk_into_another_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Though that would be shorter."""

    def fails(action: str, why: str, after: int) -> None:
        do = ACTIONS[action].do

        def wrong(world: World, actor: str, variant: str) -> Ways:
            if world.messages > after:
                raise WorldError(why)
            return do(world, actor, variant)

        monkeypatch.setitem(ACTIONS, action, replace(ACTIONS[action], do=wrong))

    fails("Claim", "One thing.", 1)
    fails("Refused", "Another.", 0)
    steps = [("Send", "p1", ""), ("Send", "p2", ""), ("Claim", "p1", "")]
    assert shrink(PAIR, steps).kind == ("WorldError", "Claim", "One thing.")
    assert [step.action for step in shrink(PAIR, [*steps, ("Refused", "p2", "")]).steps] == [
        "Send",
        "Send",
        "Claim",
    ]


def test_every_walk_that_is_found_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of the same kind has a file of its own; the same walk has the same."""

    def deliver(*_: object) -> Done:
        raise WorldError("No.")

    monkeypatch.setitem(ACTIONS, "Deliver", replace(ACTIONS["Deliver"], do=deliver))
    first = again(PAIR, STEERED)
    other = again(PAIR, [("Note", "", ""), *STEERED])
    assert kept(tmp_path, first).command == kept(tmp_path, first).command
    assert kept(tmp_path, other).command != kept(tmp_path, first).command
    names = sorted(path.name for path in (tmp_path / "traces" / "found").iterdir())
    assert names == ["WorldError-Deliver-No-2.itf.json", "WorldError-Deliver-No.itf.json"]
    assert json.loads((tmp_path / "traces" / "found" / names[1]).read_text())["#meta"]["given"] == "5"
