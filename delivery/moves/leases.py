"""How long claims last: their time starts again, for their holder or for a session that takes its place."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from psycopg import AsyncConnection

from delivery.moves.message_id import HeldMessage, held_columns
from delivery.storage.connection import fetch_batch
from delivery.storage.statements import statement


class KeptAlive(NamedTuple):
    place: int  # from 1 on


async def keepalive(connection: AsyncConnection[Any], claims: Sequence[HeldMessage]) -> list[KeptAlive]:
    return await fetch_batch(connection, statement("keepalive"), held_columns(claims), KeptAlive)


async def restart_leases(
    connection: AsyncConnection[Any], holders: Sequence[int], queue_ids: Iterable[int] | None = None
) -> None:
    """For all that these sessions hold; in these queues, where it is known that there are no others."""
    queues = None if queue_ids is None else sorted(queue_ids)
    await connection.execute(statement("restart_leases"), {"holder": list(holders), "queue_id": queues})


async def hand_claims_over(connection: AsyncConnection[Any], *, earlier: int, later: int) -> None:
    """What a client's earlier session held belongs to its later one."""
    await connection.execute(statement("hand_claims_over"), {"from": earlier, "to": later})
