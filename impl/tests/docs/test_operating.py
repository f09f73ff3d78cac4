"""The page for operators: each of its commands runs, over a database made for it; it prints what is shown."""

import asyncio
import contextlib
import io
import json
import os
import re
import shlex
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from threadclaim.__main__ import main
from threadclaim.events import MessagePosted, PersonActor, Request
from threadclaim.runner import Runner
from threadclaim.steps import DirectStart, Send
from threadclaim.storage import SqliteStorage
from threadclaim.storage.protocol import lease_name
from threadclaim.testing import Call, Complete, Pause, ScriptedTurn
from threadclaim.workspace import Workspace, Workspaces

PAGE = (ROOT / "docs/operating.md").read_text(encoding="utf-8")
APPLICATION = """
from threadclaim.runner import Runner
from threadclaim.testing import Complete, ScriptedTurn


def make_runner(storage):
    return Runner(ScriptedTurn([Complete("Booked.")]), storage)
"""
_CONSOLE = re.compile(r"^```console\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_VARIES = (
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"), "TIME"),
    (re.compile(r"\d[\d.]* (?:s|min|h|d)\b"), "SECONDS"),
    (re.compile(r"\b[0-9a-f]{32}\b"), "ID"),
    (re.compile(r" +"), " "),
)


def normal(text: str) -> str:
    """A text without what differs from run to run: times, new ids, and how wide columns are."""
    for pattern, word in _VARIES:
        text = pattern.sub(word, text)
    return text


def sessions(page: str) -> list[tuple[str, str]]:
    """The commands on a page, each with what it is said to print."""
    found: list[tuple[str, str]] = []
    for block in _CONSOLE.finditer(page):
        for part in block["text"].split("$ ")[1:]:
            command, _, prints = part.partition("\n")
            found.append((command, prints))
    return found


async def fill(file: Path) -> None:
    """Make the page's database: a thread of each kind, an old one, and one whose process died in its turn."""
    numbers, began = count(1), datetime.now(UTC) - timedelta(days=400)
    old = SqliteStorage(file, now=lambda: began)
    ann = Workspaces(old).workspace("acme", "trips", PersonActor("ann"))
    await ann.create_thread("essen")
    await send(ann, "essen", "m-1", [Complete("Booked.")])
    await old.aclose()
    storage = SqliteStorage(file, new_id=lambda: f"e-{next(numbers)}")
    ann = Workspaces(storage).workspace("acme", "trips", PersonActor("ann"))
    for thread_id in ("ulm", "köln", "bonn"):
        await ann.create_thread(thread_id)
    await send(ann, "ulm", "m-2", [Pause((Request("q-1", "question", "ask", {"question": "Which class?"}),))])
    await send(ann, "bonn", "m-3", [Call("find_trains"), Complete("Booked.")])
    for thread_id, message_id in (("köln", "m-4"), ("bonn", "m-5")):
        await storage.transact(ann.scope, Send(thread_id, MessagePosted(message_id, "a hotel"), ann.actor))
    await storage.transact(ann.scope, lambda tx: tx.acquire_lease(lease_name("köln"), "host-1", 3600.0))
    await storage.transact(ann.scope, DirectStart("köln", "host-1", "run-4", ann.actor, is_held=True))
    await storage.aclose()


async def send(
    workspace: Workspace, thread_id: str, message_id: str, script: Sequence[Call | Complete | Pause]
) -> None:
    """Send a message, and have it carried out."""
    numbers = count(1)
    async with Runner(
        ScriptedTurn(script), workspace.storage, new_id=lambda: f"{thread_id}-{next(numbers)}"
    ) as runner:
        sent = await runner.send(workspace, thread_id, "a train", message_id=message_id)
        assert sent.run is not None
        await sent.run.wait()
        await runner.drain()


def printed(command: str) -> str:
    """What a command prints."""
    name, *arguments = shlex.split(command)
    assert name == "threadclaim"
    with contextlib.redirect_stdout(io.StringIO()) as out:
        code = main(arguments)
    assert code == 0, command
    return out.getvalue()


def test_the_page_s_commands_print_what_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In order, but for times, and for ids that are new each time."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "app.py").write_text(APPLICATION, encoding="utf-8")
    asyncio.run(fill(tmp_path / "threads.db"))
    shown = sessions(PAGE)
    ran = [(command, printed(command)) for command, _ in shown]
    if into := os.environ.get("WRITE_PAGE_TO"):  # to write the page anew
        Path(into).write_text(rewritten(PAGE, ran), encoding="utf-8")
    assert [(command, normal(prints)) for command, prints in ran] == [
        (command, normal(prints)) for command, prints in shown
    ]


def rewritten(page: str, ran: Sequence[tuple[str, str]]) -> str:
    """A page with what its commands printed."""
    left = list(ran)

    def block(match: re.Match[str]) -> str:
        number = match["text"].count("$ threadclaim")
        parts = [f"$ {command}\n{prints}" for command, prints in left[:number]]
        del left[:number]
        return f"```console\n{''.join(parts)}```"

    return _CONSOLE.sub(block, page)


def test_keys_for_programs_are_those_of_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each command's figures, and of its rows, in order."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "app.py").write_text(APPLICATION, encoding="utf-8")
    asyncio.run(fill(tmp_path / "threads.db"))
    rows = re.findall(r"^\| (\w+) \| (.*`.*) \|(.*)\|$", PAGE.partition("## For programs")[2], re.MULTILINE)
    table = {
        name: (re.findall(r"`(\w+)`", figures), re.findall(r"`(\w+)`", row)) for name, figures, row in rows
    }
    table["show"] = ([*table["threads"][1], "entries"], [key for key in table["show"][1] if key != "text"])
    commands = {command.split()[1]: command for command, _ in sessions(PAGE)}
    for name, command in commands.items():
        if name != "migrate":
            said = json.loads(printed(f"{command} --json"))
            keys = [list(row) for row in said["rows"]]
            assert list(said["figures"]) == table[name][0], name
            assert keys == [table[name][1]] * len(keys), name
    said = json.loads(printed("threadclaim migrate new.db --json"))
    assert (list(said["figures"]), list(said["rows"][0])) == table["migrate"]


def test_every_command_is_shown() -> None:
    """Each that there is, but for the demo, and no other."""
    assert {command.split()[1] for command, _ in sessions(PAGE)} == {
        "migrate",
        "check",
        "threads",
        "show",
        "recover",
        "prune",
    }
