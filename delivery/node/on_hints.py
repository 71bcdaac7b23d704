"""What this node does when messages arrive here, or when a hint says that something happened elsewhere."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from delivery.moves.service_names import is_service_queue
from delivery.node.orders import carry_out_orders
from delivery.protocol.errors import WillowError
from delivery.storage.lanes import Job
from delivery.storage.turns import FIRST

if TYPE_CHECKING:
    from delivery.node.node import Node


class OnHints:
    """The listener of the node's hints."""

    def __init__(self, node: "Node") -> None:
        self._node = node

    def arrived_here(self, queue_id: int, messages: int) -> None:
        """Messages of a queue can be taken, because of something that this node did."""
        node = self._node
        self._wake(queue_id, messages)
        node.hints.messages_ready(queue_id, messages)
        if is_service_queue(node.directory.name_of(queue_id)):
            node.engine.assignment.assign_soon(queue_id)

    def messages_ready(self, queue_id: int, messages: int) -> None:
        self._node.engine.backlog.something_came(queue_id)
        self._wake(queue_id, messages)

    def _wake(self, queue_id: int, messages: int) -> None:
        self._node.engine.waiters.wake(queue_id, messages)
        self._node.feeds.wake(queue_id)

    def requests_unassigned(self, queue_id: int) -> None:
        if queue_id in self._node.workers.queues_served():
            self._node.engine.assignment.assign_soon(queue_id)

    def notices_wait(self) -> None:
        self._node.run_job_soon(self._node.notices.take)

    def requests_wait(self) -> None:
        self._node.workers.look_for_requests()

    def configs_changed(self) -> None:
        self._node.run_job_soon(self._node.workers.push_changed_configs)

    def orders_wait(self) -> None:
        node = self._node
        carry_out = partial(carry_out_orders, node)
        node.doors.submit(Job(carry_out, lambda _: None, _the_poll_makes_up_for_it, FIRST))

    def queues_defined(self, known: Callable[[], None]) -> None:
        self._node.jobs.submit(Job(self._node.directory.refresh, lambda _: known(), _the_poll_makes_up_for_it))


def _the_poll_makes_up_for_it(error: WillowError) -> None: ...
