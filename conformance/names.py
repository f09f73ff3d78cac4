"""NAMES.md: an action's name in the model, the code and traces. `python -m conformance.names` writes it.

The table below is kept by hand; nothing else is. What it says is looked up: each action in the model's Next,
each code by importing it, each storage call among the steps and a storage's methods, each event among events.
"""

import argparse
import dataclasses
import inspect
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import get_args

import threadclaim.steps
import threadclaim.workspace_steps
from threadclaim.events import Event
from threadclaim.storage.protocol import Storage

ROOT = Path(__file__).resolve().parents[1]
NAMES = "NAMES.md"
MODEL = "spec/ThreadClaim.tla"
STEPS = "threadclaim.steps"

AS_EXPECTED, STALE, COULD_NOT_RUN = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Names:
    """What an action is elsewhere.

    Attributes:
        code: What does it, or, of what the world does, what meets it: `module:Class.function`.
        calls: Its storage calls: steps, each of which is one `transact`, or methods of a storage; none for
            what happens in memory or in the world.
        how: What of those calls it is, or what it is instead of a call.
        logs: The type of the event that it adds to the log, if it adds one.
        is_worlds: Whether the world does it to us, and the code only meets it.
    """

    code: str
    calls: tuple[str, ...] = ()
    how: str = ""
    logs: str | None = None
    is_worlds: bool = False


def _step(name: str, how: str = "", logs: str | None = None) -> Names:
    """An action that is a step, whose class has its name."""
    return Names(f"{STEPS}:{name}", (name,), how, logs)


ACTIONS: Mapping[str, Names] = {
    # Commands, and the world's writes.
    "Send": _step("Send", logs="message_posted"),
    "Answer": _step("Answer", logs="request_answered"),
    "Ask": _step("Ask"),
    "Post": _step("Post", "of a message", "message_posted"),
    "Note": Names(f"{STEPS}:Post", ("Post",), "of a notice, or any event of no action's", "message_posted"),
    "Recover": Names("threadclaim.runner:Runner.recover", ("stranded",)),
    "Restart": Names(
        "threadclaim.runner:Runner.recover", ("stranded",), "by a process that has just started"
    ),
    # The claim, and the plan.
    "Claim": _step("Claim", "which gives `Claimed`"),
    "Refused": Names(f"{STEPS}:Refused", ("Claim",), "which gives `Refused`"),
    "NothingAsked": Names(f"{STEPS}:NothingAsked", ("Claim",), "which gives `NothingAsked`"),
    "Replan": _step("Replan"),
    # The writes under a claim.
    "Abandon": _step("Abandon", logs="run_ended"),
    "StartRun": _step("StartRun", logs="run_started"),
    "Reply": _step("Reply", logs="request_answered"),
    "CountTaken": _step("CountTaken"),
    "Fenced": Names(
        "threadclaim.errors:ClaimLost",
        ("Abandon", "StartRun", "Reply", "CountTaken"),
        "which raises `ClaimLost`",
    ),
    # Renewal.
    "Renew": _step("Renew", "which gives `True`"),
    "LoseClaim": Names("threadclaim.claim:HeldClaim", ("Renew",), "which gives `False`"),
    "LetGo": Names("threadclaim.claim:HeldClaim", how="none: no renewal has succeeded for a `claim_ttl`"),
    # A run.
    "Deliver": Names("threadclaim.steering:Watcher.take", ("subscribe",)),
    "EndRun": _step("EndRun", "of a `RunEnded`", "run_ended"),
    "Pause": Names(f"{STEPS}:EndRun", ("EndRun",), "of a `RunPaused`", "run_paused"),
    "EndFails": Names(
        "threadclaim.claimant:Claimant.carry_out", ("EndRun",), "which raises, with effect or without"
    ),
    # After it.
    "Release": _step("Release"),
    "ReleaseFails": Names(
        "threadclaim.looks:Looks.arm", ("Release",), "which raises, with effect or without"
    ),
    "LookAgain": _step("LookAgain"),
    "LookFails": Names("threadclaim.looks:Looks", ("LookAgain",), "which raises"),
    # What goes wrong.
    "Cancel": Names(
        "threadclaim.claimant:Claimant.abandon_caller",
        how="none of its own: what its task waits for runs to its end",
    ),
    "Fail": Names(
        "threadclaim.claimant:Claimant.carry_out",
        ("Claim", "Replan", "Abandon", "StartRun", "Reply", "CountTaken", "LoadHistory"),
        "which raises, without effect; or setting up the turn raises",
    ),
    "FailUnheard": Names(
        "threadclaim.handover:Leaving.goes",
        ("Claim", "Abandon", "StartRun", "Reply", "CountTaken"),
        "which raises, with effect",
    ),
    "CommandFails": Names(
        "threadclaim.runner:Runner.send", ("Send", "Answer", "Ask"), "which raises, without effect"
    ),
    "Lapse": Names(
        "threadclaim.errors:ClaimLost", how="none: a live holder's lease runs out", is_worlds=True
    ),
    "Expire": Names(f"{STEPS}:Claim", how="none: a dead holder's lease runs out", is_worlds=True),
    "Crash": Names("threadclaim.runner:Runner.recover", how="none: a process dies", is_worlds=True),
}
"""Every action of the model's Next, in the order of its parts."""

NO_ACTION: Mapping[str, str] = {
    f"{STEPS}.Claimed": "what `Claim` gives where it is granted",
    f"{STEPS}.Looked": "what `LookAgain` gives",
    f"{STEPS}.DirectStart": (
        "`DirectStart`, and `DirectAbandon`, of `spec/DirectRuns.tla`; its `DirectEnd` is an `EndRun`"
    ),
    f"{STEPS}.LoadHistory": "reads what the model does not hold: the agent's history",
    f"{STEPS}.RecordFact": "commits what a run does as it goes on; to the model, a `Note`",
    "threadclaim.workspace_steps.CreateThread": "the model has one thread, which there is",
    "threadclaim.workspace_steps.Record": "commits the application's own events; to the model, a `Note`",
    "threadclaim.workspace_steps.Read": "changes nothing",
    "threadclaim.workspace_steps.ReadThread": "changes nothing",
    "threadclaim.workspace_steps.ReadHead": "changes nothing",
    "threadclaim.workspace_steps.ReadCursor": "changes nothing",
    "threadclaim.workspace_steps.HoldThread": "`HoldThread` of `spec/DirectRuns.tla`",
    "threadclaim.workspace_steps.LetThread": "`LetThread` of `spec/DirectRuns.tla`",
}
"""Every step that is no action of the model's Next, by its module and name, and why."""


class NamesError(Exception):
    """The model cannot be read as one whose Next this table is of; the message says why."""


def actions_of(model: str) -> dict[str, str]:
    """Return the actions of Next in a model's text, in order, each with its operator as it is defined.

    Raises:
        NamesError: it has no Next, or Next names what it does not define.
    """
    named = re.findall(r"(?:\\/|:) (\w+)", _definition("Next", model))
    flat = [name for each in named for name in _choices(each, model)]
    return {name: _signature(name, model) for name in dict.fromkeys(flat)}


def _choices(name: str, model: str) -> list[str]:
    """Return the actions that an operator is no more than a choice of; else itself."""
    definition = _definition(name, model)
    if re.fullmatch(r"(\s*\\/ \w+(\(\w+\))?)+", definition) is None:
        return [name]
    return re.findall(r"\\/ (\w+)", definition)


def _definition(name: str, model: str) -> str:
    """Return what stands in the model from a definition to the next blank line."""
    found = re.search(rf"^{name}(?:\(\w+\))? *==(.*?)\n\n", model, re.MULTILINE | re.DOTALL)
    if found is None:
        raise NamesError(f"The model does not define {name}. Correct what names it, or {MODEL}.")
    return found[1]


def _signature(name: str, model: str) -> str:
    """Return an operator as its definition begins: `Send(t)`."""
    found = re.search(rf"^({name}(?:\(\w+\))?) *==", model, re.MULTILINE)
    if found is None:
        raise NamesError(f"Next names {name}, which the model does not define. Correct {MODEL}.")
    return found[1]


def problems(actions: Mapping[str, str], table: Mapping[str, Names] = ACTIONS) -> list[str]:
    """Return what is wrong with the table, in sentences, given the actions that the model has."""
    missing = [
        f"The model's action {name} has no row. Add it to ACTIONS." for name in actions if name not in table
    ]
    extra = [
        f"{name} is no action of the model. It was renamed or taken out."
        for name in table
        if name not in actions
    ]
    rows = (problem for name, names in table.items() for problem in _of_row(name, names))
    return [*missing, *extra, *rows, *_of_steps(table)]


def _of_row(name: str, names: Names) -> Iterator[str]:
    """Yield what is wrong with one row."""
    try:
        resolve_name(names.code)
    except (ImportError, AttributeError, ValueError) as error:
        yield f"The code of {name}, {names.code}, cannot be imported: {error}."
    for call in names.calls:
        if call not in threadclaim.steps.__all__ and not hasattr(Storage, call):
            yield f"{name}'s storage call {call} is no step, and no method of a storage."
    if not names.calls and not names.how:
        yield f"{name} has no storage call, and no word of what it is instead."
    if names.logs is not None and names.logs not in _event_types():
        yield f"{name} logs {names.logs}, which is no event's type."


def _of_steps(table: Mapping[str, Names]) -> Iterator[str]:
    """Yield what is wrong with the steps: each is an action's code, or no action for a reason."""
    steps, coded = _steps(), {names.code.replace(":", ".") for names in table.values()}
    for step in steps:
        if step in coded and step in NO_ACTION:
            yield f"The step {step} is an action's, and is listed as none. Correct ACTIONS or NO_ACTION."
        if step not in coded and step not in NO_ACTION:
            yield f"The step {step} is no action's. Add it to ACTIONS, or to NO_ACTION with a reason."
        if step.startswith(STEPS) and step in coded and step.rpartition(".")[2] not in table:
            yield f"The step {step} has not the name of an action of the model."
    yield from (f"NO_ACTION lists {step}, which is no step." for step in NO_ACTION if step not in steps)


def _steps() -> list[str]:
    """Return every step, and what steps give, by module and name."""
    workspaces = [
        name
        for name, each in inspect.getmembers(threadclaim.workspace_steps, inspect.isclass)
        if each.__module__ == threadclaim.workspace_steps.__name__
    ]
    return [
        *(f"{STEPS}.{name}" for name in threadclaim.steps.__all__),
        *(f"threadclaim.workspace_steps.{name}" for name in workspaces),
    ]


def _event_types() -> set[str]:
    """Return the types of all events."""
    kinds = get_args(get_args(Event)[0])
    return {
        str(field.default) for kind in kinds for field in dataclasses.fields(kind) if field.name == "type"
    }


def render(actions: Mapping[str, str]) -> str:
    """Return NAMES.md, given the model's actions."""
    rows = [_row(name, actions[name], names) for name, names in ACTIONS.items()]
    others = [f"| `{step}` | {why} |" for step, why in NO_ACTION.items()]
    return "\n".join([*_HEAD, *rows, *_BETWEEN, *others, ""])


def _row(name: str, operator: str, names: Names) -> str:
    """Return an action's line of the table."""
    code = f"`{names.code.replace(':', '.')}`"
    code = f"the world; met by {code}" if names.is_worlds else code
    logs = f", and `{names.logs}` in the log" if names.logs else ""
    return f"| `{name}` | `{MODEL}`: `{operator}` | {code} | {_told(names)} | `{name}`{logs} |"


def _told(names: Names) -> str:
    """Return an action's storage calls, as the code makes them, and what of them it is."""
    methods = [f"`{call}()`" for call in names.calls if call not in threadclaim.steps.__all__]
    steps = [call for call in names.calls if call in threadclaim.steps.__all__]
    calls = ", ".join([*methods, *([f"`transact({' | '.join(steps)})`"] if steps else [])])
    comma = "," if calls and names.how.startswith("which") else ""
    return " ".join(filter(None, [calls.replace("|", "\\|") + comma, names.how]))


_HEAD = f"""# Names

One action has one name: in the model, in the code that does it, in traces, in reports. This page is written
by `python -m conformance.names` and checked by a test; what it is made of is in `conformance/names.py`.

- *model*: the operator in `{MODEL}`, an action of its `Next`.
- *code*: what does it, by its public name. What the world does to us, no code does; then it is what meets it.
- *storage call*: `transact(X)` is one transaction, that of the step `{STEPS}.X`; `X | Y` is either.
- *trace event*: a step's action in `traces/*.itf.json`, and the event that the log gets, if it gets one.

| action | model | code | storage call | trace event |
|---|---|---|---|---|""".splitlines()

_BETWEEN = """
## No action of the model
Steps, and what steps give, that are no action of `Next`, each for a reason:

| step | why |
|---|---|""".splitlines()


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Write NAMES.md below `root`, or with `--check` say whether it is current; return the exit code.

    It is 0 for a page that is current or was written, 1 for one that is stale or a table that is wrong, and 2
    where the model cannot be read; on standard error is a sentence for each thing that is wrong.
    """
    parser = argparse.ArgumentParser(prog="python -m conformance.names", description="Write NAMES.md.")
    parser.add_argument("--check", action="store_true", help="write nothing, and say whether it is current")
    check: bool = parser.parse_args(arguments).check
    try:
        actions = actions_of((root / MODEL).read_text(encoding="utf-8"))
    except (OSError, NamesError) as error:
        print(f"Could not run: {error}", file=sys.stderr)
        return COULD_NOT_RUN
    if wrong := problems(actions):
        print(*wrong, sep="\n", file=sys.stderr)
        return STALE
    return _checked(root / NAMES, render(actions)) if check else _written(root / NAMES, render(actions))


def _written(page: Path, text: str) -> int:
    """Write the page."""
    page.write_text(text, encoding="utf-8")
    return AS_EXPECTED


def _checked(page: Path, text: str) -> int:
    """Say whether the page is this one."""
    if page.is_file() and page.read_text(encoding="utf-8") == text:
        return AS_EXPECTED
    print(f"{NAMES} is stale. Write it anew: python -m conformance.names", file=sys.stderr)
    return STALE


if __name__ == "__main__":
    sys.exit(main())
