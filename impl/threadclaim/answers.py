"""Whether an answer fits its request: of a kind that it takes, and a form's values as its schema says."""

from jsonschema import SchemaError
from jsonschema.validators import validator_for

from threadclaim.errors import WrongAnswer
from threadclaim.events import ANSWERS, AnyAnswer, FormValues, JsonValue, Request


def check_answer(request: Request, answer: AnyAnswer) -> None:
    """Raise WrongAnswer if `request` does not take this kind of `answer`, or its schema refuses the values.

    A form without a schema takes any values. A schema that is none is the application's fault, and refuses
    all.
    """
    if answer.kind not in ANSWERS[request.kind]:
        takes = " or ".join(sorted(ANSWERS[request.kind]))
        raise WrongAnswer(request.id, f"it is {_a(request.kind)}, which takes {takes}, and not {answer.kind}")
    if isinstance(answer, FormValues) and request.schema is not None:
        _check_values(request, dict(answer.values), dict(request.schema))


def _check_values(request: Request, values: dict[str, JsonValue], schema: dict[str, JsonValue]) -> None:
    """Raise WrongAnswer, with the place of the first value that the schema refuses, and never the value."""
    validator = validator_for(schema)
    try:
        validator.check_schema(schema)
    except SchemaError as error:
        raise WrongAnswer(request.id, "its schema is no JSON schema; correct the tool that asked") from error
    first = min(
        validator(schema).iter_errors(values), key=lambda error: list(map(str, error.path)), default=None
    )
    if first is not None:
        place = "/".join(map(str, first.path)) or "the form"
        raise WrongAnswer(request.id, f"its schema refuses {place}, by its rule `{first.validator}`")


def _a(word: str) -> str:
    """A word with its article."""
    return f"an {word}" if word[0] in "aeiou" else f"a {word}"
