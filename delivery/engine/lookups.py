"""Reading queues from the database and making them there, many in one statement or transaction: the lane *queues*."""

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from django.conf import settings
from psycopg import AsyncConnection
from psycopg.rows import dict_row

from clients.statements import statement as client_statement
from delivery.protocol.errors import Code, WillowError
from delivery.storage.after_commit import AfterCommit, for_each
from delivery.storage.lanes import Lane, RunBatch
from queues.definitions import Definer, QueueRecord, definition_parameters, record_of, settings_with, statement

Failed = Callable[[WillowError], None]
Defined = tuple[QueueRecord, bool, list[int]]  # the queue, whether it is new, and the other nodes that must hear of it

logger = logging.getLogger(__name__)

DEFINE_TRIES = 5
# No node has this number, so nobody says in its name that it knows a queue: until all must have polled, one waits.
UNKNOWN_NODE = 0
BATCH_SIZE = 256  # names in one statement
DEFINITION_WEIGHT = 8
BATCH_WEIGHT = 256  # so 32 definitions in one transaction: each is a statement of its own


class Lookup:
    """Asks for all queues of a name."""

    synchronous = False
    weight = 0

    def __init__(self, name: str, done: Callable[[list[QueueRecord]], None], failed: Failed, by: Definer) -> None:
        self.source = by.source
        self.name = name
        self.done = done
        self.fail = failed


class Definition:
    """Makes a queue, unless there is one with this name and these tags."""

    synchronous = True  # a node remembers queues by their numbers, which must not be given out again after a crash
    weight = DEFINITION_WEIGHT

    def __init__(
        self,
        name: str,
        tags: tuple[str, ...],
        chosen: Mapping[str, Any],
        done: Callable[[Defined], None],
        failed: Failed,
        by: Definer,
    ) -> None:
        self.source = by.source
        self.name = name
        self.tags = tags
        self.chosen = chosen
        self.done = done
        self.fail = failed
        self.by = by


def queue_lane() -> Lane:
    runners: dict[type, RunBatch] = {Lookup: run_lookups, Definition: run_definitions}
    return Lane("queues", runners, batch_size=BATCH_SIZE, batch_weight=BATCH_WEIGHT, rests=runners)


async def run_lookups(connection: AsyncConnection[Any], lookups: list[Lookup]) -> AfterCommit:
    by_name: dict[str, list[QueueRecord]] = defaultdict(list)
    for queue in await _named(connection, {lookup.name for lookup in lookups}):
        by_name[queue.name].append(queue)
    return AfterCommit(partial(for_each, lambda lookup: lookup.done(by_name.get(lookup.name, [])), lookups))


async def run_definitions(connection: AsyncConnection[Any], definitions: list[Definition]) -> AfterCommit:
    """In one order everywhere, so that no two nodes wait for each other's queues."""
    results: dict[Definition, tuple[QueueRecord, bool] | WillowError] = {}
    async with connection.transaction():
        room = await _room(connection, {one.by for one in definitions})
        for one in sorted(definitions, key=lambda one: (one.name, one.tags)):
            try:
                results[one] = await define_queue(connection, one.name, one.tags, one.chosen, one.by, room)
            except WillowError as error:
                # Its traceback holds what is here, itself included, with the bodies of posts that wait for a queue.
                results[one] = error.with_traceback(None)
    has_new = any(not isinstance(result, WillowError) and result[1] for result in results.values())
    nodes = await _nodes_to_tell(connection) if has_new else []
    return AfterCommit(partial(for_each, lambda one: _answer(one, results[one], nodes), definitions))


class Room:
    """How many queues there are, counted once for all definitions of a batch."""

    def __init__(self, count: int, by_definer: Mapping[int | None, int]) -> None:
        self._left = settings.WILLOW.max_queue_count - count
        self._by_definer = dict(by_definer)  # of those who may not define any number

    def is_there_for(self, by: Definer) -> bool:
        return self._left > 0 and not self._has_reached_quota(by)

    def made(self, by: Definer) -> None:
        self._left -= 1
        if by.client_id in self._by_definer:
            self._by_definer[by.client_id] += 1

    def why_none(self, by: Definer) -> str:
        if self._has_reached_quota(by):
            whose = "Your key has defined" if by.client_id is not None else "Callers without a key have"
            defined = self._by_definer[by.client_id]
            return f"{whose} {defined} queues already, as many as the quota `queues` allows."
        return _too_many_queues()

    def _has_reached_quota(self, by: Definer) -> bool:
        return bool(by.most) and self._by_definer[by.client_id] >= by.most


async def _room(connection: AsyncConnection[Any], definers: Iterable[Definer]) -> Room:
    [(count,)] = await (await connection.execute(statement("how_many"))).fetchall()
    by_definer = {}
    for client_id in {by.client_id for by in definers if by.most}:
        found = await connection.execute(statement("defined_by"), {"definer": client_id})
        [(by_definer[client_id],)] = await found.fetchall()
    return Room(count, by_definer)


def _answer(definition: Definition, result: tuple[QueueRecord, bool] | WillowError, nodes: list[int]) -> None:
    if isinstance(result, WillowError):
        definition.fail(result)
    else:
        queue, is_new = result
        definition.done((queue, is_new, nodes if is_new else []))


async def define_queue(
    connection: AsyncConnection[Any],
    name: str,
    tags: tuple[str, ...],
    chosen: Mapping[str, Any],
    by: Definer,
    room: Room | None = None,
) -> tuple[QueueRecord, bool]:
    """The queue, and whether it is new."""
    parameters = definition_parameters(name, tags, settings_with(name, chosen), by)
    parameters["has_room"] = room.is_there_for(by) if room else None
    async with connection.cursor(row_factory=dict_row) as cursor:
        for _ in range(DEFINE_TRIES):  # somebody else may be making it now: then the next try finds it
            await cursor.execute(statement("define"), parameters)
            if (row := await cursor.fetchone()) is not None:
                if room and row["created"]:
                    room.made(by)
                return record_of(row), row["created"]
    raise WillowError(Code.OVERLOADED, name, room.why_none(by) if room else _too_many_queues())


async def find_queue(connection: AsyncConnection[Any], name: str, tags: tuple[str, ...]) -> QueueRecord | None:
    """For those who work without a directory."""
    return next((queue for queue in await _named(connection, [name]) if queue.tags == tags), None)


async def _named(connection: AsyncConnection[Any], names: Iterable[str]) -> list[QueueRecord]:
    async with connection.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(statement("named"), {"name": list(names)})
        return [record_of(row) for row in await cursor.fetchall()]


def _too_many_queues() -> str:
    most = settings.WILLOW.max_queue_count
    return f"There are {most} queues already, as many as WILLOW_MAX_QUEUE_COUNT allows."


async def _nodes_to_tell(connection: AsyncConnection[Any]) -> list[int]:
    """Looked up after the commit, so that no node is missed. The queues are made, also if that fails."""
    try:
        return await _live_nodes(connection)
    except Exception:
        logger.exception("A step after a commit failed")
        return [UNKNOWN_NODE]


async def _live_nodes(connection: AsyncConnection[Any]) -> list[int]:
    cursor = await connection.execute(client_statement("live_nodes"), {"lapse": settings.WILLOW.node_lapse})
    return [node_id for (node_id,) in await cursor.fetchall()]
