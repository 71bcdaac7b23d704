"""Daphne in this process, on a socket of our own, stopping only after it has drained.

Import this module after `use_uvloop()`: Twisted keeps the event loop that its reactor was made with.
"""

import asyncio
import gc
import logging
import signal
import socket
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from daphne.server import Server
from twisted.internet import reactor

from willow_site.broken_sockets import BrokenSockets
from willow_site.configuration import Configuration
from willow_site.websocket_inbox import Inbox
from willow_site.websocket_protocol import BrokerWebSocketProtocol

BACKLOG = 4096  # connections that wait to be accepted, for the moment when all clients come back at once
CLOSE_SECONDS = 10  # for an application to end after its connection was closed
NO_LIMIT = 0  # of Daphne; BrokerWebSocketProtocol has its own
NEVER = -1
COLLECT_AFTER_OBJECTS = 50_000
MOST_UNSENT_BYTES = 4 * 1024 * 1024  # of one connection
LOOK_AGAIN_SECONDS = 0.02

logger = logging.getLogger(__name__)

Step = Callable[[], Awaitable[None]]


class BrokerServer(Server):
    """Serves an ASGI application on a bound socket until SIGTERM or SIGINT."""

    def __init__(self, application: Any, bound_socket: socket.socket, configuration: Configuration) -> None:
        super().__init__(
            application,
            endpoints=["adopted"],
            signal_handlers=False,
            ping_interval=configuration.ping_seconds,
            ping_timeout=configuration.ping_timeout,
            websocket_timeout=NEVER,
            websocket_max_message_size=NO_LIMIT,
            websocket_max_frame_size=NO_LIMIT,
            application_close_timeout=CLOSE_SECONDS,
            ready_callable=self._begin,
            server_name="willow",
        )
        # Daphne knows endpoints only as text, and its text for an existing socket means IPv4 alone;
        # so it gets none, and the socket is adopted in `_begin`.
        self.endpoints: list[str] = []
        self._bound_socket = bound_socket
        self._drain_seconds = configuration.drain_seconds
        self._stopping: asyncio.Task[None] | None = None

    def serve(self, *, start: Step, drain: Step) -> None:
        """Run `start`, then accept connections; after a signal accept no more, run `drain` and return."""
        self._drain = drain
        self._loop = reactor._asyncioEventloop
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(start())
        # All that was imported stays for good, and requests leave no cycles: the collector has little to find.
        gc.freeze()
        gc.set_threshold(COLLECT_AFTER_OBJECTS)
        self.run()

    def create_application(self, protocol: Any, scope: dict[str, Any]) -> asyncio.Queue[Any] | None:
        """As Daphne does it, but with an inbox that has bounds for WebSockets."""
        if scope["type"] != "websocket":
            return super().create_application(protocol, scope)
        inbox = Inbox(when_full=protocol.pause_reading, when_roomy=protocol.resume_reading)
        scope["asgi"] = {"version": "3.0"}
        running = self.application(scope, inbox.get, partial(self.handle_reply, protocol))
        self.connections[protocol]["application_instance"] = self._loop.create_task(running)
        return inbox

    async def handle_reply(self, protocol: Any, message: dict[str, Any]) -> None:
        """As Daphne does it, but a client that does not read what it gets makes its application wait."""
        if isinstance(protocol, BrokerWebSocketProtocol):
            while protocol.unsent_bytes > MOST_UNSENT_BYTES:
                await asyncio.sleep(LOOK_AGAIN_SECONDS)
        await super().handle_reply(protocol, message)

    def _begin(self) -> None:
        self.ws_factory.protocol = BrokerWebSocketProtocol
        self.ws_factory.broken_sockets = BrokenSockets(self._loop)
        # A bad frame never ends a connection. Origins are ours to judge, as Daphne has it too.
        self.ws_factory.setProtocolOptions(utf8validateIncoming=False, allowNullOrigin=True)
        self._bound_socket.listen(BACKLOG)
        self._port = reactor.adoptStreamPort(self._bound_socket.fileno(), self._bound_socket.family, self.http_factory)
        self._bound_socket.close()  # Twisted has its own handle: with this one open the port would stay open too
        for number in (signal.SIGTERM, signal.SIGINT):
            self._loop.add_signal_handler(number, self._stop_once)

    def _stop_once(self) -> None:
        if self._stopping is None:
            self._stopping = self._loop.create_task(self._drain_and_stop())

    async def _drain_and_stop(self) -> None:
        self._port.stopListening()
        try:
            await asyncio.wait_for(self._drain(), self._drain_seconds)
        except TimeoutError:
            logger.warning("Commands were still in progress after %g seconds of draining.", self._drain_seconds)
        finally:
            self.stop()
