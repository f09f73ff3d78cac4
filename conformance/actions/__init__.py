"""How the world does each action of the model: the only place that says which step is which.

An action is done to a world, by a task or a process of the model, in one of its variants. What the runner
then does may be another action, or no other than it was: what it gives names what it amounted to, in order.
"""

from collections.abc import Mapping

from conformance.actions.at import Action, At, Done, Either, ImpossibleError, Ways
from conformance.actions.claims import (
    CANCELLED_HAVING_READ,
    CANCELLED_HEARING,
    CANCELLED_READING,
    UNREAD,
    going_on,
    let_go,
    lose_claim,
    renew,
)
from conformance.actions.commands import CANCELLED, HEARD, UNHEARD, answer, ask, note, post, send
from conformance.actions.faults import (
    cancel,
    command_fails,
    crash,
    expire,
    fail,
    fail_unheard,
    lapse,
    release_fails,
    restart,
)
from conformance.actions.looks import UNLISTED, look_again, look_fails, recover
from conformance.actions.runs import ARRIVES, DROPPED, FAILED, deliver, end_fails, end_run, pause
from conformance.world.agent import RAISED
from threadclaim.steps import Abandon, Claim, CountTaken, Release, Replan, Reply, StartRun

__all__ = [
    "ACTIONS",
    "CANCELLED",
    "UNHEARD",
    "Action",
    "At",
    "Done",
    "Either",
    "ImpossibleError",
    "Ways",
    "going_on",
]

COMMANDED = (HEARD, HEARD, CANCELLED, UNHEARD)
ENDS = ("completed", "failed", "stopped", "lost", *sorted(RAISED))
HEARS = ("",) * 12 + CANCELLED_HEARING
READS = (*HEARS, *(UNREAD, CANCELLED_READING) * 2, *CANCELLED_HAVING_READ)

ACTIONS: Mapping[str, Action] = {
    action.name: action
    for action in (
        Action("Send", "task", send, COMMANDED),
        Action("Answer", "task", answer, COMMANDED),
        Action("Ask", "task", ask, COMMANDED),
        Action("Post", "world", post),
        Action("Note", "world", note),
        Action("Claim", "task", going_on("Claim", Claim), READS),
        Action("Refused", "task", going_on("Refused", Claim)),
        Action("NothingAsked", "task", going_on("NothingAsked", Claim)),
        Action("Replan", "task", going_on("Replan", Replan), READS),
        Action("Abandon", "task", going_on("Abandon", Abandon), HEARS),
        Action("StartRun", "task", going_on("StartRun", StartRun), HEARS),
        Action("Reply", "task", going_on("Reply", Reply), READS),
        Action("CountTaken", "task", going_on("CountTaken", CountTaken)),
        Action(
            "Fenced",
            "task",
            going_on("Fenced", Abandon, StartRun, Reply, CountTaken),
        ),
        Action("Renew", "task", renew, ("", "", "failed")),
        Action("LoseClaim", "task", lose_claim),
        Action("Deliver", "task", deliver, ("", "", "", "", ARRIVES, FAILED, DROPPED)),
        Action("EndRun", "task", end_run, ENDS),
        Action("Pause", "task", pause),
        Action("Release", "task", going_on("Release", Release)),
        Action("LookAgain", "process", look_again),
        Action("Recover", "task", recover, ("", "", "", UNLISTED)),
        Action(
            "Cancel",
            "task",
            cancel,
            ("failed", "failed heard", "stopped", "stopped heard"),
        ),
        Action("Fail", "task", fail),
        Action("CommandFails", "task", command_fails),
        Action("FailUnheard", "task", fail_unheard),
        Action(
            "EndFails",
            "task",
            end_fails,
            ("ending", "ending unheard", "pausing", "pausing unheard"),
        ),
        Action("ReleaseFails", "task", release_fails, ("", "unheard")),
        Action("LookFails", "process", look_fails),
        Action("Lapse", "task", lapse),
        Action("LetGo", "task", let_go),
        Action("Crash", "process", crash),
        Action("Expire", "world", expire),
        Action("Restart", "process", restart),
    )
}
"""Every action of the model."""
