"""The way to a broker: one socket at a time, and when it is lost, another one under the same identity."""

import asyncio
import logging
import random
from collections.abc import Iterator
from typing import Protocol
from urllib.parse import urlencode

from willow_client.brokers import Brokers
from willow_client.errors import (
    ConnectionFailed,
    PermissionDenied,
    Timeout,
    Unauthorized,
    Unavailable,
    WillowError,
    without_query,
)
from willow_client.frames import Hello
from willow_client.opening import OPEN_SECONDS, open_websocket
from willow_client.options import Options
from willow_client.websocket import WebSocket

logger = logging.getLogger("willow_client")

FIRST_PAUSE = 0.05  # seconds between two attempts to reconnect, doubled each time
LONGEST_PAUSE = 5.0  # seconds
NOT_LET_IN = 4401  # the close code of a broker that wants another key
NODE_STOPS = 4503  # the close code of one that is stopping
ELSEWHERE = (
    ConnectionFailed,
    Unavailable,
)  # reasons to try another broker: this one is not there, stops, or has no storage


class User(Protocol):
    """Who sends and receives over the link."""

    @property
    def is_open(self) -> bool: ...

    def received(self, text: bytes) -> None: ...

    def flush(self) -> None:
        """The socket takes texts again."""

    def connected(self, node: str, *, is_known: bool, is_first: bool) -> None:
        """The broker said hello; `is_known`: as to the client that was connected before."""

    def disconnected(self) -> None: ...

    def given_up(self, reason: WillowError) -> None:
        """There will be no other socket."""


class Link:
    def __init__(self, brokers: Brokers, options: Options, user: User) -> None:
        self._brokers = brokers
        self._options = options
        self._user = user
        self._id: str | None = None  # the identity that the broker gave us
        self._hello: asyncio.Future[Hello] | None = None
        self._reconnecting: asyncio.Task[None] | None = None
        self._closing: asyncio.Task[None] | None = None
        self._heard_at = 0.0  # of the last socket, on the loop's clock
        self.socket: WebSocket | None = None

    async def open_within(self, seconds: float | None) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self.open()
        except TimeoutError as error:
            if isinstance(error, WillowError):
                raise
            url = without_query(self._brokers.current)
            raise Timeout(f"There was no connection to {url} within {seconds:g} seconds.") from None

    async def open(self) -> None:
        """Connect for the first time, to any of the brokers; raises if that fails."""
        for left in reversed(range(len(self._brokers.choice))):
            try:
                await self._connect()
                return
            except ELSEWHERE:
                self._brokers.failed()
                if not left:
                    raise

    async def close(self, seconds: float) -> None:
        if self._reconnecting is not None:
            self._reconnecting.cancel()
        if self.socket is not None:
            socket, self.socket = self.socket, None
            await socket.close(seconds)

    def move(self, url: str) -> None:
        """Go on at another broker, as a client that holds nothing."""
        self._brokers.current, self._id = url, None
        if self.socket is not None:
            self._closing = asyncio.get_running_loop().create_task(self.socket.close())

    def greet(self, hello: Hello) -> None:
        if self._hello is not None and not self._hello.done():
            self._hello.set_result(hello)

    def refuse(self, error: WillowError) -> bool:
        """The broker said this instead of hello. Returns False if it has said hello."""
        if self._hello is None or self._hello.done():
            return False
        is_about_key = isinstance(error, PermissionDenied) and error.key == "token"
        self._hello.set_exception(Unauthorized(self._brokers.current) if is_about_key else error)
        return True

    @property
    def heard_at(self) -> float:
        """When the broker was last heard of, on the loop's clock."""
        return self._heard_at if self.socket is None else self.socket.heard_at

    async def _connect(self) -> None:
        """Open a socket and wait for the broker's hello on it."""
        url = self._brokers.current
        hello = self._hello = asyncio.get_running_loop().create_future()
        resuming = {"id": self._id, "resend": "true"} if self._id else {}
        try:
            socket = await open_websocket(
                url,
                urlencode({"hold": self._options.hold, **resuming}),
                self._options.headers(),
                received=self._user.received,
                resumed=self._user.flush,
                ping_interval=self._options.ping_interval,
                ssl=self._options.ssl,
            )
            socket.closed.add_done_callback(lambda closed: self._lost(socket, url, hello, closed.result()))
            said = await _greeting(socket, url, hello)
        finally:
            self._hello = None
        before, self._id = self._id, said.id
        self.socket = socket
        self._user.connected(said.node, is_known=before == said.id, is_first=before is None)

    def _lost(self, socket: WebSocket, url: str, hello: asyncio.Future[Hello], close_code: int | None) -> None:
        """`hello`: that of this socket; the next one may be awaited already."""
        if not hello.done():
            hello.set_exception(_why_closed(url, close_code))
        if socket is self.socket and self._user.is_open:
            self.socket = None
            loop = asyncio.get_running_loop()
            self._heard_at = socket.heard_at
            if close_code == NODE_STOPS:
                self._brokers.failed()
            self._user.disconnected()
            self._reconnecting = loop.create_task(self._reconnect())

    async def _reconnect(self) -> None:
        for pause in _pauses():
            await asyncio.sleep(pause)
            try:
                await self._connect()
            except Unauthorized as error:
                self._user.given_up(error)
                return
            except WillowError as error:
                logger.info("Not connected to the broker yet: %s", error)
                if isinstance(error, ELSEWHERE):
                    self._brokers.failed()
            else:
                return


async def _greeting(socket: WebSocket, url: str, hello: asyncio.Future[Hello]) -> Hello:
    try:
        async with asyncio.timeout(OPEN_SECONDS):
            return await hello
    except TimeoutError:
        socket.abort()
        raise ConnectionFailed(url, "The broker at {url} does not say hello.", "Is it a Willow broker?") from None
    except BaseException:
        socket.abort()
        raise


def _why_closed(url: str, close_code: int | None) -> WillowError:
    if close_code == NOT_LET_IN:
        return Unauthorized(url)
    reason = f"The broker at {{url}} closed the connection before its hello (close code {close_code})."
    return ConnectionFailed(url, reason, "It may be stopping; try again.")


def _pauses() -> Iterator[float]:
    """Seconds to wait before each attempt, spread so that not all clients of a broker come back at once."""
    longest = FIRST_PAUSE
    while True:
        yield random.uniform(0, longest)
        longest = min(2 * longest, LONGEST_PAUSE)
