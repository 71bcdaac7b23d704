"""The port at which clients knock: it lets in a few of them in a turn of the event loop.

Twisted takes a hundred at once, and more each time. When a thousand come together, or all clients come back, those who
are there already would wait for 10 ms and more, again and again.
"""

import socket
from typing import Any

from twisted.internet import reactor, tcp

MOST_IN_A_TURN = 2  # connections, of which each takes the system a dozen calls


class PatientPort(tcp.Port):
    @property
    def numberAccepts(self) -> int:
        return MOST_IN_A_TURN

    @numberAccepts.setter
    def numberAccepts(self, count: int) -> None:
        """Twisted wants to take as many as came the last time, and more."""

    @classmethod
    def adopted(cls, bound: socket.socket, factory: Any, reactor: Any = reactor) -> "PatientPort":
        """As `reactor.adoptStreamPort` does it."""
        port: PatientPort = cls._fromListeningDescriptor(reactor, bound.fileno(), bound.family, factory)
        port.startListening()
        return port
