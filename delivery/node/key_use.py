"""What keys use, counted now and then for their quotas."""

import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from django.conf import settings
from psycopg import AsyncConnection

from clients.statements import statement as client_statement
from delivery.sessions.quotas import account_of
from delivery.storage.statements import statement

if TYPE_CHECKING:
    from delivery.node.node import Node

COUNT_SECONDS = 5.0  # between two counts of what waits
SAMPLED_PAGES = 4096  # of the message table: 32 MiB
PAGE_BYTES = 8192
WHOLE = 100.0  # percent


class KeyUseCounts:
    def __init__(self, node: "Node") -> None:
        self._node = node
        self._counted_at = time.monotonic()

    async def look(self, connection: AsyncConnection[Any]) -> None:
        quotas, sessions = self._node.quotas, self._node.sessions.values()
        quotas.connected(session.principal for session in sessions)
        quotas.count_readings(_queues_read(sessions))
        if quotas.has_rates:
            parameters = {"node": self._node.id, "lapse": settings.WILLOW.node_lapse}
            rows = await connection.execute(client_statement("rates_wanted"), parameters)
            quotas.share_rates([wanted for (wanted,) in await rows.fetchall()])
        if (waiting := quotas.keys_to_count()) and time.monotonic() - self._counted_at >= COUNT_SECONDS:
            await self._count_waiting(connection, waiting)
            self._counted_at = time.monotonic()

    async def _count_waiting(self, connection: AsyncConnection[Any], keys: list[int]) -> None:
        size = await connection.execute("SELECT pg_relation_size('delivery_message')")
        [(table_bytes,)] = await size.fetchall()
        percent = min(WHOLE, WHOLE * SAMPLED_PAGES * PAGE_BYTES / max(table_bytes, 1))
        found = await connection.execute(statement("waiting_of_keys"), {"key": keys, "percent": percent})
        waiting = {key: (float(messages), float(body_bytes)) for key, messages, body_bytes in await found.fetchall()}
        self._node.quotas.counted(keys, waiting)


def _queues_read(sessions: Any) -> Counter[int]:
    """By key: the queues of each subscription."""
    read: Counter[int] = Counter()
    for session in sessions:
        read[account_of(session.principal)] += session.readings.subscribed
    return read
