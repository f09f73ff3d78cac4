"""What tests need: a turn that follows a script, a clock moved by hand, and a loop whose time is virtual.

With these, an application's tests of its threads call no model and wait for no real time.
"""

from threadclaim.testing.doubles import QueuedSteering, RecordedFacts, posted
from threadclaim.testing.loop import DeadlockError, ManualClock, VirtualTimeLoop
from threadclaim.testing.scripted import (
    Action,
    Call,
    Complete,
    Fail,
    Pause,
    Raise,
    ScriptedRun,
    ScriptedTurn,
    Take,
    Wait,
)

__all__ = [
    "Action",
    "Call",
    "Complete",
    "DeadlockError",
    "Fail",
    "ManualClock",
    "Pause",
    "QueuedSteering",
    "Raise",
    "RecordedFacts",
    "ScriptedRun",
    "ScriptedTurn",
    "Take",
    "VirtualTimeLoop",
    "Wait",
    "posted",
]
