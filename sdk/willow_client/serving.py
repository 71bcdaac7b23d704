"""A worker of services: it stands in their line, answers requests that it is given, and comes back when lost.

checkconfig -> config -> ready -> readyok, then requests. On every new socket, and whenever the broker says
forcenegotiate, it starts again with checkconfig.
"""

import asyncio
import json
import logging
import socket
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, Self, TypeAlias, Unpack

from willow_client.arguments import check_name, check_seconds, check_whole
from willow_client.bodies import check_is_text, to_wire
from willow_client.brokers import Brokers
from willow_client.calls import error_of
from willow_client.commands import CheckConfig, Command, NeedBroker, Ping, Ready, Reply, WorkError
from willow_client.connection import Connection
from willow_client.errors import BadRequest, WillowError, told_to_broker
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
from willow_client.handlers import Awaited, InThread, Runner, is_asynchronous
from willow_client.options import OptionArguments, Options
from willow_client.outcomes import Outcome, Retry
from willow_client.request import Request
from willow_client.signals import until_stopped

logger = logging.getLogger("willow_client")

Handler: TypeAlias = Callable[[Request], Any]

DEFAULT_HEARTBEAT_SECONDS = 5.0  # until the configuration says otherwise
RETRY_SECONDS = 1.0
BROKER_STOPS = 503
BLAMED_FIELDS = {400: "time", 426: "config_version", 501: "type"}  # of other dismissals
PASSING_ERRORS = ("Unavailable", "Overloaded")


def serve(
    url: str | Sequence[str],
    services: str | Sequence[str],
    handler: Handler,
    *,
    slots: int = 1,
    identity: str | None = None,
    drain_timeout: float = 30.0,
    on_config: Callable[[dict[str, Any]], None] | None = None,
    **options: Unpack[OptionArguments],
) -> "ServiceWorker":
    """A worker of these services: `await serve(…).run()`, or `async with serve(…):`.

    `handler` gets each request, up to `slots` at once: it is awaited, or runs in a thread if it is an ordinary
    function. What it returns is the reply. If it raises, the frontend gets the text as `Failed`; if it raises `Retry`,
    the next worker is tried. `on_config` is called with each configuration, the first one included.
    """
    names = (services,) if isinstance(services, str) else tuple(services)
    for name in names:
        check_name("services", name)
    check_whole("slots", slots, 1, 65_535)
    check_seconds("drain_timeout", drain_timeout)
    worker = ServiceWorker(
        names,
        handler,
        slots=slots,
        identity=identity or socket.gethostname(),
        drain_timeout=drain_timeout,
        on_config=on_config,
    )
    worker.use(Connection(Brokers(url), Options(**options), worker))
    return worker


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
        self.config: dict[str, Any] = {}  # as the broker sent it: services, heartbeat_interval, broker_group, …
        self._services = services
        self._handler = handler
        self._slots = slots
        self._identity = identity
        self._drain_timeout = drain_timeout
        self._on_config = on_config
        self._version = ""  # of the configuration
        self._node = ""  # that this worker is connected to
        self._negotiating = False
        self._in_line = False
        self._stopping = False
        self._moves_to: str | None = None
        self._idle: list[Runner[Request]] = []  # that have run before, and may run again
        self._at_work: dict[str, asyncio.Task[None]] = {}  # by identifier of the request
        self._replies: dict[str, Answer] = {}  # that the broker may not have got
        self._confirming: deque[list[str]] = deque()  # for each `ready` under way, the replies that went before it
        self._timers: dict[str, asyncio.TimerHandle] = {}

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
        try:
            async with asyncio.timeout(self._drain_timeout):
                while self._at_work:
                    await asyncio.wait(self._at_work.values())
        except TimeoutError:
            logger.warning("%d requests took longer than the worker had left", len(self._at_work))

    async def _end(self) -> None:
        self._stopping = True
        for timer in self._timers.values():
            timer.cancel()
        for identifier, task in self._at_work.items():
            self._say_failed(identifier, "This worker is leaving.", final=False)
            task.cancel()
        for runner in self._idle:
            runner.close()
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
            self._connection.say(self._replies[identifier](identifier, self._stamp()))
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
        if self._stopping:  # it was on its way when this worker said that it takes no more
            self._say_failed(identifier, "This worker is leaving.", final=False)
        else:
            self._at_work[identifier] = asyncio.get_running_loop().create_task(self._answer(request))

    async def _answer(self, request: Request) -> None:
        runner = self._idle.pop() if self._idle else self._runner()
        with request.kept_alive():
            try:
                answer = _reply(await runner.run(request))
            except (Exception, asyncio.CancelledError) as error:
                if _is_being_cancelled():
                    del self._at_work[request.identifier]
                    raise
                if not isinstance(error, Outcome):
                    logger.exception("A request to %s failed", request.service)
                answer = _failure(error)
        self._idle.append(runner)
        self._replies[request.identifier] = answer
        self._done(request)

    def _runner(self) -> Runner[Request]:
        if is_asynchronous(self._handler):
            return Awaited(self._handler)
        return InThread(self._handler, f"willow {self._services[0]}")

    def _say_failed(self, identifier: str, error: str, *, final: bool) -> None:
        stamp = self._stamp()
        self._connection.say(WorkError(work_request_identifier=identifier, error=error, final=final, **stamp))

    def _done(self, request: Request) -> None:
        del self._at_work[request.identifier]
        if self._in_line:
            self._report([request.identifier])
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
            self._brokers.failed()
        else:
            self.ended(BadRequest("BadRequest", BLAMED_FIELDS.get(frame.code, "worker"), frame.message))

    def _change_broker(self, frame: ChangeBroker) -> None:
        self._brokers.prefer(frame.url)
        if frame.node == self._node:
            self._brokers.current = frame.url
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


def _is_being_cancelled() -> bool:
    """Whether this task itself is, and not only something that a handler awaited."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


Answer: TypeAlias = Callable[[str, dict[str, Any]], Command]  # of an identifier, with the time of sending


def _reply(reply: Any) -> Answer:
    body = to_wire("reply", "" if reply is None else reply)
    if isinstance(body, str):
        check_is_text("reply", body)  # here, where it can still be told
    return lambda identifier, stamp: Reply(work_request_identifier=identifier, body=body, **stamp)


def _failure(error: BaseException) -> Answer:
    text = error.told if isinstance(error, Outcome) else told_to_broker(error)
    final = not isinstance(error, Retry)
    return lambda identifier, stamp: WorkError(work_request_identifier=identifier, error=text, final=final, **stamp)
