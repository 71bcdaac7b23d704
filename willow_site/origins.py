"""Which browsers may open a WebSocket: those on a page of an allowed host."""

from typing import Any

from channels.security.websocket import OriginValidator


class BrowserOriginValidator(OriginValidator):
    """Holds browsers to the allowed origins, and lets clients through that are no browsers.

    A browser always names the origin of its page, so a connection that names none comes from a program,
    which could name any: there the key decides, not the origin.
    """

    def valid_origin(self, parsed_origin: Any) -> bool:
        return parsed_origin is None or bool(super().valid_origin(parsed_origin))
