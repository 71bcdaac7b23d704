"""A client written from the protocol alone: it shares no code with the broker and none with the SDK."""

import asyncio
import itertools
import json
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from ssl import SSLContext
from typing import Any
from urllib.parse import urlencode

from websockets.asyncio.client import ClientConnection
from websockets.asyncio.client import connect as connect_websocket
from websockets.exceptions import ConnectionClosed

from tests.support import bincode
from tests.support.cluster import PATIENCE

Fields = dict[str, Any]
LOOK_SECONDS = 0.02  # between two looks for something that another process does


class Client:
    """One connection. What the broker sends is kept by label until somebody asks for it."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.received: list[str | bytes] = []  # every frame of the WebSocket, as it came
        self._labels = itertools.count(1)
        self._frames: defaultdict[int | None, asyncio.Queue[Fields]] = defaultdict(asyncio.Queue)
        self._reader = asyncio.create_task(self._read())
        self.greeting: Fields = {}  # `hello`, or the error that came in its place
        self.id = ""
        self.node = ""

    async def _read(self) -> None:
        try:
            async for data in self.socket:
                self.received.append(data)
                for frame in _decode(data):
                    self._frames[frame.get("label")].put_nowait(frame)
        except ConnectionClosed:
            pass

    async def greeted(self) -> None:
        """Wait for the first frame, which has no label."""
        self.greeting = await self.next(None)
        self.id, self.node = self.greeting.get("id", ""), self.greeting.get("node", "")

    async def close(self) -> None:
        await self.socket.close()
        await self._reader

    async def closed_by_broker(self) -> int:
        """Wait for the broker to close, and tell the code."""
        async with asyncio.timeout(PATIENCE):
            await self.socket.wait_closed()
        code = self.socket.close_code
        assert code is not None
        return code

    # frames

    async def send(self, *commands: Fields) -> None:
        """In one JSON frame: an object, or an array if there are several."""
        await self.socket.send(json.dumps(commands[0] if len(commands) == 1 else commands))

    async def send_binary(self, *commands: Fields) -> None:
        await self.socket.send(b"".join(map(bincode.encode, commands)))

    async def next(self, label: int | None) -> Fields:
        """The next frame with this label."""
        waiting = asyncio.ensure_future(self._frames[label].get())
        await asyncio.wait({waiting, self._reader}, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
        if waiting.done():
            return waiting.result()
        waiting.cancel()
        end = f"closed: {self.socket.close_code}" if self._reader.done() else "open"
        raise AssertionError(f"no frame came with label {label}; the socket is {end}; others: {self.unread()[:10]}")

    async def expect(self, label: int | None, **fields: Any) -> Fields:
        """The next frame with this label, which must have these fields."""
        frame = await self.next(label)
        assert {name: frame.get(name) for name in fields} == fields, frame
        return frame

    def unread(self, label: int | None = None) -> list[Fields]:
        """What came, of this label or of any, and was not asked for."""
        queues = self._frames.values() if label is None else [self._frames[label]]
        return [frame for queue in queues for frame in queue._queue]

    def label(self) -> int:
        """One that this client has not used yet."""
        return next(self._labels)

    # commands

    async def begin(self, type: str, queue: str, **fields: Any) -> int:
        """Send a command and return its label, without waiting for an answer."""
        label: int = fields.setdefault("label", self.label())
        await self.send({"type": type, "queue": queue, **fields})
        return label

    async def ask_until_available(self, type: str, queue: str, **fields: Any) -> Fields:
        """The first answer to a command that is not `Unavailable`."""
        async with asyncio.timeout(PATIENCE):
            while (answer := await self.next(await self.begin(type, queue, **fields))).get("code") == "Unavailable":
                await asyncio.sleep(LOOK_SECONDS)
        return answer

    async def post(self, queue: str, body: str, **fields: Any) -> Fields:
        """Post, and wait until it is stored. Returns its `sync` notice."""
        label = await self.begin("post", queue, message=body, notify=["sync"], **fields)
        return await self.expect(label, notice="sync")

    async def post_all(self, queue: str, bodies: list[str], **fields: Any) -> list[Fields]:
        """Post in one frame, and wait until everything is stored."""
        commands = [
            {"type": "post", "queue": queue, "message": body, "notify": ["sync"], "label": self.label()} | fields
            for body in bodies
        ]
        await self.send(*commands)
        return [await self.expect(command["label"], notice="sync") for command in commands]

    async def fetch(self, queue: str, **fields: Any) -> Fields:
        """The message that a fetch gets."""
        return await self.expect(await self.begin("fetch", queue, **fields), type="message")

    async def fetch_all(self, queue: str, count: int, **fields: Any) -> list[Fields]:
        label = await self.begin("fetch", queue, count=count, **fields)
        return [await self.expect(label, type="message") for _ in range(count)]

    async def pop(self, queue: str, **fields: Any) -> Fields:
        return await self.expect(await self.begin("pop", queue, **fields), type="message")

    async def finds_nothing(self, queue: str, **fields: Any) -> None:
        """A fetch is answered by `nomessage`."""
        await self.expect(await self.begin("fetch", queue, **fields), type="nomessage")

    async def begin_waiting(self, type: str, queue: str, **fields: Any) -> int:
        """Send a fetch or pop; return its label once the broker has found its queue empty."""
        label = await self.begin(type, queue, **fields)
        await self.finds_nothing(queue, tags=fields.get("tags", []))  # goes the same way, behind it
        return label

    async def finish(self, message: Fields, **fields: Any) -> Fields:
        """Finish, and wait until that is committed."""
        label = await self.begin("finish", **claim(message), response="write", **fields)
        return await self.expect(label, type="notice", notice="write")

    async def fail(self, message: Fields, **fields: Any) -> Fields:
        """Fail, and wait until that is committed."""
        label = await self.begin("fail", **claim(message), response="write", **fields)
        return await self.expect(label, type="notice", notice="write")

    async def create(self, queue: str, **fields: Any) -> Fields:
        return await self.expect(await self.begin("create", queue, **fields), type="queue")

    async def subscribe(self, queue: str, **fields: Any) -> int:
        """Returns the label that its messages will carry."""
        label = await self.begin("subscribe", queue, **fields)
        await self.expect(label, type="subscribed")
        return label

    async def messages(self, label: int | None, count: int) -> list[Fields]:
        """The next ones of a subscription."""
        return [await self.expect(label, type="message") for _ in range(count)]

    async def register(self, name: str, *, persistent: bool = True) -> Fields:
        """Returns the client's record."""
        return await self.expect(await self.begin_registering(name, persistent=persistent), type="registered")

    async def register_when_free(self, name: str, *, persistent: bool = True) -> Fields:
        """Register as soon as an earlier session of the client is over."""
        async with asyncio.timeout(PATIENCE):
            while True:
                answer = await self.next(await self.begin_registering(name, persistent=persistent))
                if answer["type"] == "registered":
                    return answer
                assert answer["code"] == "PermissionDenied", answer
                await asyncio.sleep(LOOK_SECONDS)

    async def begin_registering(self, name: str, *, persistent: bool = True) -> int:
        label = self.label()
        await self.send({"type": "register", "name": name, "persistent": persistent, "label": label})
        return label

    async def heard_everything(self) -> None:
        """Wait until the broker has answered all that was sent before."""
        await self.send({"type": "no such command"})
        await self.expect(None, code="BadRequest", key="type")


def claim(message: Fields) -> Fields:
    """How a message is named in `finish`, `fail` and `keepalive`."""
    return {name: message[name] for name in ("queue", "shard", "sequence", "index")}


def _decode(data: str | bytes) -> list[Fields]:
    if isinstance(data, bytes):
        return bincode.decode(data)
    decoded = json.loads(data)
    return decoded if isinstance(decoded, list) else [decoded]


@asynccontextmanager
async def connected(
    url: str,
    headers: dict[str, str] | None = None,
    *,
    greets: bool = True,
    ssl: SSLContext | None = None,
    **arguments: str | float,
) -> AsyncIterator[Client]:
    """`arguments` go into the query string. `greets`: the broker says hello, or why it does not."""
    query = f"?{urlencode(arguments)}" if arguments else ""
    async with connect_websocket(
        url + query, additional_headers=headers, max_size=None, compression=None, ping_interval=None, ssl=ssl
    ) as socket:
        client = Client(socket)
        if greets:
            await client.greeted()
        yield client
        await client.close()
