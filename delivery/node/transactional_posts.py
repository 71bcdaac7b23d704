"""A node looks, many times a second, for posts that applications have committed, and moves them into their queues."""

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Any

from django.conf import settings
from psycopg import AsyncConnection

from delivery.engine.transactional_posts import MOVED_AT_ONCE, NOTHING_SEEN, SORTED_AT_ONCE, MoveRequest, QueueKey
from delivery.protocol.errors import WillowError
from delivery.storage.lanes import run_job
from delivery.storage.statements import statement
from queues.definitions import QueueRecord, tag_set

if TYPE_CHECKING:
    from delivery.node.node import Node

logger = logging.getLogger(__name__)

SOONER = 1 / 4  # of the longest pause: where posts have come, more come soon


class TransactionalPostMover:
    def __init__(self, node: "Node") -> None:
        self._node = node
        self._seen = NOTHING_SEEN  # the newest snapshot of which nothing is left to move
        self._held: list[str] = []  # queues that could not be found at the last look
        self._pause = self._longest

    @property
    def _longest(self) -> float:
        seconds: float = settings.WILLOW.transactional_post_seconds
        return seconds

    def pause(self) -> float:
        """Seconds until the next look: few while posts come, and twice as many with each look that finds none."""
        return self._pause

    async def look(self) -> None:
        self._pause = min(2 * self._pause, self._longest)
        if self._node.draining or self._node.quotas.alarms:  # short of something: they stay where they are stored
            return
        held: list[str] = []
        while (missing := await self._look_beside(held)) is not None:
            held += missing
        self._held = held

    async def _look_beside(self, held: list[str]) -> list[str] | None:
        """Move posts of other queues than these. Returns names of queues that cannot be found now, None without any."""
        snapshot, wanted = await run_job(self._node.jobs, partial(self._new, held))
        if wanted is None:
            self._seen = self._seen if held else snapshot
            return None
        keys = [(name, tag_set(tags)) for name, tags in wanted]
        queues = await self._find(keys)
        missing = sorted({name for name, tags in keys if (name, tags) not in queues})
        if queues:
            self._pause = SOONER * self._longest
            seen = await self._move(queues, held)
            self._seen = self._seen if held or missing else seen or self._seen
        return missing or None

    async def _new(self, held: list[str], connection: AsyncConnection[Any]) -> Any:
        values = {"seen": self._seen, "limit": SORTED_AT_ONCE, "most": MOVED_AT_ONCE, "held": held}
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
                if name not in self._held:
                    logger.warning("Posts of applications to the queue %s wait: %s", name, error)
        return found

    async def _move(self, queues: dict[QueueKey, QueueRecord], held: list[str]) -> str | None:
        answer: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._node.engine.posts.submit(MoveRequest(self._seen, queues, held, answer.set_result, answer.set_exception))
        return await answer
