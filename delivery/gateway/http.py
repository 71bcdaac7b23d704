"""Posts and pops over HTTP: they go to the engine of this process's node, like those of sockets.

A request runs in a thread of its own, the engine on the node's event loop; the thread waits for the answer. Requests
that wait for a message do so without a thread (http_waits.py).
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import TimeoutError as WaitedTooLong
from dataclasses import dataclass
from typing import Any, TypeVar

from clients.principal import Principal
from delivery.commands.read import stream_is_subscribed_to
from delivery.engine.demands import NO_SESSION, Demand, Rotation
from delivery.engine.matching import default_match
from delivery.moves.posting import Copy, PostRequest
from delivery.node import life
from delivery.node.node import Node
from delivery.protocol.commands import Fetch, Pop, Post
from delivery.protocol.errors import Code, WillowError
from delivery.protocol.sizes import bytes_of_copy
from delivery.sessions.quotas import account_of
from delivery.sessions.readings import several
from delivery.storage.connection import in_doubt
from queues.definitions import QueueRecord, tag_set

ANSWER_SECONDS = 30.0  # for which a thread waits for the engine, in addition to what the caller asked for

Result = TypeVar("Result")
Take = Callable[[Node], Coroutine[Any, Any, list[Any]]]


@dataclass(frozen=True, slots=True)
class Stored:
    queue: QueueRecord
    sequence: int
    index: int
    duplicate: bool  # it was there already


def post(command: Post, *, by: Principal) -> list[Stored]:
    """Store a message in each of its queues. Returns where, when it has reached the disk."""
    return on_node(lambda node: _post(node, command, by), ANSWER_SECONDS)


def pop(command: Pop, *, by: Principal) -> Take:
    """What takes up to `count` messages, each with its queue, or none when the time to wait is over."""
    return lambda node: _pop(node, command, by)


def on_node(work: Callable[[Node], Coroutine[Any, Any, Result]], seconds: float) -> Result:
    here = life.here()
    if here is None:
        raise WillowError(Code.UNAVAILABLE, "node", "This process is not a node of the broker.")
    node, loop = here
    answer = asyncio.run_coroutine_threadsafe(work(node), loop)
    try:
        return answer.result(seconds)
    except WaitedTooLong:
        answer.cancel()
        raise in_doubt() from None


def _stored(copy: Copy) -> Stored:
    return Stored(copy.queue, copy.sequence, copy.index, copy.is_repeat)


class HttpPoster:
    """It is told whether its post was stored. There is nobody to tell what becomes of the message later."""

    session_id = None
    bytes_under_way = 0

    def __init__(self, node: Node, key_id: int | None, answer: "asyncio.Future[list[Stored]]") -> None:
        self.key_id = key_id
        self._node = node
        self._answer = answer

    def post_accepted(self, request: PostRequest) -> None: ...

    def post_stored(self, request: PostRequest) -> None:
        if not self._answer.done():
            self._answer.set_result([_stored(copy) for copy in request.copies])

    def post_handed_over(self, request: PostRequest) -> None:
        self.post_stored(request)

    def post_failed(self, request: PostRequest, error: WillowError) -> None:
        if error.code == Code.NO_OBJECT:
            for copy in request.copies:
                self._node.directory.forget(copy.queue.id)
        self.refuse(error)

    def refuse(self, error: WillowError) -> None:
        if not self._answer.done():
            self._answer.set_exception(error)


async def _post(node: Node, command: Post, by: Principal) -> list[Stored]:
    node.quotas.admit_post(by, bytes_of_copy(command), len(command.queues))
    answer: asyncio.Future[list[Stored]] = asyncio.get_running_loop().create_future()
    poster = HttpPoster(node, _counts_for(by), answer)
    node.directory.find_each(
        command.queues,
        tag_set(command.tags),
        lambda queues: node.engine.post(PostRequest(poster, command, queues)),
        poster.refuse,
        by=by.definer,
    )
    return await answer


def _counts_for(by: Principal) -> int | None:
    """For which key what this caller posts is counted as waiting; None: for nobody."""
    has_bound = by.quotas.waiting_messages or by.quotas.waiting_bytes
    return account_of(by) if has_bound else by.key_id


class HttpReader:
    """Collects what a pop gets."""

    session_id = NO_SESSION
    is_crowded = takes_parts = False  # it takes one answer

    def __init__(self, client: str | None, answer: "asyncio.Future[list[Any]]") -> None:
        self.client_name = client
        self._answer = answer

    def take(self, demand: Demand, messages: Sequence[Any]) -> None:
        if not self._answer.done():
            self._answer.set_result(list(messages))

    def went_empty(self, demand: Demand) -> None:
        self.take(demand, ())

    def demand_failed(self, demand: Demand, error: WillowError) -> None:
        self.refuse(error)

    def refuse(self, error: WillowError) -> None:
        if not self._answer.done():
            self._answer.set_exception(error)


async def _pop(node: Node, command: Pop, by: Principal) -> list[tuple[Any, QueueRecord | None]]:
    answer: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()
    reader = HttpReader(by.client_name, answer)
    return await take_for(node, command, reader, answer, command.timeout or 0.0, by, pops=True)


async def take_for(
    node: Node,
    command: Fetch | Pop,
    reader: HttpReader,
    answer: "asyncio.Future[list[Any]]",
    wait_seconds: float,
    by: Principal,
    **how: Any,
) -> list[tuple[Any, QueueRecord | None]]:
    """What the reader gets, each message with its queue. `how`: what its demand says beside that."""
    demands: list[Demand] = []
    tags = tag_set(command.tags)
    match = command.match or default_match(tags)

    def found(queues: list[QueueRecord]) -> None:
        work_queues = [queue for queue in queues if not queue.is_stream]
        if queues and not work_queues:
            reader.refuse(stream_is_subscribed_to(command.queue))
            return
        rotation = Rotation() if match == "any" else None
        caller = reader if by.key_id is None else by.key_id  # without a key, WILLOW_HTTP_WAITS bounds them
        demand = Demand(reader, None, work_queues, places=command.count or 1, rotation=rotation, caller=caller, **how)
        try:
            node.quotas.begin_read(by, several(len(work_queues)))
        except WillowError as error:
            reader.refuse(error)
            return
        demands.append(demand)
        node.engine.take(demand, wait_seconds)

    node.directory.resolve(command.queue, tags, match, found, reader.refuse, by.definer)
    try:
        rows = await answer
    finally:
        for demand in demands:  # the caller may have gone before an answer came
            node.engine.waiters.remove(demand)
            node.quotas.end_read(by, several(len(demand.queues)))
    return [(row, node.directory.by_id(row.queue_id)) for row in rows]
