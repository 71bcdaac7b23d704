"""What happened in the last minutes: posts from the queues' counters, ends from the journal.

Each look adds what is new since the last one, so looking often costs little, and the journal is not read while nobody
looks. Ends are counted at the times in the journal. Counters do not say when they moved: posts are spread over the time
between two counts, and each node counts them all the time (console/post_counting.py).
"""

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from delivery.moves.states import Outcome
from delivery.storage.reading import bounded_cursor
from delivery.storage.statements import statement

SLOT_SECONDS = 10
SLOTS = 90  # that are kept: a quarter of an hour
JOURNAL_ROWS = 100_000  # read at a time at most; older rows are skipped
POSTED = "posted"
FAILED = (Outcome.RETRIED.value, Outcome.DEAD.value)
ENDED_WELL = (Outcome.FINISHED.value, Outcome.POPPED.value)


class Rates(NamedTuple):
    """Per minute, by slot, oldest first."""

    slots: list[int]  # epoch seconds at which each begins
    posted: list[float | None]  # None: nobody counted then
    finished: list[float]
    failed: list[float]
    dead: list[float]

    def latest(self, name: str) -> float | None:
        """Over the last whole minute; None: nobody counted then."""
        values = [value for value in getattr(self, name)[-7:-1] if value is not None]
        return sum(values) / len(values) if values else None


class Lately:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[int, defaultdict[int, Counter[str]]] = {}  # by slot, by queue (0: all), by outcome
        self._newest: dict[int, int] = {}
        self._counted_at: float | None = None
        self._first_count: float | None = None
        self._read_until = "0"

    def look(self, newest: Mapping[int, int], now: float | None = None) -> None:
        """Add what happened since the last look. `newest` is the newest index of every queue."""
        self.count_posts(newest, now)
        with self._lock:
            self._count_ends()

    def count_posts(self, newest: Mapping[int, int], now: float | None = None) -> None:
        with self._lock:
            now = time.time() if now is None else now
            self._count_posts(newest, now)
            for slot in [slot for slot in self._counts if slot <= now // SLOT_SECONDS - SLOTS]:
                del self._counts[slot]

    def rates(self, queue_id: int = 0, now: float | None = None) -> Rates:
        """Of one queue, or of all."""
        last = int((time.time() if now is None else now) // SLOT_SECONDS)
        slots = range(last - SLOTS + 1, last + 1)
        with self._lock:
            seen = [self._slot_of(slot, queue_id) for slot in slots]
            first = None if self._first_count is None else self._first_count // SLOT_SECONDS
        per_minute = 60 / SLOT_SECONDS

        def of(*outcomes: str) -> list[float]:
            return [sum(counter[outcome] for outcome in outcomes) * per_minute for counter in seen]

        posted = [
            value if first is not None and slot > first else None for slot, value in zip(slots, of(POSTED), strict=True)
        ]
        return Rates(
            [slot * SLOT_SECONDS for slot in slots], posted, of(*ENDED_WELL), of(*FAILED), of(Outcome.DEAD.value)
        )

    def posts_of(self, queue_id: int, now: float | None = None) -> list[float]:
        """For a sparkline: posts per minute, as far back as they were counted."""
        return [value or 0.0 for value in self.rates(queue_id, now).posted]

    def _count_posts(self, newest: Mapping[int, int], now: float) -> None:
        since = self._counted_at
        if since is not None and now - since < SLOTS * SLOT_SECONDS:
            for queue_id, index in newest.items():
                posts = index - self._newest.get(queue_id, 0)  # a new queue begins with nothing
                if posts > 0:
                    self._spread(queue_id, posts, since, now)
        else:
            self._first_count = now
        # Two who count at once may come in the wrong order; indexes only ever grow.
        self._newest = {queue_id: max(index, self._newest.get(queue_id, 0)) for queue_id, index in newest.items()}
        self._counted_at = now

    def _spread(self, queue_id: int, posts: int, since: float, until: float) -> None:
        """Evenly over the slots between two counts."""
        first, last = int(since // SLOT_SECONDS), int(until // SLOT_SECONDS)
        for slot in range(first, last + 1):
            begin, end = max(since, slot * SLOT_SECONDS), min(until, (slot + 1) * SLOT_SECONDS)
            share = posts * (end - begin) / (until - since) if until > since else posts
            for where in (queue_id, 0):
                self._slot(slot)[where][POSTED] += share  # type: ignore[assignment]

    def _count_ends(self) -> None:
        with bounded_cursor() as cursor:
            cursor.execute(statement("journal_settled"), {"rows": JOURNAL_ROWS})
            until, earliest = cursor.fetchone()
            since = max(self._read_until, earliest, key=int)
            cursor.execute(statement("journal_counts"), {"since": since, "until": until, "seconds": SLOT_SECONDS})
            for queue_id, outcome, slot, ended in cursor.fetchall():
                for where in (queue_id, 0):
                    self._slot(slot)[where][outcome] += ended
        self._read_until = until

    def _slot(self, slot: int) -> defaultdict[int, Counter[str]]:
        return self._counts.setdefault(slot, defaultdict(Counter))

    def _slot_of(self, slot: int, queue_id: int) -> Counter[str]:
        known = self._counts.get(slot)
        return Counter() if known is None else known.get(queue_id, Counter())
