"""One subscription: its queues, its free places, and the order in which messages go out."""

import asyncio
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from delivery.engine.demands import Demand
from delivery.engine.matching import Watch
from delivery.protocol.errors import WillowError
from delivery.protocol.fields import Match
from delivery.sessions.claims import ClaimId
from delivery.sessions.positions import StartPosition
from delivery.sessions.stream_reader import SharedPlaces, StreamReader
from queues.definitions import QueueRecord

if TYPE_CHECKING:
    from delivery.sessions.session import Session


@dataclass(frozen=True, slots=True)
class SubscriptionTerms:
    """What a client subscribes to, as it is kept for registered clients."""

    label: int | None
    name: str
    tags: tuple[str, ...]
    match: Match
    in_flight: int
    work_timeout: float | None
    sync: str
    start: str | int = "new"  # streams: where a first subscription starts


class Subscription:
    """`any` gives each queue a reader with places of its own; every other match is one reader over all its queues."""

    takes_parts = True

    def __init__(self, session: "Session", terms: SubscriptionTerms) -> None:
        self._session = session
        self.terms = terms
        self.queues: dict[int, QueueRecord] = {}
        self._demands: dict[int, Demand] = {}  # by queue where each has its own, otherwise under 0
        self._streams: dict[int, StreamReader] = {}
        self._stream_places: dict[int, SharedPlaces] = {}  # as the demands
        self._watch: Watch | None = None
        self._held: Counter[int] = Counter()  # by reader: places that are taken from the start
        self._arrived: dict[Demand, deque[Any]] = {}  # of `any`: what is to be sent
        self.ended = False
        self._was_refused = False

    @property
    def session_id(self) -> int:
        return self._session.session_id

    @property
    def client_name(self) -> str | None:
        return self._session.client_name

    @property
    def is_crowded(self) -> bool:
        return self._session.is_crowded

    def go_on(self) -> None:
        for demand in self._demands.values():
            self._session.node.engine.waiters.go_on(demand)
        for reader in self._streams.values():
            reader.pump()

    def start(
        self, queues: Sequence[QueueRecord], positions: Mapping[int, StartPosition], resumed: Iterable[ClaimId]
    ) -> None:
        """Begin to read. `resumed`: what the client has held since before this connection. It takes up places."""
        self._watch = self._session.node.directory.watch(self.terms.name, self.terms.tags, self.terms.match, self.join)
        self._give_places(resumed, {queue.id for queue in queues})
        self._read([queue for queue in queues if self._begins_with(queue, positions.get(queue.id))])

    def _give_places(self, resumed: Iterable[ClaimId], queue_ids: set[int]) -> None:
        for claim_id in resumed:
            if claim_id[0] in queue_ids:
                key = self._reader_key(claim_id[0])
                self._held[key] += self._session.claims.give_place(claim_id, partial(self._resumed_ended, key))

    def _resumed_ended(self, key: int) -> None:
        if (demand := self._demands.get(key)) is not None:  # None: its queue was one too many to be read
            self._place_is_free(demand)

    def send_again(self, row: Any) -> None:
        """A message that the client held before."""
        if self.ended:
            self._session.claims.release_unsent([row])
        else:
            self._session.claims.hand_over_again(self.terms.label, row)

    def _reader_key(self, queue_id: int) -> int:
        return queue_id if self.terms.match == "any" else 0

    def join(self, queue: QueueRecord) -> None:
        """Read from this queue too."""
        if self._begins_with(queue, None):
            self._read([queue])

    def _begins_with(self, queue: QueueRecord, position: StartPosition | None) -> bool:
        """Note a queue, and read it if it is a stream. Returns whether it is a work queue that is to be read."""
        if queue.id in self.queues:
            return False
        readings = self._session.readings
        if (refusal := readings.refusal(1)) is not None:
            self._refuse_once(refusal)
            return False
        if queue.is_stream and (error := self._session.subscriptions.stream_refusal(queue)) is not None:
            self._session.refuse(self.terms.label, error)
            return False
        self.queues[queue.id] = queue
        readings.subscribed += 1
        if queue.is_stream:
            places = self._stream_places.setdefault(self._reader_key(queue.id), SharedPlaces(self.terms.in_flight))
            self._streams[queue.id] = self._session.subscriptions.read_stream(queue, self.terms, places, position)
        return not queue.is_stream

    def _refuse_once(self, error: WillowError) -> None:
        """Queues that it does not read come one by one, and the client need not hear of each."""
        if not self._was_refused:
            self._was_refused = True
            self._session.refuse(self.terms.label, error)

    def _read(self, queues: Sequence[QueueRecord]) -> None:
        """Those that share a reader begin together, so that it is in order over all of them from the start."""
        by_reader: defaultdict[int, list[QueueRecord]] = defaultdict(list)
        for queue in queues:
            by_reader[self._reader_key(queue.id)].append(queue)
        for key, together in by_reader.items():
            if key not in self._demands:
                self._demands[key] = self._demand(key, together)
                continue
            for queue in together:
                self._session.node.engine.waiters.add_queue(self._demands[key], queue)

    def _demand(self, key: int, queues: Sequence[QueueRecord]) -> Demand:
        demand = Demand(
            self,
            self.terms.label,
            queues,
            places=self.terms.in_flight - self._held[key],
            waits=True,
            standing=True,
            work_timeout=self.terms.work_timeout,
            synchronous=self.terms.sync == "sync",
        )
        self._session.node.engine.waiters.add(demand)
        return demand

    def take_over(self, terms: SubscriptionTerms) -> None:
        """Go on as another `subscribe` about the same queues says: under its label, with its number of places."""
        more = terms.in_flight - self.terms.in_flight
        self.terms = terms
        for demand in self._demands.values():
            demand.label, demand.work_timeout = terms.label, terms.work_timeout
            demand.synchronous = terms.sync == "sync"
            demand.places += more
            self._session.node.engine.waiters.refill(demand)
        for reader in self._streams.values():
            reader.change_terms(terms)
        for places in self._stream_places.values():
            places.free += more
            places.fill()

    def end(self) -> None:
        """Read nothing more. What is in flight stays claimed."""
        self.ended = True
        if self._watch is not None:
            self._session.node.directory.unwatch(self._watch)
        for demand in self._demands.values():
            self._session.node.engine.waiters.remove(demand)
        for reader in self._streams.values():
            reader.end()

    def take(self, demand: Demand, messages: Sequence[Any]) -> None:
        if self.terms.match != "any":
            self._hand_out(demand, messages)
            return
        if not self._arrived:
            asyncio.get_running_loop().call_soon(self._hand_out_evenly)
        self._arrived.setdefault(demand, deque()).extend(messages)

    def _hand_out_evenly(self) -> None:
        """Of what arrived in this pass of the event loop: one of each queue, then the next of each."""
        arrived, self._arrived = self._arrived, {}
        while arrived:
            for demand, messages in list(arrived.items()):
                self._hand_out(demand, [messages.popleft()])
                if not messages:
                    del arrived[demand]

    def _hand_out(self, demand: Demand, messages: Sequence[Any]) -> None:
        if self.ended:  # while they were claimed: a client that has unsubscribed gets nothing more
            self._session.claims.release_unsent(messages)
            return

        self._session.claims.hand_over(demand.label, messages, partial(self._place_is_free, demand))

    def _place_is_free(self, demand: Demand) -> None:
        demand.places += 1
        if not demand.ended:
            self._session.node.engine.waiters.refill(demand)

    def went_empty(self, demand: Demand) -> None:
        """A subscription has no end of its waiting."""

    def demand_failed(self, demand: Demand, error: WillowError) -> None:
        """It goes on when the database is back, and the client need not know."""
