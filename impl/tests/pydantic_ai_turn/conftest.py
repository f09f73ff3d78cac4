"""A model that answers with what a test says, and keeps what it was asked."""

from collections.abc import Callable, Sequence

import pytest
from pydantic_ai import ModelMessage, ModelResponse, ModelResponsePart, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

Said = str | Sequence[ModelResponsePart] | BaseException
Replies = Callable[..., FunctionModel]


@pytest.fixture
def requests() -> list[list[ModelMessage]]:
    """Each request that the model was made: the messages that it was given."""
    return []


@pytest.fixture
def model_of(requests: list[list[ModelMessage]]) -> Replies:
    """Makes a model of replies, one a request: a text, parts, an error, or a function that gives one."""

    def make(*replies: Said | Callable[[], Said]) -> FunctionModel:
        """A model that gives these replies in order."""
        left = list(replies)

        async def reply(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
            """Keep the request, and give the next reply."""
            requests.append(messages)
            said = left.pop(0)
            return _response(said() if callable(said) else said)

        return FunctionModel(reply)

    return make


def _response(said: Said) -> ModelResponse:
    """A reply as a response; raises one that is an error."""
    if isinstance(said, BaseException):
        raise said
    return ModelResponse([TextPart(said)] if isinstance(said, str) else said)
