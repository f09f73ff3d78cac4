"""Rules of what callers, agents and the log are told, each broken by hand."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

import threadclaim.runner
import threadclaim.steps.runs
from conformance.tests.explore.broken_rules import Break
from conformance.world.agent import SteppedAgent
from threadclaim import carrying, run
from threadclaim.carrying import TurnCarrier
from threadclaim.claimant import Claimant
from threadclaim.events import Envelope, RunEnded, RunPaused
from threadclaim.handover import Leaving
from threadclaim.run import RunHandle, RunInput
from threadclaim.runner import Runner
from threadclaim.steps import EndRun, StartRun
from threadclaim.storage import Transaction
from threadclaim.turn import Facts, Outcome, Paused, Steering, Stopped, TurnInput
from threadclaim.workspace import Workspace


def sweeps_in_silence(patch: pytest.MonkeyPatch) -> None:
    """A sweep that can list nothing says that it started nothing."""
    recover = Runner.recover

    async def silent(runner: Runner, workspace: Workspace) -> list[RunHandle]:
        try:
            return await recover(runner, workspace)
        except (OSError, RuntimeError):
            return []

    patch.setattr(Runner, "recover", silent)


def hides_its_run(patch: pytest.MonkeyPatch) -> None:
    """A command says that it started no run, though it did."""
    carry_out = Runner._carry_out  # noqa: SLF001

    async def hidden(runner: Runner, *args: Any, **more: Any) -> None:  # noqa: ANN401  # as the method has them
        await carry_out(runner, *args, **more)

    patch.setattr(Runner, "_carry_out", hidden)


def says_that_none_runs(patch: pytest.MonkeyPatch) -> None:
    """`running` knows of no run."""
    patch.setattr(Runner, "running", lambda *_: None)


def tells_of_another_end(patch: pytest.MonkeyPatch) -> None:
    """Whoever waits for a run is told that it was stopped, whatever it came to."""
    record_end = TurnCarrier._record_end  # noqa: SLF001

    async def otherwise(carrier: TurnCarrier, given: RunInput, outcome: Outcome) -> None:
        assert carrier.run is not None
        ended, carrier.run.ended = carrier.run.ended, asyncio.get_running_loop().create_future()
        await record_end(carrier, given, outcome)
        ended.set_result(Stopped())
        carrier.run.ended = ended

    patch.setattr(TurnCarrier, "_record_end", otherwise)


def passes_cancellations_on(patch: pytest.MonkeyPatch) -> None:
    """A command that fails of a cancellation that nobody asked for looks like its caller's own."""
    patch.setattr(threadclaim.runner, "as_failure", lambda error: error)


def tells_of_another_message(patch: pytest.MonkeyPatch) -> None:
    """`send` gives another entry than it has committed."""
    command = Runner._command  # noqa: SLF001

    async def other(runner: Runner, *args: Any) -> Any:  # noqa: ANN401  # as the method has them
        committed, started = await command(runner, *args)
        return replace(committed, id="other") if isinstance(committed, Envelope) else committed, started

    patch.setattr(Runner, "_command", other)


def fails_in_silence(patch: pytest.MonkeyPatch) -> None:
    """A command whose claimant fails says that it started nothing."""
    failed = Claimant._failed  # noqa: SLF001

    def silent(claimant: Claimant, error: BaseException) -> Leaving:
        if not claimant.started.done():
            claimant.started.set_result(None)
        return failed(claimant, error)

    patch.setattr(Claimant, "_failed", silent)


def waits_unshielded(patch: pytest.MonkeyPatch) -> None:
    """Who waits for a run, and is cancelled, takes its end from all others."""

    async def wait(handle: RunHandle) -> Outcome:
        return await handle.ended

    patch.setattr(RunHandle, "wait", wait)


def told_otherwise(**otherwise: Any) -> Break:  # noqa: ANN401  # whatever a turn's input has
    """An agent is told otherwise: a value, or what one is made into."""

    def break_(patch: pytest.MonkeyPatch) -> None:
        begin = SteppedAgent.run

        async def other(agent: SteppedAgent, turn: TurnInput, steering: Steering, facts: Facts) -> Outcome:
            told = {name: make(getattr(turn, name)) for name, make in otherwise.items()}
            return await begin(agent, replace(turn, **told), steering, facts)

        patch.setattr(SteppedAgent, "run", other)

    break_.__name__ = f"tells_of_other_{'_'.join(otherwise)}"
    return break_


def keeps_history_of_pauses_only(patch: pytest.MonkeyPatch) -> None:
    """What a run that ends says is to be kept is not."""
    end_run = EndRun.__call__

    async def without(step: EndRun, tx: Transaction) -> bool:
        return await end_run(replace(step, history=None) if isinstance(step.event, RunEnded) else step, tx)

    patch.setattr(EndRun, "__call__", without)


def abandons_as_completed(patch: pytest.MonkeyPatch) -> None:
    """A dead run is recorded as completed."""

    def ended(run_id: str, outcome: Any, **more: Any) -> RunEnded:  # noqa: ANN401  # as the event has them
        is_dead = more.get("reason") == "abandoned"
        return RunEnded(run_id, "completed" if is_dead else outcome, **more)

    patch.setattr(threadclaim.steps.runs, "RunEnded", ended)


def resumes_as_if_new(patch: pytest.MonkeyPatch) -> None:
    """A run that resumes is recorded as one that starts."""
    start = StartRun.__call__

    async def new(step: StartRun, tx: Transaction) -> Any:  # noqa: ANN401  # as it gives
        return await start(replace(step, resumed=False) if step.resumed else step, tx)

    patch.setattr(StartRun, "__call__", new)


def fails_without_words(patch: pytest.MonkeyPatch) -> None:
    """The log has of a failed run only that it failed."""

    def end_event(run_id: str, outcome: Outcome) -> RunEnded | RunPaused:
        event = run.end_event(run_id, outcome)
        return replace(event, error="") if isinstance(event, RunEnded) and event.error else event

    patch.setattr(carrying, "end_event", end_event)


def pauses_for_nothing(patch: pytest.MonkeyPatch) -> None:
    """A run may pause without a request, from which nothing resumes it."""

    def outcome_of(turn: asyncio.Task[Outcome], *, stopped: bool) -> Outcome:
        is_paused = not turn.cancelled() and turn.exception() is None and isinstance(turn.result(), Paused)
        return turn.result() if is_paused else run.outcome_of(turn, stopped=stopped)

    patch.setattr(carrying, "outcome_of", outcome_of)


def records_no_facts(patch: pytest.MonkeyPatch) -> None:
    """What a run does is not recorded."""

    async def drop(*_: object) -> None:
        return

    patch.setattr(TurnCarrier, "record", drop)


def says_that_it_committed_nothing(patch: pytest.MonkeyPatch) -> None:
    """`send` does not give what it has committed."""
    send = Runner.send

    async def empty(runner: Runner, *args: Any, **more: Any) -> Any:  # noqa: ANN401  # as the method has them
        return replace(await send(runner, *args, **more), committed=())

    patch.setattr(Runner, "send", empty)
