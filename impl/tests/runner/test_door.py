"""What is refused at the runner's door: the caller's faults, which change nothing and start nothing."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import pytest
from pydantic_ai import Agent

from threadclaim.direct import run_directly
from threadclaim.errors import (
    LimitError,
    RequestError,
    SettledRequest,
    UnknownRequest,
    UnknownThread,
    UsedMessageId,
    WrongAnswer,
    WrongType,
)
from threadclaim.events import AnyAnswer, Approve, Custom, Deny, FormValues, PersonActor, Reply, Request
from threadclaim.limits import MAX_ID_LENGTH, MAX_TEXT_BYTES
from threadclaim.pydantic_ai import PydanticAITurn
from threadclaim.runner import Runner
from threadclaim.storage import InMemoryStorage
from threadclaim.turn import Completed, TurnInput
from threadclaim.workspace import Workspace, Workspaces

if TYPE_CHECKING:
    from tests.runner.conftest import World

pytestmark = pytest.mark.anyio

QUESTION = Request("q", "question", "ask")
APPROVAL = Request("a", "approval", "delete")
FORM = Request("f", "form", "ask_form", schema={"type": "object", "required": ["name"]})


async def expect_refused(world: World, runner: Runner, error: type[Exception], **given: object) -> None:
    """Expect a send to be refused, having changed nothing and started nothing."""
    head, calls = await world.ann.head(), len(world.agent.runs)
    arguments: dict[str, object] = {"thread_id": "t", "text": "text", **given}
    with pytest.raises(error):
        await runner.send(world.ann, **arguments)  # type: ignore[arg-type]  # some are what no type allows
    await world.settle()
    assert await world.ann.head() == head
    assert len(world.agent.runs) == calls
    assert await world.is_at_rest()


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\t",
        "a\0b",
        "\ud800",
        "x" * (MAX_TEXT_BYTES + 1),
        "é" * (MAX_TEXT_BYTES // 2 + 1),
    ],
)
async def test_a_text_beyond_the_limits_is_refused(world: World, text: str) -> None:
    """Empty or blank, with a NUL or a lone surrogate, or too long in bytes."""
    await expect_refused(world, world.runner(), LimitError, text=text)


@pytest.mark.parametrize("given", ["", "a\0b", "\udfff", "x" * (MAX_ID_LENGTH + 1)])
@pytest.mark.parametrize("name", ["message_id", "thread_id"])
async def test_an_id_beyond_the_limits_is_refused(world: World, name: str, given: object) -> None:
    """A message's and a thread's."""
    await expect_refused(world, world.runner(), LimitError, **{name: given})


@pytest.mark.parametrize("given", [b"bytes", None, 7])
@pytest.mark.parametrize("name", ["text", "message_id", "thread_id"])
async def test_what_is_no_text_is_refused(world: World, name: str, given: object) -> None:
    """Whatever is to be a text; a message may have no id."""
    if (name, given) != ("message_id", None):
        await expect_refused(world, world.runner(), WrongType, **{name: given})


def commands(runner: Runner, workspace: Workspace) -> list[Callable[[], Awaitable[object]]]:
    """Every call of a runner that is given a workspace."""

    async def running() -> object:
        return runner.running(workspace, "t")

    return [
        lambda: runner.send(workspace, "t", "text"),
        lambda: runner.answer(workspace, "t", {"q": Reply("yes")}),
        lambda: runner.resume(workspace, "t"),
        lambda: runner.stop(workspace, "t"),
        lambda: runner.recover(workspace),
        running,
    ]


async def test_a_workspace_of_another_storage_is_refused(world: World) -> None:
    """Its message would be committed where nobody looks for it, into a thread that has its id by chance."""
    elsewhere = Workspaces(InMemoryStorage()).workspace("tenant", "workspace", PersonActor("ann"))
    runner = world.runner()
    head = await world.ann.head()
    for command in commands(runner, elsewhere):
        with pytest.raises(RequestError, match="another storage"):
            await command()
    assert await world.ann.head() == head


async def test_what_is_no_workspace_is_refused(world: World) -> None:
    """A storage, all of its workspaces, a name."""
    for given in (world.ann.storage, Workspaces(world.ann.storage), "acme", None):
        for command in commands(world.runner(), given):  # type: ignore[arg-type]  # what is refused
            with pytest.raises(WrongType, match=r"Workspaces\(storage\).workspace"):
                await command()


class Nothing:
    """An object that has none of what is asked for."""


class RunsOtherwise:
    """What has a `run` that takes no turn."""

    async def run(self, prompt: str) -> str:
        """Answer."""
        return prompt


@pytest.mark.parametrize(
    ("agent", "told"),
    [
        (Agent("test"), r"PydanticAITurn\(agent\)"),
        (Agent, "the class Agent"),
        (PydanticAITurn, "the class PydanticAITurn"),
        (Nothing(), "Nothing, which has no method run"),
        (RunsOtherwise(), "RunsOtherwise, which has no method run"),
        ("agent", "of type str"),
        (None, "of type NoneType"),
    ],
)
async def test_what_is_no_turn_is_refused(world: World, agent: Any, told: str) -> None:  # noqa: ANN401
    """As the runner is made, or a run is made directly; nothing is consumed."""
    with pytest.raises(WrongType, match=told):
        Runner(agent, world.faulty)
    with pytest.raises(WrongType, match=told):
        await run_directly(world.ann, "t", agent, "text")
    assert await world.ann.head() == 1


async def test_whatever_runs_as_a_turn_does_is_accepted(world: World) -> None:
    """Its class does not matter; nor does one that cannot be asked what it takes."""

    class Mine:
        """A turn of no framework."""

        async def run(self, _turn: object, _steering: object, _facts: object, _more: int = 0) -> Completed:
            """Be done."""
            return Completed(None, None)

    mine: Any = Mine()
    Runner(mine, world.faulty)
    Runner(Mock(spec_set=["run"]), world.faulty)


async def test_what_is_no_storage_is_refused(world: World) -> None:
    """A workspace, its class, a path: as a runner or workspaces are made of it."""
    no_storages: list[tuple[Any, str]] = [
        (world.ann, "`.storage`"),
        (Workspaces(world.ann.storage), "`.storage`"),
        (InMemoryStorage, "the class InMemoryStorage"),
        (Nothing(), "no method transact"),
        ("threads.db", r"InMemoryStorage\(\)"),
        (None, "of type NoneType"),
    ]
    for given, told in no_storages:
        with pytest.raises(WrongType, match=told):
            Runner(world.agent, given)
        with pytest.raises(WrongType, match=told):
            Workspaces(given)


async def test_what_is_no_function_is_refused(world: World) -> None:
    """A value where a function that makes it is expected."""
    wrong: Any = "value"
    with pytest.raises(WrongType, match=r"turn_context is of type str. Give a function"):
        Runner(world.agent, world.faulty, turn_context=wrong)
    with pytest.raises(WrongType, match="new_id"):
        Runner(world.agent, world.faulty, new_id=wrong)
    with pytest.raises(WrongType, match="new_id"):
        Workspaces(world.faulty, new_id=wrong)
    with pytest.raises(WrongType, match=r"deps is of type str. Give a function"):
        PydanticAITurn(Agent("test"), deps=wrong)
    with pytest.raises(WrongType, match="event_stream_handler"):
        PydanticAITurn(Agent("test"), event_stream_handler=wrong)
    with pytest.raises(WrongType, match="usage_limits"):
        PydanticAITurn(Agent("test"), usage_limits=wrong)
    with pytest.raises(WrongType, match="executor"):
        PydanticAITurn(Agent("test"), executor=wrong)
    with pytest.raises(WrongType, match="Give an agent of pydantic-ai's"):
        PydanticAITurn(wrong)


async def test_a_turn_context_that_is_not_decorated_is_told_so(world: World) -> None:
    """Its turn has consumed nothing."""

    async def bare(_turn: TurnInput) -> AsyncGenerator[None]:
        yield

    runner = world.runner(turn_context=bare)  # type: ignore[arg-type]  # what is refused
    with pytest.raises(TypeError, match="asynccontextmanager"):
        await runner.send(world.ann, "t", "text")
    assert world.agent.runs == []


async def test_what_is_no_claim_is_refused(world: World) -> None:
    """A hold where its holder is expected, and a holder where the hold is."""
    holder: Any = "holder"
    with pytest.raises(WrongType, match="claim_thread"):
        await run_directly(world.ann, "t", world.agent, "text", held=holder)
    async with world.ann.claim_thread("t") as held:
        hold: Any = held
        with pytest.raises(WrongType, match=r"held\.holder"):
            await world.ann.commit(Custom("x"), thread_id="t", claim=hold)
    event: Any = Custom("x")
    with pytest.raises(WrongType, match="a list of them"):
        await world.ann.record(event, thread_id="t")


async def test_what_is_just_within_the_limits_is_carried_out(world: World) -> None:
    """The longest text, the longest id."""
    sent = await world.runner().send(world.ann, "t", "x" * MAX_TEXT_BYTES, message_id="i" * MAX_ID_LENGTH)
    await world.expect_once(sent.message)


async def test_an_unknown_thread_is_refused_by_every_command(world: World) -> None:
    """Another workspace's is unknown here, whatever its id."""
    elsewhere = Workspaces(world.ann.storage).workspace("tenant", "elsewhere", PersonActor("ann"))
    await elsewhere.create_thread("theirs")
    runner = world.runner()
    for thread_id in ("unknown", "theirs"):
        for command in (
            runner.send(world.ann, thread_id, "text"),
            runner.answer(world.ann, thread_id, {"q": Reply("yes")}),
            runner.answer(world.ann, thread_id, {}),
            runner.resume(world.ann, thread_id),
        ):
            with pytest.raises(UnknownThread):
                await command
        assert runner.running(world.ann, thread_id) is None
    assert await world.runner().recover(world.ann) == []


async def test_a_used_message_id_is_refused(world: World) -> None:
    """Of a message that was sent, or posted directly."""
    runner = world.runner()
    await runner.send(world.ann, "t", "text", message_id="sent")
    await world.ann.post_message("t", "text", message_id="posted")
    await world.settle()
    await world.settle()
    for message_id in ("sent", "posted"):
        with pytest.raises(UsedMessageId):
            await runner.send(world.ann, "t", "text", message_id=message_id)
    await world.settle()
    assert len(world.agent.runs) == 1


async def test_a_retry_at_once_is_refused_and_the_first_carried_out(world: World) -> None:
    """Two sends of one id: one is committed."""
    runner = world.runner()
    sent = await runner.send(world.ann, "t", "text", message_id="m")
    with pytest.raises(UsedMessageId):
        await runner.send(world.ann, "t", "text", message_id="m")
    await world.expect_once(sent.message)


@pytest.mark.parametrize(
    ("answers", "error"),
    [
        ({}, RequestError),
        ({"x": Reply("yes")}, UnknownRequest),
        ({"q": Reply("yes"), "x": Reply("yes")}, UnknownRequest),
        ({"q": Approve()}, WrongAnswer),
        ({"q": FormValues({})}, WrongAnswer),
        ({"a": Reply("yes")}, WrongAnswer),
        ({"f": Reply("yes")}, WrongAnswer),
        ({"f": Deny("no")}, WrongAnswer),
        ({"f": FormValues({})}, WrongAnswer),
        ({"q": Reply("yes"), "f": FormValues({})}, WrongAnswer),
        ({"q": Reply("a\0b")}, RequestError),
        ({"q": Reply(object())}, RequestError),
    ],
)
async def test_an_answer_that_does_not_fit_is_refused(
    world: World, answers: dict[str, AnyAnswer], error: type[Exception]
) -> None:
    """Nothing of it is committed, and the run stays paused; the right answers then resume it."""
    runner = world.runner()
    await world.paused(runner, QUESTION, APPROVAL, FORM)
    head = await world.ann.head()
    with pytest.raises(error):
        await runner.answer(world.ann, "t", answers)
    await world.settle()
    assert await world.ann.head() == head
    assert len(world.agent.runs) == 1
    right: dict[str, AnyAnswer] = {"q": Reply("yes"), "a": Approve(), "f": FormValues({"name": "x"})}
    assert (await runner.answer(world.ann, "t", right)).run is not None


async def test_an_answer_to_a_settled_request_is_refused(world: World) -> None:
    """Answered already, while the run is still paused, as it goes on, and once it has ended."""
    runner = world.runner()
    await world.paused(runner, QUESTION, APPROVAL)
    await runner.answer(world.ann, "t", {"q": Reply("yes")})
    await world.settle()
    resumed = world.held()
    late: list[dict[str, AnyAnswer]] = [{"q": Reply("no")}, {"q": Reply("no"), "a": Approve()}]
    for answers in late:
        with pytest.raises(SettledRequest):
            await runner.answer(world.ann, "t", answers)
    await runner.answer(world.ann, "t", {"a": Approve()})
    await resumed.reached.wait()
    with pytest.raises(SettledRequest):
        await runner.answer(world.ann, "t", {"a": Deny("no")})
    resumed.open.set()
    await world.settle()
    with pytest.raises(SettledRequest):
        await runner.answer(world.ann, "t", {"a": Deny("no")})
    assert world.agent.runs[1].answers == {"q": Reply("yes"), "a": Approve()}


@pytest.mark.parametrize("answers", [{}, {"q": Reply("yes")}])
async def test_an_answer_with_no_run_is_refused(world: World, answers: dict[str, AnyAnswer]) -> None:
    """There is nothing to answer."""
    with pytest.raises(RequestError):
        await world.runner().answer(world.ann, "t", answers)


@pytest.mark.parametrize("ttl", [0, 0.01, -1.0, float("inf"), float("nan")])
async def test_a_claim_ttl_beyond_the_limits_is_refused(world: World, ttl: float) -> None:
    """As the runner is made."""
    with pytest.raises(LimitError):
        world.runner(ttl=ttl)


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf"), "x", None])
async def test_how_long_closing_may_wait_is_a_number_of_seconds(world: World, seconds: Any) -> None:  # noqa: ANN401
    """As the runner is made."""
    with pytest.raises((LimitError, WrongType), match="close_within"):
        world.runner(close_within=seconds)
