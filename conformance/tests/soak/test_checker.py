"""The checker is seen to fail: of logs with each thing wrong, it names it. Those that are well it lets be."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from conformance.soak.checker import Verdict, judge
from conformance.soak.story import AtRest, Given, Kill, Life, Story
from conformance.soak.waits import Wait, waits
from threadclaim.events import (
    Envelope,
    Event,
    MessagePosted,
    PersonActor,
    Reply,
    Request,
    RequestAnswered,
    RunEnded,
    RunPaused,
    RunStarted,
    ThreadCreated,
)

THREAD = "w-t"
LIVED, DIED = Life("0.1", 0.0), Life("1.1", 0.0, died=10.0)


def log(*events: Event | tuple[float, Event]) -> list[Envelope]:
    """A log of one thread: an event comes a second after the one before, or at the time that it is given."""
    entries: list[Envelope] = []
    for seq, timed in enumerate(events, 1):
        at, event = timed if isinstance(timed, tuple) else (float(seq), timed)
        run_id = getattr(event, "run_id", None)
        time = datetime.fromtimestamp(at, UTC)
        entries.append(Envelope(seq, f"e{seq}", time, PersonActor("ann"), event, THREAD, run_id))
    return entries


def message(number: int) -> MessagePosted:
    """A message."""
    return MessagePosted(f"m{number}", "x")


def started(*consumes: int, run: str = "r", by: Life = LIVED, resumed: bool = False) -> RunStarted:
    """A run's start."""
    return RunStarted(run, f"{by.name}-holder", consumes, resumed)


def ended(*delivered: int, run: str = "r") -> RunEnded:
    """A run's end."""
    return RunEnded(run, "completed", delivered=delivered)


def abandoned(run: str = "r") -> RunEnded:
    """A run that was found left active."""
    return RunEnded(run, "failed", reason="abandoned")


def given(seq: int, how: str = "prompt", run: str = "r", by: Life = LIVED) -> Given:
    """A message that a model was given."""
    return Given(by.name, THREAD, run, seq, how)  # type: ignore[arg-type]  # one of the three


WELL = AtRest(log(ThreadCreated(), message(1), started(2), message(2), ended(4)), frozenset({"m1", "m2"}))
GIVEN = (given(2), given(4, "steering"))


def judged(at_rest: AtRest, given: Sequence[Given] = GIVEN) -> Verdict:
    """What the checker says."""
    return judge(Story({"w": at_rest}, [LIVED, DIED], given=given))


def kinds(verdict: Verdict) -> list[str]:
    """What is wrong, by its kind."""
    return [finding.kind for finding in verdict.findings]


def test_a_log_that_is_well() -> None:
    """Nothing is wrong with it, and nothing needs an excuse."""
    verdict = judged(WELL)
    assert verdict.is_well
    assert (verdict.messages, verdict.acknowledged, verdict.consumed) == (2, 2, 2)
    assert not verdict.excuses


def test_a_message_that_is_not_in_the_log() -> None:
    """It was acknowledged, so it is lost."""
    verdict = judged(replace(WELL, acknowledged=frozenset({"m1", "m2", "m3"})))
    assert kinds(verdict) == ["lost"]
    assert "m3" in verdict.findings[0].sentence


def test_a_message_that_is_not_consumed() -> None:
    """It is in the log, and no write took it."""
    entries = log(ThreadCreated(), message(1), started(2), message(2), ended())
    verdict = judged(replace(WELL, entries=entries), [given(2)])
    assert kinds(verdict) == ["lost"]
    assert "message 4" in verdict.findings[0].sentence


@pytest.mark.parametrize(
    "again",
    [
        [started(2, run="r2"), ended(run="r2")],
        [started(run="r2"), ended(2, run="r2")],
        [started(run="r2"), RunPaused("r2", (), (2,))],
        [started(run="r2"), RequestAnswered("r2", "q", Reply("x"), 2)],
    ],
)
def test_a_message_that_is_taken_twice(again: list[Event]) -> None:
    """By whichever writes."""
    entries = log(ThreadCreated(), message(1), started(2), ended(), *again)
    assert "twice" in kinds(judged(AtRest(entries, frozenset({"m1"})), [given(2)]))


def test_messages_that_are_taken_out_of_order() -> None:
    """Order within a thread is the log's."""
    entries = log(
        ThreadCreated(), message(1), message(2), started(3), ended(), started(2, run="r2"), ended(run="r2")
    )
    verdict = judged(AtRest(entries), [given(3), given(2, run="r2")])
    assert kinds(verdict) == ["order"]


def test_a_gap_in_the_log() -> None:
    """The seqs are counted."""
    entries = [*WELL.entries[:2], *(replace(entry, seq=entry.seq + 1) for entry in WELL.entries[2:])]
    assert "gap" in kinds(judged(replace(WELL, entries=entries), [given(2)]))


def test_a_thread_that_is_stuck() -> None:
    """A sweep would find something to do in it."""
    assert kinds(judged(replace(WELL, stranded=[THREAD]))) == ["stuck"]


def test_a_claim_that_is_held() -> None:
    """Nothing goes on, and somebody holds the thread."""
    assert kinds(judged(replace(WELL, held={THREAD: "0.1-x"}))) == ["held"]


# ---- What models were given.


def steered(end: Event) -> list[Envelope]:
    """A run is steered, and ends so; the message is the next run's."""
    return log(
        ThreadCreated(),
        message(1),
        started(2, by=DIED),
        message(2),
        end,
        started(4, run="r2"),
        ended(run="r2"),
    )


AGAIN = [given(2, by=DIED), given(4, "steering", by=DIED), given(4, run="r2")]


def test_steering_of_a_dead_run_may_be_given_again() -> None:
    """The record excuses it, and the checker says why."""
    verdict = judged(AtRest(steered(abandoned())), AGAIN)
    assert verdict.is_well
    assert [excuse.reason for excuse in verdict.excuses] == ["again"]


def test_steering_of_a_run_that_ended_may_not() -> None:
    """Its run lived, and could have recorded it."""
    assert kinds(judged(AtRest(steered(ended())), AGAIN)) == ["unexplained"]


def test_steering_of_a_lapsed_run_may_come_after_the_next_runs() -> None:
    """Whoever lost its claim and does not know it yet is given what another has consumed meanwhile."""
    late = [given(2, by=DIED), given(4, run="r2"), given(4, "steering", by=DIED)]
    verdict = judged(AtRest(steered(abandoned())), late)
    assert verdict.is_well
    assert [excuse.reason for excuse in verdict.excuses] == ["again"]


def test_one_run_is_given_nothing_twice() -> None:
    """Not even one that is abandoned."""
    twice = [given(2, by=DIED), given(4, "steering", by=DIED), given(4, "steering", by=DIED)]
    assert kinds(judged(AtRest(steered(abandoned())), twice)) == ["unexplained"]


def test_a_prompt_is_given_once_whatever_died() -> None:
    """A write consumed it."""
    twice = [given(2, by=DIED), given(2, run="r2"), given(4, run="r2")]
    assert kinds(judged(AtRest(steered(abandoned())), twice)) == ["unexplained"]


def test_a_prompt_whose_run_died_at_once() -> None:
    """It is consumed and never given, and the log says so: its run is abandoned."""
    entries = log(ThreadCreated(), message(1), started(2, by=DIED), abandoned())
    verdict = judged(AtRest(entries), [])
    assert verdict.is_well
    assert [excuse.reason for excuse in verdict.excuses] == ["unheard"]


def test_a_prompt_that_nobody_was_given() -> None:
    """Its run ended well, and never had it."""
    assert kinds(judged(WELL, [given(4, "steering")])) == ["unexplained"]


def test_a_run_whose_claim_lapsed() -> None:
    """Nobody killed its process: that is told."""
    entries = log(ThreadCreated(), message(1), started(2), abandoned())
    verdict = judged(AtRest(entries), [given(2)])
    assert [excuse.reason for excuse in verdict.excuses] == ["lapsed"]


def test_a_reply_counts_as_the_message() -> None:
    """A model is given an answer: it is that of the message that answered."""
    entries = log(
        ThreadCreated(),
        message(1),
        started(2),
        RunPaused("r", (Request("q", "question", "ask"),)),
        message(2),
        RequestAnswered("r", "q", Reply("x"), 5),
        started(resumed=True),
        ended(),
    )
    assert judged(AtRest(entries), [given(2), given(6, "reply")]).is_well


# ---- Waits.

LEFT = (ThreadCreated(), (8.0, message(1)), (9.0, started(2, by=DIED)))


def waited(entries: Sequence[Envelope], *more: Life) -> list[Wait]:
    """The waits after the death of who held the thread, at 10.0."""
    kill = Kill(DIED.name, 10.0, [THREAD])
    return waits(Story({"w": AtRest(entries)}, [LIVED, DIED, *more], [kill]), ttl=1.0)


def test_a_wait_for_a_look() -> None:
    """It is measured from the death, if nobody was started since."""
    (wait,) = waited(log(*LEFT, (11.5, abandoned())))
    assert (wait.since, wait.seconds) == (10.0, 1.5)


def test_a_wait_for_a_restart() -> None:
    """It is measured from the first start of a process that lived to its end."""
    lives = [Life("1.2", 11.0, died=11.5), Life("1.3", 12.0), Life("2.2", 12.5)]
    (wait,) = waited(log(*LEFT, (13.0, abandoned())), *lives)
    assert (wait.since, wait.seconds) == (12.0, 1.0)


def test_a_wait_for_a_message() -> None:
    """With nothing left to do at the death, it begins with what comes while the dead claim stands."""
    (wait,) = waited(log(*LEFT, (9.5, ended()), (10.5, message(2)), (11.5, started(5, run="r2"))))
    assert (wait.since, wait.seconds) == (10.5, 1.0)


def test_a_second_holder_that_is_killed() -> None:
    """It wrote nothing before it died: the wait is the one after its own death."""
    second = Life("2.1", 0.0, died=11.2)
    kills = [Kill(DIED.name, 10.0, [THREAD]), Kill(second.name, 11.2, [THREAD])]
    at_rest = AtRest(log(*LEFT, (12.5, abandoned())))
    (wait,) = waits(Story({"w": at_rest}, [LIVED, DIED, second], kills), ttl=1.0)
    assert (wait.life, wait.since) == (second.name, 11.2)


def test_what_is_no_wait() -> None:
    """Nothing came, or it came once the claim had lapsed; or nobody came yet, so that the thread is stuck."""
    assert waited(log(*LEFT, (9.5, ended()))) == []
    assert waited(log(*LEFT, (9.5, ended()), (11.5, message(2)), (12.0, started(5, run="r2")))) == []
    assert waited(log(*LEFT)) == []
