"""How the world has a claimant stop before a write of its own, where it would wait for what that came to.

A claimant that is at a write in the model may be loading its history still, or setting up its turn: so it can
stop, and never make the write. In the world it waits in the write already, which is told then that the claim
is lost, whether the runner has a fence or not.
"""

from conformance.actions import ACTIONS, Action, At, Ways
from conformance.world.gates import Call
from conformance.world.process import THREAD
from conformance.world.world import World
from threadclaim.claimant import Claimant
from threadclaim.errors import ClaimLost
from threadclaim.steps import Abandon, CountTaken, Reply, StartRun

_let_go, _lose_claim = ACTIONS["LetGo"], ACTIONS["LoseClaim"]


def _write_of(at: At) -> tuple[Claimant, Call] | None:
    """The write that a task waits in, and its claimant, if it waits in one."""
    call = at.process.call_of(at.slot)
    if at.slot.claimant is None or call is None:
        return None
    is_write = isinstance(call.step, Abandon | StartRun | Reply | CountTaken)
    return (at.slot.claimant, call) if is_write else None


def _let_go_at_its_write(world: World, task: str, variant: str) -> Ways:
    """Let a claim end by its holder's clock."""
    at = At(world, "LetGo", task)
    if (waits := _write_of(at)) is None:
        return _let_go.do(world, task, variant)
    claimant, call = waits
    at.fire(claimant._claim._deadline, "the end of its claim")
    at.let(call, error=ClaimLost(THREAD, claimant.holder), effect=False)
    return [("LetGo", task)]


def _lose_claim_at_its_write(world: World, task: str, variant: str) -> Ways:
    """Let a renewal find its claim gone."""
    at = At(world, "LoseClaim", task)
    if (waits := _write_of(at)) is None:
        return _lose_claim.do(world, task, variant)
    claimant, call = waits
    claim = claimant._claim
    at.fire(world.loop.timer_of(claim._renewals, besides=claim._deadline), "a renewal")
    renewal = at.process.renewal_of(at.slot)
    if renewal is None:
        raise at.impossible("no renewal is made")
    at.let(renewal)
    if renewal.result:
        return [("Renew", task)]
    at.let(call, error=ClaimLost(THREAD, claimant.holder), effect=False)
    return [("LoseClaim", task)]


AT_ITS_WRITE = {
    "LetGo": Action("LetGo", "task", _let_go_at_its_write),
    "LoseClaim": Action("LoseClaim", "task", _lose_claim_at_its_write),
}
"""These actions, by their names."""
