"""Fetches and pops over HTTP that wait for a message.

The view only checks the request and leaves a `Wait`; then its thread and its connection to PostgreSQL are free again.
The waiting itself is a demand like that of a socket. When it is over, the answer takes the place of the view's.
"""

import asyncio
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Hashable
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import connections

from delivery.node import life
from delivery.node.node import Node
from delivery.protocol.errors import Code, WillowError

PLACE = "willow.wait"  # in the scope of a request whose view may leave a wait

Scope = dict[str, Any]
Event = dict[str, Any]
Application = Callable[[Scope, Any, Any], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class Rendered:
    status: int
    content_type: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Wait:
    """`take` gets the messages; `answer` makes of them, or of an error, what the caller is told, in a thread."""

    caller: Hashable
    take: Callable[[Node], Coroutine[Any, Any, list[Any]]]
    answer: Callable[[list[Any] | WillowError], Rendered]


class Waits:
    """How many wait, of each caller and in all. Views count from their threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_caller: Counter[Hashable] = Counter()
        self._all = 0

    def begin(self, caller: Hashable) -> None:
        most, most_of_caller = settings.WILLOW.http_waits, settings.WILLOW.http_waits_of_caller
        with self._lock:
            if self._by_caller[caller] >= most_of_caller:
                reason = f"You have {most_of_caller} requests waiting already: use a WebSocket, or wait for an answer."
                raise WillowError(Code.OVERLOADED, "timeout", reason)
            if self._all >= most:
                reason = f"This node has {most} requests waiting already. Please try again."
                raise WillowError(Code.OVERLOADED, "node", reason)
            self._by_caller[caller] += 1
            self._all += 1

    def end(self, caller: Hashable) -> None:
        with self._lock:
            self._all -= 1
            self._by_caller[caller] -= 1
            if not self._by_caller[caller]:
                del self._by_caller[caller]

    def __len__(self) -> int:
        return self._all


waits = Waits()


class Place:
    """Where a view leaves a wait."""

    def __init__(self) -> None:
        self.wait: Wait | None = None

    def leave(self, wait: Wait) -> None:
        """Raises if too many wait already."""
        waits.begin(wait.caller)
        self.wait = wait


class WaitingRequests:
    """ASGI middleware around Django, for the paths that may wait."""

    def __init__(self, application: Application, paths: frozenset[str]) -> None:
        self._application = application
        self._paths = paths

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["path"] not in self._paths:
            await self._application(scope, receive, send)
            return
        place, answered = Place(), list[Event]()

        async def keep(event: Event) -> None:
            answered.append(event)

        try:
            await self._application({**scope, PLACE: place}, receive, keep)
            if place.wait is None or not answered:
                for event in answered:
                    await send(event)
            elif (found := await _unless_gone(_answer_of(place.wait), receive)) is not None:
                await _send(send, found, answered[0]["headers"])
        finally:
            if place.wait is not None:
                waits.end(place.wait.caller)


async def _answer_of(wait: Wait) -> Rendered:
    found: list[Any] | WillowError
    try:
        found = await wait.take(life.current())
    except WillowError as error:
        found = error
    return await asyncio.to_thread(_in_thread, wait, found)


def _in_thread(wait: Wait, found: list[Any] | WillowError) -> Rendered:
    try:
        return wait.answer(found)
    finally:
        connections.close_all()


async def _unless_gone(answer: Coroutine[Any, Any, Rendered], receive: Any) -> Rendered | None:
    """The answer, or None if the caller has gone: then nothing is taken for it any more."""
    answering, leaving = asyncio.ensure_future(answer), asyncio.ensure_future(_has_gone(receive))
    try:
        await asyncio.wait((answering, leaving), return_when=asyncio.FIRST_COMPLETED)
        return await answering if answering.done() else None
    finally:
        answering.cancel()
        leaving.cancel()


async def _has_gone(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _send(send: Any, answer: Rendered, headers: Headers) -> None:
    """With the headers that the view's answer had: they say nothing about what was found."""
    replaced = (b"content-type", b"content-length")
    own = [(b"content-type", answer.content_type.encode()), (b"content-length", str(len(answer.body)).encode())]
    kept = [(name, value) for name, value in headers if name.lower() not in replaced]
    await send({"type": "http.response.start", "status": answer.status, "headers": [*kept, *own]})
    await send({"type": "http.response.body", "body": answer.body})
