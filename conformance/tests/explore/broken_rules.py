"""Rules of the library that have no mutant, each broken by hand."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from conformance.world.agent import SteppedAgent
from threadclaim import carrying, claim, plan, run
from threadclaim.carrying import TurnCarrier
from threadclaim.claim import HeldClaim
from threadclaim.claimant import Claimant
from threadclaim.events import RUNNER, Envelope, MessagePosted, Reply, RunEnded, RunPaused
from threadclaim.handover import ALL, Leaving
from threadclaim.looks import Looks
from threadclaim.plan import ReplyPlan
from threadclaim.run import RunInput
from threadclaim.runner import Runner
from threadclaim.steering import Watcher
from threadclaim.steps import Claim, EndRun, RecordFact, Renew
from threadclaim.steps.loads import load_thread
from threadclaim.storage import Scope, Transaction
from threadclaim.storage.memory import _Transaction
from threadclaim.thread import Run
from threadclaim.turn import Facts, Outcome, Steering, Stopped, TurnInput
from threadclaim.workspace import Workspace

Break = Callable[[pytest.MonkeyPatch], None]
"""Breaks a rule, until the test is over."""


def keeps_what_it_gave(patch: pytest.MonkeyPatch) -> None:
    """A watcher gives what it has given once more."""

    def take(watcher: Watcher) -> Sequence[Envelope]:
        watcher.given += [message.seq for message in watcher._arrived]  # noqa: SLF001
        return list(watcher._arrived)  # noqa: SLF001

    patch.setattr(Watcher, "take", take)


def stops_nothing(patch: pytest.MonkeyPatch) -> None:
    """A claimant that is told to stop goes on."""
    patch.setattr(Claimant, "halt", lambda _: None)


def stops_and_says_no(patch: pytest.MonkeyPatch) -> None:
    """`stop` says that it stopped nothing."""
    stop = Runner.stop

    async def says_no(runner: Runner, workspace: Workspace, thread_id: str) -> bool:
        await stop(runner, workspace, thread_id)
        return False

    patch.setattr(Runner, "stop", says_no)


def renews_once(patch: pytest.MonkeyPatch) -> None:
    """A claim is renewed once, and not again."""

    async def renew(claim: HeldClaim) -> None:
        await asyncio.sleep(claim.ttl / 3)
        if await claim._renewed() is False:  # noqa: SLF001
            claim._lose()  # noqa: SLF001

    patch.setattr(HeldClaim, "_renew", renew)


def gives_up_renewing(patch: pytest.MonkeyPatch) -> None:
    """A renewal that fails is the last."""
    renewed = HeldClaim._renewed  # noqa: SLF001

    async def once(claim: HeldClaim) -> bool | None:
        found = await renewed(claim)
        if found is None:
            await asyncio.get_running_loop().create_future()
        return found

    patch.setattr(HeldClaim, "_renewed", once)


def follows_no_more(patch: pytest.MonkeyPatch) -> None:
    """A watcher whose read fails follows the log no more."""

    async def follow(watcher: Watcher) -> None:
        try:
            await watcher._read_on()  # noqa: SLF001
        except OSError:
            return

    patch.setattr(Watcher, "_follow", follow)


def stops_as_it_starts(patch: pytest.MonkeyPatch) -> None:
    """A turn that is stopped as its start is recorded is cancelled before it has its input."""

    def stop(carrier: TurnCarrier) -> None:
        if carrier._turn is not None:  # noqa: SLF001
            carrier._turn.cancel()  # noqa: SLF001

    patch.setattr(TurnCarrier, "_stop_turn", stop)


def watches_on(patch: pytest.MonkeyPatch) -> None:
    """A watcher goes on after its run."""

    async def stop(_: Watcher) -> None:
        return

    patch.setattr(Watcher, "stop", stop)


def forgets_its_input(patch: pytest.MonkeyPatch) -> None:
    """A claimant whose history could not be read leaves as if it had planned nothing."""
    failed = Claimant._failed  # noqa: SLF001

    def without(claimant: Claimant, error: BaseException) -> Any:  # noqa: ANN401  # as it leaves
        if isinstance(error, OSError):
            claimant._input_seq = 0  # noqa: SLF001
        return failed(claimant, error)

    patch.setattr(Claimant, "_failed", without)


def tells_of_no_failure(patch: pytest.MonkeyPatch) -> None:
    """A run that failed is recorded as completed."""

    def end_event(run_id: str, outcome: Outcome) -> RunEnded | RunPaused:
        event = run.end_event(run_id, outcome)
        is_failed = isinstance(event, RunEnded) and event.outcome == "failed"
        return RunEnded(run_id, "completed", "done", delivered=event.delivered) if is_failed else event

    patch.setattr(carrying, "end_event", end_event)


def replies_in_other_words(patch: pytest.MonkeyPatch) -> None:
    """A message that replies is recorded as another text."""
    reply = Claimant._reply  # noqa: SLF001

    async def otherwise(claimant: Claimant, plan: ReplyPlan) -> Run | None:
        answers = tuple((request, Reply("something else")) for request, _ in plan.answers)
        return await reply(claimant, replace(plan, answers=answers))

    patch.setattr(Claimant, "_reply", otherwise)


def keeps_the_reply_it_left(patch: pytest.MonkeyPatch) -> None:
    """A claimant whose reply was left keeps its position, by which a later failure is judged."""
    reply = Claimant._reply  # noqa: SLF001

    async def keeps(claimant: Claimant, plan: ReplyPlan) -> Run | None:
        answered = await reply(claimant, plan)
        claimant._input_seq = plan.message.seq  # noqa: SLF001
        return answered

    patch.setattr(Claimant, "_reply", keeps)


def records_facts_of_any_run(patch: pytest.MonkeyPatch) -> None:
    """What a run does is recorded though the run has ended, or goes on as another's."""

    async def record(step: RecordFact, tx: Transaction) -> bool:
        await tx.append(step.event, actor=RUNNER, thread_id=step.thread_id, run_id=step.run_id)
        return True

    patch.setattr(RecordFact, "__call__", record)


def forgets_a_refusal(patch: pytest.MonkeyPatch) -> None:
    """A refusal that comes while a look reads arms no look of its own."""
    arm = Looks.arm

    def unless_one_reads(looks: Looks, scope: Scope, thread_id: str, why: Leaving = ALL) -> None:
        if not looks._reading[scope, thread_id]:  # noqa: SLF001
            arm(looks, scope, thread_id, why)

    patch.setattr(Looks, "arm", unless_one_reads)


def ends_any_segment(patch: pytest.MonkeyPatch) -> None:
    """An end is recorded though the run has paused, and goes on as another's segment."""
    end_run = EndRun.__call__

    async def of_any(step: EndRun, tx: Transaction) -> bool:
        run = (await load_thread(tx, step.thread_id)).run
        own = replace(step, segment=run.segment) if run is not None else step
        return await end_run(own if run is not None and run.run_id == step.event.run_id else step, tx)

    patch.setattr(EndRun, "__call__", of_any)


def renews_until_cancelled(patch: pytest.MonkeyPatch) -> None:
    """A CancelledError that nobody asked for, as a claim is renewed, ends the renewals."""

    async def renewed(claim: HeldClaim) -> bool | None:
        step = Renew(claim.thread_id, claim.holder, claim.ttl)
        try:
            return await claim._storage.transact(claim._scope, step)  # noqa: SLF001
        except Exception:  # noqa: BLE001  # as the rule has it, but for one
            return None

    patch.setattr(HeldClaim, "_renewed", renewed)


def completes_as_stopped(patch: pytest.MonkeyPatch) -> None:
    """A run that is completed is recorded as stopped."""

    def end_event(run_id: str, outcome: Outcome) -> RunEnded | RunPaused:
        event = run.end_event(run_id, outcome)
        is_completed = isinstance(event, RunEnded) and event.outcome == "completed"
        return RunEnded(run_id, "stopped", delivered=event.delivered) if is_completed else event

    patch.setattr(carrying, "end_event", end_event)


def resumes_without_requests(patch: pytest.MonkeyPatch) -> None:
    """A turn that is resumed is not told what its run has asked."""
    begin = SteppedAgent.run

    async def unasked(agent: SteppedAgent, turn: TurnInput, steering: Steering, facts: Facts) -> Outcome:
        return await begin(agent, replace(turn, requests=()), steering, facts)

    patch.setattr(SteppedAgent, "run", unasked)


def gives_replies_as_prompts(patch: pytest.MonkeyPatch) -> None:
    """A turn whose request a message has answered is given that message as its prompt too."""
    begin = SteppedAgent.run

    async def doubled(agent: SteppedAgent, turn: TurnInput, steering: Steering, facts: Facts) -> Outcome:
        prompt = [
            Envelope(each.seq, "e", datetime.now(UTC), each.actor, MessagePosted("m", str(each.answer.value)))
            for each in turn.answers.values()
            if isinstance(each.answer, Reply)
        ]
        return await begin(agent, replace(turn, prompt=(*turn.prompt, *prompt)), steering, facts)

    patch.setattr(SteppedAgent, "run", doubled)


def stops_what_has_started(patch: pytest.MonkeyPatch) -> None:
    """A caller that is cancelled as its run has just started stops it."""
    abandon = Claimant.abandon_caller

    def halt(claimant: Claimant) -> None:
        if claimant.run is None:
            abandon(claimant)
        else:
            claimant.halt()

    patch.setattr(Claimant, "abandon_caller", halt)


def counts_over_gaps(patch: pytest.MonkeyPatch) -> None:
    """What a turn says was delivered counts, though a message before it was not."""

    def with_gaps(outcome: Outcome, given: Sequence[int]) -> Outcome:
        return replace(outcome, delivered=tuple(seq for seq in given if seq in outcome.delivered))

    patch.setattr(carrying, "without_gaps", with_gaps)


def counts_what_was_never_given(patch: pytest.MonkeyPatch) -> None:
    """What a turn says was delivered counts, though it was never given that."""
    patch.setattr(carrying, "without_gaps", lambda outcome, _: outcome)


def ends_before_it_is_recorded(patch: pytest.MonkeyPatch) -> None:
    """A run is said to be over before its end is in the log."""
    record_end = TurnCarrier._record_end  # noqa: SLF001

    async def early(carrier: TurnCarrier, given: RunInput, outcome: Outcome) -> None:
        if carrier.run is not None:
            carrier.run.ended.set_result(outcome)
        await record_end(carrier, given, outcome)

    patch.setattr(TurnCarrier, "_record_end", early)


def stops_without_waiting(patch: pytest.MonkeyPatch) -> None:
    """`stop` does not wait until the end is recorded."""

    async def stop(runner: Runner, _: Workspace, __: str) -> bool:
        claimants = list(runner._claimants)  # noqa: SLF001
        was_running = any(claimant.is_running for claimant in claimants)
        for claimant in claimants:
            claimant.halt()
        return was_running

    patch.setattr(Runner, "stop", stop)


def counts_from_the_answer(patch: pytest.MonkeyPatch) -> None:
    """A claim's time to live is counted from when its grant was heard of."""
    expect = HeldClaim._expect  # noqa: SLF001

    def from_now(claim: HeldClaim, _: float) -> None:
        expect(claim, asyncio.get_running_loop().time())

    patch.setattr(HeldClaim, "_expect", from_now)


def renews_for_nothing(patch: pytest.MonkeyPatch) -> None:
    """A claim that is renewed is counted on for no longer."""
    expect = HeldClaim._expect  # noqa: SLF001

    def once(claim: HeldClaim, asked_at: float) -> None:
        if claim._deadline is None:  # noqa: SLF001
            expect(claim, asked_at)

    patch.setattr(HeldClaim, "_expect", once)


def replies_to_approvals(patch: pytest.MonkeyPatch) -> None:
    """A message answers what waits for approval, instead of declining it."""
    patch.setattr(plan, "_answer", lambda _, message: Reply(message.event.text))


def takes_errors_for_stops(patch: pytest.MonkeyPatch) -> None:
    """A turn that raises is recorded as stopped."""

    def outcome_of(turn: asyncio.Task[Outcome], *, stopped: bool) -> Outcome:
        raised = not turn.cancelled() and isinstance(turn.exception(), RuntimeError)
        return Stopped() if raised else run.outcome_of(turn, stopped=stopped)

    patch.setattr(carrying, "outcome_of", outcome_of)


def takes_cancellations_for_stops(patch: pytest.MonkeyPatch) -> None:
    """A turn that cancels itself is recorded as stopped."""
    patch.setattr(carrying, "outcome_of", lambda turn, **_: run.outcome_of(turn, stopped=True))


def claims_for_ever(patch: pytest.MonkeyPatch) -> None:
    """A claim lasts longer than was asked for, so that a dead holder's thread waits."""
    of_claim = Claim.__call__

    async def long(step: Claim, tx: Transaction) -> Any:  # noqa: ANN401  # as it gives
        return await of_claim(replace(step, ttl=1e6) if step.ttl < 1e6 else step, tx)

    patch.setattr(Claim, "__call__", long)


def renews_for_ever(patch: pytest.MonkeyPatch) -> None:
    """A renewal lasts longer than was asked for."""
    renew = Renew.__call__

    async def long(step: Renew, tx: Transaction) -> bool:
        return await renew(replace(step, ttl=1e6), tx)

    patch.setattr(Renew, "__call__", long)


def gives_the_newest_first(patch: pytest.MonkeyPatch) -> None:
    """A watcher gives what has arrived with the newest first."""
    take = Watcher.take
    patch.setattr(Watcher, "take", lambda watcher: take(watcher)[::-1])


def keeps_lapsed_claims(patch: pytest.MonkeyPatch) -> None:
    """A claim that has lapsed is its holder's all the same."""

    async def holder(tx: _Transaction, name: str) -> str | None:
        lease = tx._lease(name)  # noqa: SLF001
        return None if lease is None else lease.holder

    patch.setattr(_Transaction, "holder", holder)


def renews_too_late(patch: pytest.MonkeyPatch) -> None:
    """A claim is renewed as it ends."""
    patch.setattr(claim, "RENEWALS_IN_A_TTL", 1)


def starts_though_stopped(patch: pytest.MonkeyPatch) -> None:
    """A turn that was stopped as it was set up starts."""
    record_start = TurnCarrier._record_start  # noqa: SLF001

    async def unchecked(carrier: TurnCarrier, given: RunInput, ready: asyncio.Future[None]) -> Any:  # noqa: ANN401
        patch.setattr(carrier, "_check", lambda: None)
        return await record_start(carrier, given, ready)

    patch.setattr(TurnCarrier, "_record_start", unchecked)


def stops_only_the_first(patch: pytest.MonkeyPatch) -> None:
    """`stop` reaches one of those that go on in a thread."""
    stop = Runner.stop

    async def one(runner: Runner, workspace: Workspace, thread_id: str) -> bool:
        all_, runner._claimants = runner._claimants, dict(list(runner._claimants.items())[:1])  # noqa: SLF001
        stopping = stop(runner, workspace, thread_id)
        try:
            return await stopping
        finally:
            runner._claimants = all_  # noqa: SLF001

    patch.setattr(Runner, "stop", one)
