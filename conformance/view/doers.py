"""Who does a step: TLC 2.15 prints an action's name without its arguments, so the states must say."""

import re
from collections.abc import Mapping

from conformance.tlc.result import State
from conformance.view.snapshot import Snapshot

WORLD = "world"
"""The doer of a step that no task and no process does."""

_NAMED = re.compile(r"(?P<action>\w+)(?:\((?P<argument>[^()]*)\))?")
_OF_THE_WORLD = frozenset({"Init", "Post", "Note", "Expire"})
_OF_A_PROCESS = frozenset({"LookAgain", "LookFails", "LookOnce", "Crash", "Restart"})


def split_action(text: str) -> tuple[str, str]:
    """Return an action's name and its argument; the argument is empty where a trace has none."""
    match = _NAMED.fullmatch(text.strip())
    return (match["action"], match["argument"] or "") if match else (text, "")


def doer_of(state: State, before: Snapshot, after: Snapshot, owners: Mapping[str, str]) -> str:
    """Return the task or the process that does the step from `before` to `after`, or `WORLD`.

    It is the action's argument, where `state` has it, as newer TLCs print it; or what a recorded run has in
    the state's location, as `p1/` and a variant. Else it is whom the step changed: of a process's action its
    process, of `Lapse` and `Renew` the claim's holder, of any other the task.
    """
    action, argument = split_action(state.action)
    said = argument or _actor(state.location)
    if said:
        return said
    if action in _OF_THE_WORLD:
        return WORLD
    tasks = [name for name, task in after.task.items() if task != before.task[name]]
    if action in {"Lapse", "Renew"}:
        return before.lease if action == "Lapse" else after.lease
    if len(tasks) == 1 and action not in _OF_A_PROCESS:
        return tasks[0]
    return _process(before, after, {owners[name] for name in tasks}) or _unmoved(action, before)


def _actor(location: str) -> str:
    """Return the actor in a recorded run's location; TLC's has none."""
    actor, slash, _ = location.partition("/")
    return actor if slash else ""


def _process(before: Snapshot, after: Snapshot, of_tasks: set[str]) -> str:
    """Return the one process whose look or whose tasks a step changed; empty if there is not just one."""
    looks = {name for name, look in after.look.items() if look != before.look[name]}
    for changed in (looks, of_tasks):
        if len(changed) == 1:
            return changed.pop()
    return ""


def _unmoved(action: str, before: Snapshot) -> str:
    """Return the only task that can have done a step that left all tasks as they were."""
    ends = [name for name, task in before.task.items() if task.at in {"ending", "pausing"}]
    return ends[0] if action == "EndFails" and len(ends) == 1 else WORLD
