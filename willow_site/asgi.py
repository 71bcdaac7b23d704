"""The ASGI application: HTTP goes to Django, WebSockets to the broker (/connect/) and the console (/console/live/)."""

import os
from typing import Any

import django
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.sessions import SessionMiddlewareStack
from django.conf import settings
from django.urls import path, re_path

from willow_site.login_throttle import LoginThrottle
from willow_site.origins import BrowserOriginValidator
from willow_site.request_ids import RequestIds
from willow_site.request_slots import SLOTS, RequestSlots
from willow_site.trusted_proxies import TrustedProxies

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "willow_site.settings")
django.setup(set_prefix=False)

# Models can be imported only now.
from console.live.consumer import LiveConsumer  # noqa: E402
from console.post_counting import PostCounting  # noqa: E402
from delivery.gateway.consumer import ConnectConsumer  # noqa: E402
from delivery.gateway.http_waits import WaitingRequests  # noqa: E402
from delivery.metrics.several_processes import OwnFile  # noqa: E402
from delivery.node import life  # noqa: E402
from willow_site.operations import Operations  # noqa: E402
from willow_site.recognition import credential_of  # noqa: E402
from willow_site.server.django_threads import DjangoInThreads  # noqa: E402

life.accompany(PostCounting())
if settings.WILLOW.processes > 1:
    life.accompany(OwnFile())


WAITING_PATHS = frozenset(f"/api/messages/{action}{slash}" for action in ("pop", "fetch") for slash in ("", "/"))


async def refuse(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Answer a WebSocket on any other path with 403; without this the router logs a traceback."""
    await send({"type": "websocket.close"})


console_origins = settings.ALLOWED_HOSTS
clients_origins = [*settings.ALLOWED_HOSTS, *settings.WILLOW.browser_origins]

websocket_application = URLRouter(
    [
        path("connect/", BrowserOriginValidator(ConnectConsumer.as_asgi(), clients_origins)),
        # Pages of other sites never get the console's, whose users are known by a cookie.
        path("console/live/", BrowserOriginValidator(SessionMiddlewareStack(LiveConsumer.as_asgi()), console_origins)),
        re_path(r"", refuse),  # type: ignore[arg-type]
    ]
)

by_protocol = ProtocolTypeRouter(
    {
        "http": LoginThrottle(WaitingRequests(RequestSlots(DjangoInThreads(SLOTS), credential_of), WAITING_PATHS)),
        "websocket": websocket_application,
    }
)
application = TrustedProxies(RequestIds(Operations(by_protocol)), trusted=settings.WILLOW.trusted_proxies)
