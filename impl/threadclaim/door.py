"""What is refused at the door because it is of a wrong kind: an agent, a storage, an event, a function."""

import inspect
from collections.abc import Sequence

from threadclaim.errors import RequestError, WrongType, kind_of
from threadclaim.events import Custom, Event, ToolCalled, ToolReturned
from threadclaim.limits import check_id, check_position, event_json
from threadclaim.storage.protocol import UPGRADED, Storage
from threadclaim.turn import Turn

Own = ToolCalled | ToolReturned | Custom
"""The events that an application commits itself; the others only the runner commits."""

RESERVED = UPGRADED.removesuffix("upgraded")
"""How the names of the runner's own cursors begin; an application's may not."""

_STORAGE = ("transact", "subscribe", "stranded", "on_release", "aclose")
"""What a storage has, as `Storage` says."""


def check_turn(agent: Turn) -> None:
    """Accept what can carry out a turn; else raise WrongType.

    An agent of pydantic-ai's is none: it has a `run` too, which takes other things.
    """
    if isinstance(agent, type):
        raise WrongType(f"The agent is {kind_of(agent)}. Give an object of it.")
    if any(each.__module__.partition(".")[0] == "pydantic_ai" for each in type(agent).__mro__):
        raise WrongType(f"The agent is {kind_of(agent)} of pydantic-ai's. Wrap it: PydanticAITurn(agent).")
    if not callable(getattr(agent, "run", None)) or not _takes_a_turn(agent):
        raise WrongType(
            f"The agent is {kind_of(agent)}, which has no method run(turn, steering, facts). Give a "
            "`threadclaim.turn.Turn`: PydanticAITurn(agent) for an agent of pydantic-ai's."
        )


def _takes_a_turn(agent: Turn) -> bool:
    """Whether its `run` can be called with what a runner gives, as far as can be told."""
    try:
        inspect.signature(agent.run).bind(None, None, None)
    except TypeError:
        return False
    except ValueError:  # it has no signature that can be read
        return True
    return True


def check_storage(storage: Storage) -> None:
    """Accept a storage; else raise WrongType."""
    if isinstance(storage, type):
        raise WrongType(f"The storage is {kind_of(storage)}. Give an object of it.")
    below = getattr(storage, "storage", None)
    if below is not None and not hasattr(storage, "transact"):
        raise WrongType(f"The storage is {kind_of(storage)}, which has one. Give its storage: `.storage`.")
    if missing := [name for name in _STORAGE if not callable(getattr(storage, name, None))]:
        raise WrongType(
            f"The storage is {kind_of(storage)}, which has no method {missing[0]}. Give a "
            "`threadclaim.storage.Storage`: InMemoryStorage(), say."
        )


def check_own_storage(storage: Storage, runners: Storage) -> None:
    """Accept a workspace's storage that is the runner's own; else raise RequestError.

    A storage that only passes on what it is asked, to one that it has as `inner`, counts as that one.
    """
    if _innermost(storage) is not _innermost(runners):
        raise RequestError(
            "The workspace is of another storage than the runner's, where its thread would be looked for. "
            "Make both with one storage object: Runner(agent, workspace.storage)."
        )


def _innermost(storage: Storage) -> Storage:
    """The storage that a storage passes all on to; itself if it is one that keeps."""
    while (inner := getattr(storage, "inner", None)) is not None:
        storage = inner
    return storage


def check_function(what: str, given: object, takes: str) -> None:
    """Accept a function, `what` for: "turn_context", say, or None; else raise WrongType.

    `takes` says what it is to take and to give.
    """
    if given is not None and not callable(given):
        raise WrongType(f"{what} is {kind_of(given)}. Give a function that takes {takes}.")


def check_kind(what: str, given: object, kind: type) -> None:
    """Accept an object of a class, or None; else raise WrongType."""
    if given is not None and not isinstance(given, kind):
        raise WrongType(f"{what} is {kind_of(given)}. Give an object of {kind.__name__}, or None.")


def check_record(
    events: Sequence[Event], thread_id: str | None, cursor: tuple[str, int] | None, claim: str | None
) -> None:
    """Accept what an application may record at once; else raise RequestError."""
    if isinstance(events, Own):
        raise WrongType(f"The events are {kind_of(events)}. Give a list of them; `commit` takes one.")
    for event in events:
        _check_own(event)
    if cursor is not None:
        _check_cursor(*cursor)
    if thread_id is None and claim is not None:
        raise RequestError("A claim is of a thread, and none was given. Give the thread's id with it.")
    if claim is not None and not isinstance(claim, str):
        raise WrongType(f"The claim is {kind_of(claim)}. Give its holder: `held.holder`.")


def _check_own(event: Event) -> None:
    """Accept an event that an application may commit itself; else raise RequestError."""
    if not isinstance(event, Own):
        raise RequestError(
            f"A {type(event).__name__} is not the application's to commit. Create threads with "
            "create_thread; post messages with post_message, or send them with a runner. What is said of "
            "runs and answers only the runner commits: an answer without its ask would resume nothing."
        )
    event_json(event)


def _check_cursor(name: str, seq: int) -> None:
    """Accept a cursor that an application may save; else raise RequestError."""
    check_id("cursor", name)
    check_position("The cursor's seq", seq)
    if name.startswith(RESERVED):
        raise RequestError(
            f"The cursor {name!r} is the runner's own. Choose a name that does not begin {RESERVED!r}."
        )
