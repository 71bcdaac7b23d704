"""The server as it normally runs: with bounds on what it keeps for a client, and a short way for frames.

Import this module after `event_loop.choose`, as `plain_server`.
"""

import asyncio
from functools import partial
from typing import Any

from delivery.gateway.socket_control import EXTENSION as SOCKET_CONTROL
from delivery.node import life
from delivery.storage.meters import incoming
from willow_site.server.broken_sockets import BrokenSockets
from willow_site.server.http_answers import LOOK_AGAIN_SECONDS, MOST_LOOK_AGAIN_SECONDS, UnreadOverHttp
from willow_site.server.http_channel import turns
from willow_site.server.http_request import CheckedRequest
from willow_site.server.incoming_messages import IncomingMessages
from willow_site.server.plain_server import PlainServer
from willow_site.server.websocket_inbox import Inbox
from willow_site.server.websocket_protocol import BrokerWebSocketProtocol

NO_LIMIT = 0  # of Autobahn; BrokerWebSocketProtocol has its own
COME_LATER = (429, 503)  # statuses of answers
MOST_UNSENT_BYTES = 4 * 1024 * 1024  # of one connection


class BrokerServer(PlainServer):
    websocket_protocol = BrokerWebSocketProtocol

    def create_application(self, protocol: Any, scope: dict[str, Any]) -> asyncio.Queue[Any] | None:
        """As Daphne does it, but with an inbox that has bounds for WebSockets."""
        if scope["type"] != "websocket":
            return super().create_application(protocol, scope)
        inbox = Inbox(protocol, self._incoming)
        scope["asgi"] = {"version": "3.0"}
        scope["extensions"] = {SOCKET_CONTROL: protocol}
        running = self.application(scope, inbox.get, partial(self.handle_reply, protocol))
        task = self._loop.create_task(running)
        task.add_done_callback(lambda _: inbox.end())
        self.connections[protocol]["application_instance"] = task
        return inbox

    async def handle_reply(self, protocol: Any, message: dict[str, Any]) -> None:
        """As Daphne does it, but a client that does not read what it gets makes its application wait."""
        if isinstance(protocol, CheckedRequest):
            await self._answer_request(protocol, message)
            return
        pause = 0.0  # first, what was collected in this turn is sent
        while protocol.unsent_bytes > MOST_UNSENT_BYTES:
            await asyncio.sleep(pause)
            # Those who never read must cost nothing.
            pause = min(2 * pause, MOST_LOOK_AGAIN_SECONDS) or LOOK_AGAIN_SECONDS
        await super().handle_reply(protocol, message)

    async def _answer_request(self, request: CheckedRequest, message: dict[str, Any]) -> None:
        if message.get("status") in COME_LATER:
            turns.was_for_nothing()
        body, unread = message.get("body", b""), self._unread_of(request)
        if body and unread is not None:
            await unread.wait_until_below(MOST_UNSENT_BYTES, len(body))
        await super().handle_reply(request, message)
        if body and unread is not None:
            unread.was_written()

    def _unread_of(self, request: CheckedRequest) -> UnreadOverHttp | None:
        """Of the connection of a request, as long as it is there."""
        channel, here = request.channel, life.here()
        if channel is None or here is None:
            return None
        if channel.unread is None:
            channel.unread = UnreadOverHttp(channel.transport, here[0].unread)
        return channel.unread

    def _begin(self) -> None:
        self.ws_factory.broken_sockets = BrokenSockets(self._loop)
        self._incoming = IncomingMessages(incoming)
        # A bad frame never ends a connection. Origins are judged by willow_site/origins.py, `null` among them.
        self.ws_factory.setProtocolOptions(
            utf8validateIncoming=False,
            maxMessagePayloadSize=NO_LIMIT,
            maxFramePayloadSize=NO_LIMIT,
            allowNullOrigin=True,
        )
        super()._begin()
