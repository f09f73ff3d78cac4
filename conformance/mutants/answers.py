"""Twins that answer what is not open, and those that do not give what they consume."""

from collections.abc import Sequence
from dataclasses import replace

import threadclaim.claimant
import threadclaim.runner
import threadclaim.thread
from conformance.actions import ACTIONS, Action, ImpossibleError, Ways
from conformance.mutants.twin import Put, Twin
from conformance.world.agent import SteppedRun
from conformance.world.process import THREAD
from conformance.world.world import World
from threadclaim import steps
from threadclaim.claimant import Claimant
from threadclaim.events import Envelope, Request, RequestAnswered
from threadclaim.plan import ResumePlan
from threadclaim.run import RunInput
from threadclaim.steps.commands import commit_answers
from threadclaim.steps.loads import hold_fast, load_thread, save_ask
from threadclaim.storage.protocol import Transaction, taken_cursor
from threadclaim.thread import Answered, Run, RunStatus

# ---- Over an answer


class ReplyAnyhow(steps.Reply):
    """A reply to what its plan found open, answered meanwhile or not."""

    async def __call__(self, tx: Transaction) -> Run | None:
        """As the library's, without a look at what is open still."""
        await hold_fast(tx, self.thread_id, self.holder)
        run = (await load_thread(tx, self.thread_id)).run
        if run is None:
            return None
        seq, answers = self.message.seq, {request.id: answer for request, answer in self.answers}
        await commit_answers(tx, self.thread_id, run, answers, self.message.actor, seq)
        await tx.save_cursor(taken_cursor(self.thread_id), seq)
        return (await load_thread(tx, self.thread_id)).run


def _answered_anew(run: Run, event: RequestAnswered, envelope: Envelope) -> Run:
    """The run with the answer that came last, though another came first."""
    answers = {**run.answers, event.request_id: Answered(event.answer, envelope.actor, envelope.seq)}
    asked = run.requests
    if event.request_id not in {request.id for request in asked}:  # nobody has asked it: so it is now
        asked = (*asked, Request(event.request_id, "question", "ask"))
    return replace(run, answers=answers, requests=asked, status=RunStatus.ANSWERED)


def _reply_anyhow(put: Put) -> None:
    put(threadclaim.claimant, "Reply", ReplyAnyhow)
    put(threadclaim.thread, "_answered", _answered_anew)


# ---- Where nothing is open


class AnswerAnyhow(steps.Answer):
    """An answer that is accepted whether anything is open or not, and whether there is a run."""

    async def __call__(self, tx: Transaction) -> Sequence[Envelope]:
        """Commit it, and ask for it."""
        run = (await load_thread(tx, self.thread_id)).run or _run_of(f"answered-{await tx.head()}")
        committed = await commit_answers(tx, self.thread_id, run, self.answers, self.actor)
        await save_ask(tx, self.thread_id, committed[-1].seq)
        return committed


def _run_of(run_id: str) -> Run:
    """A run that nobody has started."""
    return Run(run_id, RunStatus.ENDED, "")


_run_after = threadclaim.thread._run_after


def _answered_after(run: Run | None, envelope: Envelope) -> Run | None:
    """The run once an event is committed: an answer makes it answered, whatever it was."""
    event = envelope.event
    if not isinstance(event, RequestAnswered):
        return _run_after(run, envelope)
    return _answered_anew(run or _run_of(event.run_id), event, envelope)


def _answer_anyhow(put: Put) -> None:
    put(threadclaim.runner, "Answer", AnswerAnyhow)
    put(threadclaim.thread, "_run_after", _answered_after)


_answer = ACTIONS["Answer"]


def _answer_no_run_that_goes_on(world: World, task: str, variant: str) -> Ways:
    """Answer what is open, or what nobody has asked.

    Of a run that goes on the mutant has an answered one that still is its task's, which no log can tell.
    """
    run = world.loop.run(world.workspace.thread(THREAD)).run
    if run is not None and run.status is RunStatus.ACTIVE:
        why = "the thread's run goes on, and would be answered and go on"
        raise ImpossibleError("Answer", task, why, is_known=True)
    return _answer.do(world, task, variant)


# ---- What is not given


def _dropped(run: SteppedRun) -> None:
    """Drop what has arrived, and count it as delivered."""
    run.delivered += [message.seq for message in run.steering.take()]


_input_of_resume = Claimant._input_of_resume


async def _only_answers(claimant: Claimant, resume: ResumePlan, linked: str | None) -> RunInput:
    """What a run resumes with: its answers, without the messages that it consumes."""
    given = await _input_of_resume(claimant, resume, linked)
    return replace(given, turn=replace(given.turn, prompt=()))


TWINS = (
    Twin(
        "RepliesOverAnswer",
        "A reply answers what an answer came to first, and takes its place.",
        _reply_anyhow,
    ),
    Twin(
        "AnswersWhatIsNotOpen",
        "An answer is committed, and resumes a run, though nothing was open.",
        _answer_anyhow,
        actions={"Answer": Action("Answer", "task", _answer_no_run_that_goes_on)},
    ),
    Twin(
        "DroppedIsDelivered",
        "A message that arrives for a run is dropped, and counts as delivered.",
        lambda put: put(SteppedRun, "take", _dropped),
    ),
    Twin(
        "ResumeGivesOnlyAnswers",
        "The messages that a resume consumes are not given to the agent.",
        lambda put: put(Claimant, "_input_of_resume", _only_answers),
    ),
)
"""These twins."""
