"""The client: one method for each thing that can be asked of a broker."""

from collections.abc import Sequence
from types import TracebackType
from typing import Any, Literal, Self

from willow_client.calls import DeliveriesCall, SeveralCall, StandingCall
from willow_client.connection import Connection
from willow_client.frames import (
    Command,
    Create,
    Delivery,
    Fetch,
    Match,
    Notice,
    Persistence,
    Pop,
    Post,
    Queue,
    Register,
    Registration,
    Subscribe,
    WorkRequest,
    from_json_body,
    to_json_body,
)
from willow_client.message import Message, Receipt
from willow_client.subscription import Subscription
from willow_client.working import Working

MOST_AT_ONCE = 512  # messages that the broker sends together: of more, nobody could tell when the last has come


def connect(url: str, *, token: str | None = None, hold: float | None = None, batch: bool = True) -> "Client":
    """A client for `async with`.

    `token` is the key that the broker gave out. The client reconnects by itself; `hold` keeps what it has
    fetched for so many seconds meanwhile. `batch` lets many commands, and many answers, share a frame.
    """
    return Client(Connection(url, token=token, hold=hold, batch=batch))


class Client:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def __aenter__(self) -> Self:
        await self._connection.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._connection.close()

    # posting

    async def post(
        self,
        queue: str,
        body: bytes | str,
        *,
        tags: Sequence[str] = (),
        priority: int = 0,
        wait: Persistence | None = "sync",
        key: str | None = None,
        delay: float | None = None,
        ttl: float | None = None,
        dedupe: str | None = None,
    ) -> Receipt | None:
        """Post a message and wait until it is as safe as asked for: on disk, unless told otherwise.

        The receipt says where it was stored. There is none with `wait="ready"`, which waits only until the
        broker has the message in memory, and with `wait=None`, which does not wait.
        """
        command = Post(
            queue=queue,
            message=to_json_body(body),
            tags=tuple(tags),
            priority=priority,
            notify=() if wait is None else (wait,),
            key=key,
            delay=delay,
            ttl=ttl,
            dedupe=dedupe,
        )
        if wait is None:
            await self._connection.tell(command)
            return None
        return _receipt(await self._connection.ask(command, repeatable=dedupe is not None))

    async def post_to_all(
        self,
        queues: Sequence[str],
        body: bytes | str,
        *,
        tags: Sequence[str] = (),
        priority: int = 0,
        delay: float | None = None,
        ttl: float | None = None,
        dedupe: str | None = None,
    ) -> dict[str, Receipt]:
        """Post a message to all of these queues or, if one refuses it, to none. It is on disk at the end."""
        names = tuple(dict.fromkeys(queues))
        command = Post(
            queue=names,
            message=to_json_body(body),
            tags=tuple(tags),
            priority=priority,
            notify=("sync",),
            delay=delay,
            ttl=ttl,
            dedupe=dedupe,
        )
        command.label = self._connection.new_label()
        call = SeveralCall(command, wanted=len(names), repeatable=dedupe is not None)
        self._connection.start(command.label, call)
        notices: list[Notice] = await call.answer
        return {notice.queue or names[0]: receipt for notice in notices if (receipt := _receipt(notice))}

    # taking

    async def fetch(
        self,
        queue: str,
        *,
        tags: Sequence[str] = (),
        match: Match | None = None,
        block_timeout: float = 0.0,
        work_timeout: float | None = None,
        sync: Persistence = "write",
    ) -> Message | None:
        """Claim the next message: waits up to `block_timeout` seconds for one, and returns None if none came.

        It is this client's for `work_timeout` seconds (by default as long as the queue says), and longer with
        keepalives.
        """
        command = Fetch(
            queue=queue,
            tags=tuple(tags),
            match=match,
            block_timeout=block_timeout,
            work_timeout=work_timeout,
            sync=sync,
        )
        return self._message(await self._connection.ask(command, repeatable=True), work_timeout)

    async def fetch_many(
        self,
        queue: str,
        count: int,
        *,
        tags: Sequence[str] = (),
        match: Match | None = None,
        block_timeout: float = 0.0,
        work_timeout: float | None = None,
        sync: Persistence = "write",
    ) -> list[Message]:
        """Claim up to `count` messages at once, 512 at most: as many as there are, as soon as there are any."""
        command = Fetch(
            queue=queue,
            tags=tuple(tags),
            match=match,
            block_timeout=block_timeout,
            work_timeout=work_timeout,
            sync=sync,
            count=min(count, MOST_AT_ONCE),
        )
        deliveries = await self._deliveries(command, repeatable=True)
        return [Message(self._connection, delivery, work_timeout) for delivery in deliveries]

    async def pop(
        self, queue: str, *, tags: Sequence[str] = (), match: Match | None = None, block_timeout: float = 0.0
    ) -> Message | None:
        """Take the next message for good, without a claim; None if none came in `block_timeout` seconds."""
        command = Pop(queue=queue, tags=tuple(tags), match=match, timeout=block_timeout)
        return self._message(await self._connection.ask(command, repeatable=False), None)

    async def pop_many(
        self,
        queue: str,
        count: int,
        *,
        tags: Sequence[str] = (),
        match: Match | None = None,
        block_timeout: float = 0.0,
    ) -> list[Message]:
        """Take up to `count` messages for good, 512 at most."""
        command = Pop(queue=queue, tags=tuple(tags), match=match, timeout=block_timeout, count=min(count, MOST_AT_ONCE))
        deliveries = await self._deliveries(command, repeatable=False)
        return [Message(self._connection, delivery, None) for delivery in deliveries]

    async def _deliveries(self, command: Command, *, repeatable: bool) -> list[Delivery]:
        if not self._connection.batch:
            raise ValueError("Several messages at once need a connection with batch=True.")
        command.label = self._connection.new_label()
        call = DeliveriesCall(command, repeatable=repeatable)
        self._connection.start(command.label, call)
        deliveries: list[Delivery] = await call.answer
        return deliveries

    def _message(self, answer: Any, work_timeout: float | None) -> Message | None:
        return Message(self._connection, answer, work_timeout) if isinstance(answer, Delivery) else None

    def working(self, message: Message) -> Working:
        """`async with`: keeps the message alive, finishes it on success, fails it on an exception."""
        return Working(message)

    def subscribe(
        self,
        queue: str,
        *,
        tags: Sequence[str] = (),
        match: Match | None = None,
        in_flight: int = 16,
        work_timeout: float | None = None,
        start: Literal["new", "oldest"] | int | None = None,
    ) -> Subscription:
        """Messages as they come, for `async for`; never more than `in_flight` that are not finished.

        `start` says where a first subscription to a stream begins: "new", "oldest" or an index.
        """
        command = Subscribe(
            queue=queue,
            tags=tuple(tags),
            match=match,
            in_flight=in_flight,
            work_timeout=work_timeout,
            from_=start,
        )
        return Subscription(self._connection, command)

    # queues, names, services

    async def create(self, queue: str, *, tags: Sequence[str] = (), **settings: Any) -> Queue:
        """Define a queue; one that exists stays as it is. `settings` are those of the protocol's `create`."""
        command = Create(queue=queue, tags=tuple(tags), **settings)
        created: Queue = await self._connection.ask(command, repeatable=True)
        return created

    async def register(self, name: str, *, persistent: bool) -> Registration:
        """Be the client of this name, now and after every reconnect."""
        command = Register(name=name, persistent=persistent)
        command.label = self._connection.new_label()
        call = StandingCall(command)
        self._connection.start(command.label, call)
        registration: Registration = await call.answer
        return registration

    async def request(
        self,
        service: str,
        body: bytes | str,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 -- the broker's, which ends the request there
    ) -> bytes:
        """Ask a service and wait for its reply."""
        command = WorkRequest(service=service, body=to_json_body(body), timeout=timeout)
        reply = await self._connection.ask(command, repeatable=False)
        return from_json_body(reply.body)


def _receipt(notice: Notice) -> Receipt | None:
    if notice.shard is None or notice.sequence is None or notice.index is None:
        return None
    return Receipt(notice.shard, notice.sequence, notice.index)
