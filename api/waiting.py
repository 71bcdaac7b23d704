"""Requests that wait for messages: the view checks, and leaves the waiting to the event loop."""

from collections.abc import Callable, Coroutine, Hashable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from api.access import audited_for_staff
from api.problems import MEDIA_TYPE, problem_of
from clients.rest import principal_of
from delivery.gateway.http import ANSWER_SECONDS, on_node
from delivery.gateway.http_waits import PLACE, Place, Rendered, Wait
from delivery.node.node import Node
from delivery.protocol.errors import WillowError

Show = Callable[[list[Any]], dict[str, Any]]
Take = Callable[[Node], Coroutine[Any, Any, list[Any]]]


def answer_taking(
    request: Request, action: str, queue: str, take: Take, show: Show, *, wait_seconds: float
) -> Response:
    """Answer with the messages that `take` gets: at once, or when some have come or its time is over."""
    if wait_seconds:
        return _answer_later(request, action, queue, take, show)
    with audited_for_staff(request, action, queue) as tally:
        found = on_node(take, ANSWER_SECONDS)
        tally.done = len(found)
    return Response(show(found))


def _answer_later(request: Request, action: str, queue: str, take: Take, show: Show) -> Response:
    """What is returned here is not sent: it only makes the headers."""
    audit = ExitStack()
    tally = audit.enter_context(audited_for_staff(request, action, queue))

    def answer(found: list[Any] | WillowError) -> Rendered:
        try:
            with _written_down(audit):
                if isinstance(found, WillowError):
                    raise found
                tally.done = len(found)
        except WillowError as error:
            problem = problem_of(error)
            return Rendered(problem["status"], MEDIA_TYPE, JSONRenderer().render(problem))
        return Rendered(200, "application/json", JSONRenderer().render(show(found)))

    place: Place = _scope(request)[PLACE]
    try:
        place.leave(Wait(_caller(request), take, answer))
    except WillowError:
        with _written_down(audit):
            raise
    return Response(show([]))


@contextmanager
def _written_down(audit: ExitStack) -> Iterator[None]:
    with audit:
        yield


def _caller(request: Request) -> Hashable:
    """Whose waiting requests are counted together."""
    return principal_of(request).key_id or request.META.get("REMOTE_ADDR", "")


def seconds_to_wait(request: Request, asked: float) -> float:
    """Programs may wait. Pages for browsers show what is there now."""
    return asked if PLACE in _scope(request) and request.accepted_renderer.format == "json" else 0.0


def _scope(request: Request) -> dict[str, Any]:
    """What the server said of the request; nothing where it came another way."""
    scope: dict[str, Any] = getattr(request._request, "scope", {})
    return scope
