"""What commands and the world do: Send, Answer, Ask, Post, Note."""

from conformance.actions.at import At, Done
from conformance.world.gates import Call
from conformance.world.process import THREAD
from conformance.world.world import World
from threadclaim.errors import RequestError
from threadclaim.events import Approve, MessagePosted, Request, RequestAnswered
from threadclaim.events import Reply as ReplyTo

HEARD, CANCELLED, UNHEARD = "", "cancelled", "unheard"
"""How a command's write goes: well; with its caller cancelled as it waits; or with its answer lost."""


def commanded(at: At, call: Call, action: str, variant: str) -> Done:
    """Let a command's write take effect, so."""
    if variant == CANCELLED:
        at.cancel_caller()
        at.let(call)
        return [(action, at.task), ("Cancel", at.task)]
    if variant == UNHEARD:
        at.fails(call)
        return [(action, at.task), ("Fail", at.task)]
    at.let(call)
    return [(action, at.task)]


def send(world: World, task: str, variant: str) -> Done:
    """Send a message."""
    at = At(world, "Send", task)
    at.idle()
    runner, workspace = at.process.runner, world.workspace_of(at.process)
    return commanded(at, at.command(runner.send(workspace, THREAD, world.next_text())), "Send", variant)


def answer(world: World, task: str, variant: str) -> Done:
    """Answer what is open, or what is no more, which changes nothing."""
    at = At(world, "Answer", task)
    at.idle()
    run = world.loop.run(world.workspace.thread(THREAD)).run
    workspace = world.workspace_of(at.process)
    if run is None or not run.open_requests:
        # Where no request is open an answer is refused, and has changed nothing.
        late = {} if run is None else {request.id: _fitting(request, "late") for request in run.requests}
        call = at.command(at.process.runner.answer(workspace, THREAD, late or {"unasked": ReplyTo("so")}))
        at.let(call)
        return [] if isinstance(call.error, RequestError) else [("Answer", task)]
    answers = {request.id: _fitting(request, "so") for request in run.open_requests}
    return commanded(at, at.command(at.process.runner.answer(workspace, THREAD, answers)), "Answer", variant)


def _fitting(request: Request, text: str) -> Approve | ReplyTo:
    """An answer that fits a request."""
    return Approve() if request.kind == "approval" else ReplyTo(text)


def ask(world: World, task: str, variant: str) -> Done:
    """Ask up to the head, which must be a position of the model's."""
    at = At(world, "Ask", task)
    at.idle()
    # The head is a run's own event, which is no position of the model's: a note makes it one.
    done: list[tuple[str, str]] = []
    head = world.loop.run(world.workspace.read(limit=1, last=True))
    if head and not isinstance(head[0].event, MessagePosted | RequestAnswered):
        if world.log.count("note") >= world.constants.max_notes:
            raise at.impossible("the log's head is a run's own event", is_known=True)
        done += note(world)
    call = at.command(at.process.runner.resume(world.workspace_of(at.process), THREAD))
    return [*done, *commanded(at, call, "Ask", variant)]


def post(world: World, *_: str) -> Done:
    """Commit a message without the runner."""
    world.loop.run(world.workspace.post_message(THREAD, world.next_text()))
    return [("Post", "")]


def note(world: World, *_: str) -> Done:
    """Commit a notice."""
    world.loop.run(world.workspace.post_message(THREAD, "notice", kind="notice"))
    return [("Note", "")]
