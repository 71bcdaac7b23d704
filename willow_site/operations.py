"""/healthz, /readyz and /metrics: answered before Django, so that they work whatever else does not.

Probes come under any host name and without a key, so these addresses know no ALLOWED_HOSTS. The one that tells more
than whether the broker is well checks by itself who asks.
"""

import hmac
import json
from collections.abc import Awaitable, Callable
from typing import Any

from django.conf import settings
from django.http.request import split_domain_port, validate_host

from clients.auth import is_let_in
from delivery.metrics.scrape import Scrape
from delivery.node import life
from delivery.node.readiness import Health

Scope = dict[str, Any]
Application = Callable[[Scope, Any, Any], Awaitable[None]]
JSON = "application/json"
NO_CACHE = (b"cache-control", b"no-store")


class Answer:
    def __init__(self, status: int, body: bytes, content_type: str = JSON, *headers: tuple[bytes, bytes]) -> None:
        self.status = status
        self.body = body
        self.headers = [(b"content-type", content_type.encode()), NO_CACHE, *headers]


class Operations:
    """ASGI middleware."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._health = Health()
        self._scrape = Scrape()
        self._answers = {"/healthz": self._healthz, "/readyz": self._readyz, "/metrics": self._metrics}

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        answer = self._answers.get(scope["path"]) if scope["type"] == "http" else None
        if answer is None:
            await self._application(scope, receive, send)
        elif scope["method"] not in ("GET", "HEAD"):
            await _send(send, scope, _error(405, "request", "Only GET is allowed here.", (b"allow", b"GET, HEAD")))
        else:
            await _send(send, scope, await answer(scope))

    async def _healthz(self, scope: Scope) -> Answer:
        """That this was answered says it all: the process runs, and its event loop is not stuck."""
        return _json(200, {"status": "ok"})

    async def _readyz(self, scope: Scope) -> Answer:
        readiness = await self._health.readiness()
        status = "ready" if readiness.is_ready else "not ready"
        return _json(200 if readiness.is_ready else 503, {"status": status, "checks": readiness.checks})

    async def _metrics(self, scope: Scope) -> Answer:
        headers = {name.decode("latin1"): value.decode("latin1") for name, value in scope["headers"]}
        if (refusal := _refusal(scope, headers)) is not None:
            return refusal
        node = life.current_or_none()
        if node is None:
            return _error(503, "node", "The node has not started yet.")
        body, content_type = await self._scrape.answer(node, headers.get("accept", ""))
        return Answer(200, body, content_type)


def _refusal(scope: Scope, headers: dict[str, str]) -> Answer | None:
    """Why the caller may not read the metrics, or None if it may."""
    willow = settings.WILLOW
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if willow.metrics_token and scheme.lower() == "bearer":
        if hmac.compare_digest(token.strip().encode(), willow.metrics_token.encode()):
            return None
        return _error(401, "token", "This token is not valid.", (b"www-authenticate", b"Bearer"))
    address = scope["client"][0] if scope.get("client") else ""
    if not is_let_in(willow.metrics, address, headers):
        return _error(401, "token", "A token is needed: see WILLOW_METRICS.", (b"www-authenticate", b"Bearer"))
    # A page in a browser on this machine can make its own host name lead here; Prometheus uses one that is allowed.
    host, _ = split_domain_port(headers.get("host", ""))
    if willow.metrics == "loopback" and not validate_host(host, settings.ALLOWED_HOSTS):
        return _error(403, "host", "This host name is not one of ALLOWED_HOSTS.")
    return None


def _json(status: int, content: dict[str, Any], *headers: tuple[bytes, bytes]) -> Answer:
    return Answer(status, json.dumps(content).encode(), JSON, *headers)


def _error(status: int, key: str, message: str, *headers: tuple[bytes, bytes]) -> Answer:
    """In the shape that errors have everywhere."""
    codes = {401: "PermissionDenied", 403: "PermissionDenied", 503: "Unavailable"}
    code = codes.get(status, "BadRequest")
    return _json(status, {"type": "error", "label": None, "code": code, "key": key, "message": message}, *headers)


async def _send(send: Any, scope: Scope, answer: Answer) -> None:
    length = (b"content-length", str(len(answer.body)).encode())
    await send({"type": "http.response.start", "status": answer.status, "headers": [*answer.headers, length]})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else answer.body})
