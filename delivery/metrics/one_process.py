"""The figures of a process that has its port for itself."""

import asyncio
import time
from typing import TYPE_CHECKING

from prometheus_client.core import Metric

from delivery.metrics.of_cluster import Reading, read_cluster
from delivery.metrics.of_process import process_families

if TYPE_CHECKING:
    from delivery.node.node import Node


class OneProcess:
    """What it counted is as of now; the database is asked once for all who scrape meanwhile."""

    def __init__(self) -> None:
        self._cluster = Reading([], 0.0)
        self._good_until = 0.0  # of the monotonic clock
        self._reading: asyncio.Task[None] | None = None

    async def families(self, node: "Node") -> list[Metric]:
        if time.monotonic() >= self._good_until:
            if self._reading is None or self._reading.done():
                self._reading = asyncio.get_running_loop().create_task(self._read())
            await asyncio.shield(self._reading)
        return [*process_families(node), *self._cluster.families]

    async def _read(self) -> None:
        self._cluster = await read_cluster()
        self._good_until = time.monotonic() + self._cluster.good_seconds
