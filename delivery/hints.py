"""Hints between the processes of a cluster: which queues got messages, and that notices wait to be taken.

They travel over the channel layer, which may drop them: everything that a hint says is found by the slow poll too.
Without Redis there is one process, and nobody to tell.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from typing import Any

from channels.layers import get_channel_layer
from django.conf import settings

logger = logging.getLogger(__name__)

GROUP = "willow-nodes"
RETRY_SECONDS = 1.0


class Hints:
    def __init__(
        self, *, node_id: int, woken: Callable[[int, int], None], notices_wait: Callable[[], None],
        queues_changed: Callable[[], None],
    ) -> None:  # fmt: skip
        self._node_id = node_id
        self._woken = woken
        self._notices_wait = notices_wait
        self._queues_changed = queues_changed
        self._layer = get_channel_layer() if settings.WILLOW.redis_url else None
        self._ready: Counter[int] = Counter()
        self._flags: set[str] = set()
        self._something = asyncio.Event()

    def messages_ready(self, queue_id: int, messages: int) -> None:
        if self._layer is not None:
            self._ready[queue_id] += messages
            self._something.set()

    def notices_left(self) -> None:
        self._flag("notices")

    def queues_defined(self) -> None:
        self._flag("queues")

    def _flag(self, name: str) -> None:
        if self._layer is not None:
            self._flags.add(name)
            self._something.set()

    async def publish(self) -> None:
        """Send what gathered while the last hint was on its way."""
        while self._layer is not None:
            await self._something.wait()
            self._something.clear()
            ready, self._ready = self._ready, Counter()
            flags, self._flags = self._flags, set()
            hint = {"type": "hint", "node": self._node_id, "ready": list(ready.items()), "flags": list(flags)}
            try:
                await self._layer.group_send(GROUP, hint)
            except Exception as error:  # whatever is wrong with Redis: delivery goes on by polling
                logger.warning("A hint to the other nodes was lost: %s", error)
                await asyncio.sleep(RETRY_SECONDS)

    async def listen(self) -> None:
        while self._layer is not None:
            try:
                channel = await self._layer.new_channel()
                await self._layer.group_add(GROUP, channel)
                while True:
                    self._heed(await self._layer.receive(channel))
            except Exception as error:  # as above
                logger.warning("No hints from the other nodes for now: %s", error)
                await asyncio.sleep(RETRY_SECONDS)

    def _heed(self, hint: dict[str, Any]) -> None:
        if hint["node"] == self._node_id:
            return
        if "queues" in hint["flags"]:
            self._queues_changed()
        for queue_id, messages in hint["ready"]:
            self._woken(queue_id, messages)
        if "notices" in hint["flags"]:
            self._notices_wait()
