"""Working on the messages of a queue: so many at a time, until told to stop, and then in good order."""

import asyncio
import logging
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias, TypedDict

from msgspec import Struct

from willow_client.arguments import Tags, check_choice, check_seconds, check_whole
from willow_client.commands import Match
from willow_client.errors import BadArgument, Overloaded, TooLarge, Unavailable, WillowError, told_to_broker
from willow_client.handlers import Awaited, Handler, InThread, Runner, is_asynchronous
from willow_client.message import Message
from willow_client.outcomes import GiveBack, GiveUp, Retry
from willow_client.processes import InProcess
from willow_client.spans import consuming
from willow_client.subscription import Subscription

if TYPE_CHECKING:
    from willow_client.client_taking import TakingClient

logger = logging.getLogger("willow_client")

MOST_AT_ONCE = 4096  # jobs
SETTLE_SECONDS = 5.0  # that a worker that stops has to tell the broker how its last jobs ended
RELEASE_SECONDS = 1.0  # that it has after that to give back what handlers could not settle
CANCELLED_SECONDS = 1.0  # that handlers have which are cancelled then
# Seconds before a broker that could not store the end of a job is told again, doubled each time.
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
EventKind: TypeAlias = Literal["started", "finished", "retried", "given_up", "failed", "timed_out", "lost", "released"]


class JobEvent(Struct, frozen=True):
    """What happened to a job. `seconds` is how long its handler took; `error` what it raised."""

    kind: EventKind
    message: Message
    seconds: float = 0.0
    error: BaseException | None = None


class WorkerArguments(TypedDict, total=False):
    tags: Tags
    match: Match | None
    concurrency: int
    prefetch: int | None
    work_timeout: float | None
    time_limit: float | None
    drain_timeout: float
    run_in: Literal["thread", "process"]
    on_event: Callable[[JobEvent], None] | None


class QueueWorker:
    """Has its handler called with each message of a queue, `concurrency` at a time.

    An asynchronous handler is awaited; any other runs in a thread, or with `run_in="process"` in a process. What it
    returns (bytes, a text or None) is the reply to the poster, and the message is finished. If it raises, the attempt
    failed: `Retry(delay=…)` says when the next one comes, `GiveUp` that there is none. `GiveBack` says that it was not
    tried. `prefetch` messages wait here, by default as many as are worked on. A job that takes longer than `time_limit`
    seconds has failed. At the end what is at work has `drain_timeout` seconds; everything else goes back to the queue
    without an attempt spent.
    """

    def __init__(
        self,
        client: "TakingClient",
        queue: str,
        handler: Handler[Message],
        *,
        tags: Tags = (),
        match: Match | None = None,
        concurrency: int = 8,
        prefetch: int | None = None,
        work_timeout: float | None = None,
        time_limit: float | None = None,
        drain_timeout: float = 30.0,
        run_in: Literal["thread", "process"] = "thread",
        on_event: Callable[[JobEvent], None] | None = None,
    ) -> None:
        check_whole("concurrency", concurrency, 1, MOST_AT_ONCE)
        waiting = concurrency if prefetch is None else prefetch
        check_whole("prefetch", waiting, 0, MOST_AT_ONCE)
        check_choice("run_in", run_in, ("thread", "process"))
        if not callable(handler):
            raise BadArgument("handler", f"`handler` must be a function, not {type(handler).__name__}.")
        self.queue = queue
        self._subscription: Subscription = client.subscribe(
            queue, tags=tags, match=match, in_flight=concurrency + waiting, work_timeout=work_timeout
        )
        self._handler = handler
        self._run_in = run_in
        self._concurrency = concurrency
        self._time_limit = check_seconds("time_limit", time_limit, above_zero=True)
        self._drain_timeout = check_seconds("drain_timeout", drain_timeout)
        self._on_event = on_event
        self._slots: list[Slot] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._cancelled: list[asyncio.Task[None]] = []
        self.stopping = False
        self._is_urgent = asyncio.Event()  # to stop

    async def __aenter__(self) -> Self:
        """Returns when the worker is subscribed."""
        await self._subscription.__aenter__()
        for number in range(self._concurrency):
            slot = Slot(self, self._runner(number), self._subscription, self._time_limit)
            self._slots.append(slot)
            self._tasks.append(asyncio.create_task(slot.work(), name=f"{self.queue}-{number}"))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def run(self) -> None:
        """Work until `stop` is called or this is cancelled. Raises if the broker ends the subscription."""
        async with self:
            await self.until_ended()

    async def until_ended(self) -> None:
        """While this is entered: until `stop` is called. Raises if the broker ends the subscription."""
        await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
        ended = [task.exception() for task in self._tasks if task.done() and not task.cancelled()]
        reason = next(filter(None, ended), None)
        if reason is not None and not self.stopping:
            raise reason

    async def stop(self, *, at_once: bool = False) -> None:
        """Take no more; give what is at work its time; give the rest back. May be called again meanwhile."""
        self.request_stop()
        if at_once:
            self._is_urgent.set()  # for all who call this
        await self._subscription.close()
        await self._have_had_their_time()
        for slot in self._slots:
            slot.interrupt("released")
        await self._have_ended(SETTLE_SECONDS)
        for slot in self._slots:
            slot.interrupt("released", even_settling=True)
        await self._have_ended(RELEASE_SECONDS)
        await self._cancel_all()
        for slot in self._slots:
            slot.close()

    async def _have_had_their_time(self) -> None:
        ended = asyncio.ensure_future(self._have_ended(self._drain_timeout))
        urgent = asyncio.ensure_future(self._is_urgent.wait())
        try:
            await asyncio.wait((ended, urgent), return_when=asyncio.FIRST_COMPLETED)
        finally:
            ended.cancel()
            urgent.cancel()

    async def _have_ended(self, seconds: float | None) -> None:
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)

    async def _cancel_all(self) -> None:
        """A handler that does not let itself be cancelled is not waited for."""
        for task in self._tasks:
            task.cancel()
        self._cancelled += self._tasks
        self._tasks = []
        if self._cancelled:
            await asyncio.wait(self._cancelled, timeout=CANCELLED_SECONDS)

    @property
    def given_up(self) -> int:
        """Handlers that went on when this had stopped."""
        return sum(not task.done() for task in self._cancelled)

    def request_stop(self) -> None:
        """Take no more, without waiting; for signal handlers."""
        self.stopping = True
        for slot in self._slots:
            slot.stop_when_idle()

    def hold_at_most(self, messages: int) -> None:
        """Of those that are worked on and those that wait, together; instead of `concurrency` and `prefetch`."""
        self._subscription.set_in_flight(messages)

    def report(self, kind: EventKind, message: Message, began: float = 0.0, error: BaseException | None = None) -> None:
        """Nothing that a hook does may end the worker."""
        if self._on_event is not None:
            seconds = time.monotonic() - began if began else 0.0
            try:
                self._on_event(JobEvent(kind, message, seconds, error))
            except Exception:
                logger.exception("The hook on_event failed")

    def _runner(self, number: int) -> Runner[Message]:
        if is_asynchronous(self._handler):
            return Awaited(self._handler)
        name = f"willow {self.queue} {number}"
        return InProcess(self._handler, name) if self._run_in == "process" else InThread(self._handler, name)


class Slot:
    """One of the places at which work is done: a task that takes one message after the other."""

    def __init__(
        self, worker: QueueWorker, runner: Runner[Message], subscription: Subscription, time_limit: float | None
    ) -> None:
        self._worker = worker
        self._runner = runner
        self._subscription = subscription
        self._time_limit = time_limit
        self._task: asyncio.Task[Any] | None = None
        self._is_busy = False
        self._handled: Message | None = None  # while its handler runs
        self._interrupted: EventKind | None = None  # why the handler is being cancelled

    async def work(self) -> None:
        self._task = asyncio.current_task()
        while not self._worker.stopping:
            message = await self._next()
            if message is None:
                return
            await self._handle(message)

    async def _next(self) -> Message | None:
        try:
            await self._runner.prepare()
            return await self._subscription.__anext__()
        except asyncio.CancelledError:
            if self._worker.stopping:
                return None
            raise

    def stop_when_idle(self) -> None:
        if not self._is_busy and self._task is not None:
            self._task.cancel()

    def interrupt(self, why: EventKind, *, even_settling: bool = False) -> None:
        """Cancel the handler; as with `asyncio.timeout`, the task goes on."""
        if self._handled is None or (self._handled.is_settling and not even_settling):
            return
        if self._interrupted is None and self._task is not None:
            self._interrupted = why
            self._task.cancel()

    def close(self) -> None:
        self._runner.close()

    async def _handle(self, message: Message) -> None:
        self._is_busy = True
        self._interrupted = None
        began = time.monotonic()
        message.begin()
        self._worker.report("started", message)
        kind, error, reply = await self._run(message)
        try:
            kind, error = await self._settle(message, kind, error, reply)
        except asyncio.CancelledError:  # the broker did not answer before the worker had to go
            kind = "lost"
            raise
        finally:
            self._worker.report(kind, message, began, error)
            self._is_busy = False

    async def _run(self, message: Message) -> tuple[EventKind, BaseException | None, Any]:
        """How the handler ended, what it raised, and what it returned."""
        loop = asyncio.get_running_loop()
        limit = loop.call_later(self._time_limit, self.interrupt, "timed_out") if self._time_limit else None
        self._handled = message
        message.tell_when_lost(lambda: self.interrupt("lost"))
        try:
            with consuming(message):
                return "finished", None, await self._runner.run(message)
        except asyncio.CancelledError as cancelled:
            if self._interrupted is None and self._task is not None and self._task.cancelling():
                raise
            return self._interrupted or "failed", cancelled, None  # failed: the handler awaited what was cancelled
        except (Exception, SystemExit) as error:
            return _kind_of(error), error, None
        finally:
            self._handled = None
            if self._interrupted is not None and self._task is not None:
                self._task.uncancel()  # also if the handler took no notice
            if limit is not None:
                limit.cancel()

    async def _settle(
        self, message: Message, kind: EventKind, error: BaseException | None, reply: Any = None
    ) -> tuple[EventKind, BaseException | None]:
        """Tell the broker how it ended, until it has heard. That it will not is no reason to stop working."""
        if kind == "failed" and error is not None:
            logger.error("The work on %r failed", message, exc_info=error)
        pause = FIRST_PAUSE
        while True:
            try:
                await self._tell(message, kind, error, reply)
                return kind, error
            except (BadArgument, TooLarge) as refused:  # what the handler returned cannot be a reply
                return await self._settle(message, "failed", refused)
            except (Unavailable, Overloaded) as refused:
                logger.warning("%r could not be settled as %s yet: %s", message, kind, refused)
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
            except WillowError as refused:
                logger.warning("%r could not be settled as %s: %s", message, kind, refused)
                message.let_go()
                return "lost", refused

    async def _tell(self, message: Message, kind: EventKind, error: BaseException | None, reply: Any) -> None:
        """Without a limit: as long as the claim lasts it is not too late, and then the broker says so."""
        if kind == "lost":
            message.let_go()
        elif kind == "released":
            await message.release(timeout=None)
        elif kind == "finished":
            await message.finish(reply, timeout=None)
        elif kind == "timed_out":
            await message.fail(f"It took longer than {self._time_limit:g} seconds.", timeout=None)
        elif isinstance(error, Retry):
            await message.fail(error.told, delay=error.delay, timeout=None)
        elif isinstance(error, GiveUp):
            await message.give_up(error.told, timeout=None)
        elif error is not None:
            await message.fail(told_to_broker(error), timeout=None)


def _kind_of(error: BaseException) -> EventKind:
    if isinstance(error, Retry):
        return "retried"
    if isinstance(error, GiveBack):
        return "released"
    return "given_up" if isinstance(error, GiveUp) else "failed"
