"""A turn that follows a script, with the same steps as an agent's and none of the cost."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from threadclaim.errors import WrongType, kind_of
from threadclaim.events import (
    AnyAnswer,
    Approve,
    Deny,
    Envelope,
    FormValues,
    MessagePosted,
    Reply,
    Request,
    ToolCalled,
    ToolReturned,
)
from threadclaim.turn import Completed, Facts, Failed, Outcome, Paused, Steering, Stopped, TurnInput


@dataclass(frozen=True, slots=True)
class Take:
    """Take the steering that has arrived, as a request of a model would.

    `answered` is False for a request that fails: what it carried is not delivered, and the next turn gets it.
    """

    answered: bool = True


@dataclass(frozen=True, slots=True)
class Call:
    """Record a call of a tool, and its end: with `ok` None, only the call."""

    tool_name: str
    args: str = "{}"
    ok: bool | None = True


@dataclass(frozen=True, slots=True)
class Wait:
    """Say that the run is here by setting `reached`, and wait until the test sets `until`.

    A run that is stopped meanwhile ends at once; with `stubborn`, like a tool that ignores its cancellation,
    only when `until` is set.
    """

    until: asyncio.Event
    reached: asyncio.Event | None = None
    stubborn: bool = False


@dataclass(frozen=True, slots=True)
class Pause:
    """End the run with these requests open."""

    requests: tuple[Request, ...]


@dataclass(frozen=True, slots=True)
class Complete:
    """End the run as completed; without an `output`, with an echo of what it was given."""

    output: str | None = None


@dataclass(frozen=True, slots=True)
class Fail:
    """End the run as failed."""

    error: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Raise:
    """Raise an exception out of the turn. It is a failure, a CancelledError that nobody asked for too."""

    error: BaseException


Action = Take | Call | Wait | Pause | Complete | Fail | Raise


@dataclass(slots=True)
class ScriptedRun:
    """What a run was given, and what came of it.

    `prompt` are the seqs of the messages of its prompt; `answers` the answers that it resumed with, by the
    request's id; `taken` the seqs of the steering that it took, and `delivered` of what counts as given;
    `texts` all that it was told; `outcome` what it returned, None while it goes on, or if it raised.
    """

    turn: TurnInput
    prompt: tuple[int, ...]
    answers: Mapping[str, AnyAnswer]
    taken: list[int] = field(default_factory=list)
    delivered: list[int] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    outcome: Outcome | None = None

    @property
    def echo(self) -> str:
        """The texts of its answers, its prompt and its steering: an output that tells what it was given."""
        return " ".join(self.texts)


class ScriptedTurn:
    """A `threadclaim.turn.Turn` that follows a script for each run, and logs what it was given.

    A script is a sequence of actions, and ends with the first of `Pause`, `Complete`, `Fail` and `Raise`, or
    after its last action as completed, with an echo. The runs take the scripts in turn; a run without one
    takes its steering and completes.
    """

    def __init__(self, *scripts: Sequence[Action]) -> None:
        """Follow some scripts.

        Args:
            *scripts: One for each run, a list of actions, in the order that the runs begin in.

        Raises:
            WrongType: for an action where a list of them is expected, or the other way about.
        """
        for script in scripts:
            _check_script(script)
        self._scripts = list(scripts)
        self.runs: list[ScriptedRun] = []

    def then(self, *script: Action) -> "ScriptedTurn":
        """Add a script for a run to come.

        Args:
            *script: Its actions.

        Returns:
            This turn.

        Raises:
            WrongType: for what is no action: a list of them, say.
        """
        _check_script(script)
        self._scripts.append(script)
        return self

    @property
    def given(self) -> list[int]:
        """The seqs of the messages that runs were given, as prompt or steering: each once, if all is well."""
        return [seq for run in self.runs for seq in (*run.prompt, *run.delivered)]

    async def run(self, turn: TurnInput, steering: Steering, facts: Facts) -> Outcome:
        """Follow the next script: see `threadclaim.turn.Turn`.

        Args:
            turn: What to carry out; it is kept in `runs`.
            steering: Asked for messages by a `Take`.
            facts: Told by a `Call`.

        Returns:
            What the script comes to.

        Raises:
            BaseException: what a `Raise` in the script says.
        """
        run = _begin(turn)
        self.runs.append(run)
        script = self._scripts.pop(0) if self._scripts else (Take(),)
        try:
            run.outcome = await _follow(script, run, steering, facts)
        except asyncio.CancelledError:
            if not _is_cancelled():
                raise
            run.outcome = Stopped(_history(run), tuple(run.delivered))
        return run.outcome


def _check_script(script: Sequence[Action]) -> None:
    """Accept a sequence of actions; else raise WrongType, as its run would do something else, or nothing."""
    if not isinstance(script, list | tuple):
        raise WrongType(f"A script is {kind_of(script)}. Give a list of actions: ScriptedTurn([Complete()]).")
    for action in script:
        if not isinstance(action, Take | Call | Wait | Pause | Complete | Fail | Raise):
            raise WrongType(
                f"An action of a script is {kind_of(action)}. Give a Take, Call, Wait, Pause, Complete, Fail "
                "or Raise: ScriptedTurn([Take(), Complete()]) and then(Take(), Complete())."
            )


def _begin(turn: TurnInput) -> ScriptedRun:
    """The log of a run that begins."""
    answers = {request_id: answered.answer for request_id, answered in turn.answers.items()}
    texts = [*map(_told, answers.values()), *map(_text, turn.prompt)]
    return ScriptedRun(turn, tuple(message.seq for message in turn.prompt), answers, texts=texts)


def _told(answer: AnyAnswer) -> str:
    """An answer as a text."""
    match answer:
        case Reply(value=value):
            return value if isinstance(value, str) else json.dumps(value)
        case FormValues(values=values):
            return json.dumps(dict(values))
        case Approve():
            return "approved"
        case Deny(message=message):
            return f"denied: {message}"


async def _follow(script: Sequence[Action], run: ScriptedRun, steering: Steering, facts: Facts) -> Outcome:
    """Carry out a script, up to the action that ends it."""
    for number, action in enumerate(script):
        match action:
            case Take():
                _take(run, steering, answered=action.answered)
            case Call():
                await _call(run, facts, action, f"{run.turn.run_id}-{len(run.turn.history)}-{number}")
            case Wait():
                await _wait(action)
            case Raise(error=error):
                raise error
            case Pause() | Complete() | Fail():
                return _end(action, run)
    return _end(Complete(), run)


def _take(run: ScriptedRun, steering: Steering, *, answered: bool) -> None:
    """Take what has arrived."""
    for message in steering.take():
        run.taken.append(message.seq)
        if answered:
            run.delivered.append(message.seq)
            run.texts.append(_text(message))


async def _call(run: ScriptedRun, facts: Facts, action: Call, call_id: str) -> None:
    """Record a tool's call."""
    run_id = run.turn.run_id
    await facts.record(ToolCalled(run_id, call_id, action.tool_name, action.args))
    if action.ok is not None:
        await facts.record(ToolReturned(run_id, call_id, action.tool_name, action.ok))


async def _wait(action: Wait) -> None:
    """Wait for the test; a stubborn action does so though it is cancelled, and says so after."""
    if action.reached is not None:
        action.reached.set()
    cancelled = False
    while not action.until.is_set():
        try:
            await action.until.wait()
        except asyncio.CancelledError:
            cancelled = True
            if not action.stubborn:
                raise
    if cancelled:
        raise asyncio.CancelledError


def _end(action: Pause | Complete | Fail, run: ScriptedRun) -> Outcome:
    """How a run ends."""
    history, delivered = _history(run), tuple(run.delivered)
    match action:
        case Pause(requests=requests):
            return Paused(requests, history, delivered)
        case Fail(error=error, reason=reason):
            return Failed(error, reason, history, delivered)
        case Complete(output=output):
            return Completed(run.echo if output is None else output, history, delivered)


def _history(run: ScriptedRun) -> bytes:
    """What is kept of a run: the texts that it was given."""
    return json.dumps({"run": run.turn.run_id, "given": run.texts}).encode()


def _text(message: Envelope) -> str:
    """A message's text."""
    return message.event.text if isinstance(message.event, MessagePosted) else ""


def _is_cancelled() -> bool:
    """Whether somebody asked the current task to stop."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
