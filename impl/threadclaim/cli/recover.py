"""`threadclaim recover`: sweep workspaces with the application's own runner, and wait for what it started."""

import logging
from argparse import Namespace
from collections import Counter
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from typing_extensions import override

from threadclaim.cli.commands import Commands
from threadclaim.cli.databases import add_dsn, add_workspace, chosen, opened
from threadclaim.cli.factories import factory_of, made
from threadclaim.cli.report import Report, counted
from threadclaim.cli.tables import Table
from threadclaim.cli.threads import claim_row, claim_told
from threadclaim.events import RUNNER, Envelope, RunEnded, RunPaused
from threadclaim.runner import Runner
from threadclaim.storage.protocol import Scope
from threadclaim.storage.sql import operating
from threadclaim.storage.sql.base import SqlStorage
from threadclaim.storage.sql.operating import Seen
from threadclaim.workspace import Workspace

Result = Literal["completed", "paused", "stopped", "failed", "not started", "claimed", "left", "taken"]
"""What a sweep of a thread came to."""

WRONG: frozenset[Result] = frozenset({"failed", "not started", "left"})
"""The results that somebody should see to."""

_WORDS: dict[Result, str] = {
    "claimed": "another process holds it, and takes it, or its claim lapses: then run this again",
    "left": "it is still left: see the log of this command, and run it again",
    "not started": "its turn failed to start and took nothing: mend that, and run this again",
    "failed": "its run failed, and is recorded so: see the thread, which may be sent to again",
    "taken": "nothing is left to do",
}


def add(commands: Commands) -> None:
    """Add the command."""
    told = "carry out what is asked and not taken, with the application's own runner"
    parser = commands.add_parser("recover", help=told, description=f"{told[0].upper()}{told[1:]}.")
    add_dsn(parser)
    parser.add_argument(
        "--runner",
        required=True,
        metavar="package.module:factory",
        help="a function that takes the storage and returns a Runner over it",
    )
    add_workspace(parser)
    parser.set_defaults(run=run)


@dataclass(slots=True)
class Sweep:
    """A workspace's sweep: the threads that were left, where their logs ended, and which failed to start."""

    workspace: Workspace
    before: dict[str, Seen]
    failures: dict[str, str] = field(default_factory=dict)

    @property
    def scope(self) -> Scope:
        """The workspace's scope."""
        return self.workspace.scope


async def run(arguments: Namespace) -> Report:
    """Sweep every workspace that is named, wait for what that started, and say what came of each thread."""
    factory = factory_of(arguments.runner)
    async with opened(arguments.dsn) as storage:
        scopes = await chosen(storage, arguments)
        async with await made(arguments.runner, factory, storage) as runner:
            sweeps = [await _swept(storage, runner, scope) for scope in scopes]
            with _noting({}):
                await _ended(runner, sweeps)
        rows = [row for sweep in sweeps for row in await _rows(storage, sweep)]
        waiting = [len((await storage.stranded(scope)).waiting) for scope in scopes]
    return _report(rows, len(scopes), sum(waiting))


async def _swept(storage: SqlStorage, runner: Runner, scope: Scope) -> Sweep:
    """Sweep one workspace; what fails to start is noted, and the sweep goes on."""
    left = (await storage.stranded(scope)).left
    seen = {thread_id: await operating.thread(storage, scope, thread_id) for thread_id in left}
    sweep = Sweep(
        Workspace(storage, scope, RUNNER),
        {thread_id: each for thread_id, each in seen.items() if each is not None},
    )
    with _noting(sweep.failures):
        await runner.recover(sweep.workspace)
    return sweep


async def _ended(runner: Runner, sweeps: Iterable[Sweep]) -> None:
    """Wait until no run goes on that the sweeps started, or their hand-overs, and none is to be started."""
    threads = [(sweep.workspace, thread_id) for sweep in sweeps for thread_id in sweep.before]
    while True:
        await runner.drain()
        going = [run for workspace, thread_id in threads if (run := runner.running(workspace, thread_id))]
        if not going:
            return
        for each in going:
            await each.wait()


class _Notes(logging.Handler):
    """Notes which threads' turns failed, and of what kind of error: an error's text may quote a message."""

    def __init__(self, failures: dict[str, str]) -> None:
        """Note them here."""
        super().__init__(logging.WARNING)
        self._failures = failures

    @override
    def emit(self, record: logging.LogRecord) -> None:
        thread_id = getattr(record, "thread_id", None)
        if thread_id is not None:
            kind = getattr(record, "error_type", None) or record.getMessage()
            self._failures[thread_id] = kind


@contextmanager
def _noting(failures: dict[str, str]) -> Generator[None]:
    """Note what the runner logs, in place of printing it with tracebacks."""
    logger, notes = logging.getLogger("threadclaim"), _Notes(failures)
    propagated, logger.propagate = logger.propagate, False
    logger.addHandler(notes)
    try:
        yield
    finally:
        logger.removeHandler(notes)
        logger.propagate = propagated


async def _rows(storage: SqlStorage, sweep: Sweep) -> Sequence[dict[str, Any]]:
    """What came of each thread that was left, as its log tells it, for programs."""
    rows: list[dict[str, Any]] = []
    for thread_id, before in sweep.before.items():
        after = await operating.thread(storage, sweep.scope, thread_id)
        if after is None:
            continue  # it was pruned meanwhile
        past = [entry async for entry in operating.entries(storage, before.number, thread_id, before.head)]
        ends = [end for entry in past if (end := _end(entry)) is not None]
        error = sweep.failures.get(thread_id)
        rows.append(
            {
                "tenant": sweep.scope.tenant,
                "workspace": sweep.scope.workspace,
                "thread": thread_id,
                "result": _result(after, ends, error),
                "runs": ends,
                "error_type": error,
                "claim": claim_row(after.claim),
                "claim_told": claim_told(after.claim),
            }
        )
    return rows


def _end(entry: Envelope) -> dict[str, Any] | None:
    """How a run ended, or paused, as an entry tells it; None for any other entry."""
    match entry.event:
        case RunPaused(run_id=run_id):
            return {"run": run_id, "outcome": "paused", "reason": None}
        case RunEnded(run_id=run_id, outcome=outcome, reason=reason):
            return {"run": run_id, "outcome": outcome, "reason": reason}
        case _:
            return None


def _result(after: Seen, ends: Sequence[dict[str, Any]], error: str | None) -> Result:
    """What a sweep of a thread came to."""
    own = [end for end in ends if end["reason"] != "abandoned"]
    if after.state in {"running", "claimed"}:
        return "claimed"
    if after.state == "left":
        return "left" if error is None else "not started"
    result: Result = own[-1]["outcome"] if own else "taken"
    return result


def _report(rows: list[dict[str, Any]], workspaces: int, waiting: int) -> Report:
    """What the sweeps came to."""
    counts = Counter(row["result"] for row in rows)
    cells = [_cells(row) for row in rows]
    columns = ("tenant", "workspace", "thread", "result", "what")
    total = ", ".join(f"{count:,} {result}" for result, count in sorted(counts.items()))
    said = f"{counted(len(rows), 'thread')} left in {counted(workspaces, 'workspace')}" + (
        f": {total}." if total else "."
    )
    forms = (
        f"{counted(waiting, 'thread')} more wait{'s' if waiting == 1 else ''} for a form's answer, which no "
        "message gives: answer the form."
    )
    for row in rows:
        del row["claim_told"]
    return Report(
        "recover",
        {"workspaces": workspaces, "threads": len(rows), "waiting": waiting, "results": dict(counts)},
        rows,
        [*([Table(columns, cells)] if rows else []), said, *([forms] if waiting else [])],
        code=1 if WRONG & counts.keys() else 0,
    )


def _cells(row: dict[str, Any]) -> Sequence[str]:
    """A thread's cells."""
    runs = ", ".join(
        f"run {end['run']} {end['outcome']}" + (f" ({end['reason']})" if end["reason"] else "")
        for end in row["runs"]
    )
    words = _WORDS.get(row["result"], "")
    said = [text for text in (runs, row["error_type"], row["claim_told"], words) if text]
    return row["tenant"], row["workspace"], row["thread"], row["result"], "; ".join(said)
