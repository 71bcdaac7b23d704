"""What goes with a task from where it was enqueued to where it runs: context variables, and the trace."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from django.utils.module_loading import import_string

try:
    from opentelemetry import context as tracing
    from opentelemetry import propagate
except ImportError:
    tracing = propagate = None

TRACE = "trace"


def carried_context(paths: Iterable[str]) -> dict[str, Any]:
    """The values of context variables, given by the paths of their names, and of the trace; empty if there are none."""
    carried: dict[str, Any] = {}
    for path in paths:
        variable: ContextVar[Any] = import_string(path)
        value = variable.get(None)
        if value is not None:
            carried[path] = value
    if propagate is not None:
        trace: dict[str, str] = {}
        propagate.inject(trace)
        if trace:
            carried[TRACE] = trace
    return carried


@contextmanager
def context_of(carried: Mapping[str, Any]) -> Iterator[None]:
    """What was carried is in force; afterwards, what was before."""
    tokens = []
    for path, value in carried.items():
        if path != TRACE:
            variable: ContextVar[Any] = import_string(path)
            tokens.append((variable, variable.set(value)))
    attached = tracing.attach(propagate.extract(carried[TRACE])) if propagate is not None and TRACE in carried else None
    try:
        yield
    finally:
        if attached is not None:
            tracing.detach(attached)
        for variable, token in reversed(tokens):
            variable.reset(token)
