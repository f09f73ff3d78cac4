"""Each turn's trace, and what each log record says of it (ADR-0035). The text of a message is in neither.

Only OpenTelemetry's API is used: without an SDK that the application sets up, nothing is recorded.
"""

import logging
import sys
import traceback
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from typing import Any

from opentelemetry import trace
from opentelemetry.context import Context, attach, detach
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from threadclaim import __version__
from threadclaim.plan import ReplyPlan, ResumePlan, StartPlan, View
from threadclaim.turn import Completed, Failed, Outcome, Paused, Stopped

_W3C = TraceContextTextMapPropagator()


def current_traceparent() -> str | None:
    """The W3C `traceparent` of the current span, or None without one: what an envelope is committed with."""
    carrier: dict[str, str] = {}
    _W3C.inject(carrier)
    return carrier.get("traceparent")


def link_from(traceparent: str | None) -> trace.Link | None:
    """A link to the span that a `traceparent` names, or None for None and for what is no `traceparent`."""
    found = _W3C.extract({"traceparent": traceparent} if traceparent else {}, Context())
    context = trace.get_current_span(found).get_span_context()
    return trace.Link(context) if context.is_valid else None


def came_from(plan: StartPlan | ReplyPlan | ResumePlan, view: View) -> str | None:
    """The `traceparent` of what a hand-over's, a look's or a sweep's turn carries out, as it was committed.

    That is its message's; of a resume, its last answer's, or its first message's if that answer is not in
    `view`. None if no span was current then.
    """
    match plan:
        case StartPlan(prompt=message) | ReplyPlan(message=message):
            return message.traceparent
        case ResumePlan(run=run, messages=messages):
            last = run.last_answer
            answer = [entry for entry in view.entries if last is not None and entry.seq == last.seq]
            return next((entry.traceparent for entry in (*answer, *messages)), None)


class TurnSpan:
    """A turn's span, for as long as the turn goes on."""

    def __init__(self, span: trace.Span) -> None:
        """Keep the span, which has no outcome yet."""
        self._span = span
        self._is_over = False

    def over(self, outcome: Outcome) -> None:
        """Record what came of the turn: how it ended, and of a failure its reason and its exception's type.

        A failure's `error` is left out: it may quote a message. Only the first outcome counts.
        """
        if self._is_over:
            return
        self._is_over = True
        self._span.set_attribute("threadclaim.outcome", _name(outcome))
        if isinstance(outcome, Failed):
            self._fail(outcome)

    def _fail(self, outcome: Failed) -> None:
        """Give the span the status of an error; the others keep `Unset`, as is asked of libraries."""
        self._span.set_status(trace.Status(trace.StatusCode.ERROR, outcome.reason))
        if outcome.reason is not None:
            self._span.set_attribute("threadclaim.reason", outcome.reason)
        if outcome.exception is not None:
            self._span.set_attribute("error.type", _type_name(outcome.exception))


def _name(outcome: Outcome) -> str:
    """The outcome's name, the same as in `run_ended` and `run_paused`."""
    match outcome:
        case Completed():
            return "completed"
        case Paused():
            return "paused"
        case Failed():
            return "failed"
        case Stopped():
            return "stopped"


def _type_name(error: BaseException) -> str:
    """An exception's type by its full name, as the attribute `error.type` has it."""
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


@contextmanager
def turn_span(
    *,
    thread_id: str,
    run_id: str,
    holder: str,
    linked: str | None = None,
    tracer: trace.Tracer | None = None,
) -> Iterator[TurnSpan]:
    """Enter a turn's span: the root of a trace of its own, whatever span is current. Within, it is current.

    `linked` is the `traceparent` of where the turn came from: the span of the command that starts it
    (`current_traceparent()` in the command), or of a hand-over, a look or a sweep `came_from(plan, view)`.
    `tracer` is the application's global one unless given. What the block raises is raised, and recorded as a
    failure by its type alone, if no outcome was recorded before.
    """
    tracer = tracer or trace.get_tracer("threadclaim", __version__)
    link = link_from(linked)
    detached = attach(Context())
    try:
        with tracer.start_as_current_span(
            "turn",
            attributes=_attributes(thread_id, run_id, holder),
            links=[link] if link else [],
            record_exception=False,  # an exception's text may quote a message
            set_status_on_exception=False,
        ) as span:
            turn = TurnSpan(span)
            try:
                yield turn
            except BaseException as error:
                turn.over(Failed(error="", exception=error))
                raise
    finally:
        detach(detached)


def _attributes(thread_id: str, run_id: str, holder: str) -> Mapping[str, str]:
    """What a turn's span says of it; the thread is the session, and the conversation of GenAI conventions."""
    return {
        "session.id": thread_id,
        "gen_ai.conversation.id": thread_id,
        "threadclaim.run.id": run_id,
        "threadclaim.holder": holder,
    }


class _TurnLog(logging.LoggerAdapter[logging.Logger]):
    """Adds a turn's ids to each record, and takes the text out of the exceptions that it is given."""

    def process(
        self, msg: object, kwargs: MutableMapping[str, Any]
    ) -> tuple[object, MutableMapping[str, Any]]:
        """Put an exception's type and stack in place of its text; no `extra` of theirs hides the ids.

        The type stands in the message too: whoever has set up no fields sees that much.
        """
        error = _exception(kwargs.pop("exc_info", None))
        told = {} if error is None else {"error_type": _type_name(error), "error_stack": _stack(error)}
        kwargs["extra"] = {**(kwargs.get("extra") or {}), **told, **(self.extra or {})}
        return (msg if error is None else f"{msg} [{_type_name(error)}]"), kwargs


def _exception(exc_info: object) -> BaseException | None:
    """The exception that `exc_info` names: itself, the one of a tuple, or with True the current one."""
    if isinstance(exc_info, BaseException):
        return exc_info
    found = exc_info[1] if isinstance(exc_info, tuple) else sys.exc_info()[1] if exc_info else None
    return found if isinstance(found, BaseException) else None


def _stack(error: BaseException) -> str:
    """Where an exception was raised: files, lines and code, and no values, so that no message is quoted."""
    return "".join(traceback.format_tb(error.__traceback__))


def log_for(
    thread_id: str,
    run_id: str | None = None,
    holder: str | None = None,
    *,
    logger: logging.Logger | None = None,
) -> logging.LoggerAdapter[logging.Logger]:
    """A logger whose records have `thread_id`, `run_id` and `holder` as fields.

    `logger` is threadclaim's unless given. Given an exception (`exc_info`), a record has its `error_type`,
    which its message ends with, and `error_stack`, and none of its text, which may quote a message. What a
    call's own words and arguments say is the caller's to keep free of text.
    """
    fields = {"thread_id": thread_id, "run_id": run_id, "holder": holder}
    return _TurnLog(logger or logging.getLogger("threadclaim"), fields)
