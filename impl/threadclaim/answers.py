"""Whether an answer fits its request: of a kind that it takes, and a form's values as its schema says."""

from collections.abc import Mapping

from jsonschema import SchemaError
from jsonschema.validators import validator_for
from referencing import Registry
from referencing.exceptions import Unresolvable

from threadclaim.errors import RequestError, WrongAnswer
from threadclaim.events import ANSWERS, AnyAnswer, Approve, Deny, FormValues, JsonValue, Reply, Request


def check_answers(answers: Mapping[str, AnyAnswer]) -> None:
    """Accept answers by their requests' ids, of whatever request; else raise RequestError."""
    if not isinstance(answers, Mapping):
        raise RequestError(f"The answers are of type {type(answers).__name__}. Give a dict, by request id.")
    for request_id, answer in answers.items():
        if not isinstance(request_id, str):
            raise RequestError(f"The request id {request_id!r} is no str. Take it from the request.")
        if not isinstance(answer, Reply | Approve | Deny | FormValues):
            raise WrongAnswer(
                request_id, f"it is a {type(answer).__name__}; give a Reply, Approve, Deny or FormValues"
            )
        if isinstance(answer, FormValues) and not isinstance(answer.values, Mapping):
            raise WrongAnswer(request_id, "its values are no mapping; give one, by the form's fields")


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
    """Raise WrongAnswer, with the place of the first value that the schema refuses, and never the value.

    The schema may be the model's own: nothing that it refers to outside itself is fetched.
    """
    try:
        validator = validator_for(schema)
        validator.check_schema(schema)
        errors = list(validator(schema, registry=Registry()).iter_errors(values))
    except (SchemaError, Unresolvable, RecursionError, TypeError, ValueError, AttributeError) as error:
        raise WrongAnswer(request.id, "its schema is no JSON schema; correct the tool that asked") from error
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in {"jsonschema", "referencing"}:
            raise
        raise WrongAnswer(
            request.id, "its schema refers to what is not in it; correct the tool that asked"
        ) from error
    first = min(errors, key=lambda error: list(map(str, error.path)), default=None)
    if first is not None:
        place = "/".join(map(str, first.path)) or "the form"
        raise WrongAnswer(request.id, f"its schema refuses {place}, by its rule `{first.validator}`")


def _a(word: str) -> str:
    """A word with its article."""
    return f"an {word}" if word[0] in "aeiou" else f"a {word}"
