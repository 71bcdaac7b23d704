"""The queues that this node knows, by name and by number, and how unknown ones are made."""

import logging
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from psycopg import AsyncConnection
from psycopg.rows import dict_row

from clients.statements import statement as client_statement
from delivery.protocol.errors import Code, WillowError
from delivery.protocol.fields import Match
from delivery.storage.lanes import Job, Lane
from queues.definitions import (
    NOBODY,
    Definer,
    QueueRecord,
    definition_parameters,
    record_of,
    settings_with,
    statement,
)

logger = logging.getLogger(__name__)

Found = Callable[[list[QueueRecord]], None]
Failed = Callable[[WillowError], None]

OVERLAP_SECONDS = 10  # between what two refreshes look at: more than any statement that defines a queue can take
DEFINE_TRIES = 5


@dataclass(eq=False, slots=True)
class Watch:
    """A reader that wants every queue that matches, also those that are made while it reads."""

    name: str
    tags: frozenset[str]
    match: Match
    join: Callable[[QueueRecord], None]


class Directory:
    """`announce` tells the other nodes of a queue that was just made, and calls back when they know it.

    `changed` is told of queues that were deleted, paused or resumed, or got other settings: what was known of their
    messages may be wrong.
    """

    def __init__(
        self,
        jobs: Lane,
        announce: Callable[[QueueRecord, list[int], Callable[[], None]], None],
        changed: Callable[[int], None],
    ) -> None:
        self._jobs = jobs
        self._announce = announce
        self._changed = changed
        self._watches: defaultdict[str, dict[Watch, None]] = defaultdict(dict)
        self._by_id: dict[int, QueueRecord] = {}
        self._by_name: dict[str, dict[tuple[str, ...], QueueRecord]] = {}  # only names that were read whole
        self._under_way: dict[str, list[Callable[[], None]]] = {}  # what waits for a job about a name
        self._refreshed_at = time.monotonic()

    def by_id(self, queue_id: int) -> QueueRecord | None:
        return self._by_id.get(queue_id)

    def name_of(self, queue_id: int) -> str:
        queue = self._by_id.get(queue_id)
        return queue.name if queue else ""

    def known(self, name: str, tags: tuple[str, ...]) -> QueueRecord | None:
        """The queue, if it can be told at once; None also while something about its name is under way."""
        if name in self._under_way:
            return None
        return self._by_name.get(name, {}).get(tags)

    def matching(self, name: str, tags: Iterable[str], match: Match) -> list[QueueRecord]:
        wanted = frozenset(tags)
        return [queue for queue in self._by_name.get(name, {}).values() if matches(queue.tags, wanted, match)]

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
        def work_done(result: tuple[QueueRecord, bool, list[int]]) -> None:
            queue, is_new, other_nodes = result
            self._learn(queue)
            if is_new and other_nodes:
                # Running subscriptions elsewhere join before anybody can post to the queue or read from it.
                waiting = self._under_way.setdefault(name, [])
                self._announce(queue, other_nodes, lambda: self._go_on(name, waiting, lambda: created(queue, is_new)))
            else:
                created(queue, is_new)

        def work(connection: AsyncConnection[Any]) -> Any:
            return define_queue(connection, name, tags, chosen, by)

        self._in_order(name, lambda: self._run(name, work, work_done, failed))

    def watch(self, name: str, tags: Iterable[str], match: Match, join: Callable[[QueueRecord], None]) -> Watch:
        watch = Watch(name, frozenset(tags), match, join)
        self._watches[name][watch] = None
        return watch

    def unwatch(self, watch: Watch) -> None:
        watches = self._watches[watch.name]
        watches.pop(watch, None)
        if not watches:
            del self._watches[watch.name]

    def _resolve_now(
        self, name: str, tags: tuple[str, ...], match: Match, found: Found, failed: Failed, by: Definer
    ) -> None:
        if name not in self._by_name:

            def learn(queues: list[QueueRecord]) -> None:
                self._learn_name(name, queues)
                self._resolve_now(name, tags, match, found, failed, by)

            self._run(name, lambda connection: _read_name(connection, name), learn, failed)
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

    def _run(
        self,
        name: str,
        work: Callable[[AsyncConnection[Any]], Any],
        done: Callable[[Any], None],
        failed: Failed,
    ) -> None:
        waiting = self._under_way.setdefault(name, [])

        def finish(answer: Callable[[], None]) -> None:
            self._go_on(name, waiting, answer)

        self._jobs.submit(
            Job(work, lambda result: finish(lambda: done(result)), lambda error: finish(lambda: failed(error)))
        )

    def _go_on(self, name: str, waiting: list[Callable[[], None]], answer: Callable[[], None]) -> None:
        """What was under way about a name is over: give its answer, then run what waited for it."""
        del self._under_way[name]
        answer()
        for position, action in enumerate(waiting):
            if name in self._under_way:  # an action started something new: the rest waits for that
                self._under_way[name].extend(waiting[position:])
                return
            action()

    def _learn_name(self, name: str, queues: list[QueueRecord]) -> None:
        self._by_name[name] = {}
        for queue in queues:
            self._learn(queue)

    def _learn(self, queue: QueueRecord) -> None:
        before = self._by_id.get(queue.id)
        self._by_id[queue.id] = queue
        if queue.name in self._by_name:
            self._by_name[queue.name][queue.tags] = queue
        if before is None:
            for watch in list(self._watches.get(queue.name, ())):
                if matches(queue.tags, watch.tags, watch.match):
                    watch.join(queue)
        elif before != queue:
            self._changed(queue.id)

    def forget(self, queue_id: int) -> None:
        """The queue was deleted."""
        queue = self._by_id.pop(queue_id, None)
        if queue is not None and self._by_name.get(queue.name, {}).get(queue.tags) == queue:
            del self._by_name[queue.name][queue.tags]
        self._changed(queue_id)

    async def forget_deleted(self, connection: AsyncConnection[Any]) -> None:
        """Operators delete queues; a queue that is made again has another number."""
        cursor = await connection.execute(statement("deleted"), {"queue_id": list(self._by_id)})
        for (queue_id,) in await cursor.fetchall():
            self.forget(queue_id)

    async def refresh(self, connection: AsyncConnection[Any]) -> None:
        """Learn what other nodes and operators defined or changed since the last refresh, however long ago that is."""
        now = time.monotonic()
        async with connection.cursor(row_factory=dict_row) as cursor:
            await cursor.execute(statement("changed"), {"seconds": now - self._refreshed_at + OVERLAP_SECONDS})
            for row in await cursor.fetchall():
                if row["name"] in self._by_name or row["id"] in self._by_id:
                    self._learn(record_of(row))
        self._refreshed_at = now


def matches(queue_tags: Iterable[str], wanted: frozenset[str], match: Match) -> bool:
    """Whether a queue of the right name is among those that a reader's tags and match choose."""
    tags = frozenset(queue_tags)
    if match == "all":
        return True
    if match == "exact":
        return tags == wanted
    if match == "strict":
        return tags >= wanted
    return bool(tags & wanted)  # combined, any


def default_match(tags: Iterable[str]) -> Match:
    return "exact" if tuple(tags) else "all"


async def _read_name(connection: AsyncConnection[Any], name: str) -> list[QueueRecord]:
    async with connection.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(statement("named"), {"name": name})
        return [record_of(row) for row in await cursor.fetchall()]


async def define_queue(
    connection: AsyncConnection[Any], name: str, tags: tuple[str, ...], chosen: Mapping[str, Any], by: Definer
) -> tuple[QueueRecord, bool, list[int]]:
    """The queue, whether it is new, and the other nodes that must hear of it."""
    parameters = definition_parameters(name, tags, settings_with(name, chosen), by)
    async with connection.cursor(row_factory=dict_row) as cursor:
        for _ in range(DEFINE_TRIES):  # somebody else may be making it now: then the next try finds it
            await cursor.execute(statement("define"), parameters)
            if (row := await cursor.fetchone()) is not None:
                return record_of(row), row["created"], await _live_nodes(connection) if row["created"] else []
    raise WillowError(Code.OVERLOADED, name, await _why_no_more(connection, by))


async def _why_no_more(connection: AsyncConnection[Any], by: Definer) -> str:
    if by.most:
        [(defined,)] = await (await connection.execute(statement("defined_by"), {"definer": by.client_id})).fetchall()
        if defined >= by.most:
            return f"Your key has defined {defined} queues already, as many as its quota `queues` allows."
    most = settings.WILLOW.max_queue_count
    return f"There are {most} queues already, as many as WILLOW_MAX_QUEUE_COUNT allows."


async def find_queue(connection: AsyncConnection[Any], name: str, tags: tuple[str, ...]) -> QueueRecord | None:
    """For those who work without a directory."""
    return next((queue for queue in await _read_name(connection, name) if queue.tags == tags), None)


async def _live_nodes(connection: AsyncConnection[Any]) -> list[int]:
    cursor = await connection.execute(client_statement("live_nodes"), {"lapse": settings.WILLOW.node_lapse})
    return [node_id for (node_id,) in await cursor.fetchall()]


def no_such_queue(name: str) -> WillowError:
    return WillowError(Code.NO_OBJECT, name, f"There is no queue {name} with these tags.")
