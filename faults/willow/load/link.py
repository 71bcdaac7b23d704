"""One connection of a client to a broker, which notes all that is said in either direction."""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from websockets.asyncio.client import ClientConnection
from websockets.asyncio.client import connect as connect_websocket
from websockets.exceptions import ConnectionClosed

from faults.history import Kind, Recorder

Fields = dict[str, Any]
OnFrame = Callable[[Fields], None]

GREETING_SECONDS = 5.0
PING_SECONDS = 3.0  # a client that hears nothing for so long asks, and gives its connection up


class Link:
    """`on_frame`, by label, is given the answers to a command."""

    def __init__(self, client: str, number: int, socket: ClientConnection, recorder: Recorder) -> None:
        self.client = client
        self.number = number
        self.session = ""
        self.closed = asyncio.Event()
        self.on_frame: dict[int | None, OnFrame] = {}
        self.on_frames: Callable[[list[Fields]], None] | None = None  # is given all instead
        self.pause_seconds = 0.0  # after each frame that is read
        self._socket = socket
        self._recorder = recorder

    def note(self, kind: Kind, **details: Any) -> None:
        self._recorder.note(self.client, kind, connection=self.number, **details)

    def note_many(self, kind: Kind, each: Mapping[str, Sequence[Any]], **details: Any) -> None:
        self._recorder.note_many(self.client, kind, each, connection=self.number, **details)

    async def greeted(self, wanted: str) -> bool:
        """Whether the broker took the connection."""
        async with asyncio.timeout(GREETING_SECONDS):
            greeting = json.loads(await self._socket.recv())
        if greeting["type"] != "hello":
            return False
        self.session = greeting["id"]
        self.note(Kind.CONNECTED, session=self.session, resumed=self.session == wanted)
        return True

    async def read(self) -> None:
        """Until the connection is over."""
        try:
            async for data in self._socket:
                frames = json.loads(data)
                self._heard(frames if isinstance(frames, list) else [frames])
                if self.pause_seconds:
                    await asyncio.sleep(self.pause_seconds)
        except ConnectionClosed:
            pass
        finally:
            self.closed.set()
            self.note(Kind.LOST)

    def _heard(self, frames: list[Fields]) -> None:
        if self.on_frames is not None:
            self.on_frames(frames)
            return
        for frame in frames:
            handle = self.on_frame.get(frame.get("label"))
            if handle is not None:
                handle(frame)

    async def send(self, command: Fields, on_frame: OnFrame | None = None) -> None:
        """Nothing happens on a connection that is over: whoever waits for an answer waits for `closed` too."""
        if on_frame is not None:
            self.on_frame[command["label"]] = on_frame
        await self._send(command)

    async def send_all(self, commands: list[Fields]) -> None:
        """In one frame."""
        if commands:
            await self._send(commands)

    async def _send(self, said: Fields | list[Fields]) -> None:
        try:
            await self._socket.send(json.dumps(said))
        except ConnectionClosed:
            return

    def give_up(self) -> None:
        """As if the connection were lost."""
        self.closed.set()

    def forget(self, label: int) -> None:
        self.on_frame.pop(label, None)

    async def close(self) -> None:
        await self._socket.close()


async def open_link(
    url: str, client: str, number: int, recorder: Recorder, session: str = "", options: str = ""
) -> Link | None:
    """None if the broker cannot be reached or does not want this client now."""
    query = f"?{options}&id={session}" if session else f"?{options}"
    try:
        socket = await connect_websocket(
            url + query,
            max_size=None,
            compression=None,
            open_timeout=GREETING_SECONDS,
            ping_interval=PING_SECONDS,
            ping_timeout=PING_SECONDS,
            close_timeout=1,
        )
    except (OSError, TimeoutError, EOFError, Exception):  # whatever a broker in trouble does to a handshake
        return None
    link = Link(client, number, socket, recorder)
    try:
        if await link.greeted(session):
            return link
    except (TimeoutError, ConnectionClosed):
        pass
    await socket.close()
    return None
