"""The scenarios: each command of a runner, where it does most."""

from conformance.awaits.case import THREAD, Case, Process, Scenario
from conformance.awaits.faulty import PAUSES, WAITS
from threadclaim.events import Reply


async def _nothing(_case: Case, _process: Process) -> None:
    """An idle thread."""


async def _send(case: Case, process: Process) -> None:
    """Send a message."""
    await process.runner.send(case.workspace_of(process), THREAD, "x")


async def _running(case: Case, process: Process) -> None:
    """A run that goes on until it is told."""
    await process.call(process.runner.send(case.workspace_of(process), THREAD, WAITS))
    await process.agent.stands.wait()


async def _steer(case: Case, process: Process) -> None:
    """Send a message to the run, which then makes its last request."""
    await _send(case, process)
    process.agent.go_on.set()


async def _stop(case: Case, process: Process) -> None:
    """Stop the run."""
    await process.runner.stop(case.workspace_of(process), THREAD)


async def _paused(case: Case, process: Process) -> None:
    """A run that waits for an answer."""
    sent = await process.call(process.runner.send(case.workspace_of(process), THREAD, PAUSES))
    await sent.run.wait()
    await process.rest()


async def _answer(case: Case, process: Process) -> None:
    """Answer what the run waits for."""
    workspace = case.workspace_of(process)
    run = (await case.workspace.thread(THREAD)).run
    answers = {request.id: Reply("so") for request in (run.open_requests if run else ())}
    await process.runner.answer(workspace, THREAD, answers)


async def _died(case: Case, process: Process) -> None:
    """A process has died with its run active, and a message asked for; its claim has lapsed."""
    dead = case.process("d")
    await _running(case, dead)
    await dead.call(dead.runner.send(case.workspace_of(dead), THREAD, "x"))
    dead.crash()
    await dead.rest()
    case.lapse()
    case.numbering.tasks.clear()
    del process


async def _recover(case: Case, process: Process) -> None:
    """Sweep, and wait for what that started."""
    for run in await process.runner.recover(case.workspace_of(process)):
        await run.wait()


SCENARIOS = (
    Scenario("send", _nothing, _send, messages=1),
    Scenario("steer", _running, _steer, messages=2),
    Scenario("reply", _paused, _send, messages=2, answers=1),
    Scenario("answer", _paused, _answer, messages=1, answers=1),
    Scenario("stop", _running, _stop, messages=1),
    Scenario("recover", _died, _recover, messages=2, crashes=1),
)
