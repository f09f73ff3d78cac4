"""One thread's log as a story: what each entry says, and what consumed each message. Nothing here waits.

Without `texts`, nothing that people, agents or tools said is told: how long it is stands in its place.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from threadclaim.events import (
    Approve,
    Custom,
    Deny,
    Envelope,
    FormValues,
    MessagePosted,
    Reply,
    RequestAnswered,
    RunEnded,
    RunPaused,
    RunStarted,
    ThreadCreated,
    ToolCalled,
    ToolReturned,
)

Consumed = Mapping[str, Any]
"""What consumed a message, by the keys `as`, `run` and `seq`: as what, by which run, in which entry."""

_ANSWERS = {Reply: "a reply", Approve: "an approval", Deny: "a denial", FormValues: "a form's values"}


def consumed(entries: Sequence[Envelope]) -> Mapping[int, Consumed]:
    """What consumed each message, by the message's seq, as the log has it; the first, if there are two."""
    found: dict[int, Consumed] = {}
    for entry in entries:
        for seq, how in _consumes(entry):
            found.setdefault(seq, {"as": how, "run": entry.run_id, "seq": entry.seq})
    return found


def _consumes(entry: Envelope) -> Sequence[tuple[int, str]]:
    """The messages that an entry consumed, and as what."""
    match entry.event:
        case RunStarted(consumes=seqs):
            return [(seq, "prompt") for seq in seqs]
        case RunPaused(delivered=seqs) | RunEnded(delivered=seqs):
            return [(seq, "steering") for seq in seqs]
        case RequestAnswered(message_seq=int(seq)):
            return [(seq, "answer")]
        case _:
            return []


def became(entry: Envelope, by: Mapping[int, Consumed], asked: int, taken: int) -> str:
    """What became of a message, in words; empty for any other entry."""
    if entry.is_notice:
        return "a notice asks for nothing"
    if not entry.is_message:
        return ""
    if (found := by.get(entry.seq)) is not None:
        return f"consumed at {found['seq']} as {found['as']}"
    if entry.seq > asked:
        return "NOT ASKED FOR" if entry.seq > taken else "passed over, not asked for"
    return (
        "ASKED, NOT TAKEN" if entry.seq > taken else "passed over: from before the upgrade, or a direct run's"
    )


def told(entry: Envelope, *, texts: bool) -> str:  # noqa: C901, PLR0911  # a phrase for each event
    """What an entry says, in a few words."""
    match entry.event:
        case ThreadCreated(title=title):
            return f"the thread begins, its title {_quoted(title, texts)}" if title else "the thread begins"
        case MessagePosted(message_id=message_id, text=text, kind=kind):
            return f"{kind} {message_id}, {_quoted(text, texts)}"
        case RunStarted(resumed=resumed, consumes=seqs):
            return ("the run resumes" if resumed else "a run starts") + _seqs("its prompt is", seqs)
        case ToolCalled(tool_name=name, args=args):
            return f"calls {name}, arguments {_quoted(args, texts)}"
        case ToolReturned(tool_name=name, ok=ok):
            return f"{name} {'returns' if ok else 'fails'}"
        case RunPaused(requests=requests, delivered=seqs):
            asks = "; ".join(
                f"{request.kind} {request.id} by {request.tool_name}, {_quoted(_json(request.args), texts)}"
                for request in requests
            )
            return f"the run pauses for {asks}{_seqs('it was steered by', seqs)}"
        case RequestAnswered(request_id=request_id, answer=answer, message_seq=seq):
            said = f"{_ANSWERS[type(answer)]} to {request_id}, {_quoted(_answer(answer), texts)}"
            return said + ("" if seq is None else f"; it is message {seq}")
        case RunEnded(outcome=outcome, output=output, error=error, reason=reason, delivered=seqs):
            why = "" if reason is None else f", {reason}"
            said = "" if output is None else f", output {_quoted(output, texts)}"
            wrong = "" if error is None else f", error {_quoted(error, texts)}"
            return f"the run ends: {outcome}{why}{said}{wrong}{_seqs('it was steered by', seqs)}"
        case Custom(name=name, data=data):
            return f"{name}, {_quoted(_json(data), texts)}"


def _quoted(text: str, texts: bool) -> str:
    """A text, or how long it is."""
    if texts:
        return json.dumps(text, ensure_ascii=False)
    size = len(text.encode())
    return f"{size:,} byte{'' if size == 1 else 's'}"


def _answer(answer: Reply | Approve | Deny | FormValues) -> str:
    """What an answer says."""
    match answer:
        case Reply(value=value):
            return _json(value)
        case Deny(message=message):
            return message
        case FormValues(values=values):
            return _json(values)
        case Approve():
            return ""


def _json(value: object) -> str:
    """A value as JSON."""
    return json.dumps(value, ensure_ascii=False, default=dict)


def _seqs(words: str, seqs: Sequence[int]) -> str:
    """A clause with the messages that it is about; nothing, without any."""
    return f"; {words} {', '.join(map(str, seqs))}" if seqs else ""
