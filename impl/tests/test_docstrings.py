"""What applications use says what it takes, what it raises, and which rule it keeps."""

import inspect
import re
from collections.abc import Iterator
from types import FunctionType
from typing import Any

import threadclaim
import threadclaim.pydantic_ai
import threadclaim.testing
from threadclaim.runner import Runner
from threadclaim.storage import InMemoryStorage, PostgresStorage, SqliteStorage
from threadclaim.turn import Facts, Steering, Turn
from threadclaim.workspace import Workspace

RULE = re.compile(r"\bADR-\d{4}\b|\bI[1-7]\b|\brepair [a-p]\b")
OF_NO_RULE = {"as_actor", "check", "create_thread", "commit", "head"}
"""What of a workspace no record is about, or says that another method does."""


STORAGES = (InMemoryStorage, SqliteStorage, PostgresStorage)
"""Their calls are their protocol's, and a runner makes them; how they are made, they say."""


def exported() -> list[Any]:
    """What applications import."""
    modules = (threadclaim, threadclaim.pydantic_ai, threadclaim.testing)
    found = [getattr(module, name) for module in modules for name in module.__all__]
    return [*(each for each in found if each not in STORAGES), Turn, Steering, Facts]


def functions(thing: Any) -> Iterator[tuple[str, FunctionType]]:  # noqa: ANN401  # whatever is exported
    """The functions that are written for it: itself, or its public methods, and how it is made."""
    if isinstance(thing, FunctionType):
        yield thing.__name__, thing
    if not isinstance(thing, type):
        return
    for name, member in vars(thing).items():
        call = member.__func__ if isinstance(member, staticmethod) else member
        is_inherited = any(hasattr(base, name) for base in thing.__mro__[1:] if name != "__init__")
        is_public = not name.startswith("_") or name == "__init__"
        if isinstance(call, FunctionType) and is_public and not is_inherited and _is_written(call):
            yield f"{thing.__name__}.{name}", call


def _is_written(call: FunctionType) -> bool:
    """Whether it stands in a file, unlike what a dataclass or a protocol is given."""
    return call.__code__.co_filename != "<string>" and "threadclaim" in call.__code__.co_filename


def unnamed(call: FunctionType) -> list[str]:
    """Its parameters that its docstring's arguments leave out."""
    _, _, told = (inspect.getdoc(call) or "").partition("Args:\n")
    named = re.findall(r"^ {4}\*?(\w+):", told.partition("\n\n")[0], re.MULTILINE)
    parameters = [name for name in inspect.signature(call).parameters if name != "self"]
    return [name for name in parameters if name not in named]


def raises(call: FunctionType) -> bool:
    """Whether there is a statement in it that raises something of its own."""
    return re.search(r"^ +raise \w", inspect.getsource(call), re.MULTILINE) is not None


def all_functions() -> dict[str, FunctionType]:
    """Every function that applications use, by its name."""
    made = {f"{kind.__name__}.__init__": vars(kind)["__init__"] for kind in STORAGES}
    return {**dict(pair for thing in exported() for pair in functions(thing)), **made}


def test_each_argument_is_told() -> None:
    """By its name, in the docstring's arguments."""
    assert len(all_functions()) > 40
    wrong = {name: unnamed(call) for name, call in all_functions().items() if unnamed(call)}
    assert wrong == {}


def test_what_is_raised_is_told() -> None:
    """Where a function raises something itself, its docstring says what."""
    silent = [
        name
        for name, call in all_functions().items()
        if raises(call) and "raises" not in (call.__doc__ or "").lower()
    ]
    assert silent == []


def test_each_call_names_its_rule() -> None:
    """What a runner and a workspace do, a record says, by its number, or an invariant, or a repair."""
    for kind in (Runner, Workspace):
        for name, call in functions(kind):
            method = name.rpartition(".")[2]
            if method not in OF_NO_RULE | {"__init__"}:
                assert RULE.search(call.__doc__ or ""), name


def test_what_is_left_out_is_noticed() -> None:
    """The checks above can fail."""

    def silent(one: int, two: int) -> None:  # noqa: D417  # that is the point
        """Do nothing.

        Args:
            one: It is told.
        """
        raise ValueError(one, two)

    assert isinstance(silent, FunctionType)
    assert unnamed(silent) == ["two"]
    assert raises(silent)
