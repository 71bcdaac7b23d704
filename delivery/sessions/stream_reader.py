"""One client's reader of one stream: what was sent to it, what it acknowledged, what it is sent again."""

import asyncio
import time
from bisect import insort
from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from delivery.protocol.errors import Code, WillowError
from delivery.protocol.frames import Error, Message
from delivery.sessions.positions import Answer, PositionWrite, StartPosition
from delivery.sessions.stream_feed import READ_AT_ONCE, Found, StreamFeed, StreamMessage
from queues.definitions import QueueRecord

if TYPE_CHECKING:
    from delivery.sessions.session import Session
    from delivery.sessions.subscription import SubscriptionTerms

MOST_DELAYED = 10_000  # messages of one reader
# Messages of one reader, beginning with the oldest that is not acknowledged. Which of them are acknowledged is kept in
# memory, and written with each acknowledgement.
MOST_OPEN = 10_000


class Outstanding:
    """A message that was sent to the client and is not acknowledged yet. To send it again, its body is read again."""

    __slots__ = ("attempt", "deadline", "index", "sequence")

    def __init__(self, message: StreamMessage, attempt: int, deadline: float) -> None:
        self.index = message.index
        self.sequence = message.sequence
        self.attempt = attempt
        self.deadline = deadline


def _index(held: Outstanding) -> int:
    return held.index


class SharedPlaces:
    """How many more unacknowledged messages a subscription may have, shared by its readers of streams."""

    def __init__(self, in_flight: int) -> None:
        self.free = in_flight
        self.readers: deque[StreamReader] = deque()

    def fill(self) -> None:
        """A place has become free. The reader that comes first now comes last the next time."""
        self.readers.rotate(-1)
        for reader in list(self.readers):
            reader.pump()


class StreamReader:
    """One client's reader of one stream.

    Everything up to `cursor` was sent or is gone; of that, what is in `unacked` still waits for its acknowledgement.
    """

    def __init__(
        self,
        session: "Session",
        client_id: int,
        queue: QueueRecord,
        terms: "SubscriptionTerms",
        *,
        feed: StreamFeed,
        places: SharedPlaces,
    ) -> None:
        self.client_id = client_id
        self.session_id = session.session_id
        self.queue_id = queue.id
        self.acked_index = 0
        self.acked_above: set[int] = set()
        self.cursor = 0
        self.unacked: dict[int, None] = {}  # by index, in the order in which they were first sent
        self.pending_write: PositionWrite | None = None
        self.ended = False
        self._session = session
        self._queue = queue
        self._terms = terms
        self._feed = feed
        self._places = places
        self._pruned_to = 0  # what is remembered of acknowledgements is above this index
        self._sent_before = 0  # highest index that an earlier session of this client was sent
        self._reading = True  # until the position is known
        self._woken = False
        self._outstanding: dict[int, Outstanding] = {}  # by index
        self._index_of: dict[int, int] = {}  # by sequence, which is used again: the newest with it
        self._again: deque[Outstanding] = deque()  # to be sent once more when a place is free
        self._delayed: dict[Outstanding, asyncio.TimerHandle] = {}  # the same, when their time has come

    def start(self, position: StartPosition) -> None:
        """Begin where the client was. What it has not acknowledged is sent again first."""
        self.acked_index, self.acked_above = position.acked_index, set(position.acked_above)
        self.cursor, self._sent_before = position.floor_index, position.delivered_index
        self._pruned_to = position.floor_index
        if not self.ended:
            self._reading = False
            self._feed.join(self)
            self._places.readers.append(self)
            self.pump()

    @property
    def floor_index(self) -> int:
        """Everything up to here is acknowledged, or gone."""
        return next(iter(self.unacked), self.cursor + 1) - 1

    @property
    def delivered_index(self) -> int:
        return max(self.cursor, self._sent_before)

    @property
    def is_with_client(self) -> bool:
        """Whether the client has messages that it has not acknowledged yet."""
        return bool(self._outstanding)

    @property
    def _work_timeout(self) -> float:
        return self._terms.work_timeout or self._queue.settings.heartbeat_timeout

    def pump(self) -> None:
        """Send what there is and fits."""
        if self._reading:
            self._woken = True
            return
        if self.ended or self._session.is_crowded or self._session.node.is_paused(self.queue_id):
            return
        if self._places.free <= 0:
            return
        if self._again:
            self._reading, self._woken = True, False
            failed = [self._again.popleft() for _ in range(min(len(self._again), self._places.free, READ_AT_ONCE))]
            self._feed.messages_at([held.index for held in failed], partial(self._read_again, failed))
        elif (places := self._places_for_new) > 0:
            self._reading, self._woken = True, False
            self._feed.messages_after(self.cursor, places, self._read)

    @property
    def _places_for_new(self) -> int:
        """Also for those that an earlier session was sent: of them it is known already which are acknowledged."""
        sent_before = self._sent_before - self.cursor
        return min(self._places.free, max(sent_before, MOST_OPEN - len(self.unacked) - len(self.acked_above)))

    def _read_again(self, failed: Sequence[Outstanding], found: Found) -> None:
        self._reading = False
        if self.ended:
            return
        left: list[Outstanding] = []
        for held in failed:
            if held.index > found.looked_up_to or self._places.free <= 0:
                left.append(held)
            elif (message := found.messages.get(held.index)) is not None:
                self._send(message, held.attempt + 1)
            else:
                self._is_gone(held)
        self._again.extendleft(reversed(left))
        if found.looked_up_to:  # otherwise the database is gone, and the poll wakes this reader when it is back
            self.pump()

    def _is_gone(self, held: Outstanding) -> None:
        """Retention has removed a message that the client wanted again."""
        del self.unacked[held.index]
        self._tell_of_missed(held.index, held.index)
        self._save()

    def _read(self, messages: list[StreamMessage]) -> None:
        self._reading = False
        if self.ended:
            return
        taken = messages[: max(self._places_for_new, 0)]
        for message in taken:
            self._tell_of_gap(self.cursor + 1, message.index - 1)
            self.cursor = message.index
            if message.index not in self.acked_above:
                self.unacked[message.index] = None
                self._send(message, 2 if message.index <= self._sent_before else 1)
        if taken:
            self._save()
        if self._woken or taken:
            self.pump()

    def _send(self, message: StreamMessage, attempt: int) -> None:
        deadline = time.monotonic() + self._work_timeout
        self._places.free -= 1
        self._outstanding[message.index] = Outstanding(message, attempt, deadline)
        self._index_of[message.sequence] = message.index
        self._session.send(
            Message(
                label=self._terms.label,
                shard=self.queue_id,
                sequence=message.sequence,
                body=message.body,
                finished=False,
                queue=self._queue.name,
                tags=self._queue.tags,
                index=message.index,
                attempt=attempt,
                priority=message.priority,
                headers=message.headers,
                group=message.group_key,
                work_timeout=self._work_timeout,
            )
        )

    def _tell_of_gap(self, first: int, last: int) -> None:
        """Messages are gone. The client has missed those that it had not acknowledged before."""
        if first > last:
            return
        for acked in (*sorted(index for index in self.acked_above if first <= index <= last), last + 1):
            if first < acked:
                self._tell_of_missed(first, acked - 1)
            first = acked + 1

    def _tell_of_missed(self, first: int, last: int) -> None:
        reason = f"Messages {first} to {last} of the stream {self._queue.name} were removed before you read them."
        self._session.send(Error(self._terms.label, Code.NO_OBJECT, f"{self.queue_id}/{first}-{last}", reason))

    def acknowledge(self, held: Outstanding, answer: Answer, *, synchronous: bool) -> None:
        """The client has finished a message."""
        self._take_back(held)
        acked = held.index
        del self.unacked[acked]
        self.acked_index = max(self.acked_index, acked)
        self.acked_above.add(acked)
        self._save(answer, synchronous=synchronous)
        self._places.fill()

    def fail(self, held: Outstanding, delay: float | None) -> None:
        """The client wants a message again."""
        if delay and len(self._delayed) >= MOST_DELAYED:
            reason = f"{MOST_DELAYED} messages of the stream {self._queue.name} wait for their delay already."
            raise WillowError(Code.OVERLOADED, self._queue.name, reason)
        self._take_back(held)
        if self.ended:
            return
        if delay:
            self._delayed[held] = asyncio.get_running_loop().call_later(delay, self._delay_is_over, held)
        else:
            self._again.append(held)
        self._places.fill()

    def _delay_is_over(self, held: Outstanding) -> None:
        del self._delayed[held]
        self._send_again(held)

    def release(self, held: Outstanding) -> None:
        """The client has not begun with a message: it comes again at its place, as the same attempt."""
        self._set_aside(held)
        self._places.fill()

    def release_all(self) -> None:
        released = list(self._outstanding.values())
        for held in released:
            self._take_back(held)
            held.attempt -= 1
        self._again = deque(sorted((*self._again, *released), key=_index))
        self._places.fill()

    def _set_aside(self, held: Outstanding) -> None:
        self._take_back(held)
        held.attempt -= 1
        insort(self._again, held, key=_index)

    def keep_alive(self, held: Outstanding) -> None:
        held.deadline = time.monotonic() + self._work_timeout

    def keep_all_alive(self) -> None:
        deadline = time.monotonic() + self._work_timeout
        for held in self._outstanding.values():
            held.deadline = deadline

    def send_overdue_again(self) -> None:
        """The time of some messages ran out without an answer."""
        now = time.monotonic()
        for held in [held for held in self._outstanding.values() if held.deadline <= now]:
            self._take_back(held)
            self._send_again(held)

    def held(self, sequence: int, index: int | None, attempt: int | None) -> Outstanding | None:
        """The message that a command names, if it is outstanding here."""
        held = self._outstanding.get(self._index_of.get(sequence, 0) if index is None else index)
        if held is None or held.sequence != sequence or attempt not in (None, held.attempt):
            return None
        return held

    def _take_back(self, held: Outstanding) -> None:
        """It is not outstanding any more."""
        self._places.free += 1
        del self._outstanding[held.index]
        if self._index_of[held.sequence] == held.index:
            del self._index_of[held.sequence]

    def _send_again(self, held: Outstanding) -> None:
        self._again.append(held)
        self.pump()

    def _save(self, answer: Answer | None = None, *, synchronous: bool = False) -> None:
        """Write the position down soon; several changes until then are one write."""
        self._prune_to(self.floor_index)
        is_new = self.pending_write is None
        write = self.pending_write or PositionWrite(self)
        self.pending_write = write
        write.add(answer, synchronous)
        if is_new:  # without a connection to the database it fails at once, and everybody who waits is told
            self._session.node.streams.submit(write)

    def _prune_to(self, floor: int) -> None:
        """Forget acknowledgements up to here; only those that the floor has passed are looked at."""
        passed = range(self._pruned_to + 1, floor + 1)
        if not passed:
            return
        self._pruned_to = floor
        if len(passed) < len(self.acked_above):
            self.acked_above.difference_update(passed)
        else:
            self.acked_above = {index for index in self.acked_above if index > floor}

    def change_terms(self, terms: "SubscriptionTerms") -> None:
        """Its subscription goes on under another label, or with another time for each message."""
        self._terms = terms

    def end(self) -> None:
        """Send nothing more. What the client has it may still acknowledge."""
        self.ended = True
        self._again.clear()
        for timer in self._delayed.values():
            timer.cancel()
        self._delayed.clear()
        self._feed.leave(self)
