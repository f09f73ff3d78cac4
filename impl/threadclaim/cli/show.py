"""`threadclaim show`: one thread's story, from its log."""

import json
from argparse import Namespace
from collections.abc import Sequence
from shlex import quote
from typing import Any

from threadclaim.cli.commands import Commands, count_of
from threadclaim.cli.databases import add_dsn, add_workspace, chosen, like, opened
from threadclaim.cli.report import Report, counted, iso, moment
from threadclaim.cli.story import became, consumed, told
from threadclaim.cli.tables import Table, cell
from threadclaim.cli.threads import claim_told, row_of
from threadclaim.errors import RequestError
from threadclaim.events import ENVELOPE, Actor, Envelope
from threadclaim.storage.protocol import Scope
from threadclaim.storage.sql import operating
from threadclaim.storage.sql.base import SqlStorage
from threadclaim.storage.sql.operating import Seen

COLUMNS = ("seq", "time (UTC)", "actor", "event", "run", "what", "became of it")


def add(commands: Commands) -> None:
    """Add the command."""
    told_of = "tell one thread's story from its log; no text, unless asked to"
    parser = commands.add_parser("show", help=told_of, description=f"{told_of[0].upper()}{told_of[1:]}.")
    add_dsn(parser)
    parser.add_argument("thread", metavar="THREAD", help="the thread's id")
    add_workspace(parser)
    parser.add_argument("--last", type=count_of, metavar="N", help="only the last entries, at most so many")
    parser.add_argument(
        "--text", action="store_true", help="print messages, arguments, answers, outputs and errors too"
    )
    parser.set_defaults(run=run)


async def run(arguments: Namespace) -> Report:
    """Tell it."""
    async with opened(arguments.dsn) as storage:
        scope, seen = await _found(storage, arguments)
        entries = [entry async for entry in operating.entries(storage, seen.number, seen.thread.thread_id)]
    shown = entries if arguments.last is None else entries[max(len(entries) - arguments.last, 0) :]
    by = consumed(entries)
    cells = [_cells(entry, became(entry, by, seen.asked, seen.taken), arguments) for entry in shown]
    left_out = len(entries) - len(shown)
    return Report(
        "show",
        row_of(scope, seen) | {"entries": len(entries)},
        [_row(entry, by.get(entry.seq), seen, texts=arguments.text) for entry in shown],
        [
            *_heading(scope, seen),
            "",
            *([f"({counted(left_out, 'earlier entry', 'earlier entries')} left out)"] if left_out else []),
            *([Table(COLUMNS, cells)] if cells else []),
        ],
    )


async def _found(storage: SqlStorage, arguments: Namespace) -> tuple[Scope, Seen]:
    """The thread, in the one workspace that has it of those named. Raises RequestError."""
    scopes = await chosen(storage, arguments)
    having = set(await operating.scopes_with(storage, arguments.thread))
    found = [scope for scope in scopes if scope in having]
    if len(found) > 1:
        named = "; ".join(map(_options_of, found))
        raise RequestError(f"{len(found)} workspaces have a thread {arguments.thread!r}. Name one: {named}.")
    seen = await operating.thread(storage, found[0], arguments.thread) if found else None
    if seen is None:
        raise RequestError(await _unknown(storage, scopes, arguments.thread, sorted(having)))
    return found[0], seen


async def _unknown(
    storage: SqlStorage, scopes: Sequence[Scope], thread_id: str, having: Sequence[Scope]
) -> str:
    """What is said of a thread that is not there: where it is, or what was meant perhaps."""
    if having:
        elsewhere = _options_of(having[0])
        return f"There is no thread {thread_id!r} in that workspace, but in another: {elsewhere}."
    names = {name for scope in scopes for name in await operating.thread_ids(storage, scope)}
    return f"There is no thread {thread_id!r} here{like(thread_id, sorted(names))}"


def _options_of(scope: Scope) -> str:
    """The options that name a workspace, as a shell takes them."""
    return f"--tenant {quote(cell(scope.tenant))} --workspace {quote(cell(scope.workspace))}"


def _heading(scope: Scope, seen: Seen) -> Sequence[str]:
    """How the thread stands."""
    run = seen.thread.run
    lines = [
        f"thread {seen.thread.thread_id} of tenant {scope.tenant}, workspace {scope.workspace}",
        f"state   {seen.state}",
        f"cursors asked {seen.asked}, taken {seen.taken}"
        + (f": {counted(seen.messages, 'message')} asked and not taken" if seen.messages else ""),
        f"claim   {claim_told(seen.claim) or 'none'}",
    ]
    if run is not None:
        lines.append(f"run     {run.run_id}, {run.status}")
    lines += (
        [f"open    {request.kind} {request.id}, by {request.tool_name}" for request in run.open_requests]
        if run
        else []
    )
    return list(map(cell, lines))  # an id is no line of ours


def _cells(entry: Envelope, what_became: str, arguments: Namespace) -> Sequence[str]:
    """An entry's cells."""
    return (
        str(entry.seq),
        moment(entry.at),
        _name(entry.actor),
        entry.event.type,
        entry.run_id or "",
        told(entry, texts=arguments.text),
        what_became,
    )


def _name(actor: Actor) -> str:
    """An actor, in a word or two: a person by the id alone."""
    return str(getattr(actor, "id", "")) or f"{actor.kind} {getattr(actor, 'name', '')}"


def _row(entry: Envelope, by: Any, seen: Seen, *, texts: bool) -> dict[str, Any]:  # noqa: ANN401  # JSON
    """An entry for programs; `text` is the event itself, only if it was asked for."""
    is_open = entry.is_message and by is None and entry.seq > seen.taken
    row = {
        "seq": entry.seq,
        "at": iso(entry.at),
        "actor": {
            "kind": entry.actor.kind,
            "name": getattr(entry.actor, "id", None) or getattr(entry.actor, "name", ""),
        },
        "event": entry.event.type,
        "run": entry.run_id,
        "what": told(entry, texts=False),
        "consumed": by,
        "not_taken": is_open,
        "asked": is_open and entry.seq <= seen.asked,
    }
    return row | ({"text": json.loads(ENVELOPE.dump_json(entry))["event"]} if texts else {})
