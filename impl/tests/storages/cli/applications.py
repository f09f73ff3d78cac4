"""An application's factories of runners, as `--runner` names them."""

from threadclaim.runner import Runner
from threadclaim.storage import InMemoryStorage
from threadclaim.storage.sql.base import SqlStorage
from threadclaim.testing import Complete, Fail, Raise, ScriptedTurn
from threadclaim.turn import Facts, Outcome, Steering, TurnInput

SAID = "what an application's error says"


class Choosy:
    """A turn that completes, but for the threads whose ids say what becomes of theirs."""

    async def run(self, turn: TurnInput, steering: Steering, facts: Facts) -> Outcome:
        """Carry out a turn."""
        ends: dict[str, Fail | Raise] = {
            "fails": Fail(SAID, reason="no_train"),
            "raises": Raise(ValueError(SAID)),
        }
        script = ScriptedTurn([ends.get(turn.thread_id, Complete(SAID))])
        return await script.run(turn, steering, facts)


def make(storage: SqlStorage) -> Runner:
    """A runner."""
    return Runner(Choosy(), storage)


async def make_later(storage: SqlStorage) -> Runner:
    """A runner that has to be awaited."""
    return make(storage)


class Factories:
    """Where another is."""

    make = staticmethod(make)


def make_failing(storage: SqlStorage) -> Runner:
    """A runner whose turns cannot be set up in one thread."""

    def set_up(turn: TurnInput) -> "SetUp":
        return SetUp(turn.thread_id)

    return Runner(Choosy(), storage, turn_context=set_up)


class SetUp:
    """What is set up around a turn; it raises in one thread."""

    def __init__(self, thread_id: str) -> None:
        """Around a turn of this thread."""
        self._thread_id = thread_id

    async def __aenter__(self) -> None:
        """Set it up."""
        if self._thread_id == "not started":
            raise ConnectionError(SAID)

    async def __aexit__(self, *_: object) -> None:
        """Take it down."""


def make_elsewhere(_: SqlStorage) -> Runner:
    """A runner over another storage than it is given."""
    return Runner(Choosy(), InMemoryStorage())


def make_nothing(_: SqlStorage) -> None:
    """No runner."""


def make_badly(_: SqlStorage) -> Runner:
    """Raise."""
    raise ValueError("no key")


NOTHING = 3
