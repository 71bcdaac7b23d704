"""What the broker can do to a client's socket beside sending over it, where its server offers that.

Daphne as Willow runs it does (willow_site/server/); under another ASGI server a socket has `NoControl`.
"""

from typing import Any, Protocol

from delivery.gateway.loop_share import LoopShare

EXTENSION = "willow.socket"  # in the `extensions` of an ASGI scope


class SocketControl(Protocol):
    share: LoopShare

    @property
    def has_gone(self) -> bool:
        """Whether nothing can be sent over it any more, as far as is known. What had come may still be to be read."""

    @property
    def unsent_bytes(self) -> int:
        """What was sent, and neither the client nor the system between has taken."""

    def stop_reading(self) -> None:
        """Take nothing more from the client, but the end of the connection."""

    def abort(self) -> None:
        """End the connection now, whatever has not been sent."""


class NoControl:
    has_gone = False
    unsent_bytes = 0

    def __init__(self) -> None:
        self.share = LoopShare()

    def stop_reading(self) -> None: ...

    def abort(self) -> None: ...


def control_of(scope: dict[str, Any]) -> SocketControl:
    control: SocketControl = scope.get("extensions", {}).get(EXTENSION) or NoControl()
    return control
