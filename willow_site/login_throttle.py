"""Logins with a password cost a good part of a second of processor time each, on purpose, and anybody may ask for them.

So few are looked at together, few may wait, and each address and each account has a rate. Whoever is too many is told
at once.
"""

import asyncio
import os
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qs

from django.conf import settings

from willow_site.request_slots import OTHERS_SLOTS

Scope = dict[str, Any]
Application = Callable[[Scope, Any, Any], Awaitable[None]]

PATH = "/admin/login/"
AT_ONCE = max(1, min((os.cpu_count() or 2) // 2, OTHERS_SLOTS - 1))
MOST_WAITING = 8
MOST_BODY_BYTES = 64 * 1024
MOST_REMEMBERED = 10_000  # addresses, and accounts
SECONDS_PER_MINUTE = 60.0
BURST_SECONDS = 20.0  # so much of the rate may come at once


class Rates:
    """A bucket for each name; those that were used least recently are forgotten."""

    def __init__(self) -> None:
        self._full_at: OrderedDict[str, float] = OrderedDict()  # of the monotonic clock: when the bucket is full again

    def allows(self, name: str) -> bool:
        each = SECONDS_PER_MINUTE / settings.WILLOW.logins_per_minute
        now = time.monotonic()
        full_at = max(self._full_at.pop(name, now), now)
        allowed = full_at + each <= now + max(BURST_SECONDS, each)
        self._full_at[name] = full_at + each if allowed else full_at
        if len(self._full_at) > MOST_REMEMBERED:
            self._full_at.popitem(last=False)
        return allowed


class LoginThrottle:
    """ASGI middleware."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._addresses = Rates()
        self._accounts = Rates()
        self._free = asyncio.Semaphore(AT_ONCE)
        self._waiting = 0

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["method"].upper() != "POST" or scope["path"] != PATH:
            await self._application(scope, receive, send)
            return
        address = scope["client"][0] if scope.get("client") else ""
        if not self._addresses.allows(address):
            await _refuse(send, 429, "There were too many logins from your address. Please try again in a few seconds.")
            return
        form = await _body(receive)
        if form is None:
            await _refuse(send, 413, "This is too large for a login.")
        elif not self._accounts.allows(_account(form)):
            await _refuse(send, 429, "There were too many logins to this account. Please try again in a few seconds.")
        elif self._waiting >= MOST_WAITING:
            await _refuse(send, 503, "Too many people are logging in just now. Please try again in a few seconds.")
        else:
            await self._look_at(scope, _Replay(form, receive), send)

    async def _look_at(self, scope: Scope, receive: Any, send: Any) -> None:
        self._waiting += 1
        try:
            await self._free.acquire()
        finally:
            self._waiting -= 1
        try:
            await self._application(scope, receive, send)
        finally:
            self._free.release()


class _Replay:
    """A body that was read already, then what follows it."""

    def __init__(self, body: bytes, receive: Any) -> None:
        self._body: bytes | None = body
        self._receive = receive

    async def __call__(self) -> Any:
        if self._body is None:
            return await self._receive()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}


async def _body(receive: Any) -> bytes | None:
    """None if it is too large."""
    body = b""
    while True:
        event = await receive()
        body += event.get("body", b"")
        if len(body) > MOST_BODY_BYTES:
            return None
        if not event.get("more_body"):
            return body


def _account(form: bytes) -> str:
    names = parse_qs(form.decode("latin1"), max_num_fields=None).get("username", [""])
    return names[-1].strip().lower()[:200]


async def _refuse(send: Any, status: int, sentence: str) -> None:
    body = sentence.encode()
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(body)).encode()),
        (b"retry-after", b"5"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
