"""The part of the client that takes messages: one by one, many at once, or as they come."""

from collections.abc import Iterable
from typing import Any, Literal, Unpack

from willow_client.arguments import Tags, as_tags, check_choice, check_name, check_seconds, check_whole
from willow_client.client_base import ClientBase
from willow_client.commands import MATCHES, PERSISTENCES, Fetch, Match, Persistence, Pop, Subscribe
from willow_client.errors import BadArgument
from willow_client.limits import MOST_AT_ONCE, Limit, NotGiven, limit
from willow_client.message import Message
from willow_client.several import finish_all
from willow_client.subscription import MOST_IN_FLIGHT, Subscription
from willow_client.taking import TakingCall
from willow_client.worker import QueueWorker, WorkerArguments
from willow_client.working import Working

LARGEST_INDEX = 2**63 - 1


class TakingClient(ClientBase):
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
        timeout: Limit = NotGiven,
    ) -> Subscription:
        """Messages as they come, for `async for`; never more than `in_flight` that are not finished.

        `start` says where a first subscription to a stream begins: "new", "oldest" or an index. `timeout` is for the
        broker's answer that it has begun; then messages are waited for without end.
        """
        check_whole("in_flight", in_flight, 1, MOST_IN_FLIGHT)
        if isinstance(start, str):
            check_choice("start", start, ("new", "oldest"))
        else:
            check_whole("start", start, 0, LARGEST_INDEX)
        command = Subscribe(
            queue=check_name("queue", queue),
            tags=as_tags(tags),
            match=_match(match),
            in_flight=in_flight,
            work_timeout=check_seconds("work_timeout", work_timeout, above_zero=True),
            from_=start,
        )
        return Subscription(self._connection, command, limit(self._connection, timeout))

    def worker(self, queue: str, handler: Any, **how: Unpack[WorkerArguments]) -> QueueWorker:
        """`async with`: works on the messages of a queue in the background until its end, and then drains.

        See `QueueWorker` for the arguments, and `run_worker` for a program that does nothing else.
        """
        return QueueWorker(self, queue, handler, **how)


def _fetch(
    queue: str,
    tags: Tags,
    match: Match | None,
    block_timeout: float,
    work_timeout: float | None,
    sync: Persistence,
) -> Fetch:
    check_choice("sync", sync, PERSISTENCES)
    _check_block_timeout(block_timeout)
    return Fetch(
        queue=check_name("queue", queue),
        tags=as_tags(tags),
        match=_match(match),
        block_timeout=block_timeout,
        work_timeout=check_seconds("work_timeout", work_timeout, above_zero=True),
        sync=sync,
    )


def _pop(queue: str, tags: Tags, match: Match | None, block_timeout: float) -> Pop:
    _check_block_timeout(block_timeout)
    return Pop(queue=check_name("queue", queue), tags=as_tags(tags), match=_match(match), timeout=block_timeout)


def _check_block_timeout(seconds: float) -> None:
    if seconds is None:
        raise BadArgument("block_timeout", "`block_timeout` must be a number of seconds, not None; 0 does not wait.")
    check_seconds("block_timeout", seconds)


def _match(match: Match | None) -> Match | None:
    if match is not None:
        check_choice("match", match, MATCHES)
    return match
