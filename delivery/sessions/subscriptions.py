"""The subscriptions of one connection, and its readers of streams."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from psycopg import AsyncConnection

from delivery.protocol.errors import Code, WillowError
from delivery.protocol.fields import Match
from delivery.sessions.positions import StartPosition, open_position
from delivery.sessions.readings import terms_size
from delivery.sessions.stream_reader import SharedPlaces, StreamReader
from delivery.sessions.subscription import Subscription, SubscriptionTerms
from queues.definitions import QueueRecord

if TYPE_CHECKING:
    from delivery.sessions.session import Session


Terms = tuple[str, tuple[str, ...], Match]  # queue name, tags and match: a connection has one subscription of each


class Subscriptions:
    def __init__(self, session: "Session") -> None:
        self._session = session
        self._by_terms: dict[Terms, Subscription] = {}
        self._streams: dict[int, StreamReader] = {}  # by queue
        # By queue: of subscriptions that ended, for the messages that the client still has.
        self._ended_streams: dict[int, StreamReader] = {}

    def __len__(self) -> int:
        return len(self._by_terms)

    def __iter__(self) -> Iterator[Subscription]:
        return iter(self._by_terms.values())

    def all_terms(self) -> list[SubscriptionTerms]:
        return [subscription.terms for subscription in self]

    def queue_ids(self) -> set[int]:
        return {queue_id for subscription in self for queue_id in subscription.queues}

    def alike(self, name: str, tags: tuple[str, ...], match: Match) -> Subscription | None:
        """The one that reads the same already."""
        return self._by_terms.get((name, tags, match))

    def add(self, terms: SubscriptionTerms) -> Subscription:
        """It reads nothing before its `start`."""
        subscription = self._by_terms[terms.name, terms.tags, terms.match] = Subscription(self._session, terms)
        self._session.readings.terms_bytes += terms_size(terms.name, terms.tags)
        return subscription

    def discard(self, subscription: Subscription) -> None:
        """It ended or could not start. By then the client may have begun another one that reads the same."""
        terms = subscription.terms
        if self._by_terms.get((terms.name, terms.tags, terms.match)) is subscription:
            del self._by_terms[terms.name, terms.tags, terms.match]
            self._session.readings.terms_bytes -= terms_size(terms.name, terms.tags)

    def end(self, label: int | None) -> set[int]:
        """All that were made with this label. Returns the queues that they read."""
        ending = [subscription for subscription in self if subscription.terms.label == label]
        if not ending:
            named = "without a label" if label is None else f"with the label {label}"
            key = "label" if label is None else str(label)
            raise WillowError(Code.NO_OBJECT, key, f"This connection has no subscription {named}.")
        for subscription in ending:
            self._end(subscription)
        return {queue_id for subscription in ending for queue_id in subscription.queues}

    def _end(self, subscription: Subscription) -> None:
        subscription.end()
        self.discard(subscription)
        self._session.readings.subscribed -= len(subscription.queues)
        for queue_id in subscription.queues:
            if (reader := self._streams.pop(queue_id, None)) is not None:
                self._ended_streams[queue_id] = reader

    def go_on(self) -> None:
        for subscription in list(self):
            subscription.go_on()

    def end_all(self) -> None:
        for subscription in self:
            subscription.end()

    # streams

    def stream(self, queue_id: int) -> StreamReader | None:
        return self._streams.get(queue_id) or self._ended_streams.get(queue_id)

    def has_ended(self, streams: Iterable[QueueRecord]) -> bool:
        """Whether this connection read one of them before, so that its position may still be on its way to the disk."""
        return any(stream.id in self._ended_streams for stream in streams)

    def read_stream(
        self, queue: QueueRecord, terms: SubscriptionTerms, places: SharedPlaces, position: StartPosition | None
    ) -> StreamReader:
        """`position` None: the stream was made after the subscription, which gets all of it."""
        session = self._session
        assert session.registered is not None
        client_id = session.registered.id
        reader = StreamReader(session, client_id, queue, terms, feed=session.node.feeds.of(queue.id), places=places)
        self._streams[queue.id] = reader
        self._ended_streams.pop(queue.id, None)

        async def open_and_start(connection: AsyncConnection[Any]) -> None:
            if opened := await open_position(connection, client_id, queue.id, "oldest"):
                reader.start(opened)

        if position is None:
            session.node.run_job_soon(open_and_start)
        else:
            reader.start(position)
        return reader

    def stream_refusal(self, stream: QueueRecord) -> WillowError | None:
        """Why this connection may not begin to read a stream, if it may not."""
        if self._session.registered is None:
            reason = f"The queue {stream.name} is a stream: `register` before you subscribe to it."
            return WillowError(Code.PERMISSION_DENIED, stream.name, reason)
        if stream.id in self._streams:
            reason = f"Another subscription of this client reads the stream {stream.name} already."
            return WillowError(Code.OBJECT_ALREADY_EXISTS, stream.name, reason)
        return None

    @property
    def reads_streams(self) -> bool:
        return bool(self._streams or self._ended_streams)

    @property
    def has_unacknowledged(self) -> bool:
        """Whether the client has messages of streams that it has not acknowledged yet."""
        return any(reader.is_with_client for reader in self._streams.values())

    def keep_all_alive(self) -> None:
        for reader in self._streams.values():
            reader.keep_all_alive()

    def release_all(self) -> None:
        for reader in (*self._streams.values(), *self._ended_streams.values()):
            reader.release_all()

    def send_overdue_again(self) -> None:
        for reader in self._streams.values():
            reader.send_overdue_again()
