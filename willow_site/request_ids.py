"""An id for each HTTP request and each WebSocket, so that log lines which belong together can be found."""

import re
import secrets
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any

HEADER = b"x-request-id"
ACCEPTED = re.compile(rb"[\w.:-]{1,100}")  # what a proxy may have chosen: nothing that could forge a line of the log
ID_BYTES = 8

request_id: ContextVar[str | None] = ContextVar("request_id", default=None)


class RequestIds:
    """ASGI middleware: takes the id that a proxy gave, or makes one, and gives it back with the response."""

    def __init__(self, application: Callable[[dict[str, Any], Any, Any], Awaitable[None]]) -> None:
        self._application = application

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._application(scope, receive, send)
            return
        given = next((value for name, value in scope["headers"] if name == HEADER), b"")
        chosen = given.decode() if ACCEPTED.fullmatch(given) else secrets.token_hex(ID_BYTES)
        request_id.set(chosen)

        if scope["type"] == "websocket":  # its frames go the short way
            await self._application(scope, receive, send)
            return

        async def send_with_id(event: dict[str, Any]) -> None:
            if event["type"] == "http.response.start":
                event = {**event, "headers": [*event.get("headers", []), (HEADER, chosen.encode())]}
            await send(event)

        await self._application(scope, receive, send_with_id)
