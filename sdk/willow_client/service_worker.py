"""A worker of services: it stands in their line, answers requests that it is given, and comes back when lost.

checkconfig -> config -> ready -> readyok, then requests. On every new socket, and whenever the broker says
forcenegotiate, it starts again with checkconfig.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, Self, TypeAlias

from willow_client.answers import Answer, dismissal, failure_of, is_being_cancelled, reply_with
from willow_client.calls import error_of
from willow_client.commands import CheckConfig, NeedBroker, Ping, Ready, WorkError
from willow_client.connection import Connection
from willow_client.errors import WillowError
from willow_client.frames import (
    AnyFrame,
    Assignment,
    ChangeBroker,
    Config,
    DisconnectError,
    Error,
    ForceNegotiate,
    ReadyOk,
    ServerPing,
)
from willow_client.handlers import Runners
from willow_client.outcomes import Outcome
from willow_client.request import Request
from willow_client.service_config import ServiceConfig
from willow_client.signals import until_stopped
from willow_client.timers import Timers

logger = logging.getLogger("willow_client")

Handler: TypeAlias = Callable[[Request], Any]

RETRY_SECONDS = 1.0
BROKER_STOPS = 503
PASSING_ERRORS = ("Unavailable", "Overloaded")


class ServiceWorker:
    """Has a connection of its own, because the broker may send it to another node."""

    def __init__(
        self,
        services: tuple[str, ...],
        handler: Handler,
        *,
        slots: int,
        identity: str,
        drain_timeout: float,
        on_config: Callable[[dict[str, Any]], None] | None,
    ) -> None:
        self._services = services
        self._slots = slots
        self._identity = identity
        self._drain_timeout = drain_timeout
        self._config = ServiceConfig(on_config)
        self._node = ""  # that this worker is connected to
        self._negotiating = False
        self._in_line = False
        self._stopping = False
        self._moves_to: str | None = None
        self._runners = Runners(handler, f"willow {services[0]}")
        self._at_work: dict[str, asyncio.Task[None]] = {}  # by identifier of the request
        self._replies: dict[str, Answer] = {}  # that the broker may not have got
        self._confirming: deque[list[str]] = deque()  # for each `ready` under way, the replies that went before it
        self._timers = Timers()

    @property
    def config(self) -> dict[str, Any]:
        """As the broker sent it last: services, heartbeat_interval, broker_group, …"""
        return self._config.content

    def use(self, connection: Connection) -> None:
        self._connection = connection
        self._brokers = connection.brokers

    # from the caller

    async def run(self) -> None:
        """Serve until SIGTERM or SIGINT, then drain. Raises `WillowError` if the broker will not have this worker."""
        async with self:
            await until_stopped(self._over)

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
        """What is at work is finished first, within its time, unless an exception ends the worker."""
        self._stopping = True
        if error is None and self._at_work:
            self._say_ready(slots=len(self._at_work), after=[])  # all of them taken: it gets nothing more
            await self._drain()
        await self._end()

    async def _drain(self) -> None:
        await asyncio.wait(self._at_work.values(), timeout=self._drain_timeout)
        if self._at_work:
            logger.warning("%d requests took longer than the worker had left", len(self._at_work))

    async def _end(self) -> None:
        self._stopping = True
        self._timers.stop()
        for identifier, task in self._at_work.items():
            self._say_failed(identifier, "This worker is leaving.", final=False)
            task.cancel()
        self._runners.close()
        await self._connection.close()
        if self._over.done() and not self._over.cancelled():
            self._over.exception()  # whoever awaited it knows
        self._over.cancel()

    # the connection

    def connected(self, node: str) -> None:
        self._node = node
        self._moves_to = None
        if self._brokers.current == self._brokers.preferred:
            self._negotiate()
        else:
            self._connection.say(NeedBroker(identity=self._identity, services=self._services))

    def lost(self) -> None:
        self._in_line = False
        self._confirming.clear()

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
                config_version=self._config.version or None,
            )
        )

    def _adopt(self, frame: Config) -> None:
        self._config.version = frame.config_version
        if frame.config is not None:
            self._config.change(frame.config)
            self._brokers.learn(self._config.broker_urls)
            self._timers.schedule("ping", self._config.heartbeat_interval, self._beat)
        if self._negotiating:
            self._negotiating = False
            self._report(list(self._replies))

    def _report(self, identifiers: Iterable[str]) -> None:
        """Send replies, and stand at the end of the line again, in one frame."""
        sent = list(identifiers)
        for identifier in sent:
            self._connection.say(self._replies[identifier](identifier, self._config.stamp()))
        if not self._stopping:
            self._say_ready(slots=self._slots, after=sent)

    def _say_ready(self, *, slots: int, after: list[str]) -> None:
        self._confirming.append(after)
        interval, stamp = self._config.heartbeat_interval, self._config.stamp()
        self._connection.say(Ready(services=self._services, heartbeat_interval=interval, slots=slots, **stamp))

    def _joined(self) -> None:
        """The broker takes words in their order: what went before this `ready` has arrived."""
        self._in_line = True
        if not self._standing.done():
            self._standing.set_result(None)
        for identifier in self._confirming.popleft() if self._confirming else ():
            self._replies.pop(identifier, None)

    def _ping(self) -> None:
        self._connection.say(Ping(**self._config.stamp()))

    def _beat(self) -> None:
        if self._in_line:
            self._ping()
        self._timers.schedule("ping", self._config.heartbeat_interval, self._beat)

    # requests

    def _take(self, assignment: Assignment) -> None:
        identifier = assignment.work_request_identifier
        if identifier in self._at_work:
            return  # it came again over a new socket
        if identifier in self._replies:
            self._report([identifier])
            return
        request = Request(self._connection, assignment, self._config.of_service(assignment.service))
        if self._stopping:  # it was on its way when this worker said that it takes no more
            self._say_failed(identifier, "This worker is leaving.", final=False)
        else:
            self._at_work[identifier] = asyncio.get_running_loop().create_task(self._answer(request))

    async def _answer(self, request: Request) -> None:
        runner = self._runners.take()
        with request.kept_alive(lambda: self._lost_request(request)):
            try:
                answer = reply_with(await runner.run(request))
            except (Exception, asyncio.CancelledError) as error:
                if is_being_cancelled():
                    runner.close()
                    self._gone(request)
                    raise
                if not isinstance(error, Outcome):
                    logger.exception("A request to %s failed", request.service)
                answer = failure_of(error)
        self._runners.put_back(runner)
        self._replies[request.identifier] = answer
        self._done(request)

    def _lost_request(self, request: Request) -> None:
        """Its time is over, or another worker has it: nobody waits for this one's answer."""
        task = self._at_work.get(request.identifier)
        if task is not None:
            logger.warning("%r was lost while it was worked on", request)
            task.cancel()

    def _gone(self, request: Request) -> None:
        """It is not at work any more, and there is no answer."""
        del self._at_work[request.identifier]
        if self._in_line and not self._stopping:
            self._report([])
        self._move_when_idle()

    def _say_failed(self, identifier: str, error: str, *, final: bool) -> None:
        stamp = self._config.stamp()
        self._connection.say(WorkError(work_request_identifier=identifier, error=error, final=final, **stamp))

    def _done(self, request: Request) -> None:
        del self._at_work[request.identifier]
        if self._in_line:
            self._report([request.identifier])
        self._move_when_idle()

    # what the broker has against this worker

    def _refused(self, error: WillowError) -> None:
        if error.code in PASSING_ERRORS:
            self._timers.schedule("negotiate", RETRY_SECONDS, self._try_again)
        elif error.code == "TooLarge":
            logger.error("The broker did not take a reply: %s", error)
        else:
            self.ended(error)

    def _try_again(self) -> None:
        self.lost()
        self._negotiate()

    def _dismissed(self, frame: DisconnectError) -> None:
        if frame.code == BROKER_STOPS:
            self._brokers.failed()
        else:
            self.ended(dismissal(frame))

    def _change_broker(self, frame: ChangeBroker) -> None:
        self._brokers.prefer(frame.url)
        if frame.node == self._node:
            self._brokers.current = frame.url
            self._negotiate()
        else:
            self._moves_to = frame.url
            self._move_when_idle()

    def _move_when_idle(self) -> None:
        if self._moves_to is not None and not self._at_work and not self._stopping:
            self._in_line = False
            self._replies.clear()  # they have just been sent, and the next broker knows nothing of them
            self._connection.move(self._moves_to)
            self._moves_to = None
