"""The command line, and what it shows: a process that dies leaves nothing, and the story is what happened."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from threadclaim import __version__
from threadclaim.__main__ import main
from threadclaim.demo import Process, takeover
from threadclaim.demo.takeover import take_over
from threadclaim.events import MessagePosted, RunEnded, RunStarted
from threadclaim.steps import Send
from threadclaim.storage.protocol import lease_name
from threadclaim.testing import ScriptedTurn, Wait

if TYPE_CHECKING:
    from tests.docs.conftest import World

TTL = 30.0


def test_without_a_command_it_prints_help(capsys: pytest.CaptureFixture[str]) -> None:
    """And ends well."""
    assert main([]) == 0
    assert "demo" in capsys.readouterr().out


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """By `--version`."""
    with pytest.raises(SystemExit) as exited:
        main(["--version"])
    assert exited.value.code == 0
    assert capsys.readouterr().out == f"threadclaim {__version__}\n"


def test_an_unknown_command_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """With exit code 2, and a sentence."""
    with pytest.raises(SystemExit) as exited:
        main(["dema"])
    assert exited.value.code == 2
    assert "invalid choice: 'dema'" in capsys.readouterr().err


def test_output_that_nobody_reads_ends_it_with_a_sentence() -> None:
    """As by `| head -1`: exit code 2, and no traceback."""
    program = (
        "import os, sys; read, write = os.pipe(); os.close(read); os.dup2(write, 1); "
        "from threadclaim.__main__ import main; sys.exit(main(['demo']))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (2, "Nobody reads what is printed, so the rest is left out.\n")


def test_the_demo_is_deterministic(capsys: pytest.CaptureFixture[str]) -> None:
    """Twice the same; what it prints, the README shows."""
    assert main(["demo"]) == 0
    once = capsys.readouterr().out
    assert main(["demo"]) == 0
    assert capsys.readouterr().out == once


@pytest.mark.anyio
async def test_the_story_is_what_happened(monkeypatch: pytest.MonkeyPatch) -> None:
    """With claims of ten minutes, the other process looks once, ten minutes after it was refused."""
    monkeypatch.setattr(takeover, "CLAIM_TTL", 600.0)
    lines: list[str] = []
    await take_over(lines.append)
    (look,) = [line for line in lines if "looks again" in line]
    assert look.startswith("607.0 s  B")
    assert "nobody holds the thread" in look


# ---- A process that dies.


@pytest.mark.anyio
async def test_a_process_that_dies_leaves_no_task_and_no_trace(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """No end is recorded, no claim released, nothing logged, and nothing of it is alive."""
    before = asyncio.all_tasks()
    with caplog.at_level(logging.DEBUG, "threadclaim"):
        reached = asyncio.Event()
        process = Process(ScriptedTurn([Wait(asyncio.Event(), reached)]), world.faulty, claim_ttl=TTL)
        await process.do(process.runner.send(world.ann, "t", "one"))
        await reached.wait()
        await process.die()
    assert asyncio.all_tasks() == before
    assert [type(entry.event) for entry in await world.ann.read()][1:] == [MessagePosted, RunStarted]
    assert await world.ann.storage.transact(world.scope, lambda tx: tx.holder(lease_name("t"))) is not None
    assert caplog.records == []
    await asyncio.sleep(10 * TTL)
    assert await world.entries(RunEnded) == []


@pytest.mark.anyio
async def test_a_call_under_way_as_its_process_dies_may_have_taken_effect(world: World) -> None:
    """Its answer is never heard."""
    process, cut = world.mortal(after=Send)
    sending = asyncio.create_task(process.do(process.runner.send(world.ann, "t", "one")))
    await cut.wait()
    await process.die()
    (heard,) = await asyncio.gather(sending, return_exceptions=True)
    assert isinstance(heard, asyncio.CancelledError)
    assert len(await world.entries(MessagePosted)) == 1


@pytest.mark.anyio
async def test_a_dead_process_can_do_nothing(world: World) -> None:
    """Its storage answers no call, lists nothing, and follows nothing, for ever."""
    process, _ = world.mortal()
    process.storage.die()
    following = anext(process.storage.subscribe(world.scope, 0))
    calls = [
        process.storage.transact(world.scope, lambda tx: tx.head()),
        process.storage.stranded(world.scope),
    ]
    tasks = [asyncio.ensure_future(call) for call in (*calls, following)]
    await asyncio.sleep(1000)
    assert not any(task.done() for task in tasks)
    await process.storage.end_callers()
    assert all(task.cancelled() for task in tasks)
