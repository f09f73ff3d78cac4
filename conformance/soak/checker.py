"""The checker: what is wrong with a log, and which of its oddities the record allows, and why. Pure.

It knows nothing of how the log came to be: it is given logs with each thing wrong in its tests.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from conformance.ledger import consumed_by as consumed_of
from conformance.soak.story import AtRest, Given, Life, Story
from threadclaim.events import Envelope, MessagePosted, RequestAnswered, RunEnded, RunPaused, RunStarted

Wrong = Literal["lost", "twice", "order", "gap", "stuck", "held", "unexplained"]
"""What may be wrong.

`lost`: acknowledged and not in the log, or in the log and not consumed. `twice`: consumed by two writes.
`order`: consumed against the log's order. `gap`: the log's seqs have one. `stuck`: a thread has something
left to do. `held`: a claim is held. `unexplained`: what a model was given is against the record.
"""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong, in a sentence."""

    kind: Wrong
    sentence: str


@dataclass(frozen=True, slots=True)
class Excuse:
    """An oddity that the record allows, and why: one of `REASONS`."""

    reason: str
    sentence: str


REASONS = {
    "again": "steering given again: its run died, or lost its claim, before its end was recorded (ADR-0055)",
    "unheard": "consumed and never given: its run died between its start and its first request (repair i)",
    "lapsed": "a run recorded as abandoned though nobody killed it: its claim had lapsed (ADR-0069)",
}


@dataclass(slots=True)
class Verdict:
    """What the checker comes to."""

    messages: int = 0
    acknowledged: int = 0
    consumed: int = 0
    findings: list[Finding] = field(default_factory=list)
    excuses: list[Excuse] = field(default_factory=list)

    @property
    def is_well(self) -> bool:
        """Whether nothing is wrong."""
        return not self.findings

    def count(self, kind: Wrong) -> int:
        """How many things are wrong in this way."""
        return sum(finding.kind == kind for finding in self.findings)


def judge(story: Story) -> Verdict:
    """Check every workspace of a story."""
    verdict = Verdict()
    for name, workspace in story.workspaces.items():
        given = [each for each in story.given if each.thread in _threads(workspace)]
        log = _Log(name, workspace, given, story.lives)
        verdict.messages += len(log.messages)
        verdict.acknowledged += len(workspace.acknowledged)
        verdict.consumed += len(log.consumed)
        verdict.findings += [*log.gaps(), *log.lost(), *log.consumed_wrongly(), *log.not_at_rest()]
        findings, excuses = log.given_oddly()
        verdict.findings += findings
        verdict.excuses += [*excuses, *log.lapses()]
    return verdict


def _threads(workspace: AtRest) -> set[str]:
    """The threads in a log."""
    return {entry.thread_id for entry in workspace.entries if entry.thread_id is not None}


class _Log:
    """A workspace's log, to be checked."""

    def __init__(self, name: str, at_rest: AtRest, given: Sequence[Given], lives: Sequence[Life]) -> None:
        self._name, self._at_rest, self._given, self._lives = name, at_rest, given, lives
        self.messages: dict[int, Envelope] = {
            entry.seq: entry for entry in at_rest.entries if entry.is_message
        }
        self.consumed: Counter[int] = consumed_of(at_rest.entries)

    def gaps(self) -> Iterator[Finding]:
        """The seqs count from 1, with none left out."""
        seqs = [entry.seq for entry in self._at_rest.entries]
        for place, seq in enumerate(seqs, 1):
            if seq != place:
                yield Finding("gap", f"{self._name}: entry {place} of the log has the seq {seq}.")
                return

    def lost(self) -> Iterator[Finding]:
        """What was acknowledged is in the log, and what is in the log is consumed."""
        ids = {
            entry.event.message_id
            for entry in self.messages.values()
            if isinstance(entry.event, MessagePosted)
        }
        for missing in sorted(self._at_rest.acknowledged - ids):
            yield Finding("lost", f"{self._name}: message {missing} was acknowledged, and is not in the log.")
        for seq, entry in self.messages.items():
            if not self.consumed[seq]:
                yield Finding("lost", f"{self._name}: message {seq} of {entry.thread_id} is not consumed.")

    def consumed_wrongly(self) -> Iterator[Finding]:
        """Each message is consumed by one write, in the order of its thread's log."""
        for seq, times in self.consumed.items():
            if times > 1:
                yield Finding("twice", f"{self._name}: message {seq} is consumed {times} times.")
        last: dict[str | None, int] = defaultdict(int)
        for entry in self._at_rest.entries:
            for seq in consumed_by(entry):
                if seq < last[entry.thread_id]:
                    yield Finding("order", f"{self._name}: message {seq} is consumed after a later one.")
                last[entry.thread_id] = max(last[entry.thread_id], seq)

    def not_at_rest(self) -> Iterator[Finding]:
        """Nothing is left to do, and nobody holds a claim."""
        for thread in self._at_rest.stranded:
            yield Finding("stuck", f"{self._name}: thread {thread} has something left to do.")
        for thread, holder in self._at_rest.held.items():
            yield Finding("held", f"{self._name}: the claim of {thread} is held, by {holder}.")

    # ---- What models were given.

    def given_oddly(self) -> tuple[list[Finding], list[Excuse]]:
        """What was given twice, or consumed and never given: excused, or against the record."""
        findings: list[Finding] = []
        excuses: list[Excuse] = []
        given = self._times_given()
        for seq, times in given.items():
            # Whichever came first: a holder whose claim has lapsed may be given a message after the next one.
            broke = [each for each in times if each.how == "steering" and self._broke(each)]
            kept = [each for each in times if each not in broke]
            told = f"{self._name}: message {seq} was given {_by(times)}."
            if len(kept) > 1 or len({each.run_id for each in times}) < len(times):
                findings.append(Finding("unexplained", f"{told} Nothing excuses that."))
            elif len(times) > 1:
                excuses.append(Excuse("again", told))
        for seq in sorted(set(self.consumed) - set(given)):
            told = f"{self._name}: message {seq} was consumed, and no model was given it."
            if self._run_of(seq) in self._abandoned():
                excuses.append(Excuse("unheard", told))
            else:
                findings.append(Finding("unexplained", f"{told} Its run was not abandoned."))
        return findings, excuses

    def _times_given(self) -> Mapping[int, list[Given]]:
        """How each message was given, in order; a reply's is that of the message that it answers with."""
        replies = {
            entry.seq: entry.event.message_seq
            for entry in self._at_rest.entries
            if isinstance(entry.event, RequestAnswered)
        }
        found: dict[int, list[Given]] = defaultdict(list)
        for given in self._given:
            seq = replies.get(given.seq) if given.how == "reply" else given.seq
            again = given.how == "reply" and any(
                each.run_id == given.run_id for each in found.get(seq or 0, ())
            )
            if seq is not None and not again:
                found[seq].append(given)
        return found

    def _broke(self, given: Given) -> bool:
        """Whether the segment in which something was given never recorded its end."""
        return given.run_id in self._abandoned() and given.seq not in self._delivered(given.run_id)

    def _delivered(self, run_id: str) -> set[int]:
        """What the ends and the pauses of a run recorded as delivered."""
        ends = (entry.event for entry in self._at_rest.entries if entry.run_id == run_id)
        return {seq for end in ends if isinstance(end, RunPaused | RunEnded) for seq in end.delivered}

    def _abandoned(self) -> Mapping[str, str]:
        """The runs that were recorded as abandoned, and the segment that each was in."""
        found: dict[str, str] = {}
        segments: dict[str, str] = {}
        for entry in self._at_rest.entries:
            match entry.event:
                case RunStarted(run_id=run_id, segment=segment):
                    segments[run_id] = segment
                case RunEnded(run_id=run_id, reason="abandoned"):
                    found[run_id] = segments.get(run_id, "nobody")
                case _:
                    pass
        return found

    def _run_of(self, seq: int) -> str | None:
        """The run that consumed a message."""
        return next((e.run_id for e in self._at_rest.entries if seq in consumed_by(e)), None)

    def lapses(self) -> Iterator[Excuse]:
        """Runs that were recorded as abandoned though whoever held them was not killed."""
        killed = [life for life in self._lives if life.died is not None]
        for run_id, segment in self._abandoned().items():
            if not any(life.has_made(segment) for life in killed):
                yield Excuse("lapsed", f"{self._name}: run {run_id} was abandoned, and its process lived.")


def _by(times: Sequence[Given]) -> str:
    """To whom a message was given, in order."""
    return ", then ".join(f"to run {each.run_id} of {each.life} as its {each.how}" for each in times)


def consumed_by(entry: Envelope) -> Sequence[int]:
    """The messages that an entry consumes, by their seqs, in order."""
    return sorted(consumed_of([entry]).elements())
