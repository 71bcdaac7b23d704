"""What a node does again and again: the heartbeat, and the slow poll that finds whatever a hint should have said."""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from django.conf import settings
from psycopg import AsyncConnection
from psycopg.types.json import Jsonb

from clients.statements import statement as client_statement
from delivery.engine.waiters import MOST_PLACES_AT_ONCE
from delivery.node.key_changes import refresh_principals
from delivery.node.key_use import KeyUseCounts
from delivery.node.orders import carry_out_orders
from delivery.protocol.errors import WillowError
from delivery.storage.lanes import run_job
from delivery.storage.statements import statement
from delivery.storage.turns import FIRST

if TYPE_CHECKING:
    from delivery.node.node import Node
    from delivery.sessions.session import Session

MOST_SESSIONS_NAMED = 1000  # of a node, with the queues that they read: the row of a node is written at every heartbeat
MOST_QUEUES_NAMED = 5  # of a session

logger = logging.getLogger(__name__)


async def every(seconds: float | Callable[[], float], action: Callable[[], Awaitable[None]]) -> None:
    """Run an action without end. Whatever goes wrong with it is tried again the next time."""
    while True:
        try:
            await action()
        except WillowError as error:
            logger.debug("%s: %s", action.__qualname__, error)
        except Exception:
            logger.exception("%s failed", action.__qualname__)
        await asyncio.sleep(seconds() if callable(seconds) else seconds)


class Heartbeat:
    def __init__(self, node: "Node") -> None:
        self._node = node
        self._last = time.monotonic()  # that was written, and whose silence before was made up for
        self._said: dict[int, list[int]] | None = None  # what was last written about the sessions

    @property
    def has_lapsed(self) -> bool:
        """Others may have taken this node for dead: it stood still, or could not reach the database."""
        return time.monotonic() - self._last > settings.WILLOW.node_lapse

    async def beat(self) -> None:
        node = self._node
        began = time.monotonic()
        before, node.quotas.alarms = node.quotas.alarms, node.alarms.look()
        if not await run_job(node.doors, self._write, source=FIRST) and not node.leaving:
            logger.error("This node's row is gone from the database; its clients must connect again.")
        if before or node.quotas.alarms:
            await run_job(node.doors, _refuse_transactional_posts, source=FIRST)
        if self.has_lapsed:
            await run_job(node.doors, node.sessions.reclaim, source=FIRST)
        self._last = began

    async def look_after_workers(self) -> None:
        """Apart from the beat, which waits for nothing that clients have asked for."""
        await run_job(self._node.jobs, self._node.workers.look_after)

    async def _write(self, connection: AsyncConnection[Any]) -> bool:
        """Returns whether the node has its row."""
        reading = self._reading()
        said = _said_of_sessions(self._node.sessions.values(), reading)
        parameters = {
            "node": self._node.id,
            "sockets": len(self._node.sessions),
            "draining": self._node.draining,
            "readers": Jsonb(_readers(reading)),
            "alarms": list(self._node.alarms.active),
            "free_places": Jsonb(self._node.engine.waiters.free_places()),
            "rates_wanted": Jsonb(self._node.quotas.rates_wanted()),
            "reading": None if said == self._said else Jsonb(said),
        }
        found = await (await connection.execute(client_statement("beat"), parameters)).fetchone() is not None
        self._said = said if found else None
        return found

    def _reading(self) -> dict[int, set[int]]:
        """By session: the queues whose messages it waits for or holds."""
        return {session.session_id: session.queues_read() for session in self._node.sessions.values()}


async def _refuse_transactional_posts(connection: AsyncConnection[Any]) -> None:
    """Or take them again, when the node is well again or another one is."""
    await connection.execute(statement("refuse_transactional_posts"), {"lapse": settings.WILLOW.node_lapse})


def _readers(reading: Mapping[int, Iterable[int]]) -> Counter[int]:
    """By queue: how many sessions read it."""
    return Counter(queue_id for queues in reading.values() for queue_id in queues)


def _said_of_sessions(sessions: Iterable["Session"], reading: Mapping[int, set[int]]) -> dict[int, list[int]]:
    """By session: some of the queues that it reads, or looked into last. For people, so not of more than they read."""
    said = {}
    for session in islice(sessions, MOST_SESSIONS_NAMED):
        queues = reading.get(session.session_id) or session.reads.latest_queue_ids
        if queues:
            said[session.session_id] = sorted(queues)[:MOST_QUEUES_NAMED]
    return said


class Poll:
    def __init__(self, node: "Node") -> None:
        self._node = node
        self._key_use = KeyUseCounts(node)

    async def look(self) -> None:
        node = self._node
        for lane in (node.engine.posts, node.engine.claims, node.streams):
            lane.probe()
        await self._catch_up()
        await run_job(node.jobs, node.directory.refresh)
        await run_job(node.jobs, node.directory.forget_deleted)
        await run_job(node.jobs, node.notices.take)
        await run_job(node.jobs, node.workers.push_changed_configs)
        node.workers.look_for_requests()
        await run_job(node.jobs, self._wake_ready_queues)
        await run_job(node.jobs, self._key_use.look)
        await run_job(node.jobs, node.engine.delays.count)
        for session in list(node.sessions.values()):
            session.look_after_overdue()

    async def look_to_the_doors(self) -> None:
        """Who may stay, and what operators have ordered: whatever else clients keep this node busy with."""
        node = self._node
        await run_job(node.doors, lambda connection: refresh_principals(node, connection), source=FIRST)
        await run_job(node.doors, lambda connection: carry_out_orders(node, connection), source=FIRST)

    async def _catch_up(self) -> None:
        """With what could not be done while the database was gone."""
        node = self._node
        if node.unheard_claims:
            await run_job(node.jobs, node.unheard_claims.settle)
        if node.sessions.has_ends_to_write:
            await run_job(node.doors, node.sessions.write_ends)
        if node.notices.left_behind:
            await run_job(node.jobs, node.notices.leave)

    async def _wake_ready_queues(self, connection: AsyncConnection[Any]) -> None:
        node = self._node
        served = node.workers.queues_served()
        waited_for = [*node.engine.waiters.queues_waited_for(), *node.feeds, *served]
        if waited_for:
            cursor = await connection.execute(statement("ready_queues"), {"queue_id": waited_for})
            for (queue_id,) in await cursor.fetchall():
                node.on_hints.messages_ready(queue_id, MOST_PLACES_AT_ONCE)
                if queue_id in served:
                    node.engine.assignment.assign_soon(queue_id)
