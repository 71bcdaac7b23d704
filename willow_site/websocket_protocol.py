"""Daphne's WebSocket protocol, with bounds on what it holds in memory for a client.

Import this module only after the event loop was chosen: it imports Twisted's reactor (see `event_loop`).
"""

import time
from typing import Any

from daphne.ws_protocol import WebSocketProtocol
from django.conf import settings


class BrokerWebSocketProtocol(WebSocketProtocol):
    """Hands each message to the application, or only its size if it is larger than the limit.

    A message that is too large is thrown away while it streams in; the application gets
    `{"type": "websocket.receive", "too_large": <bytes>}` and the connection goes on.
    """

    reading_paused = False

    def onMessageFrameData(self, payload: bytes) -> None:
        # The total already counts the whole length that the frame has announced.
        if not self._is_too_large():
            self.frame_data.append(payload)

    def onMessageEnd(self) -> None:
        if self.failedByMe or self.muted:
            return
        self.last_ping = time.time()
        self.application_queue.put_nowait(self._received())
        self.message_data: list[bytes] = []  # a large message must not stay until the next one

    def _received(self) -> dict[str, Any]:
        if self._is_too_large():
            return {"type": "websocket.receive", "too_large": self.message_data_total_length}
        payload = b"".join(self.message_data)
        if self.message_is_binary:
            return {"type": "websocket.receive", "bytes": payload}
        return {"type": "websocket.receive", "text": payload.decode()}

    def _is_too_large(self) -> bool:
        return self.message_data_total_length > settings.WILLOW.max_frame_bytes

    def pause_reading(self) -> None:
        self.transport.pauseProducing()
        self.reading_paused = True
        # Nobody would read the answer to a ping, so none may be waited for.
        if self.autoPingTimeoutCall:
            self._cancelAutoPingTimeoutCall()

    def resume_reading(self) -> None:
        self.reading_paused = False
        self.last_ping = time.time()
        self.transport.resumeProducing()

    def check_timeouts(self) -> None:
        if not self.reading_paused:
            super().check_timeouts()
