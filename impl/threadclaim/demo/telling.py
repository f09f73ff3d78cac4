"""A log's entries as sentences. Nothing here waits."""

from threadclaim.events import (
    Envelope,
    MessagePosted,
    RequestAnswered,
    RunEnded,
    RunPaused,
    RunStarted,
    ThreadCreated,
    ToolCalled,
    ToolReturned,
)


def told(entry: Envelope) -> str:  # noqa: C901, PLR0911  # a sentence for each kind of event
    """What an entry says, in a few words."""
    match entry.event:
        case ThreadCreated():
            return "a thread begins"
        case MessagePosted(text=text):
            return f"{name_of(entry)}: {text}"
        case RunStarted(consumes=consumes, resumed=resumed):
            begins = "the run resumes" if resumed else "a run starts"
            return f"{begins}{_seqs(', its prompt is', consumes)}"
        case ToolCalled(tool_name=tool_name):
            return f"the run calls {tool_name}"
        case ToolReturned(tool_name=tool_name, ok=ok):
            return f"{tool_name} {'returns' if ok else 'fails'}"
        case RunPaused(requests=requests, delivered=delivered):
            asked = " ".join(str(request.args.get("question", request.tool_name)) for request in requests)
            return f"agent: {asked} (the run pauses{_seqs('; it was steered by', delivered)})"
        case RequestAnswered(message_seq=seq):
            return "the request is answered" + ("" if seq is None else f", with {seq}")
        case RunEnded(output=str(output), delivered=delivered):
            return f"agent: {output} (the run ends{_seqs('; it was steered by', delivered)})"
        case RunEnded(outcome=outcome, reason=reason):
            return f"the run ends: {outcome}" + ("" if reason is None else f", {reason}")
        case _:
            return entry.event.type


def consumed_by(entry: Envelope) -> tuple[int, ...]:
    """The seqs of the messages that an entry consumed."""
    match entry.event:
        case RunStarted(consumes=seqs) | RunPaused(delivered=seqs) | RunEnded(delivered=seqs):
            return seqs
        case RequestAnswered(message_seq=int(seq)):
            return (seq,)
        case _:
            return ()


def name_of(entry: Envelope) -> str:
    """Who an entry is by: a person's id, or another actor's name."""
    return str(getattr(entry.actor, "id", None) or getattr(entry.actor, "name", ""))


def _seqs(words: str, seqs: tuple[int, ...]) -> str:
    """Some words with the seqs that they are about; nothing, without any."""
    return f"{words} {', '.join(map(str, seqs))}" if seqs else ""
