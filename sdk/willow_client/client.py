"""The client: one method for each thing that can be asked of a broker."""

import asyncio
import random
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Any, Literal, Self, Unpack, overload

from willow_client.arguments import (
    LARGEST_PRIORITY,
    Tags,
    as_tags,
    check_choice,
    check_name,
    check_seconds,
    check_short_text,
    check_whole,
)
from willow_client.bodies import Body, from_wire, to_wire
from willow_client.brokers import Brokers
from willow_client.calls import StandingCall
from willow_client.closing import close_in_good_order
from willow_client.commands import (
    MATCHES,
    PERSISTENCES,
    STAGES,
    Cancel,
    Create,
    Fetch,
    Match,
    Persistence,
    Pop,
    Post,
    Register,
    Stage,
    Subscribe,
    WorkRequest,
)
from willow_client.connection import Connection
from willow_client.errors import BadArgument, NoObject, Timeout, WillowError, without_query
from willow_client.frames import Queue, Registration
from willow_client.limits import Limit, NotGiven, limit
from willow_client.message import Message
from willow_client.options import OptionArguments, Options
from willow_client.posting import Draft, Drafts, Posted, Progress, Window, WindowCall, each
from willow_client.queue_settings import QueueSettings, check_settings
from willow_client.receipt import FollowedPost, PostCall, Receipt
from willow_client.several import finish_all, post_to_several
from willow_client.subscription import Subscription
from willow_client.taking import TakingCall
from willow_client.worker import QueueWorker, WorkerArguments
from willow_client.working import Working

MOST_AT_ONCE = 10_000  # messages of one fetch or pop
MOST_IN_FLIGHT = 65_535
ENDS: tuple[Stage, ...] = ("finish", "drop")
GRACE_SECONDS = 5.0  # that the broker has, after a request's time is over, to say so


def connect(url: str | Sequence[str], **options: Unpack[OptionArguments]) -> "Client":
    """A client of the broker at this URL, or at any of several: for `async with`, or for `await client.open()`.

    It reconnects by itself. The options are those of `Options`.
    """
    return Client(url, Options(**options))


class Client:
    def __init__(self, url: str | Sequence[str], options: Options | None = None) -> None:
        self.options = options or Options()
        self._connection = Connection(Brokers(url), self.options)
        self._dedupe = f"{random.getrandbits(64):016x}-"  # begins the texts by which repeated posts are known
        self._posts = 0

    def __repr__(self) -> str:
        connection = self._connection
        state = "connected" if connection.is_connected else "reconnecting" if connection.is_open else "closed"
        return f"<Client of {without_query(connection.brokers.current)}, {state}>"

    @property
    def is_open(self) -> bool:
        """Opened and not closed; it may be reconnecting."""
        return self._connection.is_open

    async def open(self) -> Self:
        """Connect. `close` ends it; `async with` does both."""
        await self._connection.open()
        return self

    async def close(self) -> None:
        """Give back what was not begun, and disconnect."""
        await close_in_good_order(self._connection)

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    # posting

    @overload
    async def post(
        self, queue: str, body: Body, *, wait: Literal["finish"], tags: Tags = ..., priority: int = ...,
        notify: Iterable[Stage] = ..., key: str | None = ..., delay: float | None = ..., ttl: float | None = ...,
        dedupe: str | None = ..., timeout: Limit = ...,
    ) -> bytes | None: ...  # fmt: skip

    @overload
    async def post(
        self, queue: str, body: Body, *, wait: None, tags: Tags = ..., priority: int = ...,
        notify: Iterable[Stage] = ..., key: str | None = ..., delay: float | None = ..., ttl: float | None = ...,
        dedupe: str | None = ..., timeout: Limit = ...,
    ) -> None: ...  # fmt: skip

    @overload
    async def post(
        self, queue: str, body: Body, *, wait: Persistence | Literal["assign"] = ..., tags: Tags = ...,
        priority: int = ..., notify: Iterable[Stage] = ..., key: str | None = ..., delay: float | None = ...,
        ttl: float | None = ..., dedupe: str | None = ..., timeout: Limit = ...,
    ) -> Receipt: ...  # fmt: skip

    async def post(
        self,
        queue: str,
        body: Body,
        *,
        tags: Tags = (),
        priority: int = 0,
        wait: Persistence | Literal["assign", "finish"] | None = "sync",
        notify: Iterable[Stage] = (),
        key: str | None = None,
        delay: float | None = None,
        ttl: float | None = None,
        dedupe: str | None = None,
        timeout: Limit = NotGiven,
    ) -> Receipt | bytes | None:
        """Post a message and wait until it is as safe as asked for: on disk, unless told otherwise.

        Returns the receipt, through which the stages of `notify` can be awaited. `wait="finish"` returns the reply of
        whoever finished the message. `wait=None` waits for nothing, and nobody hears if it gets lost on the way.
        """
        if wait is not None and wait != "sync":
            check_choice("wait", wait, STAGES)
        stages = () if wait is None else (wait, *notify) if notify else (wait,)
        followed = bool(notify) or wait in ("assign", "finish")
        if followed:
            stages = self._followed_stages(stages)
        command = self._post(
            queue, Draft(body=body, priority=priority, key=key, delay=delay, ttl=ttl, dedupe=dedupe), tags
        )
        command.notify = stages
        connection = self._connection
        if wait is None:
            await connection.tell(command)
            return None
        command.label = connection.new_label()
        repeatable = command.dedupe is not None
        now = connection.loop.time() if connection.is_open else 0.0
        if followed:
            call: PostCall = FollowedPost(command, wait, frozenset(stages), queue=queue, repeatable=repeatable, now=now)
        else:
            call = PostCall(command, wait, queue=queue, repeatable=repeatable, now=now)
        unlimited = wait == "finish" and timeout is NotGiven
        connection.start(call, None if unlimited else limit(connection, timeout))
        return await call.answer

    def _followed_stages(self, stages: tuple[Stage, ...]) -> tuple[Stage, ...]:
        """The end is asked for, too: otherwise nobody could tell when to stop waiting."""
        for stage in stages:
            check_choice("notify", stage, STAGES)
        return tuple(dict.fromkeys((*stages, *ENDS)))

    def _post(self, queue: str, draft: Draft, tags: Tags) -> Post:
        check_name("queue", queue)
        if draft.priority:
            check_whole("priority", draft.priority, 0, LARGEST_PRIORITY)
        dedupe = draft.dedupe
        if dedupe is None and draft.key is None and self.options.repeat_posts:
            self._posts += 1
            dedupe = f"{self._dedupe}{self._posts}"
        elif dedupe is not None:
            check_short_text("dedupe", dedupe)
        check_short_text("key", draft.key)
        return Post(
            queue=queue,
            message=to_wire("message", draft.body, self.options.max_body_bytes),
            tags=as_tags(tags),
            priority=draft.priority,
            key=draft.key,
            delay=check_seconds("delay", draft.delay),
            ttl=check_seconds("ttl", draft.ttl),
            dedupe=dedupe,
        )

    async def post_many(
        self,
        queue: str,
        messages: Drafts,
        *,
        tags: Tags = (),
        window: int = 1000,
        wait: Persistence = "sync",
        on_progress: Progress | None = None,
        timeout: Limit = NotGiven,
    ) -> Posted:
        """Post everything that an iterable, or an asynchronous one, brings: bodies, or `Draft`s that say more.

        At most `window` messages (and 16 MiB) are under way. One that is refused is in `errors` of the result, and does
        not stop the others. `on_progress` is called with the result so far after each 1,000 messages and at the end.
        """
        check_choice("wait", wait, PERSISTENCES)
        check_whole("window", window, 1, MOST_AT_ONCE)
        seconds = limit(self._connection, timeout)
        under_way = Window(window, on_progress)
        place = 0
        async for draft in each(messages):
            await under_way.room()
            try:
                command = self._post(queue, draft, tags)
                command.notify = (wait,)
                command.label = self._connection.new_label()
                call = WindowCall(command, under_way, place, repeatable=command.dedupe is not None)
            except WillowError as error:
                under_way.record(place, error)
            else:
                self._connection.start(call, seconds)
            place += 1
        return await under_way.all_answered()

    async def post_to_all(
        self,
        queues: Sequence[str],
        body: Body,
        *,
        tags: Tags = (),
        priority: int = 0,
        delay: float | None = None,
        ttl: float | None = None,
        dedupe: str | None = None,
        timeout: Limit = NotGiven,
    ) -> dict[str, Receipt]:
        """Post a message to all of these queues or, if one refuses it, to none. It is on disk at the end."""
        names = tuple(dict.fromkeys(queues))
        if isinstance(queues, str) or not names:
            raise BadArgument("queues", f"`queues` must be a list of names, not {queues!r}.")
        command = self._post(names[0], Draft(body=body, priority=priority, delay=delay, ttl=ttl, dedupe=dedupe), tags)
        return await post_to_several(self._connection, command, names, limit(self._connection, timeout))

    async def cancel(self, receipt: Receipt, *, timeout: Limit = NotGiven) -> bool:
        """Take back a message that this client posted and that still waits. Returns False if it was too late."""
        command = Cancel(queue=receipt.queue, shard=receipt.shard, index=receipt.index)
        try:
            await self._connection.ask(command, repeatable=True, timeout=limit(self._connection, timeout))
        except NoObject:
            return False
        return True

    # taking

    async def fetch(
        self,
        queue: str,
        *,
        tags: Tags = (),
        match: Match | None = None,
        block_timeout: float = 0.0,
        work_timeout: float | None = None,
        sync: Persistence = "write",
        timeout: Limit = NotGiven,
    ) -> Message | None:
        """Claim the next message: waits up to `block_timeout` seconds for one, and returns None if none came.

        It is this client's until it is finished, failed or released: the client keeps it alive. `work_timeout` is how
        long it stays so when nothing is heard of the client; by default as long as the queue says.
        """
        command = _fetch(queue, tags, match, block_timeout, work_timeout, sync)
        messages = await self._take(command, block_timeout, timeout)
        return messages[0] if messages else None

    async def fetch_many(
        self,
        queue: str,
        count: int,
        *,
        tags: Tags = (),
        match: Match | None = None,
        block_timeout: float = 0.0,
        work_timeout: float | None = None,
        sync: Persistence = "write",
        timeout: Limit = NotGiven,
    ) -> list[Message]:
        """Claim up to `count` messages at once: as many as there are, as soon as there are any."""
        check_whole("count", count, 1, MOST_AT_ONCE)
        command = _fetch(queue, tags, match, block_timeout, work_timeout, sync)
        command.count = count
        return await self._take(command, block_timeout, timeout)

    async def pop(
        self,
        queue: str,
        *,
        tags: Tags = (),
        match: Match | None = None,
        block_timeout: float = 0.0,
        timeout: Limit = NotGiven,
    ) -> Message | None:
        """Take the next message for good, without a claim; None if none came in `block_timeout` seconds."""
        messages = await self._take(_pop(queue, tags, match, block_timeout), block_timeout, timeout)
        return messages[0] if messages else None

    async def pop_many(
        self,
        queue: str,
        count: int,
        *,
        tags: Tags = (),
        match: Match | None = None,
        block_timeout: float = 0.0,
        timeout: Limit = NotGiven,
    ) -> list[Message]:
        """Take up to `count` messages for good."""
        check_whole("count", count, 1, MOST_AT_ONCE)
        command = _pop(queue, tags, match, block_timeout)
        command.count = count
        return await self._take(command, block_timeout, timeout)

    async def _take(self, command: Fetch | Pop, block_timeout: float, timeout: Limit) -> list[Message]:
        command.label = self._connection.new_label()
        call = TakingCall(self._connection, command)
        self._connection.start(call, limit(self._connection, timeout, beyond=block_timeout))
        messages: list[Message] = await call.answer
        return messages

    async def finish_many(self, messages: Iterable[Message], *, timeout: Limit = NotGiven) -> None:
        """Finish them together. The first refusal is raised when all have been answered."""
        await finish_all(self._connection, messages, limit(self._connection, timeout))

    def working(self, message: Message) -> Working:
        """`async with`: finishes the message on success, fails it on an exception."""
        return Working(message)

    def subscribe(
        self,
        queue: str,
        *,
        tags: Tags = (),
        match: Match | None = None,
        in_flight: int = 16,
        work_timeout: float | None = None,
        start: Literal["new", "oldest"] | int | None = None,
    ) -> Subscription:
        """Messages as they come, for `async for`; never more than `in_flight` that are not finished.

        `start` says where a first subscription to a stream begins: "new", "oldest" or an index.
        """
        check_whole("in_flight", in_flight, 1, MOST_IN_FLIGHT)
        if isinstance(start, str):
            check_choice("start", start, ("new", "oldest"))
        command = Subscribe(
            queue=check_name("queue", queue),
            tags=as_tags(tags),
            match=_match(match),
            in_flight=in_flight,
            work_timeout=check_seconds("work_timeout", work_timeout, above_zero=True),
            from_=start,
        )
        return Subscription(self._connection, command)

    def worker(self, queue: str, handler: Any, **how: Unpack[WorkerArguments]) -> QueueWorker:
        """`async with`: works on the messages of a queue in the background until its end, and then drains.

        See `QueueWorker` for the arguments, and `run_worker` for a program that does nothing else.
        """
        return QueueWorker(self, queue, handler, **how)

    # queues, names, services

    async def create(
        self, queue: str, *, tags: Tags = (), timeout: Limit = NotGiven, **settings: Unpack[QueueSettings]
    ) -> Queue:
        """Define a queue; one that exists stays as it is."""
        check_settings(settings)
        command = Create(queue=check_name("queue", queue), tags=as_tags(tags), **settings)
        created: Queue = await self._connection.ask(command, repeatable=True, timeout=limit(self._connection, timeout))
        return created

    async def register(self, name: str, *, persistent: bool, timeout: Limit = NotGiven) -> Registration:
        """Be the client of this name, now and after every reconnect."""
        command = Register(name=check_name("name", name), persistent=persistent, label=self._connection.new_label())
        call = StandingCall(command)
        self._connection.start(call)
        try:
            async with asyncio.timeout(limit(self._connection, timeout)):
                registration: Registration = await call.answer
        except TimeoutError as error:
            if isinstance(error, WillowError):
                raise
            raise Timeout(f"The broker did not register {name!r} in time.") from None
        return registration

    async def request(self, service: str, body: Body, *, timeout: Limit = NotGiven) -> bytes:
        """Ask a service and wait for its reply.

        `timeout` bounds all of it: afterwards no worker is given the request any more. `Failed` has the text of what
        the worker raised.
        """
        seconds = limit(self._connection, timeout)
        command = WorkRequest(
            service=check_name("service", service),
            body=to_wire("body", body, self.options.max_body_bytes),
            timeout=seconds,
        )
        bound = None if seconds is None else seconds + GRACE_SECONDS
        reply = await self._connection.ask(command, repeatable=False, timeout=bound)
        return from_wire(reply.body)


def _fetch(
    queue: str,
    tags: Tags,
    match: Match | None,
    block_timeout: float,
    work_timeout: float | None,
    sync: Persistence,
) -> Fetch:
    check_choice("sync", sync, PERSISTENCES)
    check_seconds("block_timeout", block_timeout)
    return Fetch(
        queue=check_name("queue", queue),
        tags=as_tags(tags),
        match=_match(match),
        block_timeout=block_timeout,
        work_timeout=check_seconds("work_timeout", work_timeout, above_zero=True),
        sync=sync,
    )


def _pop(queue: str, tags: Tags, match: Match | None, block_timeout: float) -> Pop:
    check_seconds("block_timeout", block_timeout)
    return Pop(queue=check_name("queue", queue), tags=as_tags(tags), match=_match(match), timeout=block_timeout)


def _match(match: Match | None) -> Match | None:
    if match is not None:
        check_choice("match", match, MATCHES)
    return match
