"""Twins whose holders decide otherwise from what they have read."""

import threadclaim.claimant
from conformance.mutants.twin import Put, Twin
from threadclaim import plan as design
from threadclaim.claimant import Claimant
from threadclaim.handover import ALL, Leaving
from threadclaim.plan import AbandonPlan, CountPlan, LeavePlan, Plan, ResumePlan, StartPlan, View
from threadclaim.thread import RunStatus


def _sees_to_a_run(decided: Plan) -> bool:
    """Whether a plan sees to a run that is active or answered, which comes first."""
    return isinstance(decided, AbandonPlan | ResumePlan)


def _otherwise(view: View) -> Plan:
    """What is done for messages, and where there are none, whoever asked."""
    run = view.thread.run
    if not view.messages:
        return CountPlan(view.head)
    if run is not None and run.status is RunStatus.PAUSED:
        return design._reply(run, view)
    return StartPlan(view.messages[0])


def no_abandon(view: View) -> Plan:
    """A run that is found active is started over, as if it had ended."""
    if view.thread.active_run is None:
        return design.plan(view)
    return LeavePlan() if view.asked <= view.taken else _otherwise(view)


def unasked(view: View) -> Plan:
    """What nobody asked for is carried out as well."""
    decided = design.plan(view)
    return decided if _sees_to_a_run(decided) else _otherwise(view)


def newest(view: View) -> Plan:
    """The newest message is the prompt."""
    decided = design.plan(view)
    return StartPlan(view.messages[-1]) if isinstance(decided, StartPlan) else decided


def counts(view: View) -> Plan:
    """Messages count as taken."""
    decided = design.plan(view)
    return decided if isinstance(decided, LeavePlan) or _sees_to_a_run(decided) else CountPlan(view.head)


def forgets(view: View) -> Plan:
    """An answered run gives way to a message."""
    decided = design.plan(view)
    if not isinstance(decided, ResumePlan) or not view.messages:
        return decided
    return LeavePlan() if view.asked <= view.taken else StartPlan(view.messages[0])


_plan_and_turn = Claimant._plan_and_turn


async def _hands_over_all(claimant: Claimant, view: View) -> Leaving:
    """Whoever leaves a run behind hands it over: as the mutant, which does not know of forms, has it."""
    await _plan_and_turn(claimant, view)
    return ALL


def _no_abandon(put: Put) -> None:
    put(threadclaim.claimant, "plan", no_abandon)
    put(Claimant, "_plan_and_turn", _hands_over_all)


def _forgets(put: Put) -> None:
    put(threadclaim.claimant, "plan", forgets)
    put(Claimant, "_plan_and_turn", _hands_over_all)


TWINS = (
    Twin("NoAbandon", "A run that is found active is started over, as if it had ended.", _no_abandon),
    Twin(
        "AbandonsUnasked",
        "Whoever has recorded a dead run's end carries out a message that nobody asked for.",
        lambda put: put(threadclaim.claimant, "plan", unasked),
    ),
    Twin(
        "NewestFirst",
        "The newest message is the prompt, and those before it are passed over.",
        lambda put: put(threadclaim.claimant, "plan", newest),
    ),
    Twin(
        "CountsMessages",
        "Messages are counted as taken, and nothing is carried out.",
        lambda put: put(threadclaim.claimant, "plan", counts),
    ),
    Twin("ForgetsAnswers", "An answered run gives way to a message, and is forgotten.", _forgets),
)
"""These twins."""
