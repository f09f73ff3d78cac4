"""`--runner package.module:factory`: the application's own function that makes a runner of a storage."""

import difflib
import importlib
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from threadclaim.errors import RequestError, ThreadClaimError, said
from threadclaim.runner import Runner
from threadclaim.storage.sql.base import SqlStorage

Factory = Callable[[SqlStorage], Any]
"""Takes the storage, and gives a Runner over it, or what is awaited for one."""


def factory_of(name: str) -> Factory:
    """The function that `package.module:factory` names, found from the working folder too.

    Raises RequestError if it cannot be had.
    """
    module_name, colon, attribute = name.partition(":")
    if not (module_name and colon and attribute):
        raise RequestError(f"{name!r} names no factory. Give --runner package.module:factory.")
    module = _module(module_name)
    found: Any = module
    for part in attribute.split("."):
        if not hasattr(found, part):
            near = difflib.get_close_matches(part, dir(found), n=1)
            meant = f" Did you mean {near[0]!r}?" if near else " Correct --runner."
            raise RequestError(f"There is no {attribute!r} in the module {module_name!r}.{meant}")
        found = getattr(found, part)
    if not callable(found):
        raise RequestError(
            f"{name} is of type {type(found).__name__}. Name a function that takes the storage and returns a "
            "Runner over it."
        )
    factory: Factory = found
    return factory


def _module(name: str) -> Any:  # noqa: ANN401  # a module has whatever it has
    """The module of this name. Raises RequestError if there is none, or it raises as it is imported."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise RequestError(
                f"There is no module {name!r}. Run this where the application can be imported from, or "
                "correct --runner."
            ) from error
        raise RequestError(f"The module {name!r} needs a module that is not there: {error.name}.") from error
    except Exception as error:
        raise RequestError(
            f"The module {name!r} raises as it is imported: {type(error).__name__}, {said(error)}"
        ) from error


async def made(name: str, factory: Factory, storage: SqlStorage) -> Runner:
    """What the factory makes of the storage. Raises RequestError unless that is a runner."""
    try:
        runner = factory(storage)
        if inspect.isawaitable(runner):
            runner = await runner
    except ThreadClaimError:
        raise  # it says what to do
    except Exception as error:
        raise RequestError(
            f"{name} raises: {type(error).__name__}, {said(error)}. Mend the factory; nothing was swept."
        ) from error
    if not isinstance(runner, Runner):
        raise RequestError(
            f"{name} gives what is of type {type(runner).__name__}. Have it return a Runner over the storage "
            "that it is given: Runner(agent, storage)."
        )
    return runner
