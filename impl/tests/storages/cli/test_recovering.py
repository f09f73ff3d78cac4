"""`recover`: it sweeps with the application's own runner, waits for what that started, and tells it all."""

import sys
from pathlib import Path

import pytest

from tests.storages.cli.applications import SAID
from tests.storages.cli.conftest import FORM, SECRET, Run, ask, take
from tests.storages.databases import ANN, Database
from threadclaim.events import RunEnded, RunStarted
from threadclaim.runner import Runner
from threadclaim.steps import DirectStart
from threadclaim.storage.sql.base import SqlStorage
from threadclaim.testing import Pause, ScriptedTurn
from threadclaim.workspace import Workspace, Workspaces

pytestmark = pytest.mark.anyio

APPLICATION = "tests.storages.cli.applications"


@pytest.mark.parametrize("factory", ["make", "make_later", "Factories.make"])
async def test_what_is_left_is_carried_out(
    trips: Workspace, database: Database, run: Run, factory: str
) -> None:
    """By a factory of any kind; each message is consumed, once, and a second sweep finds nothing."""
    for thread_id in ("one", "two"):
        await trips.create_thread(thread_id)
        await ask(trips, thread_id, f"m-{thread_id}")
    ran = await run("recover", database.target, "--runner", f"{APPLICATION}:{factory}")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[-1] == "2 threads left in 1 workspace: 2 completed."
    starts = [entry.event.consumes for entry in await trips.read() if isinstance(entry.event, RunStarted)]
    assert sorted(starts) == [(2,), (4,)]
    again = await run("recover", database.target, "--runner", f"{APPLICATION}:{factory}")
    assert (again.code, again.out) == (0, "0 threads left in 1 workspace.\n")


async def test_one_thread_s_failure_is_told_and_the_sweep_goes_on(
    storage: SqlStorage, database: Database, run: Run
) -> None:
    """In whichever workspace; the exit code says that somebody should look."""
    for tenant in ("acme", "beta"):
        workspace = Workspaces(storage).workspace(tenant, "trips", ANN)
        for thread_id in ("fails", "raises", "not started", "well", "claimed"):
            await workspace.create_thread(thread_id)
            await ask(workspace, thread_id, f"m-{thread_id}")
    acme = Workspaces(storage).workspace("acme", "trips", ANN)
    async with acme.claim_thread("claimed", ttl=600.0):
        ran = await run("recover", database.target, "--runner", f"{APPLICATION}:make_failing")
    assert ran.code == 1
    assert len(ran.out.splitlines()) == 12
    for said in ("no_train", "ConnectionError", "left; another process holds it"):
        assert said in ran.out
    assert ran.out.splitlines()[-1] == (
        "10 threads left in 2 workspaces: 1 claimed, 3 completed, 4 failed, 2 not started."
    )
    assert SAID not in ran.out + ran.err
    assert "Traceback" not in ran.out + ran.err


async def test_recover_for_programs(trips: Workspace, database: Database, run: Run) -> None:
    """Under keys that stay."""
    await trips.create_thread("not started")
    await ask(trips, "not started", "m")
    await trips.create_thread("well")
    await ask(trips, "well", "n")
    await trips.create_thread("form")
    await take(trips, "form", [Pause((FORM,))])
    async with Runner(ScriptedTurn(), trips.storage) as runner:
        await runner.send(trips, "form", SECRET)
        await runner.drain()
    arguments = ("recover", database.target, "--runner", f"{APPLICATION}:make_failing")
    ran = await run(*arguments, "--json")
    said = ran.json
    assert (ran.code, said["ok"]) == (1, False)
    assert said["figures"] == {
        "workspaces": 1,
        "threads": 2,
        "waiting": 1,
        "results": {"not started": 1, "completed": 1},
    }
    assert [list(row) for row in said["rows"]] == [
        ["tenant", "workspace", "thread", "result", "runs", "error_type", "claim"]
    ] * 2
    failed, well = said["rows"]
    assert (failed["error_type"], failed["runs"]) == ("ConnectionError", [])
    (ended,) = [entry for entry in await trips.read(threads=["well"]) if isinstance(entry.event, RunEnded)]
    assert well["runs"] == [{"run": ended.run_id, "outcome": "completed", "reason": None}]
    told = await run(*arguments)
    assert told.out.splitlines()[-1] == (
        "1 thread more waits for a form's answer, which no message gives: answer the form."
    )


async def test_a_dead_run_is_recorded(trips: Workspace, database: Database, run: Run) -> None:
    """And what was asked meanwhile is taken."""
    await trips.create_thread("t")
    await trips.storage.transact(trips.scope, DirectStart("t", "dead", "r", ANN, is_held=False))
    await ask(trips, "t", "m")
    ran = await run("recover", database.target, "--runner", f"{APPLICATION}:make", "--json")
    (row,) = ran.json["rows"]
    assert (ran.code, row["result"]) == (0, "completed")
    assert [(end["outcome"], end["reason"]) for end in row["runs"]] == [
        ("failed", "abandoned"),
        ("completed", None),
    ]


async def test_only_the_named_workspace_is_swept(storage: SqlStorage, database: Database, run: Run) -> None:
    """The others stay as they are."""
    acme, beta = (Workspaces(storage).workspace(tenant, "trips", ANN) for tenant in ("acme", "beta"))
    for workspace in (acme, beta):
        await workspace.create_thread("t")
        await ask(workspace, "t", "m")
    named = ("--tenant", "beta", "--workspace", "trips", "--json")
    ran = await run("recover", database.target, "--runner", f"{APPLICATION}:make", *named)
    assert [row["tenant"] for row in ran.json["rows"]] == ["beta"]
    assert (await storage.stranded(beta.scope)).left == ()
    assert (await storage.stranded(acme.scope)).left == ("t",)


@pytest.mark.parametrize(
    ("runner", "sentence"),
    [
        ("make", "'make' names no factory. Give --runner package.module:factory."),
        (f"{APPLICATION}:", f"'{APPLICATION}:' names no factory. Give --runner package.module:factory."),
        (f"{APPLICATION}:made", f"There is no 'made' in the module '{APPLICATION}'. Did you mean 'make'?"),
        (f"{APPLICATION}:zzz", f"There is no 'zzz' in the module '{APPLICATION}'. Correct --runner."),
        ("tests.nowhere:make", "There is no module 'tests.nowhere'. Run this where"),
        (f"{APPLICATION}:NOTHING", "is of type int. Name a function that takes the storage"),
        (f"{APPLICATION}:make_nothing", "gives what is of type NoneType. Have it return a Runner"),
        (f"{APPLICATION}:make_badly", "raises: ValueError, no key. Mend the factory; nothing was swept."),
        (f"{APPLICATION}:make_elsewhere", "The workspace is of another storage than the runner's"),
    ],
)
async def test_a_factory_that_is_none_is_refused(
    trips: Workspace, database: Database, run: Run, runner: str, sentence: str
) -> None:
    """With what to do; nothing was swept."""
    await trips.create_thread("t")
    await ask(trips, "t", "m")
    ran = await run("recover", database.target, "--runner", runner)
    assert (ran.code, ran.out, sentence in ran.err, ran.err.count("\n")) == (2, "", True, 1)
    assert await trips.head() == 2


@pytest.mark.usefixtures("made")
@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("1 / 0", "raises as it is imported: ZeroDivisionError, division by zero"),
        ("import not_installed_here", "needs a module that is not there: not_installed_here."),
        ("def (", "raises as it is imported: SyntaxError, "),
    ],
)
async def test_an_application_that_cannot_be_imported(  # noqa: PLR0913, PLR0917  # fixtures
    database: Database,
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    source: str,
    sentence: str,
) -> None:
    """It is looked for in the working folder too; what it raises is told."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "application.py").write_text(source, encoding="utf-8")
    ran = await run("recover", str(database.target), "--runner", "application:make")
    sys.modules.pop("application", None)
    assert (ran.code, ran.out, sentence in ran.err, ran.err.count("\n")) == (2, "", True, 1)
