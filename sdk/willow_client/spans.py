"""Where spans of posts and of work begin, if somebody traces them (tracing.py does). Nobody does unless told to."""

from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from typing import Any, ParamSpec, Protocol, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class Taken(Protocol):
    """What is known of a message that is worked on."""

    @property
    def queue(self) -> str: ...

    @property
    def shard(self) -> int: ...

    @property
    def index(self) -> int: ...

    @property
    def attempt(self) -> int: ...

    @property
    def headers(self) -> dict[str, str]: ...


class Tracer(Protocol):
    def producing(self, destination: str) -> AbstractContextManager[Any]: ...

    def with_trace(self, headers: dict[str, str] | None) -> dict[str, str] | None: ...

    def consuming(self, message: Taken) -> AbstractContextManager[Any]: ...


tracer: Tracer | None = None


def trace_with(chosen: Tracer | None) -> None:
    global tracer
    tracer = chosen


def producing(
    method: Callable[Arguments, Coroutine[Any, Any, Result]],
) -> Callable[Arguments, Coroutine[Any, Any, Result]]:
    """A method that posts: its second argument is the queue, or several."""

    async def traced(chosen: Tracer, *args: Any, **kwargs: Any) -> Result:
        queue = args[1] if len(args) > 1 else kwargs.get("queue", kwargs.get("queues"))
        with chosen.producing(queue if isinstance(queue, str) else ",".join(map(str, queue or ()))):
            return await method(*args, **kwargs)

    @wraps(method)
    def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Coroutine[Any, Any, Result]:
        return method(*args, **kwargs) if tracer is None else traced(tracer, *args, **kwargs)

    return call


def with_trace(headers: dict[str, str] | None) -> dict[str, str] | None:
    return headers if tracer is None else tracer.with_trace(headers)


def consuming(message: Taken) -> AbstractContextManager[Any]:
    return nullcontext() if tracer is None else tracer.consuming(message)
