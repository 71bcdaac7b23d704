"""The fetches and pops of one connection, and what the client is told about them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from delivery.engine.demands import Demand, Rotation
from delivery.protocol.errors import WillowError
from delivery.protocol.frames import NoMessage

if TYPE_CHECKING:
    from delivery.sessions.session import Session

MOST_ROTATIONS = 1000  # of one connection; those that were used least recently are forgotten


class Reads:
    """Those that have no answer yet. It is the reader of their demands."""

    def __init__(self, session: "Session") -> None:
        self._session = session
        self._demands: set[Demand] = set()
        self._rotations: dict[tuple[str, tuple[str, ...]], Rotation] = {}  # by queue name and tags

    @property
    def session_id(self) -> int:
        return self._session.session_id

    @property
    def client_name(self) -> str | None:
        return self._session.client_name

    def __len__(self) -> int:
        return len(self._demands)

    def queue_ids(self) -> set[int]:
        return {queue.id for demand in self._demands for queue in demand.queues}

    def rotation(self, queue_name: str, tags: tuple[str, ...]) -> Rotation:
        """Of reads with the match `any`: where the next of them begins."""
        rotation = self._rotations.pop((queue_name, tags), None) or Rotation()
        self._rotations[queue_name, tags] = rotation
        if len(self._rotations) > MOST_ROTATIONS:
            del self._rotations[next(iter(self._rotations))]
        return rotation

    def begin(self, demand: Demand, wait_seconds: float) -> bool:
        """Returns whether it has no answer yet."""
        self._demands.add(demand)
        self._session.node.engine.take(demand, wait_seconds)
        return demand in self._demands

    def end_all(self) -> None:
        for demand in list(self._demands):
            self._session.node.engine.waiters.remove(demand)

    # as the reader of its demands

    def take(self, demand: Demand, messages: Sequence[Any]) -> None:
        if demand.ended:
            self._demands.discard(demand)
        if not demand.pops:
            self._session.claims.hand_over(demand.label, messages)
            return
        for row in messages:
            self._session.send_message(demand.label, row, finished=True)

    def went_empty(self, demand: Demand) -> None:
        self._demands.discard(demand)
        if not demand.served:
            self._session.send(NoMessage(demand.label))

    def demand_failed(self, demand: Demand, error: WillowError) -> None:
        self._demands.discard(demand)
        self._session.refuse(demand.label, error)
