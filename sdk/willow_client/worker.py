"""A worker: it stands in the line of its services, answers the requests that it is given, and comes back when lost.

checkconfig -> config -> ready -> readyok, then requests. On every new socket, and whenever the broker says
forcenegotiate, it starts again with checkconfig.
"""

import asyncio
import json
import logging
import socket
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Self, TypeAlias

from willow_client.brokers import Brokers
from willow_client.calls import error_of
from willow_client.connection import Connection
from willow_client.errors import WillowError
from willow_client.frames import (
    AnyFrame,
    Assignment,
    ChangeBroker,
    CheckConfig,
    Config,
    DisconnectError,
    Error,
    ForceNegotiate,
    JsonBody,
    NeedBroker,
    Ping,
    Ready,
    ReadyOk,
    Reply,
    ServerPing,
    to_json_body,
)
from willow_client.request import Request

logger = logging.getLogger("willow_client")

Handler: TypeAlias = Callable[[Request], Awaitable[bytes | str | None]]

DEFAULT_HEARTBEAT_SECONDS = 5.0  # until the configuration says otherwise
RETRY_SECONDS = 1.0
BROKER_STOPS = 503
BLAMED_FIELDS = {400: "time", 426: "config_version", 501: "type"}  # of other dismissals
PASSING_ERRORS = ("Unavailable", "Overloaded")


def serve(
    url: str,
    services: str | Sequence[str],
    handler: Handler,
    *,
    slots: int = 1,
    identity: str | None = None,
    token: str | None = None,
    hold: float | None = None,
    on_config: Callable[[dict[str, Any]], None] | None = None,
) -> "Worker":
    """A worker of these services: `await serve(…).run()`, or `async with serve(…):`.

    `handler` is awaited with each request, up to `slots` at once; what it returns is the reply. If it raises, the
    request goes to the next worker. `on_config` is called with each configuration, the first one included.
    """
    names = (services,) if isinstance(services, str) else tuple(services)
    worker = Worker(names, handler, slots=slots, identity=identity or socket.gethostname(), on_config=on_config)
    worker.use(Connection(url, token=token, hold=hold, batch=True, listener=worker))
    return worker


class Worker:
    """Has a connection of its own, because the broker may send it to another node."""

    def __init__(
        self,
        services: tuple[str, ...],
        handler: Handler,
        *,
        slots: int,
        identity: str,
        on_config: Callable[[dict[str, Any]], None] | None,
    ) -> None:
        self.config: dict[str, Any] = {}  # as the broker sent it: services, heartbeat_interval, broker_group, …
        self._services = services
        self._handler = handler
        self._slots = slots
        self._identity = identity
        self._on_config = on_config
        self._version = ""  # of the configuration
        self._node = ""  # that this worker is connected to
        self._negotiating = False
        self._in_line = False
        self._stopping = False
        self._moves_to: str | None = None
        self._at_work: dict[str, asyncio.Task[None]] = {}  # by identifier of the request
        self._replies: dict[str, JsonBody] = {}  # that the broker may not have got
        self._confirming: deque[list[str]] = deque()  # for each `ready` under way, the replies that went before it
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def use(self, connection: Connection) -> None:
        self._connection = connection
        self._brokers = Brokers(connection.url)

    # from the caller

    async def run(self) -> None:
        """Serve until this is cancelled. Raises `WillowError` if the broker will not have this worker."""
        async with self:
            await asyncio.shield(self._over)

    async def __aenter__(self) -> Self:
        """Returns when the worker stands in the line."""
        loop = asyncio.get_running_loop()
        self._over: asyncio.Future[None] = loop.create_future()
        self._standing: asyncio.Future[None] = loop.create_future()
        try:
            await self._connection.open()
            await asyncio.wait((self._standing, self._over), return_when=asyncio.FIRST_COMPLETED)
            if self._over.done():
                self._over.result()
        except BaseException:
            await self._end()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """What is at work is finished first, unless an exception ends the worker."""
        self._stopping = True
        if error is None and self._at_work:
            self._say_ready(slots=len(self._at_work), after=[])  # all of them taken: it gets nothing more
        while error is None and self._at_work:
            await asyncio.wait(self._at_work.values())
        await self._end()

    async def _end(self) -> None:
        self._stopping = True
        for timer in self._timers.values():
            timer.cancel()
        for task in self._at_work.values():
            task.cancel()
        await self._connection.close()
        if self._over.done() and not self._over.cancelled():
            self._over.exception()  # whoever awaited it knows
        self._over.cancel()

    # the connection

    def connected(self, node: str) -> None:
        self._node = node
        self._moves_to = None
        if self._connection.url == self._brokers.preferred:
            self._negotiate()
        else:
            self._connection.say(NeedBroker(identity=self._identity, services=self._services))

    def lost(self) -> None:
        self._in_line = False
        self._confirming.clear()

    def next_url(self) -> str:
        return self._brokers.next_after_failure()

    def ended(self, reason: WillowError) -> None:
        if not self._over.done():
            logger.error("This worker has ended: %s", reason)
            self._over.set_exception(reason)
            self._closing = asyncio.get_running_loop().create_task(self._connection.close())

    def unasked(self, frame: AnyFrame) -> None:
        match frame:
            case Assignment():
                self._take(frame)
            case ReadyOk():
                self._joined()
            case ServerPing():
                self._ping()
            case Config():
                self._adopt(frame)
            case ForceNegotiate():
                self.lost()
                self._negotiate()
            case ChangeBroker():
                self._change_broker(frame)
            case DisconnectError():
                self._dismissed(frame)
            case Error():
                self._refused(error_of(frame))

    # the handshake

    def _negotiate(self) -> None:
        self._negotiating = True
        self._connection.say(
            CheckConfig(
                identity=self._identity,
                services=self._services,
                config_type="JSON",
                config_version=self._version or None,
            )
        )

    def _adopt(self, frame: Config) -> None:
        self._version = frame.config_version
        if frame.config is not None:
            self.config = json.loads(frame.config)
            self._brokers.learn(node["url"] for node in self.config["broker_group"])
            self._schedule("ping", self._heartbeat_interval, self._beat)
            self._tell_config()
        if self._negotiating:
            self._negotiating = False
            self._report(list(self._replies))

    def _tell_config(self) -> None:
        """What the caller does with it must not end the connection, nor the worker."""
        if self._on_config is not None:
            try:
                self._on_config(self.config)
            except Exception:
                logger.exception("A change of the configuration was not taken")

    def _report(self, identifiers: Iterable[str]) -> None:
        """Send replies, and stand at the end of the line again, in one frame."""
        sent = list(identifiers)
        for identifier in sent:
            reply = Reply(work_request_identifier=identifier, body=self._replies[identifier], **self._stamp())
            self._connection.say(reply)
        if not self._stopping:
            self._say_ready(slots=self._slots, after=sent)

    def _say_ready(self, *, slots: int, after: list[str]) -> None:
        self._confirming.append(after)
        self._connection.say(
            Ready(
                services=self._services,
                heartbeat_interval=self._heartbeat_interval,
                slots=slots,
                **self._stamp(),
            )
        )

    def _joined(self) -> None:
        """The broker takes words in their order: what went before this `ready` has arrived."""
        self._in_line = True
        if not self._standing.done():
            self._standing.set_result(None)
        for identifier in self._confirming.popleft() if self._confirming else ():
            self._replies.pop(identifier, None)

    @property
    def _heartbeat_interval(self) -> float:
        return float(self.config.get("heartbeat_interval", DEFAULT_HEARTBEAT_SECONDS))

    def _stamp(self) -> dict[str, Any]:
        return {"time": time.time(), "config_version": self._version}

    def _ping(self) -> None:
        self._connection.say(Ping(**self._stamp()))

    def _beat(self) -> None:
        if self._in_line:
            self._ping()
        self._schedule("ping", self._heartbeat_interval, self._beat)

    def _schedule(self, name: str, seconds: float, action: Callable[[], None]) -> None:
        """Instead of what was scheduled under that name."""
        if name in self._timers:
            self._timers[name].cancel()
        if not self._stopping:
            self._timers[name] = asyncio.get_running_loop().call_later(seconds, action)

    # requests

    def _take(self, assignment: Assignment) -> None:
        identifier = assignment.work_request_identifier
        if identifier in self._at_work:
            return  # it came again over a new socket
        if identifier in self._replies:
            self._report([identifier])
            return
        config = self.config.get("services", {}).get(assignment.service, {})
        request = Request(self._connection, assignment, config)
        work = self._pass_on(request) if self._stopping else self._answer(request)
        self._at_work[identifier] = asyncio.get_running_loop().create_task(work)

    async def _pass_on(self, request: Request) -> None:
        """It was on its way when this worker said that it takes no more."""
        try:
            await _give_up(request, WillowError("Unavailable", "worker", "This worker is leaving."))
        finally:
            del self._at_work[request.identifier]

    async def _answer(self, request: Request) -> None:
        try:
            reply = _body(await self._handler(request))
        except (Exception, asyncio.CancelledError) as error:
            if _is_being_cancelled():
                del self._at_work[request.identifier]
                raise
            logger.exception("A request to %s failed", request.service)
            await _give_up(request, error)
            self._done(request, [])
        else:
            self._replies[request.identifier] = reply
            self._done(request, [request.identifier])

    def _done(self, request: Request, replies: list[str]) -> None:
        del self._at_work[request.identifier]
        if self._in_line:
            self._report(replies)
        self._move_when_idle()

    # what the broker has against this worker

    def _refused(self, error: WillowError) -> None:
        if error.code in PASSING_ERRORS:
            self._schedule("negotiate", RETRY_SECONDS, self._try_again)
        elif error.code == "TooLarge":
            logger.error("The broker did not take a reply: %s", error)
        else:
            self.ended(error)

    def _try_again(self) -> None:
        self.lost()
        self._negotiate()

    def _dismissed(self, frame: DisconnectError) -> None:
        if frame.code == BROKER_STOPS:
            self._connection.url = self._brokers.next_after_failure()
        else:
            self.ended(WillowError("BadRequest", BLAMED_FIELDS.get(frame.code, "worker"), frame.message))

    def _change_broker(self, frame: ChangeBroker) -> None:
        self._brokers.prefer(frame.url)
        if frame.node == self._node:
            self._connection.url = frame.url
            self._negotiate()
        else:
            self._moves_to = frame.url
            self._move_when_idle()

    def _move_when_idle(self) -> None:
        if self._moves_to is not None and not self._at_work:
            self._in_line = False
            self._replies.clear()  # they have just been sent, and the next broker knows nothing of them
            self._connection.move(self._moves_to)
            self._moves_to = None


async def _give_up(request: Request, error: BaseException) -> None:
    with suppress(WillowError):  # it went to another worker meanwhile, or will when the connection is gone
        await request.give_up(error)


def _is_being_cancelled() -> bool:
    """Whether this task itself is, and not only something that a handler awaited."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _body(reply: object) -> JsonBody:
    if reply is None:
        return ""
    if isinstance(reply, str):
        reply.encode()  # half a surrogate pair is refused here, where the request can still be given up
    if isinstance(reply, bytes | str):
        return to_json_body(reply)
    raise TypeError(f"A reply is bytes, a text or None, not {type(reply).__name__}.")
