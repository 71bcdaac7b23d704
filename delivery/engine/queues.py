"""The queues that this node knows, by name and by number, and how unknown ones are made."""

import asyncio
import gc
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from typing import Any

from django.conf import settings
from psycopg import AsyncConnection
from psycopg.rows import dict_row

from delivery.engine.lookups import Defined, Definition, Failed, Lookup
from delivery.engine.matching import QueuesOfName, Watch, Watches
from delivery.protocol.errors import Code, WillowError
from delivery.protocol.fields import Match
from delivery.protocol.frames import QueueIdentity
from delivery.storage.after_commit import for_each, guarded
from delivery.storage.columns import BigintColumn, PackedBigintColumn, packed_bigint
from delivery.storage.lanes import Lane
from queues.definitions import NOBODY, Definer, QueueRecord, record_of, statement

Found = Callable[[list[QueueRecord]], None]

LEARNT_AT_ONCE, LOOKED_FOR_AT_ONCE = 50, 2000  # queues, in one turn of the event loop
OVERLAP_SECONDS = 10  # between what two refreshes look at: more than any statement that defines a queue can take
MOST_NAMES_WITHOUT_QUEUES = 10_000  # that are remembered; anybody can ask for a name that there is not
MOST_LOOKED_BACK = timedelta(seconds=30)  # by a refresh, unless this node was cut off: then more is read again
EPOCH, MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)
# Queues stay, so that somebody who asks for thousands would make the collector look at 25,000 new objects, again and
# again, and each time everybody waits for 15 ms. It looks at so many instead, which takes it two.
YOUNG_OBJECTS = 2_500
JOIN_SECONDS = 0.001  # for which those who read a new queue may keep the loop busy, in one turn of it


class Directory:
    """`announce` tells the other nodes of a queue that was just made, and calls back when they know it.

    `changed` is told of queues that were deleted, paused or resumed, or got other settings: what was known of their
    messages may be wrong.
    """

    def __init__(
        self,
        lane: Lane,
        announce: Callable[[QueueRecord, list[int], Callable[[], None]], None],
        changed: Callable[[int], None],
    ) -> None:
        self._lane = lane
        self._announce = announce
        self._changed = changed
        self._watches = Watches()
        self._joining: deque[tuple[Watch, QueueRecord]] = deque()  # readers that are still to hear of a new queue
        self._by_id: dict[int, QueueRecord] = {}
        self._identities: dict[int, QueueIdentity] = {}  # of queues that were listed for somebody
        self._by_name: dict[str, QueuesOfName] = {}  # only names that were read whole
        self._empty_names: dict[str, None] = {}  # of these, the ones without queues, the oldest first
        self._under_way: dict[str, list[Callable[[], None]]] = {}  # what waits for a job about a name
        self._refreshed_at = time.monotonic()
        self._seen = SeenLately()

    def by_id(self, queue_id: int) -> QueueRecord | None:
        return self._by_id.get(queue_id)

    def identity_of(self, queue: QueueRecord) -> QueueIdentity:
        """Always the same: a list of thousands of queues may wait a hundred times for a client that does not read."""
        found = self._identities.get(queue.id)
        if found is None:
            found = self._identities[queue.id] = QueueIdentity(queue.name, queue.tags, queue.id)
        return found

    def may_keep_replies(self, queue_id: int) -> bool:
        """Also of a queue that this process does not know: the statement looks for itself."""
        queue = self._by_id.get(queue_id)
        return queue is None or bool(queue.settings.keep_replies)

    def name_of(self, queue_id: int) -> str:
        queue = self._by_id.get(queue_id)
        return queue.name if queue else ""

    def known(self, name: str, tags: tuple[str, ...]) -> QueueRecord | None:
        """The queue, if it can be told at once; None also while something about its name is under way."""
        if name in self._under_way:
            return None
        found = self._by_name.get(name)
        return found.get(tags) if found is not None else None

    def matching(self, name: str, tags: Iterable[str], match: Match) -> list[QueueRecord]:
        found = self._by_name.get(name)
        return found.matching(tags, match) if found is not None else []

    def resolve(
        self,
        name: str,
        tags: tuple[str, ...],
        match: Match,
        found: Found,
        failed: Failed,
        by: Definer = NOBODY,
    ) -> None:
        """Find the queues that match. If a reader names exactly one queue and it does not exist, it is made."""
        self._in_order(name, lambda: self._resolve_now(name, tags, match, found, failed, by))

    def find_each(
        self,
        names: Sequence[str],
        tags: tuple[str, ...],
        found: Found,
        failed: Failed,
        known: Sequence[QueueRecord] = (),
        by: Definer = NOBODY,
    ) -> None:
        """The queues of these names with exactly these tags, one after the other. Those that do not exist are made."""
        queues = list(known)
        while len(queues) < len(names):
            name = names[len(queues)]
            queue = self.known(name, tags)
            if queue is None:
                self.resolve(
                    name,
                    tags,
                    "exact",
                    lambda more: self.find_each(names, tags, found, failed, [*queues, *more], by),
                    failed,
                    by,
                )
                return
            queues.append(queue)
        found(queues)

    def create(
        self,
        name: str,
        tags: tuple[str, ...],
        chosen: Mapping[str, Any],
        created: Callable[[QueueRecord, bool], None],
        failed: Failed,
        by: Definer = NOBODY,
    ) -> None:
        def work_done(result: Defined) -> None:
            queue, is_new, other_nodes = result
            guarded(self._learn, queue)
            if is_new and other_nodes:
                # Running subscriptions elsewhere join before anybody can post to the queue or read from it.
                waiting = self._under_way.setdefault(name, [])
                self._announce(queue, other_nodes, lambda: self._go_on(name, waiting, lambda: created(queue, is_new)))
            else:
                created(queue, is_new)

        def submit() -> None:
            done, fail = self._over(name, work_done), self._over(name, failed)
            self._lane.submit(Definition(name, tags, chosen, done, fail, by))

        self._in_order(name, submit)

    def watch(self, name: str, tags: Iterable[str], match: Match, join: Callable[[QueueRecord], None]) -> Watch:
        if name not in self._by_name:
            self._seen = SeenLately()  # a queue of that name may have been none of this node's business
        watch = Watch(name, frozenset(tags), match, join)
        self._watches.add(watch)
        return watch

    def unwatch(self, watch: Watch) -> None:
        self._watches.remove(watch)

    def _resolve_now(
        self, name: str, tags: tuple[str, ...], match: Match, found: Found, failed: Failed, by: Definer
    ) -> None:
        if name not in self._by_name:

            def learn(queues: list[QueueRecord]) -> None:
                self._learn_name(name, queues)
                self._resolve_now(name, tags, match, found, failed, by)

            self._lane.submit(Lookup(name, self._over(name, learn), self._over(name, failed), by))
            return
        queues = self.matching(name, tags, match)
        if queues or (self._by_name[name] and match != "exact"):
            found(queues)  # possibly none yet: queues that match may be made while the reader waits
        elif not settings.WILLOW.auto_define:
            failed(no_such_queue(name))
        elif match in ("exact", "all"):
            self.create(name, tags, {}, lambda *_: found(self.matching(name, tags, match)), failed, by)
        else:
            found([])

    def _in_order(self, name: str, action: Callable[[], None]) -> None:
        """Run now, or after what is under way about this name: commands about one queue keep their order."""
        if name in self._under_way:
            self._under_way[name].append(action)
        else:
            action()

    def _over(self, name: str, answer: Callable[[Any], None]) -> Callable[[Any], None]:
        """For what is about to be under way about a name: gives its answer, then runs what waited for it."""
        waiting = self._under_way.setdefault(name, [])
        return lambda result: self._go_on(name, waiting, lambda: answer(result))

    def _go_on(self, name: str, waiting: list[Callable[[], None]], answer: Callable[[], None]) -> None:
        """What was under way about a name is over: give its answer, then run what waited for it."""
        del self._under_way[name]
        guarded(answer)  # those who wait are others
        for position, action in enumerate(waiting):
            if name in self._under_way:  # an action started something new: the rest waits for that
                self._under_way[name].extend(waiting[position:])
                return
            guarded(action)

    def _learn_name(self, name: str, queues: list[QueueRecord]) -> None:
        self._by_name[name] = QueuesOfName()
        for_each(self._learn, queues)
        if not queues:
            self._remember_empty(name)

    def _remember_empty(self, name: str) -> None:
        self._empty_names[name] = None
        if len(self._empty_names) > MOST_NAMES_WITHOUT_QUEUES:
            oldest = next(iter(self._empty_names))
            del self._empty_names[oldest]
            if oldest in self._under_way:  # a queue of it is being made
                self._empty_names[oldest] = None
            else:
                del self._by_name[oldest]

    def _learn(self, queue: QueueRecord) -> None:
        before = self._by_id.get(queue.id)
        if before is None and gc.get_count()[0] > YOUNG_OBJECTS:
            gc.collect(0)
        self._by_id[queue.id] = queue
        self._seen.add(queue.id, queue.changed_at)
        if queue.name in self._by_name:
            self._by_name[queue.name].put(queue)
            self._empty_names.pop(queue.name, None)
        if before is None and queue.name in self._watches:
            is_at_it = bool(self._joining)
            self._joining.extend((watch, queue) for watch in self._watches.of(queue))
            if not is_at_it:
                self._join_some()
        elif before is not None and before != queue:
            self._changed(queue.id)

    def _join_some(self) -> None:
        """Let readers join a new queue: all at once if they are few, otherwise in several turns of the loop."""
        end = time.perf_counter() + JOIN_SECONDS
        while self._joining:
            watch, queue = self._joining.popleft()
            if not watch.ended:
                watch.join(queue)
            if time.perf_counter() >= end:
                asyncio.get_running_loop().call_soon(self._join_some)
                return

    def forget(self, queue_id: int) -> None:
        """The queue was deleted, or nothing is known of it any more."""
        queue = self._by_id.pop(queue_id, None)
        self._identities.pop(queue_id, None)
        self._seen.drop(queue_id)
        if queue is not None and queue.name in self._by_name:
            of_name = self._by_name[queue.name]
            of_name.remove(queue)
            if not of_name:
                self._remember_empty(queue.name)
        self._changed(queue_id)

    async def forget_deleted(self, connection: AsyncConnection[Any]) -> None:
        """Operators delete queues; a queue that is made again has another number."""
        known = list(self._by_id)
        for begin in range(0, len(known), LOOKED_FOR_AT_ONCE):
            some = BigintColumn(known[begin : begin + LOOKED_FOR_AT_ONCE])
            cursor = await connection.execute(statement("deleted"), {"queue_id": some})
            for (queue_id,) in await cursor.fetchall():
                self.forget(queue_id)

    async def refresh(self, connection: AsyncConnection[Any]) -> None:
        """Learn what other nodes and operators defined or changed since the last refresh, however long ago that is."""
        now = time.monotonic()
        seconds = now - self._refreshed_at + OVERLAP_SECONDS
        self._seen.drop_before(self._refreshed_at - OVERLAP_SECONDS)
        async with connection.cursor(row_factory=dict_row) as cursor:
            await cursor.execute(statement("changed"), {"seconds": seconds, **self._seen.columns()})
            while rows := await cursor.fetchmany(LEARNT_AT_ONCE):
                for row in rows:
                    self._hear_of(row)
                await asyncio.sleep(0)  # somebody may define thousands of queues: the others have their turns
        self._refreshed_at = now

    def _hear_of(self, row: Mapping[str, Any]) -> None:
        name = row["name"]
        if name in self._by_name or name in self._watches or row["id"] in self._by_id:
            self._learn(record_of(row))
        elif name not in self._under_way:  # what is being looked up now may be answered without it
            self._seen.add(row["id"], row["changed_at"])


class SeenLately:
    """Queues as they were when this node last saw them: what a refresh need not read again. The oldest come first."""

    def __init__(self) -> None:
        self._seen_at: dict[int, float] = {}
        self._numbers: dict[int, bytes] = {}  # packed, as are the microseconds of their change
        self._changes: dict[int, bytes] = {}

    def add(self, queue_id: int, changed_at: datetime) -> None:
        self.drop(queue_id)
        if changed_at > datetime.now(UTC) - MOST_LOOKED_BACK:  # older ones are not read anyway
            self._seen_at[queue_id] = time.monotonic()
            self._numbers[queue_id] = packed_bigint(queue_id)
            self._changes[queue_id] = packed_bigint((changed_at - EPOCH) // MICROSECOND)

    def drop(self, queue_id: int) -> None:
        if self._seen_at.pop(queue_id, None) is not None:
            del self._numbers[queue_id], self._changes[queue_id]

    def drop_before(self, moment: float) -> None:
        """What was seen before that has changed before that."""
        for queue_id in [*takewhile(lambda queue_id: self._seen_at[queue_id] < moment, self._seen_at)]:
            self.drop(queue_id)

    def columns(self) -> dict[str, PackedBigintColumn]:
        return {
            "queue_id": PackedBigintColumn([*self._numbers.values()]),
            "changed_at": PackedBigintColumn([*self._changes.values()]),
        }


def no_such_queue(name: str) -> WillowError:
    return WillowError(Code.NO_OBJECT, name, f"There is no queue {name} with these tags.")
