"""Whether an answer fits its request: its kind, and a form's values by the form's schema."""

from typing import Any

import pytest

from threadclaim.answers import check_answer
from threadclaim.errors import WrongAnswer
from threadclaim.events import AnyAnswer, Approve, Deny, FormValues, Reply, Request

TYPED = "what the person typed"
AGE: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
    "required": ["age"],
}
ALL: list[AnyAnswer] = [Reply("x"), Approve(), Deny("no"), FormValues({})]
TAKES = {"question": {"reply"}, "approval": {"approve", "deny"}, "form": {"form_values"}}


def form(schema: dict[str, Any] | None) -> Request:
    """A form."""
    return Request("f", "form", "ask_form", schema=schema)


REQUESTS = [Request("q", "question", "ask"), Request("a", "approval", "pay"), form(None)]


@pytest.mark.parametrize("answer", ALL, ids=lambda answer: answer.kind)
@pytest.mark.parametrize("request_", REQUESTS)
def test_each_kind_of_request_takes_its_kinds_of_answer(request_: Request, answer: AnyAnswer) -> None:
    """And no other; the error says which it takes."""
    if answer.kind in TAKES[request_.kind]:
        check_answer(request_, answer)
    else:
        with pytest.raises(WrongAnswer, match=f"takes .*{max(TAKES[request_.kind])}"):
            check_answer(request_, answer)


@pytest.mark.parametrize("values", [{"age": 0}, {"age": 7, "name": "Ada"}, {"age": 7, "more": [1]}])
def test_values_that_the_schema_allows(values: dict[str, Any]) -> None:
    """What it does not speak of is free."""
    check_answer(form(AGE), FormValues(values))


@pytest.mark.parametrize(
    ("values", "place", "rule"),
    [
        ({}, "the form", "required"),
        ({"age": TYPED}, "age", "type"),
        ({"age": -1}, "age", "minimum"),
        ({"age": 1, "name": [TYPED]}, "name", "type"),
        ({"age": -1, "name": [TYPED]}, "age", "minimum"),
    ],
)
def test_values_that_the_schema_refuses(values: dict[str, Any], place: str, rule: str) -> None:
    """The error tells the first place and the rule, and never the value."""
    with pytest.raises(WrongAnswer) as caught:
        check_answer(form(AGE), FormValues(values))
    assert f"its schema refuses {place}, by its rule `{rule}`" in str(caught.value)
    assert TYPED not in str(caught.value)


def test_a_form_without_a_schema_takes_any_values() -> None:
    """There is nothing to hold them to."""
    check_answer(form(None), FormValues({"anything": [TYPED, 1]}))


def test_a_schema_that_is_none_refuses_all_values() -> None:
    """It is the application's fault, and the error says so."""
    with pytest.raises(WrongAnswer, match="its schema is no JSON schema; correct the tool that asked"):
        check_answer(form({"type": "an integer"}), FormValues({"age": 1}))
