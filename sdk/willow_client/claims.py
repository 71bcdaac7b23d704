"""What this client holds: all of it is kept alive, as often as each claim's own time asks, until it has ended.

A claim that the broker knows nothing of any more is lost; whoever works on it is told.
"""

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from willow_client.calls import NOT_YOURS, Call, error_of
from willow_client.commands import ClaimId, Keepalive, Release
from willow_client.errors import WillowError
from willow_client.frames import AnyFrame, Delivery, Error
from willow_client.timetable import Timetable

if TYPE_CHECKING:
    import asyncio

    from willow_client.connection import Connection

logger = logging.getLogger("willow_client")

KEEPALIVES_PER_CLAIM = 3  # in its time, so that it outlasts two that were late or lost
UNTOLD_SECONDS = 60.0  # that a claim is taken to last if the broker did not say
MOST_PER_RELEASE = 1000  # messages

Key: TypeAlias = tuple[int, int]  # shard and index
Lost: TypeAlias = Callable[[], None]


def key_of(delivery: Delivery) -> Key:
    return delivery.shard, delivery.index


def id_of(delivery: Delivery) -> ClaimId:
    return ClaimId(delivery.queue, delivery.shard, delivery.sequence, delivery.index, delivery.attempt)


def keepalive_interval(work_timeout: float | None) -> float:
    return (work_timeout or UNTOLD_SECONDS) / KEEPALIVES_PER_CLAIM


def _interval(delivery: Delivery) -> float:
    return keepalive_interval(delivery.work_timeout)


class Claims:
    def __init__(self, connection: "Connection", loop: "asyncio.AbstractEventLoop") -> None:
        self._connection = connection
        self._held: dict[Key, Delivery] = {}
        self._begun: set[Key] = set()  # that somebody has looked at
        self._listeners: dict[Key, Lost] = {}
        self._due: Timetable[Key] = Timetable(loop, self._keep_alive)

    def __len__(self) -> int:
        return len(self._held)

    def add(self, delivery: Delivery) -> bool:
        """Returns False for a message that is held already, and was sent again over a new connection."""
        key = key_of(delivery)
        known = self._held.get(key)
        if known is not None:
            if known.attempt >= delivery.attempt:
                return False
            self.lose(known)
        self._held[key] = delivery
        self._due.put(_interval(delivery), key)
        return True

    def holds(self, delivery: Delivery) -> bool:
        return self._held.get(key_of(delivery)) is delivery

    def holds_attempt(self, delivery: Delivery) -> bool:
        """Whether this attempt, or a later one, is held already."""
        known = self._held.get(key_of(delivery))
        return known is not None and known.attempt >= delivery.attempt

    def end(self, delivery: Delivery) -> None:
        """It was finished or failed, given back, or nobody refers to it any more."""
        key = key_of(delivery)
        if self._held.get(key) is delivery:
            del self._held[key]
            self._begun.discard(key)
            self._listeners.pop(key, None)
            self._due.take_out(_interval(delivery), key)

    def begin(self, delivery: Delivery) -> None:
        """The work on it has begun: from here on its end costs an attempt."""
        if self.holds(delivery):
            self._begun.add(key_of(delivery))

    def has_begun(self, delivery: Delivery) -> bool:
        return key_of(delivery) in self._begun

    def lose(self, delivery: Delivery) -> None:
        key = key_of(delivery)
        if self._held.get(key) is not delivery:
            return
        listener = self._listeners.get(key)
        self.end(delivery)
        logger.warning(
            "The claim on message %d of %s was lost; it will be handed out again", delivery.index, delivery.queue
        )
        if listener is not None:
            listener()

    def tell_when_lost(self, delivery: Delivery, listener: Lost) -> None:
        """Call the listener if the claim is lost; at once if it has been."""
        if self.holds(delivery):
            self._listeners[key_of(delivery)] = listener
        else:
            listener()

    # keeping alive

    def _keep_alive(self, key: Key) -> None:
        """While there is no connection nothing is said: afterwards everything is asked after."""
        delivery = self._held.get(key)
        if delivery is not None:
            if self._connection.is_connected:
                self._connection.start(KeepaliveCall(self._connection, self, delivery))
            self._due.put(_interval(delivery), key)

    def has_lasted(self, delivery: Delivery, *, since: float, heard_at: float) -> bool:
        """Whether a claim has outlasted a reconnect, as far as it can be known.

        `since`: when the connection was there. `heard_at`: when the broker was last heard of before that; the last
        keepalive that arrived was sent a third of the claim's time earlier, or later.
        """
        now = self._connection.loop.time()
        return now - since < self._connection.options.hold and now - heard_at < _interval(delivery)

    def confirm_all(self) -> None:
        """After a lost connection: find out what is still held."""
        for delivery in list(self._held.values()):
            self._connection.start(KeepaliveCall(self._connection, self, delivery))

    # giving back

    def release_commands(self, deliveries: Iterable[Delivery]) -> Iterator[Release]:
        """Commands that give messages back, as if they had not been handed out."""
        ids = []
        for delivery in deliveries:
            self.end(delivery)
            ids.append(id_of(delivery))
        for start in range(0, len(ids), MOST_PER_RELEASE):
            yield Release(messages=tuple(ids[start : start + MOST_PER_RELEASE]))

    def held(self) -> list[Delivery]:
        return list(self._held.values())

    def clear(self) -> None:
        self._held.clear()
        self._begun.clear()
        self._listeners.clear()
        self._due.clear()


class KeepaliveCall(Call):
    """Nobody awaits it: a refusal means that the claim was lost."""

    __slots__ = ("_claims", "_delivery")

    def __init__(self, connection: "Connection", claims: Claims, delivery: Delivery) -> None:
        command = Keepalive(
            queue=delivery.queue,
            shard=delivery.shard,
            sequence=delivery.sequence,
            index=delivery.index,
            attempt=delivery.attempt,
            label=connection.new_label(),
        )
        super().__init__(command, repeatable=False)  # after a reconnect every claim is confirmed anyway
        self._claims = claims
        self._delivery = delivery

    def take(self, frame: AnyFrame) -> bool:
        if isinstance(frame, Error):
            if frame.code in NOT_YOURS:
                self._claims.lose(self._delivery)
            else:
                logger.warning("A message could not be kept alive: %s", error_of(frame))
        return True

    def fail(self, error: WillowError) -> None:
        pass
