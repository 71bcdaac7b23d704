"""Claims over HTTP: fetch, and what their holder says about them afterwards, each in a request of its own.

There is no session that could hold such a claim. It lasts as long as its lease, and its receipt, the message's numbers
and the attempt, says which claim a later request is about.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from clients.principal import Principal
from delivery.engine.demands import NO_SESSION, Demand
from delivery.gateway.http import ANSWER_SECONDS, HttpReader, Take, on_node, take_for
from delivery.moves.endings import Answer, Ending, FinishRequest, ReleaseRequest, nobody_waits
from delivery.node.node import Node
from delivery.protocol.commands import Fetch
from delivery.protocol.errors import WillowError
from queues.definitions import QueueRecord


class HttpClaimer(HttpReader):
    """Collects what a fetch gets; what comes when nobody waits for it any more is given back."""

    def __init__(self, node: Node, client: str | None, answer: "asyncio.Future[list[Any]]") -> None:
        super().__init__(client, answer)
        self._node = node

    def take(self, demand: Demand, messages: Sequence[Any]) -> None:
        if not self._answer.done():
            super().take(demand, messages)
            return
        for row in messages:
            self._node.engine.end(
                ReleaseRequest(
                    queue_id=row.queue_id,
                    sequence=row.sequence,
                    index=row.index,
                    attempt=row.attempts,
                    holder=NO_SESSION,
                    answer=nobody_waits,
                )
            )


def fetch(command: Fetch, *, by: Principal) -> Take:
    """What claims up to `count` messages, each with its queue, or none when the time to wait is over."""

    async def work(node: Node) -> list[tuple[Any, QueueRecord | None]]:
        answer: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()
        claimer = HttpClaimer(node, by.client_name, answer)
        how = {"work_timeout": command.work_timeout, "synchronous": command.sync == "sync"}
        return await take_for(node, command, claimer, answer, command.block_timeout, by, **how)

    return work


def settle(ending: Callable[[Answer], Ending]) -> None:
    """Do what a request makes with its answer: finish, fail, keepalive or release. Raises why it was refused."""

    async def work(node: Node) -> None:
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def answer(error: WillowError | None) -> None:
            if done.done():
                return
            if error is None:
                done.set_result(None)
            else:
                done.set_exception(error)

        request = ending(answer)
        if isinstance(request, FinishRequest):
            request.may_keep_reply = node.directory.may_keep_replies(request.queue_id)
        node.engine.end(request)
        await done

    on_node(work, ANSWER_SECONDS)
