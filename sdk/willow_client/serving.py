"""`serve`: how a program becomes a worker of services."""

import socket
from collections.abc import Callable, Sequence
from typing import Any, Unpack

from willow_client.arguments import check_name, check_seconds, check_whole
from willow_client.brokers import Brokers
from willow_client.connection import Connection
from willow_client.options import OptionArguments, Options
from willow_client.service_worker import Handler, ServiceWorker


def serve(
    url: str | Sequence[str],
    services: str | Sequence[str],
    handler: Handler,
    *,
    slots: int = 1,
    identity: str | None = None,
    drain_timeout: float = 30.0,
    on_config: Callable[[dict[str, Any]], None] | None = None,
    **options: Unpack[OptionArguments],
) -> "ServiceWorker":
    """A worker of these services: `await serve(…).run()`, or `async with serve(…):`.

    `handler` gets each request, up to `slots` at once: it is awaited, or runs in a thread if it is an ordinary
    function. What it returns is the reply. If it raises, the frontend gets the text as `Failed`; if it raises `Retry`,
    the next worker is tried. `on_config` is called with each configuration, the first one included.
    """
    names = (services,) if isinstance(services, str) else tuple(services)
    for name in names:
        check_name("services", name)
    check_whole("slots", slots, 1, 65_535)
    check_seconds("drain_timeout", drain_timeout)
    worker = ServiceWorker(
        names,
        handler,
        slots=slots,
        identity=identity or socket.gethostname(),
        drain_timeout=drain_timeout,
        on_config=on_config,
    )
    worker.use(Connection(Brokers(url), Options(**options), worker))
    return worker
