"""What the real log says was consumed, and what the real agents were told: against the model's ghosts.

The ghosts of the model say what should have been consumed and given. Here the log itself, and the agents, are
asked, so that neither the runner nor the model has the last word about itself.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from conformance.model.state import State
from conformance.world.process import THREAD
from conformance.world.world import SCOPE, World
from threadclaim.events import (
    Deny,
    Envelope,
    MessagePosted,
    Reply,
    RequestAnswered,
    RunEnded,
    RunPaused,
    RunStarted,
    ToolCalled,
    ToolReturned,
)
from threadclaim.steps import LoadHistory
from threadclaim.thread import RunStatus
from threadclaim.turn import Completed, Failed, Paused, Stopped


def consumed_by(entries: Sequence[Envelope]) -> Counter[int]:
    """How often the log says that each message was consumed, by its seq."""
    found: Counter[int] = Counter()
    for entry in entries:
        match entry.event:
            case RunStarted(consumes=seqs):
                found.update(seqs)
            case RunPaused(delivered=seqs) | RunEnded(delivered=seqs):
                found.update(seqs)
            case RequestAnswered(message_seq=int() as seq):
                found[seq] += 1
            case _:
                pass
    return found


def audit(world: World, state: State) -> list[str]:
    """What is wrong, in sentences: the log and the agents against `state`, in which nothing goes on."""
    entries = world.loop.run(world.workspace.read(threads=[THREAD]))
    seqs = [entry.seq for entry in entries if _is_position(entry)]
    place = {seq: index for index, seq in enumerate(seqs, 1)}
    recorded = consumed_by(entries)
    replies = {e.seq: e.event.message_seq for e in entries if isinstance(e.event, RequestAnswered)}
    told = {place[seq] for seq in world.told.messages}
    told |= {place[seq] for answer in world.told.answers if (seq := replies[answer]) is not None}
    wrong = [
        f"The log consumes message {place[seq]} {times} times."
        for seq, times in recorded.items()
        if times > 1
    ]
    if (logged := {place[seq] for seq in recorded}) != state.once:
        wrong.append(f"The log consumes {sorted(logged)}; the model {sorted(state.once)}.")
    # A reply counts as given as it is recorded. The start that would tell the agent may go unheard; or a
    # failure has left it to the next command.
    unresumed = _abandoned(entries) | _left(world)
    waiting = {place[seq] for answer, seq in replies.items() if seq and _run_of(entries, answer) in unresumed}
    if untold := state.given - told - waiting:
        wrong.append(f"The model gave {sorted(untold)} to an agent, and no agent was told.")
    if unknown := told - state.given - state.unheard:
        wrong.append(f"An agent was told of {sorted(unknown)}, and the model gave it to none.")
    wrong += [*_wrong_starts(world, entries), *_wrong_failures(entries), *_wrong_calls(world, entries)]
    wrong += [*_wrong_commits(world, entries), *_wrong_handles(world), *_wrong_history(world, entries)]
    wrong += [*_wrong_turns(entries), *_wrong_facts(entries), *_wrong_replies(entries)]
    return [*wrong, *_wrong_ends(world, entries)]


def _wrong_starts(world: World, entries: Sequence[Envelope]) -> Iterator[str]:
    """The starts that say wrongly whether they resume, and turns told of other notices than came."""
    notices: dict[str, list[tuple[int, ...]]] = {}
    since: list[int] = []
    for entry in entries:
        match entry.event:
            case RunStarted(run_id=run_id, resumed=resumed):
                if resumed is not (run_id in notices):
                    yield f"The log has a start of {run_id}, and that it resumes: {resumed}."
                notices.setdefault(run_id, []).append(tuple(since))
                since = []
            case _ if entry.is_notice:
                since.append(entry.seq)
            case _:
                pass
    for run_id, told in world.told.notices:
        if run_id in notices and told not in notices[run_id]:
            yield f"A turn of {run_id} was told of the notices {told}, and not of one of {notices[run_id]}."


def _wrong_turns(entries: Sequence[Envelope]) -> Iterator[str]:
    """The starts of a run where the one before has not ended."""
    last: str | None = None
    for entry in entries:
        match entry.event:
            case RunStarted(run_id=run_id):
                if last not in {None, run_id}:
                    yield f"The log has a start of {run_id}, and no end of {last} before it."
                last = run_id
            case RunEnded(run_id=run_id) if run_id == last:
                last = None
            case _:
                pass


def _wrong_calls(world: World, entries: Sequence[Envelope]) -> Iterator[str]:
    """The runs that were completed at one go, and whose calls of tools the log has not."""
    events = [entry.event for entry in entries]
    starts = Counter(event.run_id for event in events if isinstance(event, RunStarted))
    calls = [event for event in events if isinstance(event, ToolCalled) and event.tool_name == "look"]
    called = Counter(call.run_id for call in calls)
    whole = [e.run_id for e in events if isinstance(e, RunEnded) and e.outcome == "completed"]
    for run_id in (run_id for run_id in whole if starts[run_id] == 1):
        if called[run_id] != world.told.looks[run_id]:
            yield f"The log has {called[run_id]} calls of {run_id}, which made {world.told.looks[run_id]}."


def _wrong_failures(entries: Sequence[Envelope]) -> Iterator[str]:
    """The ends that are failures, and do not say so, or why."""
    for entry in entries:
        match entry.event:
            case RunEnded(run_id=run_id, reason="abandoned", outcome=outcome) if outcome != "failed":
                yield f"The log has {run_id} as abandoned, and as {outcome}."
            case RunEnded(run_id=run_id, outcome="failed", error=error) if not error:
                yield f"The log has {run_id} as failed, and does not say of what."
            case _:
                pass


def _wrong_commits(world: World, entries: Sequence[Envelope]) -> Iterator[str]:
    """What a caller was told that its command has committed, and the log has otherwise."""
    by_seq = {entry.seq: entry for entry in entries}
    for told in world.told.committed:
        if by_seq.get(told.seq) != told:
            yield f"A caller was told of {told}, and the log has {by_seq.get(told.seq)} there."


def _wrong_history(world: World, entries: Sequence[Envelope]) -> Iterator[str]:
    """Where the thread's history is not what its recorded segments said is to be kept, in the log's order."""
    if not world.told.chunks:  # a real agent's is its own
        return
    kept = world.loop.run(world.storage.transact(SCOPE, LoadHistory(THREAD)))
    of = [chunk.decode().partition(" ")[0] for chunk in kept]
    ends = filter(None, map(_end_of, entries))
    expected = [run_id for run_id, kind, _ in ends if (run_id, kind) not in world.told.raised]
    of, expected = ([run_id for run_id in each if run_id in world.told.ends] for each in (of, expected))
    if of != expected:  # but for direct runs, whose callers say what is to be kept
        yield f"What is kept as the history is of {of}, and the log has ends of {expected}."


_KINDS = {Completed: "completed", Paused: "paused", Failed: "failed", Stopped: ""}


def _wrong_handles(world: World) -> Iterator[str]:
    """What whoever waits for a run is told, and its agent came to otherwise."""
    for handle in world.told.handles:
        if handle.ended.done() and handle.ended.exception() is None:
            kind = _KINDS[type(handle.ended.result())]
            if kind not in world.told.ends.get(handle.run_id, {kind}):
                yield f"Who waits for {handle.run_id} hears {kind or 'stopped'}: its agent did not."


def _wrong_ends(world: World, entries: Sequence[Envelope]) -> Iterator[str]:
    """The ends and pauses that the log has, and no agent came to; of a direct run its caller knows."""
    for run_id, kind, output in filter(None, map(_end_of, entries)):
        if kind not in world.told.ends.get(run_id, {kind}):
            yield f"The log has {run_id} as {kind or 'stopped'}, and its agent came to no such end."
        if kind == "completed" and output != "done" and run_id in world.told.ends:
            yield f"The log has {output!r} as what {run_id} came to, and its agent said: done."


def _end_of(entry: Envelope) -> tuple[str, str, str | None] | None:
    """How a run ends by an entry, as its agent was told to: "" if it was told nothing, and stopped."""
    match entry.event:
        case RunPaused(run_id=run_id):
            return run_id, "paused", None
        case RunEnded(run_id=run_id, outcome=outcome, output=output, reason=reason) if reason != "abandoned":
            return run_id, "" if outcome == "stopped" else outcome, output
        case _:
            return None


def _wrong_facts(entries: Sequence[Envelope]) -> Iterator[str]:
    """What the log has of a run that does not go on there."""
    going: set[str] = set()
    for entry in entries:
        match entry.event:
            case RunStarted(run_id=run_id):
                going.add(run_id)
            case RunPaused(run_id=run_id) | RunEnded(run_id=run_id):
                if run_id not in going and not (
                    isinstance(entry.event, RunEnded) and entry.event.reason == "abandoned"
                ):
                    yield f"The log has an end of {run_id}, which does not go on there."
                going.discard(run_id)
            case ToolCalled() | ToolReturned():
                if entry.run_id not in going:
                    yield f"The log has {entry.event.type} of {entry.run_id}, which does not go on there."
            case _:
                pass


def _wrong_replies(entries: Sequence[Envelope]) -> Iterator[str]:
    """The answers that a message is said to have given, in other words than its own."""
    texts = {entry.seq: entry.event.text for entry in entries if isinstance(entry.event, MessagePosted)}
    kinds: dict[str, str] = {}
    for entry in entries:
        match entry.event:
            case RunPaused(requests=requests):
                kinds |= {request.id: request.kind for request in requests}
            case RequestAnswered(request_id=request_id, message_seq=int() as seq, answer=answer):
                expected = Deny if kinds[request_id] == "approval" else Reply
                if answer != expected(texts[seq]):
                    yield f"The log has {answer} as the answer of {texts[seq]!r}."
            case _:
                pass


def _abandoned(entries: Sequence[Envelope]) -> set[str]:
    """The runs that were recorded as abandoned."""
    return {
        e.event.run_id for e in entries if isinstance(e.event, RunEnded) and e.event.reason == "abandoned"
    }


def _left(world: World) -> set[str]:
    """The thread's run, if it is answered and has not resumed, or is active though nobody carries it."""
    run = world.loop.run(world.workspace.thread(THREAD)).run
    is_left = run is not None and run.status in {RunStatus.ANSWERED, RunStatus.ACTIVE}
    return {run.run_id} if run is not None and is_left else set()


def _run_of(entries: Sequence[Envelope], seq: int) -> str | None:
    """The run that an entry is of."""
    return next(entry.run_id for entry in entries if entry.seq == seq)


def _is_position(entry: Envelope) -> bool:
    """Whether an entry is one in the model's log."""
    return entry.event.type in {"message_posted", "request_answered"}
