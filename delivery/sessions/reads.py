"""The fetches and pops of one connection, and what the client is told about them."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from django.conf import settings

from delivery.engine.demands import Demand, Rotation
from delivery.protocol.errors import Code, WillowError
from delivery.protocol.frames import NoMessage
from delivery.sessions.readings import several
from queues.definitions import QueueRecord

if TYPE_CHECKING:
    from delivery.sessions.session import Session

FEW_SHARE = 64  # of those that a connection may have: no more than one part in so many are few
MOST_ROTATIONS = 1000  # of one connection; those that were used least recently are forgotten


def _digest(queue_name: str, tags: tuple[str, ...]) -> bytes:
    return blake2b("\0".join((queue_name, *tags)).encode(), digest_size=16).digest()


class Kept(NamedTuple):
    """What a fetch or pop makes the node keep until it is answered."""

    queues: int
    terms_bytes: int


NOTHING = Kept(0, 0)


class Reads:
    """Those that have no answer yet. It is the reader of their demands."""

    takes_parts = True

    def __init__(self, session: "Session") -> None:
        self._session = session
        self._demands: dict[Demand, Kept] = {}
        self._parts: dict[Demand, list[Any]] = {}  # of a large `count`: what was taken, until its number is known
        self.latest_queue_ids: list[int] = []  # what was looked into last, for people who wonder what this one reads
        self._rotations: dict[bytes, Rotation] = {}  # by a digest of queue name and tags, which may be long

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
        key = _digest(queue_name, tags)
        rotation = self._rotations.pop(key, None) or Rotation()
        self._rotations[key] = rotation
        if len(self._rotations) > MOST_ROTATIONS:
            del self._rotations[next(iter(self._rotations))]
        return rotation

    def begin(self, demand: Demand, wait_seconds: float, terms_bytes: int) -> bool:
        """Returns whether it has no answer yet. Raises if the connection reads too much already.

        `terms_bytes`: of what is kept while it waits.
        """
        most = settings.WILLOW.connection_commands
        if len(self._demands) >= most:
            reason = f"This connection has {len(self._demands)} fetches and pops waiting already."
            raise WillowError(Code.OVERLOADED, "connection", reason)
        queues = several(len(demand.queues))
        self._demands[demand] = self._keep(queues, terms_bytes, waits=wait_seconds > 0)
        self.latest_queue_ids = [queue.id for queue in demand.queues]
        self._session.node.engine.take(demand, wait_seconds, has_few=len(self._demands) <= most // FEW_SHARE)
        return demand in self._demands

    def _keep(self, queues: int, terms_bytes: int, *, waits: bool) -> Kept:
        """Raises if that is too much. A single read that does not wait may look into any number of queues."""
        if not (queues or terms_bytes):
            return NOTHING
        readings = self._session.readings
        is_alone = not (waits or readings.subscribed or readings.waited_for)
        if (refusal := readings.refusal(queues, terms_bytes)) is not None and not is_alone:
            raise refusal
        self._session.node.quotas.begin_read(self._session.principal, queues)
        readings.waited_for += queues
        readings.terms_bytes += terms_bytes
        return Kept(queues, terms_bytes)

    def join(self, demand: Demand, queue: QueueRecord) -> None:
        """A queue was made that a waiting fetch or pop reads, too. If that is one too many, its wait is over."""
        if queue.is_stream or demand not in self._demands:
            return
        waiters, kept = self._session.node.engine.waiters, self._demands[demand]
        try:
            more = self._keep(several(len(demand.queues) + 1) - kept.queues, 0, waits=True)
        except WillowError as error:
            waiters.refuse(demand, error)
            return
        self._demands[demand] = Kept(kept.queues + more.queues, kept.terms_bytes)
        waiters.add_queue(demand, queue)

    def _over(self, demand: Demand) -> None:
        kept = self._demands.pop(demand, NOTHING)
        if kept is not NOTHING:
            readings = self._session.readings
            readings.waited_for -= kept.queues
            readings.terms_bytes -= kept.terms_bytes
            self._session.node.quotas.end_read(self._session.principal, kept.queues)

    @property
    def is_crowded(self) -> bool:
        return self._session.is_crowded

    def go_on(self) -> None:
        for demand in list(self._demands):
            self._session.node.engine.waiters.go_on(demand)

    def end_all(self) -> None:
        for demand in list(self._demands):
            self._session.node.engine.waiters.remove(demand)
            self._over(demand)
            self._answer(demand, self._parts.pop(demand, []))

    # as the reader of its demands

    def take(self, demand: Demand, messages: Sequence[Any]) -> None:
        if not demand.ended:
            self._parts.setdefault(demand, []).extend(messages)
            return
        self._over(demand)
        self._answer(demand, [*self._parts.pop(demand, ()), *messages])

    def _answer(self, demand: Demand, messages: Sequence[Any]) -> None:
        """If the client has gone, what was claimed for it goes back."""
        if not demand.pops:
            self._session.claims.hand_over(demand.label, messages, counts=demand.counts)
            return
        for left, row in zip(range(len(messages) - 1, -1, -1), messages, strict=True):
            self._session.send_message(demand.label, row, finished=True, left=left if demand.counts else None)

    def went_empty(self, demand: Demand) -> None:
        self._over(demand)
        if parts := self._parts.pop(demand, None):
            self._answer(demand, parts)
        else:
            self._session.send(NoMessage(demand.label))

    def demand_failed(self, demand: Demand, error: WillowError) -> None:
        """What was taken before the database went is an answer, too."""
        self._over(demand)
        if parts := self._parts.pop(demand, None):
            self._answer(demand, parts)
        else:
            self._session.refuse(demand.label, error)
