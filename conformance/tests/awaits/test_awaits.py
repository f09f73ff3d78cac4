"""Awaits are found by the harness, faults come to each of them, and what is not well is seen."""

import asyncio
import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from conformance.awaits import case
from conformance.awaits.case import FAULTS, list_awaits
from conformance.awaits.command import AS_EXPECTED, NOT_AS_EXPECTED, Awaits
from conformance.awaits.numbering import OWNER, Await, Numbering
from conformance.awaits.scenarios import SCENARIOS
from conformance.awaits.under_test import under_test
from tests.durable import server
from threadclaim.claimant import Claimant
from threadclaim.handover import Leaving, Left
from threadclaim.steps import StartRun


def run(storage: str, scenario: str, path: Path) -> tuple[int, Console]:
    """Run the command; its exit code, and what it printed."""
    console = Console(record=True, width=200, file=io.StringIO())
    dsn = server() if storage == "postgres" else None
    return Awaits(console).run(storage, scenario, dsn, path), console


async def found(kind: str) -> dict[str, list[Await]]:
    """The awaits of each scenario, found twice in a row: a storage may open a connection more before that."""
    numbering = Numbering()
    numbering.install(asyncio.get_running_loop())
    listed: list[list[list[Await]]] = []
    async with under_test(kind) as tested:
        while len(listed) < 2 or listed[-1] != listed[-2]:
            assert len(listed) < 6, "They are others each time."
            listed.append([await list_awaits(each, tested, numbering) for each in SCENARIOS])
    return dict(zip([each.name for each in SCENARIOS], listed[-1], strict=True))


def test_awaits_are_found() -> None:
    """Of callers, claimants, turns and storage calls; the same each time, and each of them once."""
    awaits = asyncio.run(found("memory"))
    assert all(len(set(each)) == len(each) for each in awaits.values())
    roles = {each.role for each in awaits["send"]}
    assert roles >= {"caller", "claimant", "turn"}
    steps = {each.step for each in awaits["send"]}
    assert steps >= {"Send", "Claim", "LoadHistory", "StartRun", "EndRun", "Release"}
    assert {"Abandon", "Replan", "stranded"} <= {each.step for each in awaits["recover"]}
    assert {"Reply", "Answer"} <= {each.step for name in ("reply", "answer") for each in awaits[name]}


def test_a_storages_own_awaits_are_found() -> None:
    """A file's are more than memory's."""
    memory, sqlite = asyncio.run(found("memory")), asyncio.run(found("sqlite"))
    assert all(len(sqlite[name]) > len(awaits) for name, awaits in memory.items())
    assert "storage" in {each.role for each in sqlite["send"]}


async def made_by(name: str) -> list[str]:
    """The roles whose awaits are met when a task of this name makes a task, and that one a claimant."""
    numbering, met = Numbering(), list[str]()
    numbering.install(asyncio.get_running_loop())
    numbering.begin(lambda each: met.append(each.role))
    OWNER.set("p")

    async def waits() -> None:
        await asyncio.sleep(0)

    async def makes() -> None:
        await asyncio.create_task(waits(), name="claimant c")

    async def begins() -> None:
        await asyncio.create_task(makes())

    await asyncio.create_task(begins(), name=name)
    return met


def test_what_a_read_makes_is_left_out_with_it() -> None:
    """A watcher's storage has tasks of its own, now more and now fewer; but a claimant is always seen."""
    assert asyncio.run(made_by("turn t")) == ["turn", "storage", "claimant"]
    for name in ("watcher w", "renewals r", "look l"):
        assert asyncio.run(made_by(name)) == ["claimant"]


@pytest.mark.parametrize("storage", ["memory", "sqlite", "postgres"])
def test_every_fault_at_every_await(storage: str, tmp_path: Path) -> None:
    """All of a scenario: every cell is well, and the JSON says so. The others are the command's."""
    path = tmp_path / "awaits.json"
    code, console = run(storage, "stop", path)
    assert code == AS_EXPECTED, console.export_text()
    outcome = json.loads(path.read_text())
    assert outcome["ok"]
    figures = outcome["figures"]
    assert figures["passed"] == figures["cases"] == len(outcome["rows"])
    assert {row["fault"] for row in outcome["rows"]} == set(FAULTS)


def test_a_message_that_is_sent(tmp_path: Path) -> None:
    """The first scenario, in memory."""
    code, console = run("memory", "send", tmp_path / "awaits.json")
    assert code == AS_EXPECTED, console.export_text()


# ---- The harness is seen to fail.


def test_a_state_that_the_model_does_not_reach(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is named, with what the durable state was, and the command that shows it again."""
    monkeypatch.setattr(case, "reached", lambda *_: frozenset())
    code, console = run("memory", "stop", tmp_path / "awaits.json")
    text = console.export_text()
    assert code == NOT_AS_EXPECTED
    assert "The model reaches no state whose durable part is" in text
    assert "python -m conformance awaits --storage memory --scenario stop" in text


def test_a_claim_that_is_not_released(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A claimant that leaves its claim behind leaves a thread that nobody can take."""

    async def keeps(self: Claimant, leaving: Leaving) -> Left | None:  # noqa: ARG001  # as it is called
        return None

    monkeypatch.setattr(Claimant, "_release", keeps)
    code, console = run("memory", "send", tmp_path / "awaits.json")
    assert code == NOT_AS_EXPECTED
    assert "The claim is held." in console.export_text()


def test_a_start_that_says_nothing_of_its_prompt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No log write consumes it."""
    start = StartRun.__call__

    async def says_nothing(self: StartRun, tx: object) -> object:
        object.__setattr__(self, "consumes", ())
        return await start(self, tx)  # type: ignore[arg-type]  # a transaction

    monkeypatch.setattr(StartRun, "__call__", says_nothing)
    code, console = run("memory", "stop", tmp_path / "awaits.json")
    assert code == NOT_AS_EXPECTED
    assert "is consumed 0 times" in console.export_text()
