"""Which code does an action of the model: what NAMES.md says, and beside it the steps of direct runs."""

from collections.abc import Mapping

from conformance.names import ACTIONS

NO_CODE = "no code of the library's"

DIRECT: Mapping[str, str] = {
    "HoldThread": "threadclaim.workspace_steps:HoldThread",
    "DirectAbandon": "threadclaim.steps:DirectStart",
    "DirectStart": "threadclaim.steps:DirectStart",
    "DirectEnd": "threadclaim.steps:EndRun",
    "LetThread": "threadclaim.workspace_steps:LetThread",
}
"""The actions of spec/DirectRuns.tla, which NAMES.md does not have."""


def code_of(action: str) -> str:
    """Return the code that does an action, as `module.Class` or `module.Class.function`.

    What the world does to us no code does: then it says so, and what meets it. For what the model has not,
    such as a mutant's own action, it is `NO_CODE`.
    """
    if action == "Init":
        return "none: the thread is empty"
    if action in DIRECT:
        return DIRECT[action].replace(":", ".")
    names = ACTIONS.get(action)
    if names is None:
        return NO_CODE
    code = names.code.replace(":", ".")
    return f"the world; met by {code}" if names.is_worlds else code
