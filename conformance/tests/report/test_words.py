"""Words that agree, names with patterns, and commands as they are typed."""

import pytest

from conformance.report import command, many
from conformance.selecting import SelectionError, select


@pytest.mark.parametrize(
    ("count", "told"), [(0, "0 witnesses"), (1, "1 witness"), (2, "2 witnesses"), (1200, "1,200 witnesses")]
)
def test_one_is_one_and_all_others_are_many(count: int, told: str) -> None:
    """With thousands set apart."""
    assert many(count, "witness", "witnesses") == told
    assert many(count, "step") == told.replace("witness" + "es" * (count != 1), "step" + "s" * (count != 1))


def test_a_command_can_be_typed() -> None:
    """By the interpreter of a clone, with what a shell would take apart in quotation marks."""
    assert command("replay", "a b.itf.json", 7) == ".venv/bin/python -m conformance replay 'a b.itf.json' 7"


def test_names_are_selected_in_their_order() -> None:
    """By the whole, or by the last part; all of them if none is asked for."""
    names = ["One", "mutants/Two", "mutants/Three"]
    assert select(names, (), "cfg") == names
    assert select(names, ["T*", "One"], "cfg") == names
    assert select(names, ["mutants/Th*"], "cfg") == ["mutants/Three"]


@pytest.mark.parametrize(("pattern", "near"), [("Tow", " Did you mean Two?"), ("*x", ""), ("Four", "")])
def test_a_name_that_none_has_is_told(pattern: str, near: str) -> None:
    """Though another selects something."""
    with pytest.raises(SelectionError) as caught:
        select(["One", "mutants/Two"], ["One", pattern], "cfg of the manifest")
    assert str(caught.value) == f"No cfg of the manifest is called {pattern}.{near}"
