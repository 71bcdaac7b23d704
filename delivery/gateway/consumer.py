"""The WebSocket at /connect/.

Not Channels' own WebSocket consumer: its dispatch makes two tasks for every frame and handles one frame at a time, so a
waiting fetch would hold up the finish behind it. This one reads frames in a loop of its own and hands their commands to
the session, which answers when an answer is there.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from time import perf_counter
from typing import Any

from channels.consumer import AsyncConsumer
from django.conf import settings

from clients.auth import anonymous_principal, principal_of_key
from clients.principal import Principal
from delivery.commands import TURN_SECONDS
from delivery.gateway.handshake import Handshake
from delivery.gateway.large_frames import LARGE_BYTES, large_frames
from delivery.gateway.outbox import Outbox, Send
from delivery.gateway.refused import BAD_KEY, NO_KEY, RefusedConnections
from delivery.gateway.socket_control import SocketControl, control_of
from delivery.node import life
from delivery.node.node import Node
from delivery.protocol import bincode, json
from delivery.protocol.close_codes import BAD_HANDSHAKE, ID_IN_USE, NODE_IS_DRAINING, NOT_LET_IN, STORAGE_IS_GONE
from delivery.protocol.commands import Command, Fetch, Pop
from delivery.protocol.errors import Code, FrameError, WillowError
from delivery.protocol.frames import Error, Hello
from delivery.protocol.json.too_large import too_large as json_too_large
from delivery.protocol.limits import FrameEnds, Limits, too_many_fragments
from delivery.protocol.version import VERSION
from delivery.sessions.restoring import send_again
from delivery.sessions.session import Session
from delivery.storage.lanes import run_job
from delivery.storage.presence import clients_here

ONLY_FOR_AN_ANSWER = (Fetch, Pop)  # nothing else comes of them, but queues that are made by their first use

# A client hears soon that the node has too much under way, also if the storage stands still.
MOST_SECONDS_UNTIL_STORED = 1.0

Receive = Callable[[], Awaitable[Any]]

refused = RefusedConnections()


class ConnectConsumer(AsyncConsumer):
    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        await receive()  # websocket.connect
        handshake = Handshake(scope)
        node = await life.started()
        await send({"type": "websocket.accept"})
        limits = Limits(max_body_bytes=settings.WILLOW.max_body_bytes, max_frame_bytes=settings.WILLOW.max_frame_bytes)
        socket = control_of(scope)
        batch = handshake.asks_for("batch")
        outbox = Outbox(send, handshake.encoder(limits), batch=batch, socket=socket, unread=node.unread)
        try:
            session = await self._admit(node, handshake, outbox, send)
            if session is not None:
                await self._serve(node, session, outbox, receive, limits, socket)
        finally:
            outbox.end()

    async def _admit(self, node: Node, handshake: Handshake, outbox: Outbox, send: Send) -> Session | None:
        """Let the client in and say hello, or say why not and close the socket."""
        try:
            if node.draining:
                raise WillowError(Code.UNAVAILABLE, "node", "This node is stopping. Please connect to another one.")
            handshake.check_form_of_bytes()
            principal = await self._who(node, handshake)
            if principal is None:
                refused.add(handshake.address, NO_KEY if handshake.key is None else BAD_KEY)
                needed = WillowError(Code.PERMISSION_DENIED, "token", "A valid key is needed.")
                await _refuse(outbox, send, needed, NOT_LET_IN, reason=needed.message)
                return None
            address, hold_seconds = handshake.address, handshake.hold_seconds()
            session = Session(node, principal, outbox, hold_seconds=hold_seconds, address=address)
            token = await node.sessions.open(session, token=handshake.resumed_id)
        except WillowError as error:
            await _refuse(outbox, send, error, _close_code(node, error))
            return None
        outbox.put(Hello(token, node.name, VERSION))
        if token == handshake.resumed_id and handshake.asks_for("resend"):
            send_again(session)
        return session

    async def _serve(
        self, node: Node, session: Session, outbox: Outbox, receive: Receive, limits: Limits, socket: SocketControl
    ) -> None:
        outbox.when_roomy = session.go_on_reading
        writer = asyncio.create_task(outbox.run())
        try:
            async with outbox.while_open():
                await self._read(node, session, outbox, receive, limits, socket)
        finally:
            session.close()
            await outbox.finish(writer)

    async def _who(self, node: Node, handshake: Handshake) -> Principal | None:
        key = handshake.key
        if key is None:
            return anonymous_principal(handshake.address, handshake.headers)
        principal: Principal | None = await run_job(
            node.doors,
            lambda connection: principal_of_key(connection, key, handshake.address),
            source=handshake.address,
        )
        return principal

    async def _read(
        self, node: Node, session: Session, outbox: Outbox, receive: Receive, limits: Limits, socket: SocketControl
    ) -> None:
        """Take frames until the socket closes; while too much is under way, take none.

        Each turn of the event loop is short, however much the client has sent: then the others have theirs.
        """
        most, most_bytes = settings.WILLOW.connection_commands, settings.WILLOW.connection_post_bytes
        share = socket.share
        busy_seconds, for_nothing = 0.0, True
        while True:
            await session.under_way.wait_below(most, most_bytes)
            await outbox.wait_until_roomy()
            if busy_seconds >= TURN_SECONDS:
                if socket.has_gone:  # what is left of it has only seconds
                    await asyncio.sleep(0)
                else:
                    await share.step_back(busy_seconds, for_nothing=for_nothing)
                busy_seconds, for_nothing = 0.0, True
            event = await receive()
            if event["type"] == "websocket.disconnect":
                return
            share.is_here()
            began = perf_counter()
            if (large := _large(event)) is not None:
                for_nothing = False
                decoding = large_frames.decoded(*large, limits)
                del event, large  # not kept while the commands are handled
                async with decoding as commands:
                    await self._handle(node, session, commands, socket)
                    if clients_here.is_of_several:  # what it brought is kept until it is stored: it counts as long
                        with suppress(TimeoutError):
                            async with asyncio.timeout(MOST_SECONDS_UNTIL_STORED):
                                await session.under_way.wait_below(most, LARGE_BYTES)
            else:
                decoded = _decoded(event, limits)
                for_nothing &= isinstance(decoded[-1], FrameError)
                del event, large
                await self._handle(node, session, iter(decoded), socket)
            busy_seconds += perf_counter() - began

    async def _handle(
        self, node: Node, session: Session, commands: Iterator[Command | FrameError], socket: SocketControl
    ) -> None:
        if socket.has_gone:
            commands = _without_questions(commands)
        while not node.commands.handle(session, commands):
            if socket.has_gone:
                commands = _without_questions(commands)
                await asyncio.sleep(0)
            else:
                await socket.share.step_back(TURN_SECONDS)
            willow = settings.WILLOW
            await session.under_way.wait_below(willow.connection_commands, willow.connection_post_bytes)


def _without_questions(commands: Iterator[Command | FrameError]) -> Iterator[Command | FrameError]:
    return (command for command in commands if not isinstance(command, ONLY_FOR_AN_ANSWER))


def _large(event: dict[str, Any]) -> tuple[Sequence[bytes], bool] | None:
    """Of a large message its pieces, in which Willow's own server hands it on, and whether it is binary."""
    if (pieces := event.get("pieces")) is not None:
        return pieces, event["binary"]
    if len(event.get("text") or "") > LARGE_BYTES:
        return [event["text"].encode()], False
    return None


def _decoded(event: dict[str, Any], limits: Limits) -> list[Command | FrameError]:
    if event.get("text") is not None:
        return json.decode(event["text"], limits)
    if event.get("bytes") is not None:
        return bincode.decode(event["bytes"], limits)
    ends: FrameEnds = event["too_large"]
    error = bincode.too_large(ends, limits) if event["binary"] else json_too_large(ends, limits)
    return [error if ends.size > limits.max_frame_bytes else too_many_fragments(error.label)]


async def _refuse(outbox: Outbox, send: Send, error: WillowError, close_code: int, reason: str = "") -> None:
    """Before the close, an error: that is where programs look, and a close has no room for all that it may say."""
    outbox.put(Error(None, error.code, error.key, error.message))
    await outbox.flush()
    await send({"type": "websocket.close", "code": close_code, "reason": reason})


def _close_code(node: Node, error: WillowError) -> int:
    if error.code == Code.PERMISSION_DENIED:
        return ID_IN_USE
    if node.draining:
        return NODE_IS_DRAINING
    return STORAGE_IS_GONE if error.code == Code.UNAVAILABLE else BAD_HANDSHAKE
