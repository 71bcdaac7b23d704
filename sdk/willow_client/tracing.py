"""OpenTelemetry for this client: `pip install './sdk[opentelemetry]'`, and once, when the program starts:

    from willow_client import tracing

    tracing.instrument()

A post is a producer span, and its `traceparent` goes with the message as a header. Each attempt of a worker, or of
`working`, is a consumer span that links to it.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry.trace import Link, SpanKind, Status, StatusCode, TracerProvider, get_current_span, get_tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from willow_client import spans

SYSTEM = "willow"
# Whatever else the program propagates, this is what a message carries: names and sizes of others may not fit a header.
_PROPAGATOR = TraceContextTextMapPropagator()


def instrument(tracer_provider: TracerProvider | None = None) -> None:
    """From now on, for all clients of this process."""
    spans.trace_with(_Tracer(tracer_provider))


def uninstrument() -> None:
    spans.trace_with(None)


class _Tracer:
    def __init__(self, provider: TracerProvider | None) -> None:
        self._tracer = get_tracer("willow_client", tracer_provider=provider)

    @contextmanager
    def producing(self, destination: str) -> Iterator[None]:
        attributes = _attributes("send", destination)
        with self._tracer.start_as_current_span(f"send {destination}", kind=SpanKind.PRODUCER, attributes=attributes):
            yield

    def with_trace(self, headers: dict[str, str] | None) -> dict[str, str] | None:
        """What the caller gave goes first."""
        carried: dict[str, str] = {}
        _PROPAGATOR.inject(carried)
        return {**carried, **(headers or {})} or None

    @contextmanager
    def consuming(self, message: spans.Taken) -> Iterator[None]:
        attributes = {
            **_attributes("process", message.queue),
            "messaging.message.id": f"{message.shard}/{message.index}",
            "messaging.willow.attempt": message.attempt,
        }
        posted = get_current_span(_PROPAGATOR.extract(message.headers)).get_span_context()
        links = [Link(posted)] if posted.is_valid else []
        with self._tracer.start_as_current_span(
            f"process {message.queue}", kind=SpanKind.CONSUMER, attributes=attributes, links=links
        ) as span:
            try:
                yield
            except Exception:
                raise  # which OpenTelemetry notes by itself
            except BaseException as error:  # cancelled: its time was over, or its claim lost
                span.set_status(Status(StatusCode.ERROR, type(error).__name__))
                raise


def _attributes(operation: str, destination: str) -> dict[str, str | int]:
    return {
        "messaging.system": SYSTEM,
        "messaging.operation.name": operation,
        "messaging.operation.type": operation,
        "messaging.destination.name": destination,
    }
