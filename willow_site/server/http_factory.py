"""Makes the server's side of each connection, counts them, and refuses those that are too many."""

import gc
from typing import Any

from daphne.http_protocol import HTTPFactory
from twisted.internet.protocol import Protocol

from willow_site.server.connections import Connections
from willow_site.server.http_channel import LINGER_SECONDS, DeadlineChannel
from willow_site.server.http_refusal import Refusal
from willow_site.server.http_request import CheckedRequest

YOUNG_CONNECTIONS = 16  # for which the collector is called: each makes hundreds of objects, which live for a while


class CountingHTTPFactory(HTTPFactory):
    def __init__(self, server: Any, connections: Connections) -> None:
        super().__init__(server)
        self.connections = connections
        self._young = 0

    def buildProtocol(self, addr: Any) -> Any:
        address = getattr(addr, "host", "")
        self._young = (self._young + 1) % YOUNG_CONNECTIONS
        if not self._young:
            gc.collect(0)  # often, and so soon over: by itself it would come once for hundreds of them
        if (refusal := self.connections.came(address)) is not None:
            return Refused(refusal, self, address)
        channel = DeadlineChannel(self.connections, address)
        channel.factory = self
        channel.timeOut = self.timeOut
        channel.callLater = self.reactor.callLater
        channel.requestFactory = CheckedRequest
        return channel


class Refused(Protocol):
    """A connection that is one too many: it is told so, and ended."""

    def __init__(self, refusal: Refusal, factory: CountingHTTPFactory, address: str) -> None:
        self._refusal = refusal
        self._factory = factory
        self._address = address

    def connectionMade(self) -> None:
        transport: Any = self.transport
        transport.write(self._refusal.answer)
        transport.loseConnection()
        self._abort = self._factory.reactor.callLater(LINGER_SECONDS, transport.abortConnection)

    def connectionLost(self, reason: Any = None) -> None:
        if self._abort.active():
            self._abort.cancel()
        self._factory.connections.went(self._address)
