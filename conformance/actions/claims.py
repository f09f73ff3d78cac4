"""What a task does under its claim, but for its run: claim, plan, write, renew, and let go."""

from collections.abc import Callable

from conformance.actions.at import HAVING_READ, HEARING, At, Done, Either, Ways
from conformance.world.gates import Call, StorageDownError
from conformance.world.world import World
from threadclaim.steps import (
    Abandon,
    CountTaken,
    EndRun,
    Release,
    Replan,
    Reply,
    StartRun,
)

UNREAD, CANCELLED_READING = "unread", "cancelled reading"
CANCELLED_HAVING_READ = tuple(f"{HAVING_READ} {callbacks}" for callbacks in (1, 2, 3, 5))
"""How the history that a plan then needs is read: not at all; or with the caller cancelled as it waits.

Or once so many callbacks were made of what the history brings about: the turn is set up meanwhile.
"""

CANCELLED_HEARING = tuple(f"{HEARING} {callbacks}" for callbacks in (0, 1, 2, 3, 5, 8))
"""The caller is cancelled once so many callbacks were made of what an answer brings about."""


def going_on(action: str, *steps: type[object]) -> Callable[[World, str, str], Ways]:
    """Do the call that a task waits in, which must be of one of `steps`."""

    def do(world: World, task: str, variant: str) -> Ways:
        at = At(world, action, task)
        call = at.pending(*steps)
        if variant in {UNREAD, CANCELLED_READING}:
            return reading(at, call, variant)
        if variant in CANCELLED_HAVING_READ:
            return having_read(at, call, int(variant.rpartition(" ")[2]))
        if variant in CANCELLED_HEARING:
            return hearing(at, call, int(variant.rpartition(" ")[2]))
        return [(at.go_on(call), task)]

    return do


def reading(at: At, call: Call, variant: str) -> Done:
    """Do a call, and have the reading of the history that follows it, if it does, go so."""
    found: list[str] = []

    def loads(_: Call) -> BaseException | None:
        if variant == UNREAD:
            found.append("Fail")
            return StorageDownError()
        if at.slot.caller is not None and at.slot.caller.cancel():
            found.append("Cancel")
        return None

    at.process.as_history_loads = loads
    name = at.go_on(call)
    at.process.as_history_loads = None
    return [(each, at.task) for each in [name, *found]]


def having_read(at: At, call: Call, callbacks: int) -> Ways:
    """Do a call, and cancel the caller in the midst of what the history that it needs then brings about."""
    caller, reads = at.slot.caller, list[Call]()

    def loads(history: Call) -> None:
        if caller is not None and not caller.done():
            history.as_heard = callbacks, caller.cancel
            reads.append(history)

    at.process.as_history_loads = loads
    heard = at.go_on(call)
    at.process.as_history_loads = None
    return _broken_off(at, heard) if reads else [(heard, at.task)]


def hearing(at: At, call: Call, callbacks: int) -> Ways:
    """Do a call, and cancel the caller in the midst of what its answer brings about.

    It comes before what the claimant does next, and breaks it off; or as that waits, and it is done first.
    """
    caller = at.slot.caller
    if caller is None or caller.done():
        return [(at.go_on(call), at.task)]
    call.as_heard = callbacks, caller.cancel
    heard = at.go_on(call)
    return _broken_off(at, heard) if heard in GOES_ON else [(heard, at.task)]


def _broken_off(at: At, heard: str) -> Ways:
    """A claimant whose caller was cancelled as it heard of something: it left then, or waits to hear more."""
    then = at.process.call_of(at.slot)
    if then is not None and not isinstance(then.step, Release):
        return [(heard, at.task), *break_off(at, at.go_on(then))]
    cancelled = ("Cancel", at.task)
    return Either(([(heard, at.task)], [(heard, at.task), cancelled], [cancelled]))


GOES_ON = frozenset({"Claim", "Replan", "Abandon", "Reply"})
"""What a claimant hears of that goes on to something that its caller's cancellation can keep it from."""


def renew(world: World, task: str, variant: str) -> Done:
    """Let a renewal come, and be heard of; or fail, which changes nothing."""
    at = At(world, "Renew", task)
    claimant = at.slot.claimant
    if claimant is None:
        raise at.impossible("it holds no claim")
    claim, asked_at = claimant._claim, world.loop.time()
    at.fire(world.loop.timer_of(claim._renewals, besides=claim._deadline), "a renewal")
    call = at.process.renewal_of(at.slot)
    if call is None:
        raise at.impossible("no renewal is made")
    if variant == "failed":  # the claim may yet stand: it is tried again, and nothing has changed
        at.let(call, error=StorageDownError(), effect=False)
        return []
    at.let(call)
    if call.result:
        if claim._deadline is None or claim._deadline.when() < asked_at + claim.ttl:
            world.told.wrong.append(f"{task} has renewed its claim, and counts on it for no longer.")
        return [("Renew", task)]
    return stop(at, "LoseClaim")


def lose_claim(world: World, task: str, _: str) -> Done:
    """Let a renewal find the claim gone."""
    return renew(world, task, "")


def let_go(world: World, task: str, _: str) -> Done:
    """Let a claim end by its holder's own clock."""
    at = At(world, "LetGo", task)
    if at.slot.claimant is None:
        raise at.impossible("it holds no claim")
    call = at.process.call_of(at.slot)
    at.fire(at.slot.claimant._claim._deadline, "the end of its claim")
    if call is None or not isinstance(call.step, Abandon | StartRun | Reply | CountTaken):
        return stop(at, "LetGo")
    # It hears of its write first: a run that has started is stopped then, and recorded so.
    heard = at.go_on(call)
    if heard == "StartRun":
        at.let(at.pending(EndRun))
        return [("StartRun", task), ("EndRun", task)]
    return break_off(at, heard, "LetGo")


def stop(at: At, action: str) -> Done:
    """A claimant whose claim is lost stops: after what it waits for, which its fence refuses."""
    call = at.process.call_of(at.slot)
    if call is not None and not isinstance(call.step, Release | EndRun):
        at.let(call)
    return [(action, at.task)]


def break_off(at: At, heard: str, action: str = "Cancel", *, stopped: bool = False) -> Done:
    """A claimant is to end as a write waited: that is heard of first, and then it breaks off.

    A start that is heard of goes on, unless it was stopped; and whoever counted, or was refused, leaves.
    """
    if heard == "StartRun" and stopped:
        at.let(at.pending(EndRun))
        return [("StartRun", at.task), ("EndRun", at.task)]
    if heard in {"StartRun", "CountTaken", "Fenced"}:
        return [(heard, at.task)]
    call = at.process.call_of(at.slot)
    if call is not None and isinstance(call.step, Replan):
        at.let(call)
    return [(action, at.task)] if heard == "Replan" else [(heard, at.task), (action, at.task)]
