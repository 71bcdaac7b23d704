"""The WebSocket at /connect/.

Not Channels' own WebSocket consumer: its dispatch makes two tasks for every frame and handles one frame at a time, so a
waiting fetch would hold up the finish behind it. This one reads frames in a loop of its own and hands their commands to
the session, which answers whenever an answer is there.
"""

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qs

from channels.consumer import AsyncConsumer
from django.conf import settings

from clients.auth import anonymous_principal, principal_of_key, shown_key
from clients.principal import Principal
from delivery.commands import handle
from delivery.node import life
from delivery.node.node import Node
from delivery.protocol import bincode, json
from delivery.protocol.close_codes import BAD_HANDSHAKE, ID_IN_USE, NODE_IS_DRAINING, NOT_LET_IN, STORAGE_IS_GONE
from delivery.protocol.errors import Code, FrameError, WillowError
from delivery.protocol.frames import Command, Error, Frame, Hello
from delivery.protocol.json.too_large import too_large as json_too_large
from delivery.protocol.limits import FrameEnds, Limits
from delivery.protocol.version import VERSION
from delivery.sessions.session import Session
from delivery.storage.lanes import on_desk

logger = logging.getLogger(__name__)

CROWDED_FRAMES = 10_000  # answers that wait for a slow client, beyond which its commands are not taken

Encoder = json.Encoder | bincode.Encoder
Send = Callable[[dict[str, Any]], Awaitable[None]]


class Handshake:
    """What a client asked for when it connected: by headers, or by the query string where headers cannot be set."""

    def __init__(self, scope: dict[str, Any]) -> None:
        self.headers = {name.decode("latin1").lower(): value.decode("latin1") for name, value in scope["headers"]}
        self._query = parse_qs(scope.get("query_string", b"").decode("latin1"))
        self.address: str = scope["client"][0] if scope.get("client") else ""

    def asks_for(self, name: str) -> bool:
        return (self.headers.get(name) or self._argument(name) or "").strip().lower() == "true"

    @property
    def key(self) -> str | None:
        return shown_key(self.headers.get("authorization", ""), self._argument("token"))

    @property
    def resumed_id(self) -> str | None:
        """None also for what cannot be anybody's: PostgreSQL would not even look for a text with NUL."""
        given = self._argument("id")
        return None if given is None or "\0" in given else given

    def hold_seconds(self) -> float:
        given = self._argument("hold")
        if given is None:
            return 0.0
        try:
            seconds = float(given)
        except ValueError:
            seconds = math.nan
        if not seconds >= 0:  # also refuses NaN
            raise WillowError(
                Code.BAD_REQUEST, "hold", f"`hold` must be a number of seconds, 0 or more, not {given!r}."
            )
        return min(seconds, settings.WILLOW.hold_max)

    def encoder(self, limits: Limits) -> Encoder:
        """What writes frames as this client reads them."""
        if self.asks_for("binary"):
            return bincode.Encoder(limits, extras=self.asks_for("extras"))
        return json.Encoder(limits, base64=self._asked_form_of_bytes() == "base64")

    def check(self) -> None:
        """Refuse what cannot be meant."""
        if (form := self._asked_form_of_bytes()) not in (None, "base64"):
            raise WillowError(Code.BAD_REQUEST, "bytes", f"`bytes` must be base64, not {form!r}.")

    def _asked_form_of_bytes(self) -> str | None:
        given = self.headers.get("bytes") or self._argument("bytes")
        return given.strip().lower() if given else None

    def _argument(self, name: str) -> str | None:
        values = self._query.get(name)
        return values[0] if values else None


class Outbox:
    """Frames on their way to the client: those of one turn of the loop go out together."""

    def __init__(self, send: Send, encoder: Encoder, *, batch: bool) -> None:
        self._send = send
        self._encoder = encoder
        self._batch = batch
        self._frames: list[Frame] = []
        self._something = asyncio.Event()
        self._closing: dict[str, Any] | None = None
        self.emptied = asyncio.Event()

    def put(self, frame: Frame) -> None:
        self._frames.append(frame)
        self._something.set()

    def close(self, code: int, reason: str) -> None:
        """Close the socket after what was put before."""
        self._closing = {"type": "websocket.close", "code": code, "reason": reason}
        self._something.set()

    async def run(self) -> None:
        while self._closing is None:
            await self._something.wait()
            await self.flush()
            self.emptied.set()
        await self._send(self._closing)

    @property
    def is_crowded(self) -> bool:
        """Whether the client takes its answers more slowly than they come."""
        return len(self._frames) > CROWDED_FRAMES

    async def flush(self) -> None:
        self._something.clear()
        frames, self._frames = self._frames, []
        if self._batch and len(frames) > 1:
            for data in self._encoder.encode_batch(frames):
                await self._send({"type": "websocket.send", self._encoder.part: data})
        else:
            for frame in frames:
                await self._send({"type": "websocket.send", self._encoder.part: self._encoder.encode(frame)})


class ConnectConsumer(AsyncConsumer):
    async def __call__(self, scope: dict[str, Any], receive: Callable[[], Awaitable[Any]], send: Send) -> None:
        await receive()  # websocket.connect
        handshake = Handshake(scope)
        node = await life.started()
        await send({"type": "websocket.accept"})
        limits = Limits(max_body_bytes=settings.WILLOW.max_body_bytes, max_frame_bytes=settings.WILLOW.max_frame_bytes)
        outbox = Outbox(send, handshake.encoder(limits), batch=handshake.asks_for("batch"))
        session = await self._admit(node, handshake, outbox, send)
        if session is None:
            return
        writer = asyncio.create_task(outbox.run())
        session.close_socket = outbox.close
        try:
            await self._read(session, outbox, receive, limits)
        finally:
            session.close()
            writer.cancel()

    async def _admit(self, node: Node, handshake: Handshake, outbox: Outbox, send: Send) -> Session | None:
        """Let the client in and say hello, or close the socket."""
        try:
            if node.draining:
                raise WillowError(Code.UNAVAILABLE, node.name, "This node is stopping. Please connect to another one.")
            handshake.check()
            principal = await self._who(node, handshake)
            if principal is None:
                await send({"type": "websocket.close", "code": NOT_LET_IN, "reason": "A valid key is needed."})
                return None
            session = Session(node, principal, outbox.put)
            token = await node.open(
                session,
                token=handshake.resumed_id,
                address=handshake.address,
                hold=handshake.hold_seconds(),
            )
        except WillowError as error:
            outbox.put(Error(None, error.code, error.key, error.message))
            await outbox.flush()
            await send({"type": "websocket.close", "code": _close_code(node, error)})
            return None
        outbox.put(Hello(token, node.name, VERSION))
        return session

    async def _who(self, node: Node, handshake: Handshake) -> Principal | None:
        key = handshake.key
        if key is None:
            return anonymous_principal(handshake.address, handshake.headers)
        principal: Principal | None = await on_desk(node.desk, lambda connection: principal_of_key(connection, key))
        return principal

    async def _read(
        self, session: Session, outbox: Outbox, receive: Callable[[], Awaitable[Any]], limits: Limits
    ) -> None:
        """Take frames until the socket closes; while too much is under way, take none."""
        most = settings.WILLOW.connection_commands
        room = asyncio.Event()
        session.when_less = room.set
        while True:
            while session.under_way >= most:
                room.clear()
                await room.wait()
            while outbox.is_crowded:
                outbox.emptied.clear()
                await outbox.emptied.wait()
            event = await receive()
            if event["type"] == "websocket.disconnect":
                return
            handle(session, _decoded(event, limits))


def _decoded(event: dict[str, Any], limits: Limits) -> list[Command | FrameError]:
    if event.get("text") is not None:
        return json.decode(event["text"], limits)
    if event.get("bytes") is not None:
        return bincode.decode(event["bytes"], limits)
    ends: FrameEnds = event["too_large"]
    return [bincode.too_large(ends, limits) if event["binary"] else json_too_large(ends, limits)]


def _close_code(node: Node, error: WillowError) -> int:
    if error.code == Code.PERMISSION_DENIED:
        return ID_IN_USE
    if node.draining:
        return NODE_IS_DRAINING
    return STORAGE_IS_GONE if error.code == Code.UNAVAILABLE else BAD_HANDSHAKE
