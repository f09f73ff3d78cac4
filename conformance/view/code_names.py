"""Which code does an action of the model: the step of the same name, or what is named here."""

from collections.abc import Mapping
from pkgutil import resolve_name

import threadclaim.steps

NO_CODE = "no code of the library's"

OTHERS: Mapping[str, str] = {
    # Of the world, or of another action's kind.
    "Note": "threadclaim.steps:Post",
    "Recover": "threadclaim.runner:Runner.recover",
    "Restart": "threadclaim.runner:Runner.recover",
    # A fence that refuses raises it.
    "Fenced": "threadclaim.errors:ClaimLost",
    "LoseClaim": "threadclaim.claim:HeldClaim",
    "LetGo": "threadclaim.claim:HeldClaim",
    # A run.
    "Deliver": "threadclaim.steering:Watcher.take",
    "Pause": "threadclaim.steps:EndRun",
    "EndFails": "threadclaim.steps:EndRun",
    # What goes wrong, where it is met.
    "Cancel": "threadclaim.claimant:Claimant.abandon_caller",
    "Fail": "threadclaim.claimant:Claimant.carry_out",
    "FailUnheard": "threadclaim.claimant:Claimant.carry_out",
    "CommandFails": "threadclaim.runner:Runner.send",
    "ReleaseFails": "threadclaim.looks:Looks.arm",
    "LookFails": "threadclaim.looks:Looks",
    # Runs made without the runner: spec/DirectRuns.tla.
    "HoldThread": "threadclaim.workspace:Workspace.claim_thread",
    "LetThread": "threadclaim.workspace:Workspace.claim_thread",
}
NOBODY: Mapping[str, str] = {
    "Crash": "the operating system ends the process",
    "Lapse": "time passes in the storage",
    "Expire": "time passes in the storage",
    "Init": "an empty thread",
    "DirectStart": "the application's own agent run",
    "DirectEnd": "the application's own agent run",
}
"""Actions that no code of the library does, and what does them."""


def code_of(action: str) -> str:
    """Return the code that does an action, as `module.Class` or `module.Class.function`.

    For an action that no code does, it says in words what does; for one that the model has not, such as a
    mutant's own, it is `NO_CODE`.
    """
    if action in NOBODY:
        return NOBODY[action]
    if action in OTHERS:
        return _name(resolve_name(OTHERS[action]))
    step = getattr(threadclaim.steps, action, None) if action in threadclaim.steps.__all__ else None
    return NO_CODE if step is None else _name(step)


def _name(code: object) -> str:
    """Return where a class or a function is defined."""
    return f"{getattr(code, '__module__', '')}.{getattr(code, '__qualname__', '')}"
