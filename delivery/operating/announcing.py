"""Telling the nodes, after the commit, what an operator's action changed."""

from django.db import transaction

from delivery.moves.endings import Endings, endings_without_sessions
from delivery.wakeups.from_outside import tell_nodes
from delivery.wakeups.hints import Hint

NAME = "operator"  # who wrote a row, in the journal


class Announcements:
    """Collected during the transaction of one action, and sent to the nodes when it is committed."""

    def __init__(self) -> None:
        self.hint = Hint()

    def became_ready(self, queue_id: int, messages: int = 1) -> None:
        self.hint.ready[queue_id] += messages

    def notices_left(self) -> None:
        self.hint.notices = True

    def orders_left(self) -> None:
        self.hint.orders = True

    def queues_changed(self, *queue_ids: int) -> None:
        self.hint.defined.extend(queue_ids)

    def endings(self) -> Endings:
        return endings_without_sessions(name=NAME, notices_left=self.notices_left, became_ready=self._came_back)

    def _came_back(self, queue_id: int, delay: float) -> None:
        if delay <= 0:
            self.became_ready(queue_id)

    def send(self) -> None:
        if self.hint != Hint():
            transaction.on_commit(lambda: tell_nodes(self.hint))
