"""Daphne in this process, on a socket of our own, stopping only after it has drained.

Import this module after `event_loop.choose`: Twisted keeps the event loop that its reactor was made with.
"""

import asyncio
import gc
import logging
import signal
import socket
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from daphne.server import Server

from willow_site.configuration import Configuration
from willow_site.listening import http_address
from willow_site.passwords import hash_beside
from willow_site.server.connections import Connections, raise_file_limit
from willow_site.server.counted_websocket import CountedWebSocketProtocol
from willow_site.server.http_factory import CountingHTTPFactory
from willow_site.server.memory import give_back_what_is_large
from willow_site.server.patient_port import PatientPort
from willow_site.server.tls import Certificates, encrypted
from willow_site.server.tls_refusal import refuse_tls

BACKLOG = 4096  # connections that wait to be accepted, for the moment when all clients come back at once
CLOSE_SECONDS = 10  # for an application to end after its connection was closed
NEVER = -1
# A round of the collector keeps everybody waiting, by half a microsecond for each new object: here about 12 ms. It
# looks seldom at those that outlived a round: they are many, and hardly ever a cycle.
COLLECT_AFTER_OBJECTS = 25_000
COLLECT_OLDER_AFTER_ROUNDS = 100
SWITCH_SECONDS = 0.0001  # how long a thread of the console or of REST may keep the interpreter, if messages wait for it

logger = logging.getLogger(__name__)

Step = Callable[[], Awaitable[None]]


class PlainServer(Server):
    """Serves an ASGI application on a bound socket until SIGTERM or SIGINT."""

    websocket_protocol = CountedWebSocketProtocol

    def __init__(
        self,
        application: Any,
        bound_socket: socket.socket,
        configuration: Configuration,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        super().__init__(
            application,
            endpoints=["adopted"],
            signal_handlers=False,
            ping_interval=configuration.ping_seconds,
            ping_timeout=configuration.ping_timeout,
            websocket_timeout=NEVER,
            websocket_max_message_size=configuration.max_frame_bytes,
            websocket_max_frame_size=configuration.max_frame_bytes,
            application_close_timeout=CLOSE_SECONDS,
            ready_callable=self._begin,
            server_name="willow",
        )
        # Daphne knows endpoints only as text, and its text for an existing socket means IPv4 alone;
        # so it gets none, and the socket is adopted in `_begin`.
        self.endpoints: list[str] = []
        self._certificates = Certificates(configuration) if configuration.tls_certificate else None
        self._connections = Connections(
            files=raise_file_limit(),
            most_of_address=configuration.address_connections,
            trusted=configuration.trusted_proxies,
        )
        self._bound_socket = bound_socket
        self._node_name = configuration.node_name
        self._address = http_address(
            configuration.bind, configuration.port, encrypted=bool(configuration.tls_certificate)
        )
        self._drain_seconds = configuration.drain_seconds
        self._stopping: asyncio.Task[None] | None = None
        self._loop = loop

    def serve(self, *, start: Step, drain: Step) -> None:
        """Run `start`, then accept connections; after a signal accept no more, run `drain` and return."""
        self._drain = drain
        asyncio.set_event_loop(self._loop)
        give_back_what_is_large()
        self._loop.run_until_complete(start())
        # All that was imported stays for good, and requests leave no cycles: the collector has little to find.
        gc.freeze()
        gc.set_threshold(COLLECT_AFTER_OBJECTS, COLLECT_OLDER_AFTER_ROUNDS)
        sys.setswitchinterval(SWITCH_SECONDS)
        hash_beside()
        self.run()

    def _begin(self) -> None:
        self.http_factory = CountingHTTPFactory(self, self._connections)
        self.ws_factory.connections = self._connections
        self.ws_factory.protocol = self.websocket_protocol
        for number in (signal.SIGTERM, signal.SIGINT):
            self._loop.add_signal_handler(number, self._stop_once)
        # Who sees that the node is up may stop it at once. uvloop puts a signal that comes before it runs aside until
        # the next one, so nobody can connect before it runs.
        self._loop.call_soon(self._listen)

    def _listen(self) -> None:
        self._bound_socket.setblocking(False)  # as Twisted expects it
        self._bound_socket.listen(BACKLOG)
        factory = self.http_factory
        if self._certificates is None:
            refuse_tls(factory)
        else:
            factory = encrypted(factory, self._certificates)
            self._loop.add_signal_handler(signal.SIGHUP, self._certificates.reload)
        self._port = PatientPort.adopted(self._bound_socket, factory)
        self._bound_socket.close()  # Twisted has its own handle: with this one open the port would stay open too
        logger.info("Node %s listens at %s.", self._node_name, self._address)

    def kill_all_applications(self) -> Any:
        """As Daphne does it, which expects an application of each connection: one with half a request has none."""
        for protocol in [one for one, known in self.connections.items() if "application_instance" not in known]:
            del self.connections[protocol]
        return super().kill_all_applications()

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
