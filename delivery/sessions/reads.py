"""The fetches and pops of one connection, and what their reader is told."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from delivery.engine.demands import Demand
from delivery.protocol.errors import WillowError
from delivery.protocol.frames import NoMessage

if TYPE_CHECKING:
    from delivery.sessions.session import Session


class OneTimeReader:
    """Hands the answers of fetches and pops to their connection."""

    def __init__(self, session: "Session") -> None:
        self._session = session

    @property
    def session_id(self) -> int:
        return self._session.session_id

    @property
    def client_name(self) -> str | None:
        return self._session.client_name

    def take(self, demand: Demand, messages: Sequence[Any]) -> None:
        if demand.ended:
            self._session.demands.discard(demand)
        if not demand.pops:
            self._session.hand_over(demand.label, messages)
            return
        for row in messages:
            self._session.send_message(demand.label, row, finished=True)

    def went_empty(self, demand: Demand) -> None:
        self._session.demands.discard(demand)
        if not demand.served:
            self._session.send(NoMessage(demand.label))

    def demand_failed(self, demand: Demand, error: WillowError) -> None:
        self._session.demands.discard(demand)
        self._session.refuse(demand.label, error)
