"""What is refused at the door because it is of a wrong kind: an agent, a storage, a function."""

import inspect

from threadclaim.errors import RequestError, WrongType, kind_of
from threadclaim.storage.protocol import Storage
from threadclaim.turn import Turn

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
