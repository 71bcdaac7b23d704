"""Hints between the processes of a cluster: which queues got messages, which are new, and what else waits for whom.

They travel over the channel layer, which may drop them: everything that a hint says is found by the slow poll too.
Without Redis hints reach nobody, and the poll does all the work.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from channels.layers import get_channel_layer
from django.conf import settings

from delivery.wakeups.outage import redis_outage

GROUP = "willow-nodes"
OPERATOR = 0  # stands for the node where a hint comes from no node: from the reaper, the console, REST
RETRY_SECONDS = 1.0
POLLS_TO_BE_SURE = 1.5  # after so many poll intervals every node has looked for new queues


class Listener(Protocol):
    """What a node does when it is given a hint."""

    def messages_ready(self, queue_id: int, messages: int) -> None: ...

    def requests_unassigned(self, queue_id: int) -> None:
        """What became ready may be requests of a service, and the sender of the hint assigns none to workers."""

    def notices_wait(self) -> None: ...

    def requests_wait(self) -> None:
        """Another node gave requests to workers of this one."""

    def configs_changed(self) -> None: ...

    def orders_wait(self) -> None:
        """An operator ordered something for sessions of this or another node."""

    def queues_defined(self, known: Callable[[], None]) -> None:
        """Learn the new queues, then call back."""


@dataclass
class Hint:
    """What gathered since the last hint was sent."""

    ready: Counter[int] = field(default_factory=Counter)  # messages by queue
    notices: bool = False
    requests: set[int] = field(default_factory=set)  # nodes whose workers were given some
    configs: bool = False  # an operator changed the configuration of services
    orders: bool = False  # an operator ordered something for live sessions
    defined: list[int] = field(default_factory=list)  # queues that the others must know before they are used
    known: list[int] = field(default_factory=list)  # new queues of others that this node knows by now


def as_sent(node_id: int, hint: Hint) -> dict[str, Any]:
    return {
        "type": "hint",
        "node": node_id,
        "ready": list(hint.ready.items()),
        "notices": hint.notices,
        "requests": list(hint.requests),
        "configs": hint.configs,
        "orders": hint.orders,
        "defined": hint.defined,
        "known": hint.known,
    }


async def send_hint(layer: Any, node_id: int, hint: Hint) -> None:
    await layer.group_send(GROUP, as_sent(node_id, hint))


class Hints:
    def __init__(self, *, node_id: int, listener: Listener | None) -> None:
        self.node_id = node_id
        self._listener = listener
        self._layer = get_channel_layer() if settings.WILLOW.redis_url else None
        self.sent = self.lost = self.received = 0
        self._next = Hint()
        self._something = asyncio.Event()
        self._announced: dict[int, tuple[set[int], Callable[[], None], asyncio.TimerHandle]] = {}

    def messages_ready(self, queue_id: int, messages: int) -> None:
        self._next.ready[queue_id] += messages
        self._something.set()

    def notices_left(self) -> None:
        self._next.notices = True
        self._something.set()

    def queue_made(self, queue_id: int) -> None:
        """For those who cannot wait until the nodes know it."""
        self._next.defined.append(queue_id)
        self._something.set()

    def requests_given(self, nodes: Iterable[int]) -> None:
        self._next.requests.update(nodes)
        self._something.set()

    def announce(self, queue_id: int, nodes: Iterable[int], done: Callable[[], None]) -> None:
        """Tell the other nodes of a new queue; call back when they all know it, or must have found it by polling."""
        others = set(nodes) - {self.node_id}
        if not others:
            done()
            return
        patience = settings.WILLOW.poll_seconds * POLLS_TO_BE_SURE
        timer = asyncio.get_running_loop().call_later(patience, self._settle_announcement, queue_id)
        self._announced[queue_id] = (others, done, timer)
        self._next.defined.append(queue_id)
        self._something.set()

    def _settle_announcement(self, queue_id: int) -> None:
        _, done, timer = self._announced.pop(queue_id)
        timer.cancel()
        done()

    async def publish(self) -> None:
        """Send what gathered while the last hint was on its way."""
        while True:
            if not await self._something_to_send() and not redis_outage.lasts:
                continue
            self._something.clear()
            gathered, self._next = self._next, Hint()
            if self._layer is not None:
                await self._send(self._layer, gathered)

    async def _something_to_send(self) -> bool:
        """Wait for it, but not for ever: while Redis is gone, an empty hint finds out when it is back."""
        try:
            async with asyncio.timeout(RETRY_SECONDS):
                return await self._something.wait()
        except TimeoutError:
            return False

    async def _send(self, layer: Any, gathered: Hint) -> None:
        try:
            await send_hint(layer, self.node_id, gathered)
            self.sent += 1
            redis_outage.ended()
        except Exception as error:  # whatever is wrong with Redis: delivery goes on by polling
            self.lost += 1
            redis_outage.noticed(error)
            await asyncio.sleep(RETRY_SECONDS)

    async def listen(self) -> None:
        while self._layer is not None:
            try:
                channel = await self._layer.new_channel()
                await self._layer.group_add(GROUP, channel)
                while True:
                    self.receive(await self._layer.receive(channel))
            except Exception as error:  # as above
                redis_outage.noticed(error)
                await asyncio.sleep(RETRY_SECONDS)

    def receive(self, hint: dict[str, Any]) -> None:
        if hint["node"] == self.node_id or self._listener is None:
            return
        self.received += 1
        for queue_id in hint["known"]:
            self._node_knows(queue_id, hint["node"])
        if hint["defined"]:
            self._listener.queues_defined(lambda: self._say_known(hint["defined"]))
        for queue_id, messages in hint["ready"]:
            self._listener.messages_ready(queue_id, messages)
            if hint["node"] == OPERATOR:  # a node has given requests to workers by itself
                self._listener.requests_unassigned(queue_id)
        if hint["notices"]:
            self._listener.notices_wait()
        if self.node_id in hint["requests"]:
            self._listener.requests_wait()
        if hint["configs"]:
            self._listener.configs_changed()
        if hint.get("orders"):  # a node of an older version does not say
            self._listener.orders_wait()

    def _say_known(self, queue_ids: list[int]) -> None:
        self._next.known.extend(queue_ids)
        self._something.set()

    def _node_knows(self, queue_id: int, node_id: int) -> None:
        if queue_id in self._announced:
            others = self._announced[queue_id][0]
            others.discard(node_id)
            if not others:
                self._settle_announcement(queue_id)
