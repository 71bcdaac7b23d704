"""A node looks, many times a second, for posts that applications have committed, and moves them into their queues."""

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from psycopg import AsyncConnection

from delivery.engine.transactional_posts import MOVED_AT_ONCE, NOTHING_SEEN, MoveRequest, QueueKey
from delivery.protocol.errors import WillowError
from delivery.storage.lanes import run_job
from delivery.storage.statements import statement
from queues.definitions import QueueRecord, tag_set

if TYPE_CHECKING:
    from delivery.node.node import Node

logger = logging.getLogger(__name__)


class TransactionalPostMover:
    def __init__(self, node: "Node") -> None:
        self._node = node
        self._seen = NOTHING_SEEN  # the newest snapshot of which nothing is left to move

    async def look(self) -> None:
        if self._node.draining or self._node.quotas.alarms:  # short of something: they stay where they are stored
            return
        snapshot, wanted = await run_job(self._node.jobs, self._new)
        if wanted is None:
            self._seen = snapshot
            return
        queues = await self._find([(name, tag_set(tags)) for name, tags in wanted])
        if queues:
            self._seen = await self._move(queues) or self._seen

    async def _new(self, connection: AsyncConnection[Any]) -> Any:
        values = {"seen": self._seen, "limit": MOVED_AT_ONCE}
        return await (await connection.execute(statement("transactional_posts_new"), values)).fetchone()

    async def _find(self, wanted: list[QueueKey]) -> dict[QueueKey, QueueRecord]:
        """The queues of posts, made where they do not exist. What cannot be found now is looked for again."""
        found: dict[QueueKey, QueueRecord] = {}
        for name, tags in wanted:
            answer: asyncio.Future[list[QueueRecord]] = asyncio.get_running_loop().create_future()
            self._node.directory.find_each([name], tags, answer.set_result, answer.set_exception)
            try:
                (found[name, tags],) = await answer
            except WillowError as error:
                logger.warning("Posts of applications to the queue %s wait: %s", name, error)
        return found

    async def _move(self, queues: dict[QueueKey, QueueRecord]) -> str | None:
        answer: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._node.engine.posts.submit(MoveRequest(self._seen, queues, answer.set_result, answer.set_exception))
        return await answer
