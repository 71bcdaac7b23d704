"""Django's views, run from beginning to end in a thread of a small pool.

Django's own ASGI handler gives each request a new thread, and so a new connection to PostgreSQL, and changes between
thread and event loop several times on its way through the middleware. Here a request takes one step into a thread and
one back, and threads keep their connections.
"""

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.core import signals
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.db import connections
from django.http.response import HttpResponseBase, StreamingHttpResponse
from django.urls import reverse, set_script_prefix

from willow_site.server.django_starts import Starts

Scope = dict[str, Any]
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes


class DjangoInThreads(ASGIHandler):
    """The ASGI application of Django. `most` requests run at a time; others wait for a thread."""

    def __init__(self, most: int) -> None:
        super(ASGIHandler, self).__init__()
        self.load_middleware(is_async=False)
        reverse("admin:index")  # reads all views now: the first request would hold everybody up with it
        self._pool = ThreadPoolExecutor(most, thread_name_prefix="django")
        self._starts = Starts()

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        try:
            body = await self.read_body(receive)
        except RequestAborted:
            return
        with body:
            async with self._starts.one():
                answer = await self._in_thread(lambda: self._answer(scope, body))
            if isinstance(answer, Answer):
                await send({"type": "http.response.start", "status": answer.status, "headers": answer.headers})
                await send({"type": "http.response.body", "body": answer.body})
            else:
                await self._stream(answer, send)

    async def _in_thread(self, work: Callable[[], Result]) -> Result:
        run = contextvars.copy_context().run
        return await asyncio.get_running_loop().run_in_executor(self._pool, run, work)

    def _answer(self, scope: Scope, body: Any) -> Answer | StreamingHttpResponse:
        """All of it, unless it is to be sent while it is still being read."""
        set_script_prefix(get_script_prefix(scope))
        signals.request_started.send(sender=self.__class__, scope=scope)
        request, refusal = self.create_request(scope, body)
        response: Any = self.get_response(request) if request is not None else refusal
        if isinstance(response, StreamingHttpResponse) and response.is_async:
            return response
        try:
            content = b"".join(response)
            return Answer(response.status_code, _headers(response), content)
        finally:
            response.close()

    async def _stream(self, response: StreamingHttpResponse, send: Any) -> None:
        """Its parts are read in a thread of its own, which may take as long as the reader does."""
        async with ThreadSensitiveContext():
            try:
                await self.send_response(response, send)
            finally:
                await sync_to_async(_end_stream)(response)


def _end_stream(response: StreamingHttpResponse) -> None:
    response.close()
    connections.close_all()  # those of the thread that read it, which ends


def _headers(response: HttpResponseBase) -> list[tuple[bytes, bytes]]:
    headers = [(name.encode("ascii"), value.encode("latin1")) for name, value in response.items()]
    cookies = [
        (b"Set-Cookie", cookie.output(header="").strip().encode("ascii")) for cookie in response.cookies.values()
    ]
    return headers + cookies
