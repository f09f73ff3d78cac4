"""The steps of the protocol, each one transaction; a class has the name of the model's action.

Nothing waits here but for the transaction's own loads. DESIGN.md, section 2, has the steps in a table.
"""

from threadclaim.steps.claims import (
    Claim,
    Claimed,
    CountTaken,
    LookAgain,
    Looked,
    NothingAsked,
    Refused,
    Release,
    Renew,
    Replan,
)
from threadclaim.steps.commands import Answer, Ask, Post, Send
from threadclaim.steps.runs import Abandon, DirectStart, EndRun, LoadHistory, RecordFact, Reply, StartRun

__all__ = [
    "Abandon",
    "Answer",
    "Ask",
    "Claim",
    "Claimed",
    "CountTaken",
    "DirectStart",
    "EndRun",
    "LoadHistory",
    "LookAgain",
    "Looked",
    "NothingAsked",
    "Post",
    "RecordFact",
    "Refused",
    "Release",
    "Renew",
    "Replan",
    "Reply",
    "Send",
    "StartRun",
]
