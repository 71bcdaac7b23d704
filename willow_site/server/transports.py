"""What Twisted keeps of a connection that its client has not taken."""

from typing import Any

from twisted.protocols.policies import ProtocolWrapper


def socket_of(transport: Any) -> Any:
    """Twisted's side of the socket: the transport itself, or what is below it where that encrypts."""
    return transport.transport if isinstance(transport, ProtocolWrapper) else transport


def forget_unsent(transport: Any) -> None:
    """The transport and its protocol know each other, so that they stay for a while: not what was never sent."""
    socket = socket_of(transport)
    socket.dataBuffer, socket._tempDataBuffer, socket._tempDataLen = b"", [], 0


def unsent_bytes(transport: Any) -> int:
    """What neither the client nor the system between has taken."""
    socket = socket_of(transport)
    if socket is None or not socket.connected:
        return 0
    return int(len(socket.dataBuffer) - socket.offset + socket._tempDataLen)
