"""What readers want: so many messages of some queues, at once or as they come."""

import asyncio
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Protocol

from delivery.protocol.errors import WillowError
from queues.definitions import QueueRecord

NO_SESSION = 0  # stands for the session of readers over HTTP, who have none


class Reader(Protocol):
    """Who gets the messages of a demand, or is told that there were none."""

    takes_parts: bool  # of what a fetch or pop gets, until the demand has ended

    @property
    def session_id(self) -> int: ...

    @property
    def client_name(self) -> str | None: ...

    @property
    def is_crowded(self) -> bool:
        """Whether it has so much to pass on that it is to be given nothing more for now."""

    def take(self, demand: "Demand", messages: Sequence[Any]) -> None: ...

    def went_empty(self, demand: "Demand") -> None: ...

    def demand_failed(self, demand: "Demand", error: WillowError) -> None: ...


class Rotation:
    """Of reads with the match `any`: the number of the queue that the next read begins with."""

    __slots__ = ("next_queue",)

    def __init__(self) -> None:
        self.next_queue = 0


class Demand:
    """Asks for messages: a fetch, a pop, or the free places of a subscription.

    It is known to `Waiters` from its first attempt to its end, so that whatever arrives while an attempt is under way
    leads to another one. `standing` demands (subscriptions) stay after they were served.
    """

    __slots__ = (
        "attempting",
        "caller",
        "candidates",
        "counts",
        "ended",
        "has_waited",
        "label",
        "places",
        "pops",
        "queues",
        "reader",
        "refusal",
        "rotation",
        "served",
        "standing",
        "synchronous",
        "taken_bytes",
        "timer",
        "waits",
        "when_ended",
        "woken",
        "work_timeout",
    )  # fmt: skip

    def __init__(
        self,
        reader: Reader,
        label: int | None,
        queues: Sequence[QueueRecord],
        *,
        places: int,
        counts: bool = False,
        pops: bool = False,
        waits: bool = False,
        standing: bool = False,
        rotation: Rotation | None = None,
        work_timeout: float | None = None,
        synchronous: bool = False,
        caller: Hashable = None,
    ) -> None:
        self.reader = reader
        self.caller = caller  # whose fetches and pops are counted together
        self.label = label
        self.queues = list(queues)
        self.candidates = {queue.id for queue in queues}  # those in which something may be found
        self.places = places
        self.counts = counts  # each message is told how many follow it
        self.pops = pops
        self.waits = waits
        self.standing = standing
        self.rotation = rotation
        self.work_timeout = work_timeout
        self.synchronous = synchronous
        self.attempting = False
        self.has_waited = False  # an attempt has found nothing
        self.woken = 0  # messages that came while an attempt was under way
        self.served = False  # of a large `count`: a part of it was taken already
        self.taken_bytes = 0  # of what it was given so far, if it is given parts
        self.ended = False
        self.refusal: WillowError | None = None  # why it does not go on waiting
        self.timer: asyncio.TimerHandle | None = None
        self.when_ended: Callable[[], None] | None = None

    def begin_attempt(self) -> None:
        self.attempting = True
        self.woken = 0

    def takes_what_is_stored(self, *, flushed: bool) -> bool:
        """Whether a message may be claimed for it by the statement that stores it."""
        return not self.pops and len(self.queues) == 1 and (flushed or not self.synchronous)
