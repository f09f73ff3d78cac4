"""What the tests of telemetry share: a tracer of their own, and what its spans say."""

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from threadclaim.telemetry import turn_span
from threadclaim.turn import Outcome


class Traced:
    """A tracer, and the spans that it has ended."""

    def __init__(self) -> None:
        """A provider of its own, so that no test sees another's spans."""
        self._exporter = InMemorySpanExporter()
        self.provider = TracerProvider(shutdown_on_exit=False)
        self.provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.tracer = self.provider.get_tracer("test")

    @property
    def ended(self) -> tuple[ReadableSpan, ...]:
        """The spans that have ended, in that order."""
        return self._exporter.get_finished_spans()

    def named(self, name: str) -> list[ReadableSpan]:
        """The spans of a name that have ended, in that order."""
        return [span for span in self.ended if span.name == name]

    def turn(self, linked: str | None = None, outcome: Outcome | None = None) -> ReadableSpan:
        """The span of a turn that links to `linked` and ends so."""
        with turn_span(thread_id="t", run_id="r", holder="h", linked=linked, tracer=self.tracer) as span:
            if outcome is not None:
                span.over(outcome)
        return self.named("turn")[-1]


def context_of(span: ReadableSpan) -> trace.SpanContext:
    """Its context, which each of these spans has."""
    context: trace.SpanContext | None = span.get_span_context()
    assert context is not None
    return context


def link_ids(span: ReadableSpan) -> list[str]:
    """The spans that it links to."""
    return [trace.format_span_id(link.context.span_id) for link in span.links]
