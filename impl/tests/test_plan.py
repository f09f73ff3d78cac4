"""The holder's decision, sentence by sentence of ADR-0055 and its amendments; then round after round."""

import re
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.decisions import (
    AT,
    ELSEWHERE,
    FORMS,
    HERE,
    REQUESTS,
    carried_out,
    folded,
    here,
    own_answer,
    reaches,
)
from threadclaim.events import (
    RUNNER,
    Actor,
    AgentActor,
    Approve,
    Deny,
    Envelope,
    Event,
    ExternalAgentActor,
    MessagePosted,
    PersonActor,
    Reply,
    RequestAnswered,
    RunEnded,
    RunPaused,
    RunStarted,
    ThreadCreated,
)
from threadclaim.plan import (
    AbandonPlan,
    CountPlan,
    LeavePlan,
    Plan,
    ReplyPlan,
    ResumePlan,
    StartPlan,
    View,
    plan,
)
from threadclaim.thread import Thread

ADA, BEN = PersonActor("ada"), PersonActor("ben")
ACTORS: dict[str, Actor] = {
    "ada": ADA,
    "ben": BEN,
    "agent": AgentActor("writer"),
    "external": ExternalAgentActor("crawler"),
    "runner": RUNNER,
}
NAMES = {actor: name for name, actor in ACTORS.items()}


@dataclass
class Story:
    """A workspace's log as it grows, and the thread's two positions; the thread is folded from the log."""

    entries: list[Envelope] = field(default_factory=list)
    asked: int = 0
    taken: int = 0

    def add(self, event: Event, actor: Actor = RUNNER, thread_id: str = HERE) -> Envelope:
        """Commit an event."""
        seq = len(self.entries) + 1
        self.entries.append(Envelope(seq, f"e{seq}", AT, actor, event, thread_id))
        return self.entries[-1]

    def tell(self, words: str) -> "Story":
        """Let it happen, word by word (see TOLD)."""
        for word in words.split():
            self._commit(word.removesuffix("!"))
            self.asked = len(self.entries) if word.endswith("!") else self.asked
        return self

    def _commit(self, word: str) -> None:
        """One word."""
        seq = len(self.entries) + 1
        match re.split(r"[.:]", word):
            case ["|"]:
                self.taken = len(self.entries)
            case ["note"]:
                self.add(MessagePosted(f"m{seq}", "not for us"), ADA, ELSEWHERE)
            case ["notice", name]:
                self.add(MessagePosted(f"m{seq}", "only to know", "notice"), ACTORS[name])
            case ["pause", ids]:
                self.add(RunPaused("r", tuple(REQUESTS[each] for each in ids)))
            case [request_id, name]:
                answer = own_answer(REQUESTS[request_id])
                self.add(RequestAnswered("r", request_id, answer), ACTORS[name])
            case _ if word in SIMPLE:
                self.add(SIMPLE[word])
            case _:
                self.add(MessagePosted(f"m{seq}", f"text {seq}"), ACTORS[word])

    @property
    def thread(self) -> Thread:
        """The thread, folded."""
        return folded(self.entries)

    @property
    def view(self) -> View:
        """What a claimant reads."""
        past = [entry for entry in here(self.entries) if entry.seq > self.taken]
        return View(self.thread, self.asked, self.taken, len(self.entries), past)


SIMPLE: dict[str, Event] = {
    "created": ThreadCreated(),
    "start": RunStarted("r", "h"),
    "end": RunEnded("r", "completed"),
}
TOLD = """
ada         ada's message; with a ! (after any word) all up to here is asked for
notice.ada  her notice                       note        another thread's event
start, end  of a run, or of a segment of it  pause:qaf   it waits for a question, an approval, a form
q.ada       she answers the question         |           all up to here is taken
"""


def described(decided: Plan) -> str:
    """A plan, in few words."""
    match decided:
        case AbandonPlan(run_id=run_id):
            return f"abandon {run_id}"
        case StartPlan(prompt=message):
            return f"start {message.seq}"
        case ReplyPlan(message=message, answers=answers, resumes=resumes):
            given = " ".join(f"{request.id}:{answer.kind}" for request, answer in answers)
            return f"reply {message.seq} {given}, {'resumes' if resumes else 'stays'}"
        case ResumePlan(actor=actor, messages=messages, through=through):
            beside = " ".join(str(message.seq) for message in messages)
            return f"resume for {NAMES[actor]} with [{beside}] through {through}"
        case CountPlan(through=through):
            return f"count {through}"
        case LeavePlan():
            return "leave"


TABLE = [
    # When more was asked than taken, or a run is to be seen to, and only then.
    ("a message committed directly starts no turn (I5)", "ada", "leave"),
    ("what is taken is not done again", "ada! | ben", "leave"),
    ("a paused run waits for its ask", "start pause:q | ada", "leave"),
    (
        "an answered run resumes, though nothing more is asked (repair b)",
        "start pause:q q.ada |",
        "resume for ada with [] through 3",
    ),
    (
        "whoever answered, and with what was posted beside",
        "start pause:q q.ada | ada ben",
        "resume for ada with [4] through 4",
    ),
    ("one answer of two resumes nothing", "start pause:qa q.ada |", "leave"),
    # The oldest message starts a run.
    ("of two that were sent the first is the prompt", "ada! ada!", "start 1"),
    ("the oldest first, however it was committed (I6)", "ben ada!", "start 1"),
    ("an ask at the head takes a direct message", "ada note!", "start 1"),
    ("an ask before a direct message takes it too", "note! ada", "start 2"),
    ("whoever posted it: an agent", "agent! ada!", "start 1"),
    ("whoever posted it: an external agent", "external! ada!", "start 1"),
    ("whoever posted it: the system", "runner! ada!", "start 1"),
    ("a message taken before is not the oldest", "ada! | ada!", "start 2"),
    ("after a run that has ended, another", "start pause:q q.ada! start end ada!", "start 6"),
    ("a pause for nothing holds nothing up", "start pause: | ada!", "start 3"),
    # Notices.
    ("a notice is no prompt", "notice.ada!", "count 1"),
    ("a notice before a message is passed over", "notice.ada ada!", "start 2"),
    ("a notice is no reply", "start pause:q | notice.ada!", "count 3"),
    (
        "a notice is not beside the answers",
        "start pause:q | q.ada! notice.ada",
        "resume for ada with [] through 4",
    ),
    (
        "another's notice does not end the messages of a resume",
        "start pause:q | q.ada! notice.ben ada",
        "resume for ada with [5] through 5",
    ),
    # With no message, what was read counts as taken, up to the head.
    ("another thread's event is asked for, and counted (regression 8)", "note!", "count 1"),
    ("a count goes up to the head that was read", "note! note", "count 2"),
    ("the thread's own creation is counted", "created!", "count 1"),
    ("a paused run without a message is counted for", "start pause:qf | note!", "count 3"),
    # Paused with requests open: the oldest message is the reply.
    ("questions are answered", "start pause:q | ada!", "reply 3 q:reply, resumes"),
    ("approvals are declined", "start pause:a | ada!", "reply 3 a:deny, resumes"),
    ("both", "start pause:qa | ada!", "reply 3 q:reply a:deny, resumes"),
    ("the oldest replies, whoever posted it (I6)", "start pause:q | ben ada!", "reply 3 q:reply, resumes"),
    (
        "what was answered first is left (regression 13)",
        "start pause:qa | a.ben! ada!",
        "reply 4 q:reply, resumes",
    ),
    (
        "the message before the answer replies to the rest",
        "start pause:qa | ada! a.ben!",
        "reply 3 q:reply, resumes",
    ),
    # A message does not answer a form (regressions 24 and 25).
    ("a reply beside a form", "start pause:qf | ada!", "reply 3 q:reply, stays"),
    ("a reply beside a form by its kind", "start pause:qg | ada!", "reply 3 q:reply, stays"),
    ("a reply beside a form by its tool", "start pause:qh | ada!", "reply 3 q:reply, stays"),
    ("a reply beside a form that is answered", "start pause:fq | f.ada! ada!", "reply 4 q:reply, resumes"),
    ("with only forms open a message waits", "start pause:f | ada!", "leave"),
    ("with only forms open, of any sort", "start pause:fgh | ada!", "leave"),
    ("what comes before a waiting message is counted", "start pause:f | note note ada!", "count 4"),
    ("what comes after it is not", "start pause:f | ada! note!", "leave"),
    ("with one of two forms answered it still waits", "start pause:fg | ada! f.ada!", "leave"),
    ("it joins the form's resume", "start pause:f | ada! f.ada!", "resume for ada with [3] through 4"),
    ("another's does not", "start pause:f | ben! f.ada!", "resume for ada with [] through 2"),
    # Every request is answered: the run resumes.
    (
        "messages before and after the answer are beside it",
        "start pause:q | ada q.ada! ada!",
        "resume for ada with [3 5] through 5",
    ),
    ("answers alone resume", "start pause:q | q.ada! note", "resume for ada with [] through 4"),
    (
        "for the last to answer, in whatever order of requests",
        "start pause:qa | a.ben! q.ada!",
        "resume for ada with [] through 4",
    ),
    (
        "up to just before the first message from another (regression 17)",
        "start pause:q | q.ada! ada note ben ada!",
        "resume for ada with [4] through 5",
    ),
    (
        "a second pause acts for whoever answered that",
        "start pause:q q.ben! start pause:a | a.ada!",
        "resume for ada with [] through 6",
    ),
    # A run left active comes before everything.
    ("a dead run is recorded first", "start ada!", "abandon r"),
    ("though nothing more is asked (repair f)", "start ada", "abandon r"),
    ("a resume that died is not resumed again", "start pause:q q.ada! start", "abandon r"),
]


@pytest.mark.parametrize(("told", "expected"), [pytest.param(*row[1:], id=row[0]) for row in TABLE])
def test_the_decision(told: str, expected: str) -> None:
    """Each sentence about the decision, with a log that it is about (TOLD), and what the holder does then."""
    assert described(plan(Story().tell(told).view)) == expected


LEFT = ["ada!", "start |", "start pause:q q.ada |", "start pause:q q.ada start |"]
DONE = ["ada", "ada! |", "start end |", "start pause:q |", "start pause:qa q.ada |"]


@pytest.mark.parametrize(
    ("told", "is_left"), [*((told, True) for told in LEFT), *((told, False) for told in DONE)]
)
def test_what_is_left_to_do(told: str, is_left: bool) -> None:
    """More asked than taken, or a run active or answered: what sweeps, looks and claims go by."""
    assert Story().tell(told).view.is_left is is_left


def test_a_reply_says_the_message() -> None:
    """A question's answer is its text; a declined approval tells it to the model."""
    decided = plan(Story().tell("start pause:qaf | ada!").view)
    assert isinstance(decided, ReplyPlan)
    assert (decided.run_id, decided.message.actor) == ("r", ADA)
    assert decided.answers == ((REQUESTS["q"], Reply("text 3")), (REQUESTS["a"], Deny("text 3")))


def test_a_resume_has_every_answer() -> None:
    """The run that it resumes has each request's answer as it was given, and none from a message."""
    decided = plan(Story().tell("start pause:qa | a.ben! q.ada! ada!").view)
    assert isinstance(decided, ResumePlan)
    assert {key: value.answer for key, value in decided.run.answers.items()} == {
        "q": Reply("so"),
        "a": Approve(),
    }


# ---- Round after round: a plan carried out, and the next one made.


def carry_out(story: Story, decided: Plan) -> None:
    """What the steps commit for a plan; a run that it starts ends at once, steered with nothing."""
    story.taken = reaches(decided, story.view)
    match decided:
        case AbandonPlan():
            story.tell("end")
        case ReplyPlan(message=message, answers=answers):
            for request, answer in answers:
                story.add(RequestAnswered("r", request.id, answer), message.actor)
        case StartPlan() | ResumePlan():
            story.tell("start end")
        case CountPlan() | LeavePlan():
            pass


def rounds(story: Story) -> list[Plan]:
    """Each round's plan, until one leaves everything as it was."""
    made: list[Plan] = []
    while not made or made[-1] != LeavePlan():
        made.append(plan(story.view))
        carry_out(story, made[-1])
        assert len(made) <= 3 * len(story.entries) + 3, "It plans without end."
    return made


WORDS = st.lists(
    st.sampled_from(["ada!", "ben!", "runner!", "ada", "ben", "notice.ben", "note", "note!"]), max_size=8
)
BEGINNINGS = st.just("start |") | st.sets(st.sampled_from("qafgh")).map(
    lambda ids: f"start pause:{''.join(sorted(ids))} |"
)


@given(BEGINNINGS, WORDS)
def test_rounds_end_and_consume_each_message_once_in_order(beginning: str, words: list[str]) -> None:
    """A message is left only if nobody asked for it, or it waits for a form (I1, regressions 25 and 26)."""
    story = Story().tell(" ".join([beginning, *words]))
    messages = story.view.messages
    consumed = [message for made in rounds(story) for message in carried_out(made)]
    assert consumed == list(messages[: len(consumed)])
    assert story.thread.run is not None
    is_waiting = not FORMS.isdisjoint(request.id for request in story.thread.run.open_requests)
    assert len(consumed) == len(messages) or is_waiting or story.asked <= story.taken
    assert is_waiting or not story.view.is_left


@given(WORDS)
def test_a_reply_that_died_before_its_resume_is_made_up_for(words: list[str]) -> None:
    """After a reply alone, with nothing more asked, the next round resumes its run for its author."""
    story = Story().tell(" ".join(["start pause:q | ada!", *(word.removesuffix("!") for word in words)]))
    reply = plan(story.view)
    carry_out(story, reply)
    assert isinstance(reply, ReplyPlan)
    assert story.asked == story.taken == reply.message.seq
    assert story.view.is_left
    resume = plan(story.view)
    assert isinstance(resume, ResumePlan)
    assert resume.actor == ADA


@given(WORDS)
def test_once_its_form_is_answered_nothing_asked_waits(words: list[str]) -> None:
    """The form's own answer resumes the run; then each asked message is taken, in turns of one author."""
    story = Story().tell(" ".join(["start pause:f |", *words]))
    assert not [message for made in rounds(story) for message in carried_out(made)]
    messages = story.view.messages
    made = rounds(story.tell("f.ada!"))
    assert isinstance(made[0], ResumePlan)
    assert not story.view.is_left
    assert [message for each in made for message in carried_out(each)] == list(messages)
