"""The operators of spec/mutants/Mutants.tla, but for its plans and actions.

Each function has the operator's name in lower case, and is a method of the mutant that replaces by it. Some
replace several operators, and take the arguments of those.
"""

from conformance.model.direct import DirectModel
from conformance.model.model import Model
from conformance.model.rules import LOOK_FOR_ALL
from conformance.model.state import IDLE, NOTHING, Look, Positions, State, Task

# ---- The fences


def unfenced(_: Model, _s: State, _t: str) -> bool:
    """Unfenced."""
    return True


def any_run(_: Model, _s: State, _t: str) -> bool:
    """AnyRun."""
    return True


def even_over(_: Model, _s: State, _t: str) -> bool:
    """EvenOver."""
    return True


def takes_lapsed(_: Model, s: State, t: str) -> bool:
    """TakesLapsed."""
    return s.lease in {t, "free"}


def yes(_: Model, _s: State) -> bool:
    """Yes."""
    return True


def paused(_: Model) -> str:
    """Paused."""
    return "paused"


def unheld(model: DirectModel, s: State, t: str) -> bool:
    """Unheld."""
    return s.task[model.place[t]].at == "idle"


# ---- Cursors


def unmoved(_: Model, s: State, _t: str) -> int:
    """Unmoved."""
    return s.taken


def not_asked(_: Model, s: State, _n: int) -> int:
    """NotAsked."""
    return s.asked


def to_its_answers(_: Model, s: State) -> int:
    """ToItsAnswers."""
    return len(s.log) + 1


def takes_head(model: Model, s: State, t: str) -> int:
    """TakesHead."""
    task = s.task[model.place[t]]
    return len(s.log) if task.at == "resume" else max(s.taken, task.pos)


def takes_unread(_: Model, s: State, _t: str) -> int:
    """TakesUnread."""
    return len(s.log)


def past_the_head(_: Model, s: State, _t: str) -> int:
    """PastTheHead."""
    return len(s.log) + 1


def as_read(model: Model, s: State, t: str) -> int:
    """AsRead."""
    return s.task[model.place[t]].pos


# ---- What is given


def dropped(_: Model, _m: int) -> Positions:
    """Dropped."""
    return NOTHING


def only_answers(model: Model, s: State, t: str) -> Positions:
    """OnlyAnswers."""
    task = s.task[model.place[t]]
    return NOTHING if task.at == "resume" else task.fed


def from_last_told(_: DirectModel, s: State) -> int:
    """FromLastTold."""
    return s.taken or len(s.log)


# ---- Looks and sweeps


def unarmed(_: Model) -> bool:
    """Unarmed."""
    return False


def unread(_: Model, _s: State) -> Task:
    """Unread."""
    return IDLE._replace(at="claim")


def no_task(_: Model) -> Task:
    """NoTask."""
    return IDLE


def not_dead(_: Model, s: State) -> bool:
    """NotDead."""
    return s.asked > s.taken or s.run.st == "answered"


def not_answered(_: Model, s: State) -> bool:
    """NotAnswered."""
    return s.asked > s.taken or s.run.st == "active"


def for_all(_: Model, _look: Look, _r: Task) -> Look:
    """ForAll."""
    return LOOK_FOR_ALL


# ---- Grants and releases


def keeps_if_cancelled(model: Model, s: State, t: str, due: str) -> Task:
    """KeepsIfCancelled."""
    return model.handing_over(s) if due == "all" else model.leaving(s, t, due)


def keeps_if_failed(model: Model, s: State, t: str, due: str) -> Task:
    """KeepsIfFailed."""
    return model.handing_over(s) if due == "newer" else model.leaving(s, t, due)


def outside_try(model: Model, s: State, t: str, due: str) -> Task:
    """OutsideTry."""
    return model.leaving(s, t, due)._replace(due="outside")


def goes_if_inside(model: Model, s: State, r: Task | Look) -> bool:
    """GoesIfInside."""
    return model.left(s) and r.due != "outside" and _is_due(model, s, r)


def any_claim(model: Model, s: State, _t: str) -> bool:
    """AnyClaim."""
    return s.lease in model.place


# ---- Hand-overs


def _is_due(model: Model, s: State, r: Task | Look) -> bool:
    """Whether all is due, or an unheard write consumed, or more was asked than was seen."""
    return r.due == "all" or model.unheard(s, r) or s.asked > r.seen


def nothing(_: Model, _s: State, _r: Task | Look) -> bool:
    """Nothing."""
    return False


def everything(model: Model, s: State, _r: Task | Look) -> bool:
    """Everything."""
    return model.left(s)


def not_failed(model: Model, s: State, r: Task | Look) -> bool:
    """NotFailed."""
    return model.left(s) and (r.due == "all" or model.unheard(s, r))


def if_asked(model: Model, s: State, r: Task | Look) -> bool:
    """IfAsked."""
    return s.asked > s.taken and _is_due(model, s, r)


def heard(_: Model, _s: State, _r: Task | Look) -> bool:
    """Heard."""
    return False


def as_a_failure(_: Model) -> str:
    """AsAFailure."""
    return "newer"


def all_asked(_: Model, s: State, _t: str) -> int:
    """AllAsked."""
    return s.asked


def as_before(_: Model, _s: State) -> int:
    """AsBefore."""
    return 0


def gives_up(model: Model, s: State, t: str, _st: str) -> Task:
    """GivesUp."""
    return model.leaving(s, t, "all")


# ---- The run's id as the holder of a claim


def _same_run(model: Model, s: State) -> bool:
    """SameRun."""
    if s.lease not in model.place:
        return False
    holder = s.task[model.place[s.lease]]
    return holder.at == "release" and holder.due == "all" and s.run.st in {"paused", "answered"}


def run_id_can_claim(model: Model, s: State, _t: str) -> bool:
    """RunIdCanClaim."""
    return s.lease == "free" or _same_run(model, s)


def run_id_frees(model: Model, s: State, t: str) -> bool:
    """RunIdFrees."""
    if s.lease == t:
        return True
    is_same = s.run.by == s.lease or s.run.st in {"paused", "answered"}
    return s.task[model.place[t]].due == "all" and s.lease in model.place and is_same
