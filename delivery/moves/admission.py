"""Posts whose fate depends on what their queues hold: keys, dedupe and unique texts, full queues, several queues.

All of it happens with the queues' rows locked, so two batches with the same key or text cannot pass each other.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from django.conf import settings
from psycopg import AsyncConnection

from delivery.moves.free_ids import LONG_AGO, FreeIds
from delivery.moves.groups import Group, arranging, made_ready, touch_groups
from delivery.moves.posting import (
    Copy,
    PostRequest,
    extra_columns,
    insert_copies,
    message_columns,
    queue_is_gone,
    urgent_groups,
)
from delivery.moves.removal import DroppedForRoom, drop_oldest
from delivery.protocol.commands import Post
from delivery.protocol.errors import Code, WillowError
from delivery.storage.advisory_locks import group_lock, take
from delivery.storage.columns import BigintColumn, TextColumn
from delivery.storage.connection import fetch_batch
from delivery.storage.statements import statement
from queues.definitions import QueueRecord
from queues.models import Overflow


class Admission:
    """One batch on its way into the queues.

    `decides_groups`: it is said at once which messages of their groups may go. Not for a transaction that has locked
    messages already: it leaves that to `settle_groups`, or it could wait for somebody who waits for it.
    """

    def __init__(
        self,
        connection: AsyncConnection[Any],
        requests: list[PostRequest],
        node_id: int | None,
        node_name: str,
        free_ids: FreeIds | None = None,
        *,
        decides_groups: bool = True,
    ) -> None:
        self._decides_groups = decides_groups
        self.refused: dict[PostRequest, WillowError] = {}
        self.dropped: list[DroppedForRoom] = []
        self.promoted: Counter[int] = Counter()  # by queue: messages that urgent ones of their group let go
        self.left_groups = False  # whether notes of groups were left, on which `settle_groups` is to decide
        self.began = free_ids.moment if free_ids else LONG_AGO  # for the IDs that it leaves free
        self._connection = connection
        self._requests = requests
        self._node_id = node_id
        self._node_name = node_name
        self._free_ids = free_ids
        self._queues = {copy.queue.id: copy.queue for request in requests for copy in request.copies}
        self._arriving = [copy for request in requests for copy in request.copies]  # in the order of their places
        self._followers: dict[Copy, Copy] = {}  # copies that share the message of another copy of this batch
        self._repeats: set[Copy] = set()  # copies whose dedupe or unique text already stands for a message
        self._unique_repeats: list[Copy] = []  # not stored for their unique text, also for one of this batch
        # copies that take the place of a waiting message with their key, and the group of that message
        self._replacing: dict[Copy, str | None] = {}

    async def admit(self) -> None:
        await self._lock_groups()
        await self._lock_queues()
        for requests in _in_turn(self._requests):
            await self._admit(requests)

    async def _admit(self, requests: list[PostRequest]) -> None:
        self._requests, self._unique_repeats = requests, []
        self._arriving = [copy for request in requests for copy in request.copies]
        self._collapse_texts()
        await self._find_dedupe_repeats()
        self._collapse_unique()
        await self._find_unique_repeats()
        self._collapse_keys()
        await self._find_by_key()
        await self._refuse_what_does_not_fit()
        arriving = list(self._copies_to_store())
        if replacing := [copy for copy in arriving if copy in self._replacing]:
            await self._replace(replacing)
        if fresh := [copy for copy in arriving if copy not in self._replacing]:
            await self._insert(fresh)
        self._answer_followers()
        await self._remember_dedupe([*arriving, *self._unique_repeats])
        await self._drop_oldest()

    def _copies_to_store(self) -> Iterator[Copy]:
        for copy in self._arriving:
            if copy.request not in self.refused and copy not in self._followers and copy not in self._repeats:
                yield copy

    async def _lock_groups(self) -> None:
        """Before all rows, as everybody does who decides about groups."""
        if self._decides_groups and (
            locks := [group_lock(*group) for copy in self._arriving if (group := copy.group) is not None]
        ):
            await take(self._connection, locks)

    async def _insert(self, fresh: list[Copy]) -> None:
        await insert_copies(
            self._connection, fresh, self._node_id, free_ids=self._free_ids, has_group_locks=self._decides_groups
        )
        if self._decides_groups and (urgent := urgent_groups(fresh)):
            self.promoted += made_ready(await fetch_batch(self._connection, *arranging(urgent)))

    async def _lock_queues(self) -> None:
        cursor = await self._connection.execute(statement("lock_queues"), {"queue_id": sorted(self._queues)})
        present = {queue_id for (queue_id,) in await cursor.fetchall()}
        for request in self._requests:
            for copy in request.copies:
                if copy.queue.id not in present:
                    self.refused[request] = queue_is_gone(copy.queue)

    def _collapse_texts(self) -> None:
        self._collapse(lambda command: command.dedupe)

    def _collapse_unique(self) -> None:
        self._unique_repeats += self._collapse(lambda command: command.unique)

    def _collapse(self, text_of: Callable[[Post], str | None]) -> list[Copy]:
        """Of several posts of this batch with the same text the first counts. Returns the others."""
        others: list[Copy] = []
        by_text: dict[tuple[int, str], Copy] = {}
        for copy in self._copies_to_store():
            text = text_of(copy.request.command)
            if text is not None and (first := by_text.setdefault((copy.queue.id, text), copy)) is not copy:
                self._followers[copy] = first
                copy.is_repeat = True
                others.append(copy)
        return others

    def _collapse_keys(self) -> None:
        """Of several posts of this batch with the same key the last counts, in the place of the first."""
        places: dict[tuple[int, str], int] = {}
        arriving: list[Copy] = []
        for copy in self._copies_to_store():
            key = _key_of(copy)
            place = len(arriving) if key is None else places.setdefault((copy.queue.id, key), len(arriving))
            if place == len(arriving):
                arriving.append(copy)
            else:
                self._followers[arriving[place]] = copy
                arriving[place] = copy
        self._arriving = arriving

    async def _find_dedupe_repeats(self) -> None:
        asked = [copy for copy in self._copies_to_store() if copy.request.command.dedupe is not None]
        if not asked:
            return
        cursor = await self._connection.execute(statement("dedupe_seen"), _dedupe_columns(asked), binary=True)
        seen = {(queue_id, text): (sequence, index) for queue_id, text, sequence, index in await cursor.fetchall()}
        for copy in asked:
            if (numbers := seen.get((copy.queue.id, copy.request.command.dedupe))) is not None:
                copy.sequence, copy.index = numbers
                copy.is_repeat = True
                self._repeats.add(copy)

    async def _find_unique_repeats(self) -> None:
        asked = [copy for copy in self._copies_to_store() if copy.request.command.unique is not None]
        if not asked:
            return
        columns = {
            "queue_id": BigintColumn([copy.queue.id for copy in asked]),
            "unique_key": TextColumn([copy.request.command.unique for copy in asked]),
        }
        cursor = await self._connection.execute(statement("find_unique"), columns, binary=True)
        for place, sequence, index in await cursor.fetchall():
            copy = asked[place - 1]
            copy.sequence, copy.index = sequence, index
            copy.is_repeat = True
            self._repeats.add(copy)
            self._unique_repeats.append(copy)

    async def _refuse_what_does_not_fit(self) -> None:
        live = await self._live_counts(Overflow.REJECT)
        if not live:
            return
        for request in self._requests:
            if request in self.refused or request.may_exceed:
                continue
            needed = [copy.queue for copy in request.copies if copy.queue.id in live and self._takes_room(copy)]
            full = next((queue for queue in needed if live[queue.id] >= (queue.settings.max_length or 0)), None)
            if full is not None:
                self.refused[request] = queue_is_full(full)
            else:
                for queue in needed:
                    live[queue.id] += 1

    def _takes_room(self, copy: Copy) -> bool:
        return not (copy in self._followers or copy in self._repeats or copy in self._replacing)

    async def _live_counts(self, overflow: Overflow) -> dict[int, int]:
        """Live messages of the queues that have a bound and treat what exceeds it in this way."""
        bounded = [
            queue.id
            for queue in self._queues.values()
            if queue.settings.max_length is not None and queue.settings.overflow == overflow
        ]
        if not bounded:
            return {}
        cursor = await self._connection.execute(statement("live_counts"), {"queue_id": bounded})
        return dict(await cursor.fetchall())

    async def _find_by_key(self) -> None:
        keyed = [copy for copy in self._copies_to_store() if _key_of(copy) is not None]
        if not keyed:
            return
        columns = {
            "queue_id": BigintColumn([copy.queue.id for copy in keyed]),
            "key": TextColumn([copy.request.command.key for copy in keyed]),
        }
        cursor = await self._connection.execute(statement("find_by_key"), columns, binary=True)
        for place, sequence, index, group in await cursor.fetchall():
            copy = keyed[place - 1]
            copy.sequence, copy.index = sequence, index
            self._replacing[copy] = group

    async def _replace(self, copies: list[Copy]) -> None:
        columns = message_columns(copies, self._node_id) | extra_columns(copies)
        columns["index"] = BigintColumn([copy.index for copy in copies])
        await self._connection.execute(statement("replace"), columns)
        left = [Group(copy.queue.id, name) for copy in copies if (name := self._replacing[copy]) is not None]
        joined = [group for copy in copies if (group := copy.group) is not None]
        await touch_groups(self._connection, [*left, *joined])
        self.left_groups |= bool(left or joined)

    async def _remember_dedupe(self, stored: list[Copy]) -> None:
        named = [
            copy for copy in stored if copy.request.command.dedupe is not None and copy.request not in self.refused
        ]
        if named:
            columns = _dedupe_columns(named) | {
                "sequence": BigintColumn([copy.sequence for copy in named]),
                "index": BigintColumn([copy.index for copy in named]),
                "seconds": settings.WILLOW.dedupe_seconds,
            }
            await self._connection.execute(statement("dedupe_remember"), columns)

    def _answer_followers(self) -> None:
        for copy in self._followers:
            leader = copy
            while leader in self._followers:
                leader = self._followers[leader]
            copy.sequence, copy.index = leader.sequence, leader.index
            if leader.request in self.refused:
                self.refused.setdefault(copy.request, self.refused[leader.request])

    async def _drop_oldest(self) -> None:
        live = await self._live_counts(Overflow.DROP_OLDEST)
        excess = {
            queue_id: count - (self._queues[queue_id].settings.max_length or 0) for queue_id, count in live.items()
        }
        excess = {queue_id: count for queue_id, count in excess.items() if count > 0}
        if excess:
            self.left_groups = True  # perhaps: of those that had to make room
            self.dropped += await drop_oldest(
                self._connection, excess, node_id=self._node_id, node_name=self._node_name
            )


def queue_is_full(queue: QueueRecord) -> WillowError:
    reason = f"The queue {queue.name} is full: it holds {queue.settings.max_length} messages. Nothing was stored."
    return WillowError(Code.OVERLOADED, queue.name, reason)


def _in_turn(requests: list[PostRequest]) -> Iterator[list[PostRequest]]:
    """A post that replaces a message by its key frees that one's unique text: those behind it are judged after it."""
    unique = [request for request in requests if request.command.unique is not None]
    queues = {copy.queue.id for request in unique for copy in request.copies}
    part: list[PostRequest] = []
    for request in requests:
        part.append(request)
        if queues and any(copy.queue.id in queues and _key_of(copy) is not None for copy in request.copies):
            yield part
            part = []
    if part:
        yield part


def _key_of(copy: Copy) -> str | None:
    """The post's key, where its queue cares about keys."""
    return copy.request.command.key if copy.queue.settings.updatable else None


def _dedupe_columns(copies: Sequence[Copy]) -> dict[str, Any]:
    return {
        "queue_id": BigintColumn([copy.queue.id for copy in copies]),
        "value": TextColumn([copy.request.command.dedupe for copy in copies]),
    }
