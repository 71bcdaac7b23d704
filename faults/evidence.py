"""Histories, remains and faults together, arranged so that verdicts find what they need."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from faults.history import Event, Kind
from faults.remains import Ending, Fault, Live, QueueRemains, Remains

MessageKey = tuple[int, int]  # shard and index

UNFLUSHED_SECONDS = 5.0  # what was committed longer ago is flushed; PostgreSQL needs 0.6 s unless it is overloaded
NOTED_SECONDS = 2.0  # a client may note later what it was told
RECOVERY_SECONDS = 10.0  # after a fault, until times and order are judged again


@dataclass(slots=True)
class Post:
    event: Event
    told: list[Event] = field(default_factory=list)  # notices, in their order
    refused: Event | None = None

    def first(self, stage: str) -> Event | None:
        return next((notice for notice in self.told if notice.stage == stage), None)


@dataclass(slots=True)
class Delivery:
    """A message as one client received it, and how long that client may believe that it holds it."""

    event: Event
    session: str
    held_until: float  # the end that the client knows of: its own word, its lost connection, the end of the claim
    connection: int  # over which it holds it: another one, if it came back
    lease_until: float  # the end of the claim, if the client says nothing more


@dataclass(slots=True)
class Said:
    """A finish, fail, release or keepalive with its answer."""

    event: Event
    confirmed: list[Event] = field(default_factory=list)
    refused: Event | None = None


@dataclass(slots=True)
class Connection:
    """One connection of a client, from its greeting to its end."""

    client: str
    number: int
    session: str
    began: float
    ended: float | None
    last_heard: float  # when anything came over it
    last_alive: float  # when the broker must still have had it: a slow reader hears of that later


class Evidence:
    def __init__(self, history: Sequence[Event], remains: Remains, faults: Sequence[Fault] = ()) -> None:
        self.history = history
        self.remains = remains
        self.faults = faults

    def of_kind(self, *kinds: Kind) -> Iterator[Event]:
        return (event for event in self.history if event.kind in kinds)

    # posts

    @cached_property
    def posts(self) -> dict[str, Post]:
        """By body."""
        posts = {event.body: Post(event) for event in self.of_kind(Kind.POST)}
        by_label = {(post.event.client, post.event.label): post for post in posts.values()}
        for event in self.of_kind(Kind.TOLD, Kind.REFUSED):
            post = by_label.get((event.client, event.label))
            if post is not None and event.kind == Kind.TOLD:
                post.told.append(event)
            elif post is not None:
                post.refused = event
        return posts

    # claims

    @cached_property
    def connections(self) -> dict[tuple[str, int], Connection]:
        found: dict[tuple[str, int], Connection] = {}
        for event in self.history:
            key = (event.client, event.connection)
            if event.kind == Kind.CONNECTED:
                found[key] = Connection(*key, event.session, event.at, None, event.at, event.at)
            elif event.kind == Kind.KILLED:
                self._end_with_process(found, event)
            elif key in found and event.kind == Kind.LOST:
                found[key].ended = event.at
            elif key in found and event.kind in (Kind.TOLD, Kind.NOTHING, Kind.RECEIVED, Kind.CONFIRMED, Kind.REFUSED):
                found[key].last_heard = event.at
                found[key].last_alive = max(found[key].last_alive, self._sent_at_earliest(event))
        return found

    def _sent_at_earliest(self, heard: Event) -> float:
        """A message was sent after its assignment, and an answer after its command."""
        if heard.kind == Kind.RECEIVED:
            return min(self.assigned_at.get((*heard.message, heard.attempt), heard.at), heard.at)
        return self._commanded_at.get((heard.client, heard.label), heard.at)

    @cached_property
    def _commanded_at(self) -> dict[tuple[str, int | None], float]:
        """By client and label."""
        return {(event.client, event.label): event.at for event in self.of_kind(Kind.POST, Kind.ASK, Kind.SAY)}

    def _end_with_process(self, connections: dict[tuple[str, int], Connection], killed: Event) -> None:
        """A killed client cannot note that its connection is over."""
        for connection in connections.values():
            if connection.ended is None and connection.client.startswith(f"{killed.client}-"):
                connection.ended = killed.at

    @cached_property
    def said(self) -> list[Said]:
        said = [Said(event) for event in self.of_kind(Kind.SAY)]
        by_label = {(one.event.client, one.event.label): one for one in said}
        for event in self.of_kind(Kind.CONFIRMED, Kind.REFUSED):
            one = by_label.get((event.client, event.label))
            if one is not None and event.kind == Kind.CONFIRMED:
                one.confirmed.append(event)
            elif one is not None:
                one.refused = event
        return said

    @cached_property
    def said_of(self) -> dict[tuple[str, MessageKey], list[Said]]:
        """By client and message."""
        by_claim: dict[tuple[str, MessageKey], list[Said]] = defaultdict(list)
        for one in self.said:
            by_claim[one.event.client, one.event.message].append(one)
        return by_claim

    @cached_property
    def deliveries(self) -> dict[MessageKey, list[Delivery]]:
        """Of work queues, to be finished; by message, in the order in which they were received."""
        found: dict[MessageKey, list[Delivery]] = defaultdict(list)
        for event in self.of_kind(Kind.RECEIVED):
            if not event.ended and event.shard not in self.streams:
                found[event.message].append(Delivery(event, self._session(event), *self._holding(event)))
        return found

    def _session(self, event: Event) -> str:
        connection = self.connections.get((event.client, event.connection))
        return connection.session if connection else event.client

    def _holding(self, received: Event) -> tuple[float, int, float]:
        """Until when the client may believe that it holds the message, and over which connection.

        A claim lasts from its assignment, or from the last keepalive that was confirmed.

        With its connection a client loses what it held, unless it comes back and a keepalive is confirmed again.
        """
        assigned = self.assigned_at.get((*received.message, received.attempt), received.at)
        until = min(assigned, received.at) + received.seconds
        lost, connection = self._lost_at(received), received.connection
        over: float | None = None
        for one in self.said_of.get((received.client, received.message), ()):
            if one.event.at < received.at or one.event.attempt not in (0, received.attempt):
                continue
            if one.event.verb != "keepalive":
                over = one.event.at
                break
            if one.confirmed:
                until = max(until, one.event.at + received.seconds)
                lost, connection = self._lost_at(one.event), one.event.connection
        return min(moment for moment in (until, lost, over) if moment is not None), connection, until

    def _lost_at(self, event: Event) -> float | None:
        connection = self.connections.get((event.client, event.connection))
        return connection.ended if connection else None

    @cached_property
    def asks(self) -> dict[tuple[str, int | None], Event]:
        """By client and label."""
        return {(event.client, event.label): event for event in self.of_kind(Kind.ASK)}

    # the storage

    @cached_property
    def streams(self) -> frozenset[int]:
        return frozenset(queue.shard for queue in self.remains.queues if queue.is_stream)

    @cached_property
    def queues(self) -> dict[int, QueueRemains]:
        return {queue.shard: queue for queue in self.remains.queues}

    @cached_property
    def live(self) -> dict[MessageKey, Live]:
        return {(message.shard, message.index): message for message in self.remains.live}

    @cached_property
    def endings(self) -> dict[MessageKey, list[Ending]]:
        found: dict[MessageKey, list[Ending]] = defaultdict(list)
        for ending in self.remains.endings:
            found[ending.message].append(ending)
        return found

    @cached_property
    def assigned_at(self) -> dict[tuple[int, int, int], float]:
        """By shard, index and attempt."""
        found = {
            (ending.shard, ending.index, ending.attempt): ending.assigned_at
            for ending in self.remains.endings
            if ending.assigned_at is not None
        }
        for message in self.remains.live:
            if message.assigned_at is not None:
                found[message.shard, message.index, message.attempt] = message.assigned_at
        return found

    @cached_property
    def buried(self) -> set[MessageKey]:
        """Messages whose dead letter is there, or was worked off in its turn: then its own row has its body."""
        letters = [ending for ending in self.remains.endings if ending.is_last and ending.queue.endswith(".dead")]
        bodies = {letter.body for letter in letters}
        worked_off = {
            ending.message for ending in self.remains.endings if ending.outcome == "dead" and ending.body in bodies
        }
        return worked_off | {message.origin for message in self.remains.live if message.origin is not None}

    # faults

    @cached_property
    def crashes(self) -> list[Fault]:
        """Faults in which the storage lost what was not flushed."""
        return [fault for fault in self.faults if fault.crashes_storage or fault.loses_storage]

    def may_be_taken_back(self, written: float) -> bool:
        """Whether the storage crashed so soon after something was told `write` that this may be gone."""
        return any(
            fault.began - UNFLUSHED_SECONDS <= written <= fault.ended + NOTED_SECONDS
            or (fault.loses_storage and written <= fault.ended)
            for fault in self.crashes
        )

    def crashed_between(self, earlier: float, later: float) -> bool:
        return any(fault.began <= later and earlier <= fault.ended for fault in self.crashes)

    def is_calm(self, earlier: float, later: float) -> bool:
        """Whether no fault was under way then, nor just over."""
        return not any(fault.began <= later and earlier <= fault.ended + RECOVERY_SECONDS for fault in self.faults)

    @cached_property
    def end(self) -> float:
        return self.history[-1].at if self.history else 0.0
