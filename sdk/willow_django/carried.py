"""What goes with a task to where it runs: context variables in its body, the trace in headers."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from django.utils.module_loading import import_string

from willow_django.tasks_api import task_backends

try:
    from opentelemetry import context as tracing
    from opentelemetry import trace
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
except ImportError:
    tracing = trace = TraceContextTextMapPropagator = None  # type: ignore[assignment,misc]


def carried_context(paths: Iterable[str]) -> dict[str, Any]:
    """The values of context variables, given by the paths of their names; empty if there are none."""
    carried: dict[str, Any] = {}
    for path in paths:
        variable: ContextVar[Any] = import_string(path)
        value = variable.get(None)
        if value is not None:
            carried[path] = value
    return carried


def trace_headers() -> dict[str, str]:
    """`traceparent` and perhaps `tracestate`; empty without OpenTelemetry, or outside of a trace."""
    headers: dict[str, str] = {}
    if TraceContextTextMapPropagator is not None:
        TraceContextTextMapPropagator().inject(headers)
    return headers


@contextmanager
def context_of(job: Mapping[str, Any], backend: str, headers: Mapping[str, str]) -> Iterator[None]:
    """What was carried is in force; afterwards, what was before."""
    tokens = []
    for path, value in _known(job["context"], backend) if job.get("context") else ():
        variable: ContextVar[Any] = import_string(path)
        tokens.append((variable, variable.set(value)))
    attached = _attach_trace(headers)
    try:
        yield
    finally:
        if attached is not None:
            tracing.detach(attached)
        for variable, token in reversed(tokens):
            variable.reset(token)


def _known(carried: Any, backend: str) -> list[tuple[str, Any]]:
    """Of variables that the backend's option names: whoever can post must not have anything imported."""
    names = task_backends.settings[backend].get("OPTIONS", {}).get("CONTEXT", ())
    return [(path, carried[path]) for path in names if path in carried] if isinstance(carried, dict) else []


def _attach_trace(headers: Mapping[str, str]) -> Any:
    """Unless there is a span already: that of the attempt, if the client is instrumented."""
    if tracing is None or "traceparent" not in headers or trace.get_current_span().get_span_context().is_valid:
        return None
    return tracing.attach(TraceContextTextMapPropagator().extract(headers))
