"""Runs beside the node: counts posts, also while nobody looks. The console knows the last minutes at first sight.

Counters say how many messages were posted, not when. Ends need no such thing: the journal has their times.
"""

import asyncio
import logging
import time
from typing import TYPE_CHECKING, Any

from psycopg import AsyncConnection

from console.readings import lately
from delivery.figures.recent_rates import SLOT_SECONDS
from delivery.protocol.errors import WillowError
from delivery.storage.lanes import run_job
from delivery.storage.statements import statement

if TYPE_CHECKING:
    from delivery.node.node import Node

PATIENCE = 200  # counting takes at most so small a part of the time, however many queues there are

logger = logging.getLogger(__name__)


class PostCounting:
    async def run(self, node: "Node") -> None:
        while True:
            began = time.monotonic()
            try:
                lately.count_posts(await run_job(node.jobs, _newest_indexes))
            except WillowError as error:  # the database is away; the next count spreads what is missing
                logger.debug("Posts could not be counted: %s", error)
            await asyncio.sleep(max(SLOT_SECONDS, (time.monotonic() - began) * PATIENCE))

    def node_has_left(self) -> None:
        """Nothing is left behind."""


async def _newest_indexes(connection: AsyncConnection[Any]) -> dict[int, int]:
    return dict(await (await connection.execute(statement("newest_indexes"))).fetchall())
